"""Replay and what-if: a log is told to a policy again, or its world is run again under another policy.

Both go one way: open the log, find the policy, build the world that the header describes, audit the events, compare.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from tpstream.analysis.regret import regret_by_round
from tpstream.figures.style import policy_colours
from tpstream.log.reader import Log, read_log
from tpstream.log.schema import Header
from tpstream.model.arrays import Floats, Ints
from tpstream.model.display import Curve, Displayed, Summary, counted, number_text
from tpstream.model.errors import LogError, ScenarioError, TpstreamError, UnknownNameError
from tpstream.model.events import Kind
from tpstream.model.world import Purpose, open_stream
from tpstream.policies.runner import start_policy
from tpstream.replay.audit import audited
from tpstream.replay.follow import Divergence, follow, whole_rounds
from tpstream.replay.looks import LookAudit, cleaning_time
from tpstream.run.simulate import simulate
from tpstream.scenario.policy_choice import PolicyChoice, PolicyRequest, PolicySpec, request_policy
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import PolicyTable, find_policy, read_policies

__all__ = ["Divergence", "Replay", "WhatIf", "is_own", "replay", "what_if"]


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Displayed):
    """What a replay found: all decisions are equal, or the first one that is not.

    Get one from `replay`, which has an example.

    Parameters
    ----------
    log, policy
        The log's file and the label of the policy that was told its events.
    rounds
        The number of decisions that were compared; the last one is the divergence, if there is one.
    divergence
        The first decision that is not the logged one; None if all are equal.
    complete
        Whether the log is of a run that came to its end.
    notes
        What a reader of the result should know: where the log is torn, why its values were not drawn again.
    looks
        The looks of a trial that were computed again; all are equal.
    """

    log: str
    policy: str
    rounds: int
    divergence: Divergence | None
    complete: bool
    notes: tuple[str, ...]
    looks: int = 0

    @property
    def equal(self) -> bool:
        """Whether every decision is the logged one."""
        return self.divergence is None

    def _summary(self) -> Summary:
        facts = [f"log {self.log}", *([] if self.complete else ["the run did not come to its end"])]
        facts += [f"{counted(self.looks, 'look')} computed again, all equal"] if self.looks else []
        title = f"Replay under {self.policy}"
        found = self.divergence
        if found is None:
            return Summary(f"{title}: {counted(self.rounds, 'decision')}, all equal", facts, notes=self.notes)
        return Summary(
            f"{title}: differs in round {found.round:,}",
            [f"{counted(self.rounds - 1, 'decision')} before it are equal", *facts],
            found.rows(),
            self.notes,
        )


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf(Displayed):
    """Another policy in the world of a log, on the same random numbers, next to the logged one.

    Get one from `what_if`, which has an example.

    Parameters
    ----------
    log, policy, other
        The log's file, the label of its policy and that of the other.
    arms, other_arms
        The arm of every round, of the logged policy and of the other.
    regret, other_regret
        The cumulative pseudo-regret after every round, of the logged policy and of the other.
    notes
        What a reader of the result should know, such as where the log is torn.
    """

    log: str
    policy: str
    other: str
    arms: Ints
    other_arms: Ints
    regret: Floats
    other_regret: Floats
    notes: tuple[str, ...]

    @property
    def rounds(self) -> int:
        """The number of rounds that are compared."""
        return len(self.arms)

    @property
    def difference(self) -> float:
        """The other's final regret minus the logged one's: negative if the other would have done better."""
        return float(self.other_regret[-1] - self.regret[-1]) if self.rounds else 0.0

    @property
    def parting(self) -> int | None:
        """The first round in which they decide differently."""
        apart = np.flatnonzero(self.arms != self.other_arms)
        return int(apart[0]) + 1 if len(apart) else None

    @property
    def common(self) -> float:
        """The share of rounds in which they decide for the same arm."""
        return float(np.mean(self.arms == self.other_arms)) if self.rounds else 1.0

    def frame(self) -> pd.DataFrame:
        """The comparison as a DataFrame: both policies round by round."""
        columns = {
            "round": np.arange(1, self.rounds + 1),
            "arm": self.arms,
            "other_arm": self.other_arms,
            "regret": self.regret,
            "other_regret": self.other_regret,
            "difference": self.other_regret - self.regret,
        }
        return pd.DataFrame(columns)

    def _summary(self) -> Summary:
        curves, rounds = {self.policy: self.regret, self.other: self.other_regret}, np.arange(1, self.rounds + 1)
        finals = {policy: number_text(curve[-1]) if self.rounds else "none" for policy, curve in curves.items()}
        colours = policy_colours(curves)
        parted = "all decisions are equal" if self.parting is None else f"apart from round {self.parting:,} on"
        return Summary(
            f"What if {self.other} had decided instead of {self.policy}: {counted(self.rounds, 'round')}",
            [f"log {self.log}", f"the same arm in {self.common:.0%} of the rounds", parted],
            [{"policy": policy, "regret": final} for policy, final in finals.items()],
            self.notes,
            {policy: Curve(rounds, curve, colours[policy]) for policy, curve in curves.items()},
            ("round", "pseudo-regret"),
        )


def replay(
    log: Log | str | Path, policy: PolicySpec | None = None, *, folder: str | Path = ".", redraw: bool = True
) -> Replay:
    """Tell a policy the events of a log and compare each of its decisions with the logged one.

    Parameters
    ----------
    log
        A log that holds every event: a file, or a log that is open already.
    policy
        The policy: a name, a dictionary or an object, as in `simulate`; by default the one that the header names,
        with its parameters.
    folder
        Where the file names in the header's scenario start.
    redraw
        Whether rewards are drawn again from the header's scenario and seed and compared with the logged ones; a log
        whose header has no scenario is replayed without that, and a note says so.

    Returns
    -------
    Replay
        Whether all decisions are equal, or the first one that is not.

    Raises
    ------
    LogError
        If the log cannot be read or holds only the pulls, or if an event breaks the rules of a log or pays something
        else than its scenario and seed give; the error names the first such event.
    PolicyError
        If the policy does not fit the world of the log.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, replay, simulate
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.jsonl"
    ...     run = simulate(Scenario.load("setting-1").with_(horizon=20), "uniform", log=path)
    ...     result = replay(path)
    >>> result.equal, result.rounds
    (True, 20)
    """
    log = open_log(log, "a replay")
    header, choice = log.header, find_policy_of(log, policy)
    if choice.form.clairvoyant and not header.clairvoyant:
        raise LogError(
            f"{log.path}: {choice.label} is shown totals at the pull, and this log has none; replay another policy"
        )
    scenario, reason = _rebuild(log, folder) if redraw else (None, "as asked")
    world = scenario.build_world(header.seed, header.run) if scenario else None
    stream = open_stream(header.seed, header.run, Purpose.POLICY)
    started = start_policy(choice.form, header.problem(), choice.parameters, stream)
    batches, design = whole_rounds(audited(log, world)), scenario.design() if scenario else None
    audit = None
    if design is not None and world is not None:
        audit = LookAudit(design, world)
        batches = audit.checked(batches, str(log.path), complete=log.complete)
    cleaning = cleaning_time(header)
    rounds, divergence = follow(started, batches, clairvoyant=choice.form.clairvoyant, cleaning=cleaning)
    notes = tuple(filter(None, (log.truncated, None if world else f"values were not drawn again: {reason}")))
    looks = 0 if audit is None else audit.equal
    return Replay(str(log.path), choice.label, rounds, divergence, log.complete, notes, looks)


def what_if(log: Log | str | Path, policy: PolicySpec, *, folder: str | Path = ".") -> WhatIf:
    """Run another policy in the world of a log, where the n-th pull of an arm pays the same, and compare both.

    The log is audited, its values too: otherwise the random numbers would not be the same. Of a torn log the rounds up
    to the tear are compared.

    Parameters
    ----------
    log
        A log that holds every event: a file, or a log that is open already.
    policy
        The other policy: a name, a dictionary or an object, as in `simulate`.
    folder
        Where the file names in the header's scenario start.

    Returns
    -------
    WhatIf
        The decisions and the regret of both policies.

    Raises
    ------
    LogError
        If the log cannot be read, holds only the pulls or fails the audit, or if its world cannot be built again.
    PolicyError
        If the policy does not fit the world of the log.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, simulate, what_if
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.jsonl"
    ...     run = simulate(Scenario.load("setting-1").with_(horizon=20), "uniform", log=path)
    ...     result = what_if(path, "oracle")
    >>> result.rounds, float(result.other_regret[-1]), result.difference < 0
    (20, 0.0, True)
    """
    log = open_log(log, "what-if")
    header, choice = log.header, find_policy_of(log, policy)
    scenario, reason = _rebuild(log, folder)
    if scenario is None:
        raise LogError(
            f"{log.path}: its world cannot be run again: {reason}; `tpstream replay --check` asks what the "
            f"policy decides on the events as they are"
        )
    batches = audited(log, scenario.build_world(header.seed, header.run))
    arms = np.concatenate([np.empty(0, np.int64), *(events.arm[events.kind == Kind.PULL] for events in batches)])
    other = simulate(scenario, choice, seed=header.seed, run=header.run).arms[: len(arms)]
    notes = [] if log.truncated is None else [log.truncated]
    if len(other) < len(arms):
        notes.append(
            f"under {choice.label} the trial stops after {counted(len(other), 'decision')}; compared up to there"
        )
        arms = arms[: len(other)]
    means = header.known_means()
    return WhatIf(
        log=str(log.path),
        policy=header.policy,
        other=choice.label,
        arms=arms,
        other_arms=other,
        regret=regret_by_round(arms, means),
        other_regret=regret_by_round(other, means),
        notes=tuple(notes),
    )


def is_own(log: Log, policy: PolicySpec) -> bool:
    """Whether that is the policy of the log's header, with the same parameters."""
    try:
        own = _own_policy(log)
    except LogError:
        return False
    asked = find_policy_of(log, policy)
    return (asked.form.name, asked.parameters) == (own.form.name, own.parameters)


