"""Scenarios: the description of a world and of the policies to try in it, from a file or from Python."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from pydantic import PrivateAttr, ValidationError

from tpstream.looks.design import Design
from tpstream.model.arrays import Floats
from tpstream.model.display import Displayed, Summary
from tpstream.model.errors import PolicyError, ScenarioError, TpstreamError, errors_in
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.units import round_title
from tpstream.model.world import Problem, Timing, World
from tpstream.rewards.base import build_rewards, implied_span, money_unit
from tpstream.scenario.files import find_file, read_toml
from tpstream.scenario.messages import Fields, Location, describe_error, together
from tpstream.scenario.plugins import Plugin, load_elsewhere, loaded_plugins
from tpstream.scenario.policy_choice import PolicyChoice, PolicySpec, assumed_groups, request_policies, request_policy
from tpstream.scenario.shown import ShortListing, keys_signature, summarise
from tpstream.scenario.tables import ScenarioKeys, fields_of_table, plain, read_table
from tpstream.scenario.trial_checks import TrialBuilder
from tpstream.scenario.warnings import find_warnings
from tpstream.timing.kinds import REGULAR, build_timing, is_absent
from tpstream.timing.losses import can_lose
from tpstream.timing.pipeline import visit_faults

__all__ = ["PolicyChoice", "Scenario"]


TOLERANCE = 1e-9
"""How far `default_reward` may exceed its bound by rounding, as a share of the bound."""


class Scenario(Displayed, ScenarioKeys, metaclass=ShortListing):
    """A world (horizon, span, rewards, arms) and the policies to try in it; what a scenario file says.

    Two scenarios are equal if they say the same, with defaults filled in. A scenario cannot be changed; `with_` makes a
    changed copy.

    Parameters
    ----------
    **keys
        The keys of a scenario file, tables as dictionaries and lists of tables as lists. These are needed:

        - `name`: what the scenario is called in results;
        - `horizon`, `span`: the rounds, and the rounds over which a pull pays (a trace implies its span);
        - `rewards`: a dictionary with a `kind`, as in `{"kind": "smooth-beta", "groups": 10}`;
        - `arms`: a list of dictionaries, as in `[{"name": "low", "maximum": 100}]`.

        These may be left out: `seed`, `drain`, `policies`, `delays`, `arrivals`, `resources`, `window`,
        `default_reward`, `reveal` and `trial`. `tpstream schema` describes every key, and `tpstream list rewards` the
        kinds.

    Raises
    ------
    ScenarioError
        If a key is unknown, missing or has an impossible value, or if keys do not fit together.

    Examples
    --------
    >>> scenario = Scenario(
    ...     name="two-prices",
    ...     horizon=2000,
    ...     span=30,
    ...     rewards={"kind": "smooth-beta", "groups": 10},
    ...     arms=[{"name": "low", "maximum": 100}, {"name": "high", "maximum": 140}],
    ... )
    >>> scenario.problem().means
    array([50., 70.])
    >>> scenario.with_(horizon=0)
    Traceback (most recent call last):
    tpstream.model.errors.ScenarioError: horizon: must be at least 1, got 0
    """

    _folder: Path = PrivateAttr(Path())
    _source: str | None = PrivateAttr(None)
    _settings: dict[str, Any] = PrivateAttr(default_factory=dict)

    def __init__(self, **keys: Any) -> None:
        self._take(keys, Path(), None)
        self.check()

    @classmethod
    def load(cls, path: "str | Path | Mapping[str, Any] | Scenario") -> "Scenario":
        """The scenario of a TOML file, of one that ships with tpstream, or of a dictionary.

        Parameters
        ----------
        path
            The file, the name of a shipped scenario, or a dictionary of the keys of a file; a Scenario is returned as
            it is.

        Returns
        -------
        Scenario
            The checked scenario; relative file names in it start in the folder of the file.

        Raises
        ------
        ScenarioError
            If there is no such file, or if what it says cannot be used; the message names the file and the key.

        Examples
        --------
        >>> Scenario.load("setting-1").span
        100
        """
        if isinstance(path, Scenario):
            return path
        if isinstance(path, Mapping):
            return cls.parse(path)
        file = find_file(path)
        return cls.parse(read_toml(file), file.parent, source=str(file))

    @classmethod
    def parse(
        cls, keys: Mapping[str, Any], folder: str | Path = ".", *, source: str | None = None, check: bool = True
    ) -> Self:
        """The scenario of a mapping such as a TOML file gives; relative file names in it start in `folder`.

        `source` is the file that errors name. Without `check` the rewards and delays are not built to see that all keys
        fit together, so that recorded ones need not be there.
        """
        scenario = cls.__new__(cls)
        scenario._take(keys, Path(folder), source)  # noqa: SLF001 (its own)
        if check:
            scenario.check()
        return scenario

    def _take(self, keys: Mapping[str, Any], folder: Path, source: str | None) -> None:
        """Validate the keys into this object."""
        with errors_in(source):
            table = plain(keys)
            span = None if "span" in table else implied_span(table.get("rewards"), folder)
            if "span" not in table and isinstance(table.get("visits"), list):
                span = len(table["visits"])
            if span is not None:
                table["span"] = span
            try:
                self.__pydantic_validator__.validate_python(table, self_instance=self)
            except ValidationError as error:
                raise ScenarioError(describe_error(error, lambda location: fields_at(table, location))) from None
        self._folder, self._source = folder, source

    @property
    def folder(self) -> Path:
        """Where relative file names start."""
        return self._folder

    @property
    def source(self) -> str | None:
        """The file that the scenario comes from, as errors name it."""
        return self._source

    @property
    def settings(self) -> Mapping[str, Any]:
        """What was changed since the file was read, by path, as `--set` takes it; needed to repeat a failed run."""
        return self._settings

    def noted(self, settings: Mapping[str, Any]) -> Self:
        """The same scenario, with these changes, which were made already, noted in its `settings`."""
        scenario = self.model_copy()
        scenario._settings = {**self._settings, **settings}  # noqa: SLF001 (its own)
        return scenario

    def check(self) -> None:
        """Raise unless everything fits together: rewards and timing can be built, the listed policies chosen."""
        faults = list(self._faults())
        if faults:
            with errors_in(self._source):
                raise ScenarioError(together(faults))

    def _faults(self) -> Iterator[str]:
        """What does not fit together; what depends on the rewards is not looked at if those cannot be built."""
        if self.visits is not None or self.visit_spread:
            yield from visit_faults(self.visits, self.span, self.visit_spread)
        if self.reveal != "all" and self.window is None:
            yield f'reveal: "{self.reveal}" needs a window, at the end of which a pull is closed; set window'
        if self.horizon < len(self.arms):
            yield f"horizon: must be at least the number of arms, {len(self.arms)}, got {self.horizon}"
        try:
            problem = self._problem
        except TpstreamError as error:
            yield str(error)
        else:
            yield from self._faults_with(problem)
        try:
            _ = self._timing
        except TpstreamError as error:
            yield str(error)

    def _faults_with(self, problem: Problem) -> Iterator[str]:
        """What does not fit to the maxima and groups of the rewards."""
        most = float(np.nan_to_num(problem.maxima, nan=np.inf).min()) / self.span
        if self.default_reward is not None and self.default_reward > most * (1 + TOLERANCE):
            yield (
                f"default_reward: {self.default_reward:g} for each of {self.span} parts is more than an arm's "
                f"maximum; give at most {most:g}"
            )
        if self.trial is not None:
            faults = list(self._trial.faults())
            if self.default_reward is not None:
                faults.append("default_reward: trial.dropouts says what a missing part counts; leave it out")
            yield from faults
            problem = problem if faults else self._problem_of_trial.heard()
        for number, table in enumerate(self.policies):
            try:
                assumed_groups(table, problem)
            except PolicyError as error:
                yield f"policies[{number}].groups: {str(error).removeprefix('groups = ')}"

    def resolved(self) -> dict[str, Any]:
        """Everything the scenario says as plain JSON values, defaults filled in; `parse` makes an equal one of it.

        What is about time is left out where it is as in the paper's world.
        """
        keys = self._keys()
        pairs = zip(self.delays, keys["delays"], strict=True)
        keys["delays"] = [delay for table, delay in pairs if not is_absent(table)]
        regular = read_table("arrivals", REGULAR).model_dump(mode="json")
        usual = {"delays": [], "arrivals": regular, "resources": {}, "opening_hours": {}, "visit_spread": 0.0}
        usual |= {"reveal": "all"}
        usual |= dict.fromkeys(("currency", "time_unit", "start", "visits", "window", "default_reward", "trial"))
        return {key: value for key, value in keys.items() if key not in usual or value != usual[key]}

    def _keys(self) -> dict[str, Any]:
        """All keys as plain JSON values, with every delay at its place; errors count those that do nothing, too."""
        keys = self.model_dump(mode="json", serialize_as_any=True)
        if self.trial is not None and self.trial.decider() is not None:
            keys["policies"] = []  # they follow from the trial's allocation
        return keys

    def with_(self, **changes: Any) -> Self:
        """A changed copy.

        Parameters
        ----------
        **changes
            Keys of a scenario file with their new values, tables as a whole.

        Returns
        -------
        Scenario
            The changed scenario, checked anew.

        Raises
        ------
        ScenarioError
            If a key is unknown or its value cannot be used.

        Examples
        --------
        >>> Scenario.load("setting-1").with_(horizon=500).horizon
        500
        """
        keys = self._keys()
        if "visits" in changes and "span" not in changes:
            del keys["span"]
        scenario = self.parse({**keys, **changes}, self._folder, source=self._source)
        scenario._settings = self._settings  # noqa: SLF001 (its own)
        return scenario

    def problem(self) -> Problem:
        """What a policy is told about the world before the first round, with the true means of the arms.

        A policy that may not know the means is told `problem().without_means()`, and in a trial what it hears is the
        endpoint, `problem().heard()`.
        """
        with errors_in(self._source):
            return self._problem if self.trial is None else self._problem_of_trial

    @cached_property
    def _problem(self) -> Problem:
        rewards = build_rewards(self.rewards, self.arms, self._context)
        return Problem(
            names=tuple(arm.name for arm in self.arms),
            maxima=np.array([np.nan if arm.maximum is None else arm.maximum for arm in rewards.arms], dtype=np.float64),
            span=self.span,
            horizon=self.horizon,
            groups=rewards.groups,
            means=np.array([arm.mean for arm in rewards.arms], dtype=np.float64),
            signed=rewards.signed,
            reveal=self.reveal,
        )

    @cached_property
    def _problem_of_trial(self) -> Problem:
        return replace(self._problem, endpoint=self._trial.endpoint())

    def design(self) -> Design | None:
        """The design of the trial, as the table `[trial]` describes it; None if there is none."""
        return None if self.trial is None else self._design

    @cached_property
    def _design(self) -> Design:
        return self._trial.design()

    @cached_property
    def _trial(self) -> TrialBuilder:
        assert self.trial is not None  # noqa: S101 (asked before)
        visits = np.array(self.visits or range(self.span), dtype=np.float64)
        timing = self._timing
        return TrialBuilder(
            self.trial,
            self._problem,
            self.build_rewards(),
            timing.arrivals,
            visits,
            survival=self.rewards.kind == "survival",
            drain=self.drain,
            loses=timing.reveal != "closed" and can_lose(timing),
        )

    @property
    def means(self) -> Floats:
        """The true mean of every arm's cumulative reward."""
        return cast("Floats", self.problem().means)

    @property
    def money(self) -> str | None:
        """How amounts of money are written: the currency, empty if a price model is given none; None if not money."""
        return money_unit(self.currency, self.rewards.kind)

    @property
    def round_title(self) -> str:
        """The title of an axis of rounds, with the time that one takes if that is known."""
        return (
            "round" if self.time_unit is None else round_title(self.time_unit, regular=self.timing().arrivals.regular)
        )

    def timing(self) -> Timing:
        """Delays, arrivals, resources and window, to be asked about, e.g. whether parts arrive at whole times.

        It is built once. Runs do not use it: `build_world` builds one for each.
        """
        with errors_in(self._source):
            return self._timing

    @cached_property
    def _timing(self) -> Timing:
        return self._new_timing()

    def _new_timing(self) -> Timing:
        try:
            context = replace(self._context, maxima=self._problem.maxima.tolist())
        except TpstreamError:  # rewards that cannot be built are a fault of their own
            context = self._context
        return build_timing(
            self.delays,
            self.arrivals,
            context,
            self.window,
            self.default_reward,
            visit_spread=self.visit_spread,
            reveal=self.reveal,
            opening=self.opening_hours,
        )

    def build_rewards(self) -> Rewards:
        """A new reward model."""
        with errors_in(self._source):
            return build_rewards(self.rewards, self.arms, self._context)

    def build_timing(self) -> Timing:
        """New delays and arrivals, with resources and window."""
        with errors_in(self._source):
            return self._new_timing()

    def build_world(self, seed: int, run: int) -> World:
        """All that an engine needs for one run, besides a policy; `run` counts the runs of a seed, from 0.

        Rewards, delays and arrivals are built anew, so that the state of a user-written one cannot pass from one run to
        another; files are read again only if they changed. Policies of one run share the rewards and sampled delays,
        and each has arrivals and process delays of its own, from `build_timing`.
        """
        return World(self.problem(), self.build_rewards(), seed, run, self.drain, self.build_timing())

    @property
    def _context(self) -> BuildContext:
        names = [arm.name for arm in self.arms]
        return BuildContext(
            names,
            self.span,
            self._folder,
            self.horizon,
            self.resources,
            visits=self.visits or (),
            time_unit=self.time_unit,
            start=self.start,
        )

    def policy(self, spec: PolicySpec) -> PolicyChoice:
        """The policy that is meant, as it runs in this scenario.

        Parameters
        ----------
        spec
            The label or kind of a listed policy, another kind with parameters as in "tp-ucb-fr:groups=50",
            "module:Name", a dictionary as in `{"kind": "tp-ucb-fr", "groups": 50}`, or a SharedPolicy or PythonPolicy.

        Returns
        -------
        PolicyChoice
            Its label, its form and its parameters, none of which is left open.

        Raises
        ------
        PolicyError
            If parameters are impossible, or if several listed policies are of that kind.
        UnknownNameError
            If there is no policy of that name.

        Examples
        --------
        >>> Scenario.load("setting-1").policy("tp-ucb-fr:groups=50").parameters.groups
        50
        """
        return request_policy(spec, self.policies).choose(self.problem(), self._folder)

    def choices(self) -> list[PolicyChoice]:
        """All listed policies; the four of the paper if none is listed."""
        return [request.choose(self.problem(), self._folder) for request in request_policies(self.policies)]

    def warnings(self, policies: Sequence[PolicySpec] | None = None) -> list[str]:
        """What is possible but probably not meant, such as parts that are never credited, with figures.

        It is found by drawing 256 pulls of every arm, as run 0 draws them.

        Parameters
        ----------
        policies
            The policies that are going to run; by default the listed ones.

        Returns
        -------
        list of str
            A sentence for each; none if nothing is noticed.

        Raises
        ------
        TpstreamError
            If a policy cannot be used here.

        Examples
        --------
        >>> Scenario.load("setting-1").warnings()
        []
        >>> Scenario.load("setting-1").with_(window=3).warnings(["tp-ucb-ew"])[0].partition(":")[0]
        '96 of 100 parts are never credited in 2,560 drawn pulls'
        """
        requests = request_policies(self.policies, policies)
        choices = [one.choose(self.problem(), self._folder) for one in requests]
        if self.timing().plain and (self.drain or self.horizon >= self.span):  # no part can be lost or never credited
            return list(self.build_rewards().warnings)
        return find_warnings(self.build_world(self.seed, 0), choices, self.time_unit, self.design())

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *type(self).model_fields})

    def __str__(self) -> str:
        return repr(self)

    def _summary(self) -> Summary:
        return summarise(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.resolved() == other.resolved()

    def __hash__(self) -> int:
        return hash((self.name, self.horizon, self.span, self.seed))

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes read it again: the models of its tables are made for its kinds and cannot be imported."""
        return _restore, (loaded_plugins(), self._keys(), self._folder, self._source)


Scenario.__signature__ = keys_signature(Scenario)


def _restore(plugins: tuple[Plugin, ...], keys: Mapping[str, Any], folder: Path, source: str | None) -> Scenario:
    load_elsewhere(plugins)
    return Scenario.parse(keys, folder, source=source, check=False)


def fields_at(keys: Mapping[str, Any], location: Location) -> Fields:
    """The known keys of the table at that place of a scenario."""
    return fields_of_table(keys, location) if location else Scenario.model_fields
