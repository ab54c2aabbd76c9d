"""Scenarios: the description of a world and of the policies to try in it, from a file or from Python."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, ValidationInfo, field_validator

from tpstream.model.errors import PolicyError, ScenarioError, TpstreamError
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.world import Problem, Timing, World
from tpstream.policies.base import PolicyForm
from tpstream.rewards.base import check_rewards
from tpstream.scenario.files import find_file, read_toml
from tpstream.scenario.messages import Fields, Location, blamed, describe_error
from tpstream.scenario.plugins import Plugin, load_elsewhere, loaded_plugins
from tpstream.scenario.policy_choice import PAPER, PolicyChoice, assumed_groups, choose, choose_listed
from tpstream.scenario.tables import (
    ArmTable,
    GivenPolicies,
    GivenRewards,
    arm_table,
    find_rewards,
    plain,
    policy_table,
    read_arms,
    reward_table,
)
from tpstream.scenario.timing_tables import (
    REGULAR,
    GivenArrivals,
    GivenDelays,
    build_timing,
    dump_timing,
    timing_fields,
)

__all__ = ["PolicyChoice", "Scenario"]


TOLERANCE = 1e-9
"""How far a default may exceed its bound by rounding, as a share of the bound."""


class Scenario(BaseModel):
    """A world (horizon, span, rewards, arms) and the policies to try in it; what a scenario file says.

    In Python the keys are those of the file, tables as dicts: `Scenario(name="two-prices", horizon=2000, span=30,
    rewards={"kind": "smooth-beta", "groups": 10}, arms=[{"maximum": 100}, {"maximum": 140}])`. Two scenarios are equal
    if they say the same, with defaults filled in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(min_length=1, pattern=r"^[^/\\]+$", description="what the scenario is called in results")
    horizon: int = Field(ge=1, description="rounds, i.e. decisions")
    span: int = Field(ge=1, description="rounds over which a pull pays")
    seed: int = Field(0, ge=0, description="of all random streams")
    drain: bool = Field(default=False, description="let open pulls pay to their end after the horizon")
    rewards: GivenRewards = Field(description="how a pull pays: a kind and its settings")
    arms: tuple[ArmTable, ...] = Field(description="the options, each with the settings of the rewards' kind")
    policies: GivenPolicies = Field((), description="who decides; none listed: the four of the paper")
    delays: GivenDelays = Field((), description="when parts arrive, applied in order; none: when due")
    arrivals: GivenArrivals = Field(
        REGULAR, validate_default=True, description="when decisions are due: a kind and its settings"
    )
    resources: dict[str, Annotated[int, Field(ge=1)]] = Field({}, description="capacities of what delays share")
    window: float | None = Field(None, gt=0, allow_inf_nan=False, description="how long a pull is waited for")
    default_reward: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="what a part counts as that is missing when its pull is closed"
    )

    _folder: Path = PrivateAttr(Path())
    _source: str | None = PrivateAttr(None)
    _settings: dict[str, Any] = PrivateAttr(default_factory=dict)

    def __init__(self, **keys: Any) -> None:
        self._take(keys, Path(), None)
        self.check()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The scenario of a TOML file, or of a shipped one by its mere name, as in `Scenario.load("setting-1")`."""
        file = find_file(path)
        return cls.parse(read_toml(file), file.parent, source=str(file))

    @classmethod
    def parse(
        cls, keys: Mapping[str, Any], folder: str | Path = ".", *, source: str | None = None, check: bool = True
    ) -> Self:
        """The scenario of a mapping such as a TOML file gives; relative file names in it start in the folder.

        `source` is named in errors. Without `check` the rewards are not built, so that recorded ones need not be there.
        """
        scenario = cls.__new__(cls)
        scenario._take(keys, Path(folder), source)  # noqa: SLF001 (its own)
        if check:
            scenario.check()
        return scenario

    def _take(self, keys: Mapping[str, Any], folder: Path, source: str | None) -> None:
        """Validate the keys into this object."""
        table: dict[str, Any] = {}
        try:
            table = plain(keys)
            self.__pydantic_validator__.validate_python(table, self_instance=self)
        except ValidationError as error:
            message = describe_error(error, lambda location: fields_at(table, location))
            raise ScenarioError(prefixed(source, message)) from None
        except ScenarioError as error:
            raise ScenarioError(prefixed(source, error)) from None
        self._folder, self._source = folder, source

    @field_validator("arms", mode="plain")
    @classmethod
    def _read_arms(cls, value: object, info: ValidationInfo) -> tuple[ArmTable, ...]:
        # Without rewards the keys of an arm are not known, and there is a complaint already.
        return read_arms(value, info.data["rewards"].kind) if "rewards" in info.data else ()

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
        """What was set since the file was read and noted, by path, as `--set` takes it."""
        return self._settings

    def noted(self, settings: Mapping[str, Any]) -> Self:
        """The same with these settings noted, which were made already: they repeat a failed run."""
        scenario = self.model_copy()
        scenario._settings = {**self._settings, **settings}  # noqa: SLF001 (its own)
        return scenario

    def check(self) -> None:
        """Raise unless everything fits together: rewards and timing can be built, the listed policies chosen."""
        if self.horizon < len(self.arms):
            raise self._error(f"horizon: must be at least the number of arms, {len(self.arms)}, got {self.horizon}")
        problem = self.problem()
        self.timing()
        most = float(problem.maxima.min()) / self.span
        if self.default_reward is not None and self.default_reward > most * (1 + TOLERANCE):
            raise self._error(
                f"default_reward: {self.default_reward:g} for each of {self.span} parts is more than an arm's maximum; "
                f"give at most {most:g}"
            )
        for number, table in enumerate(self.policies):
            try:
                assumed_groups(table, problem)
            except PolicyError as error:
                raise self._error(f"policies[{number}].groups: {str(error).removeprefix('groups = ')}") from None

    def _error(self, message: object) -> ScenarioError:
        return ScenarioError(prefixed(self._source, message))

    def resolved(self) -> dict[str, Any]:
        """Everything the scenario says as plain JSON values, defaults filled in; `parse` makes an equal one of it.

        What is about time is left out where it is as in the paper's world.
        """
        rest = {key: getattr(self, key) for key in ("resources", "window", "default_reward")}
        return {
            **{key: getattr(self, key) for key in ("name", "horizon", "span", "seed", "drain")},
            "rewards": self.rewards.model_dump(mode="json"),
            "arms": [arm.model_dump(mode="json") for arm in self.arms],
            "policies": [policy.model_dump(mode="json") for policy in self.policies],
            **dump_timing(self.delays, self.arrivals),
            **{key: value for key, value in rest.items() if value not in (None, {})},
        }

    def _keys(self) -> dict[str, Any]:
        """The resolved form with every delay at its place, also those that do nothing: errors count them."""
        return {**self.resolved(), "delays": [delay.model_dump(mode="json") for delay in self.delays]}

    def with_(self, **changes: Any) -> Self:
        """A copy with other values for these keys, validated anew."""
        scenario = self.parse({**self._keys(), **changes}, self._folder, source=self._source)
        scenario._settings = self._settings  # noqa: SLF001 (its own)
        return scenario

    def build_rewards(self) -> Rewards:
        """The reward model, built once."""
        return self._rewards

    @cached_property
    def _rewards(self) -> Rewards:
        kind = self.rewards.kind
        try:
            with blamed(f"rewards.kind: {kind!r}"):
                rewards = find_rewards(kind).build(self.rewards, self.arms, self._place)
                check_rewards(rewards, self.span)
                return replace(rewards, name=f"rewards ({kind})")
        except TpstreamError as error:
            raise self._error(error) from error

    def timing(self) -> Timing:
        """Delays, arrivals, resources and window, built once."""
        return self._timing

    @cached_property
    def _timing(self) -> Timing:
        try:
            return build_timing(self.delays, self.arrivals, self._place, self.window, self.default_reward)
        except TpstreamError as error:
            raise self._error(error) from error

    @property
    def _place(self) -> BuildContext:
        return BuildContext([arm.name for arm in self.arms], self.span, self._folder, self.horizon, self.resources)

    def problem(self) -> Problem:
        """The problem with its true means; who is not entitled to them is told `problem().without_means()`."""
        rewards = self._rewards
        return Problem(
            names=tuple(arm.name for arm in self.arms),
            maxima=np.array([arm.maximum for arm in rewards.arms], dtype=np.float64),
            span=self.span,
            horizon=self.horizon,
            groups=rewards.groups,
            means=np.array([arm.mean for arm in rewards.arms], dtype=np.float64),
        )

    def build_world(self, seed: int, run: int) -> World:
        """The world of one run."""
        return World(self.problem(), self.build_rewards(), seed=seed, run=run, drain=self.drain, timing=self.timing())

    def policy(self, spec: str | PolicyForm) -> PolicyChoice:
        """The policy of that label or kind, or as in "tp-ucb-fr:groups=50", or of an object in one of the two forms."""
        return choose(spec, self.policies, self.problem())

    def choices(self) -> list[PolicyChoice]:
        """All listed policies; the four of the paper if none is listed."""
        problem = self.problem()
        if self.policies:
            return [choose_listed(table, problem) for table in self.policies]
        return [choose(kind, (), problem) for kind in PAPER]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.resolved() == other.resolved()

    def __hash__(self) -> int:
        return hash((self.name, self.horizon, self.span, self.seed))

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes read it again: the models of its tables are made for its kinds and cannot be imported."""
        return _restore, (loaded_plugins(), self._keys(), self._folder, self._source)


def _restore(plugins: tuple[Plugin, ...], keys: Mapping[str, Any], folder: Path, source: str | None) -> Scenario:
    load_elsewhere(plugins)
    return Scenario.parse(keys, folder, source=source, check=False)


def prefixed(source: str | None, message: object) -> str:
    """The message, with the file that it is about."""
    return f"{source}: {message}" if source else str(message)


def fields_at(keys: Mapping[str, Any], location: Location) -> Fields:
    """The known keys of the table at that place of a scenario."""
    match location:
        case ():
            return Scenario.model_fields
        case ("rewards",):
            return reward_table(keys["rewards"]["kind"]).model_fields
        case ("arms", int()):
            return arm_table(keys["rewards"]["kind"]).model_fields
        case ("policies", int(number)):
            return policy_table(keys["policies"][number]["kind"]).model_fields
        case ("arrivals",) | ("delays", int(), *_):
            return timing_fields(keys, location)
        case _:
            return {}