def open_log(log: Log | str | Path, purpose: str) -> Log:
    """A log that holds every event and whose end marker counts the events that are there."""
    log = log if isinstance(log, Log) else read_log(log)
    log.require_all(purpose)
    log.require_run("there is no policy whose decisions could be repeated")
    last, end = log.reader.last, log.reader.end
    if last is not None and end is not None and end != last + 1:
        raise LogError(f"{log.path}: its end counts {end} events, but the last one has seq {last}")
    return log


def find_policy_of(log: Log, policy: PolicySpec | None) -> PolicyChoice:
    """The policy that is meant: the header's own by default or by its label, else as for the header's scenario."""
    header = log.header
    if policy is None or policy == header.policy:
        return _own_policy(log)
    if isinstance(policy, str | Mapping):
        return request_policy(policy, _listed_policies(header)).choose(header.problem())
    parameters = header.parameters if policy.name == header.kind else {}
    return PolicyRequest(policy.name, policy, parameters).choose(header.problem())


def _own_policy(log: Log) -> PolicyChoice:
    """The policy that the header names."""
    header = log.header
    try:
        form = find_policy(header.kind)
    except UnknownNameError as error:
        raise LogError(f"{log.path}: {error}; or name another policy (--policy)") from None
    return PolicyRequest(header.policy, form, header.parameters).choose(header.problem())


def _listed_policies(header: Header) -> tuple[PolicyTable, ...]:
    """The policies that the header's scenario lists, if it can be read."""
    try:
        return read_policies(header.scenario.get("policies", []))
    except (TpstreamError, ValidationError):
        return ()


def _rebuild(log: Log, folder: str | Path) -> tuple[Scenario | None, str]:
    """The scenario of the header, or None and the reason; one that contradicts the rest of the header is an error."""
    header = log.header
    if not header.scenario:
        return None, "the header has no scenario"
    try:
        scenario = Scenario.parse(header.scenario, folder, source="the header's scenario")
    except (ScenarioError, UnknownNameError) as error:
        return None, str(error)
    problem = scenario.problem()
    maxima = [None if np.isnan(maximum) else maximum for maximum in problem.maxima.tolist()]
    facts: dict[str, Any] = {"arms": list(problem.names), "maxima": maxima}
    facts |= {key: getattr(problem, key) for key in ("span", "horizon", "groups", "signed")}
    for key, built in facts.items():
        if (claimed := getattr(header, key)) != built:
            raise LogError(f"{log.path}: header: {key} is {claimed}, but its scenario gives {built}")
    if not np.allclose(header.known_means(), problem.means, rtol=1e-9, atol=0.0):  # type: ignore[arg-type]
        raise LogError(f"{log.path}: header: means are {header.means}, but its scenario gives {problem.means}")
    return scenario, ""
