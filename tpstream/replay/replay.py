"""Replay and what-if: a log is fed to a policy, or its world is run again under another one.

Replay: the events of a log are told to a policy, and each of its decisions is compared with the logged one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from tpstream.analysis.regret import regret_by_round
from tpstream.log.reader import Log, read_log
from tpstream.log.schema import Header, package_versions
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import LogError, ScenarioError, TpstreamError, UnknownNameError
from tpstream.model.events import Events, Kind
from tpstream.model.interfaces import Policy, TimedPolicy
from tpstream.model.random_streams import Purpose, open_stream
from tpstream.model.world import World
from tpstream.policies.base import PolicyForm
from tpstream.policies.runner import Runner, start_policy
from tpstream.replay.audit import Audit
from tpstream.run.simulate import simulate
from tpstream.scenario.policy_choice import PolicyChoice, choose, complete
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import PolicyTable, find_policy, read_policies


@dataclass(frozen=True, eq=False)
class Divergence:
    """The first decision that is not the logged one, with the policy's state at that moment."""

    round: int
    seq: int
    logged: int
    """The arm in the log."""
    decided: int
    """The arm that the policy decides for."""
    logged_indices: Floats | None
    """The index of every arm in the log, if it has them."""
    indices: Floats
    state: Any
    """The arrays of a policy in the shared form; None for another one."""


class Follower:
    """Tells a policy a log's events as the engine does: before each decision all that happened since the last one."""

    def __init__(self, policy: Policy, *, clairvoyant: bool) -> None:
        self._policy = policy
        self._clairvoyant = clairvoyant
        self._waiting: list[Events] = []
        self.rounds = 0
        """Decisions that were compared."""

    def follow(self, events: Events) -> Divergence | None:
        """Tell the next events up to the last decision among them; what follows it waits for the next one."""
        pulls = np.flatnonzero(events.kind == Kind.PULL)
        if not len(pulls):
            self._waiting.append(events)
            return None
        ready = [*self._waiting, events.cut(0, int(pulls[-1]))]
        self._waiting = [events.cut(int(pulls[-1]), len(events))]
        return self._tell(Events.join(ready))

    def finish(self) -> Divergence | None:
        """Tell what waits: the log ends here."""
        ready, self._waiting = self._waiting, []
        return self._tell(Events.join(ready)) if ready else None

    def _tell(self, events: Events) -> Divergence | None:
        told = self._as_shown(events)
        found = self._policy.follow(told) if isinstance(self._policy, Runner) else _follow(self._policy, told)
        pulls = np.flatnonzero(events.kind == Kind.PULL)
        if found is None:
            self.rounds += len(pulls)
            return None
        place, decided = found
        number = int(np.searchsorted(pulls, place))
        self.rounds += number + 1
        return Divergence(
            round=int(events.round[place]),
            seq=int(events.seq[place]),
            logged=int(events.arm[place]),
            decided=decided,
            logged_indices=None if events.indices is None else events.indices[number],
            indices=self._policy.indices(),
            state=getattr(self._policy, "state", None),
        )

    def _as_shown(self, events: Events) -> Events:
        """Without indices; and without the totals that another, clairvoyant policy was shown."""
        value = events.value
        if not self._clairvoyant:
            value = np.where(events.kind == Kind.PULL, np.nan, value)
        return replace(events, value=value, indices=None)


def _follow(policy: Policy, events: Events) -> tuple[int, int] | None:
    """What `Runner.follow` does, for a policy that is an ordinary Python object."""
    pulls = np.flatnonzero(events.kind == Kind.PULL).tolist()
    for place, following in pairwise([*pulls, len(events)]):
        if isinstance(policy, TimedPolicy):
            policy.set_clock(float(events.time[place]))
        decided = policy.decide(int(events.round[place]))
        if decided != events.arm[place]:
            return place, int(decided)
        policy.hear(events.take(slice(place, following)))
    return None


def replay_events(
    batches: Iterable[Events], audit: Audit, follower: Follower, *, complete: bool, source: object
) -> Divergence | None:
    """Feed a log to a policy; the first event that cannot be trusted is an error unless a decision diverges before."""
    for events in batches:
        sound, broken = audit.sound(events)
        divergence = follower.follow(sound)
        if divergence is None and broken is not None:
            divergence = follower.finish()
            if divergence is None:
                raise broken.error(source)
        if divergence is not None:
            return divergence
    divergence = follower.finish()
    broken = audit.at_end(complete=complete)
    if divergence is None and broken is not None:
        raise broken.error(source)
    return divergence


__all__ = ["Divergence", "Replay", "WhatIf", "is_own", "replay", "what_if"]


@dataclass(frozen=True, eq=False)
class Replay:
    """What a replay found: all decisions are equal, or the first one that is not."""

    log: str
    policy: str
    rounds: int
    """Decisions that were compared; the last one is the divergence, if there is one."""
    divergence: Divergence | None
    complete: bool
    """Whether the log is of a run that came to its end."""
    notes: tuple[str, ...]
    """What the reader of the result should know: where the log is torn, whether its values were drawn again."""

    @property
    def equal(self) -> bool:
        """Whether every decision is the logged one."""
        return self.divergence is None


@dataclass(frozen=True, eq=False)
class WhatIf:
    """Another policy in the world of a log, on the same random numbers, next to the logged one."""

    log: str
    policy: str
    other: str
    arms: Ints
    """The logged arm of every round."""
    other_arms: Ints
    regret: Floats
    """The logged policy's cumulative pseudo-regret after every round."""
    other_regret: Floats
    notes: tuple[str, ...]

    @property
    def rounds(self) -> int:
        """How many rounds are compared."""
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
        """Both policies round by round."""
        columns = {
            "round": np.arange(1, self.rounds + 1),
            "arm": self.arms,
            "other_arm": self.other_arms,
            "regret": self.regret,
            "other_regret": self.other_regret,
            "difference": self.other_regret - self.regret,
        }
        return pd.DataFrame(columns)


def replay(
    log: Log | str | Path, policy: str | PolicyForm | None = None, *, folder: str | Path = ".", redraw: bool = True
) -> Replay:
    """Feed a log to a policy (default: the one that its header names) and compare every decision.

    A log that breaks the contract of its schema is a LogError that names the first offending event. Values are drawn
    again and compared if the header has a scenario, unless `redraw` is false; `folder` is where file names in it start.
    """
    log = log if isinstance(log, Log) else read_log(log)
    log.require_all("a replay")
    _check_end(log)
    header, choice = log.header, choose_for(log, policy)
    form = choice.form
    if form.clairvoyant and not header.clairvoyant:
        raise LogError(
            f"{log.path}: {choice.label} is shown totals at the pull, and this log has none; replay another policy"
        )
    world, reason = rebuild_world(log, folder) if redraw else (None, "as asked")
    problem = header.problem()
    stream = open_stream(header.seed, header.run, Purpose.POLICY)
    follower = Follower(start_policy(form, problem, choice.parameters, stream), clairvoyant=form.clairvoyant)
    divergence = replay_events(
        log.batches(), Audit(header, world), follower, complete=log.complete, source=source_of(log, world)
    )
    notes = notes_on(log, None if world else reason)
    return Replay(str(log.path), choice.label, follower.rounds, divergence, log.complete, notes)


def what_if(log: Log | str | Path, policy: str | PolicyForm, *, folder: str | Path = ".") -> WhatIf:
    """Run another policy in the world of a log, where the n-th pull of an arm pays the same, and compare both.

    The log is checked on the way, its values too: otherwise the random numbers would not be the same. Of a torn log the
    rounds up to the tear are compared.
    """
    log = log if isinstance(log, Log) else read_log(log)
    log.require_all("what-if")
    _check_end(log)
    header, choice = log.header, choose_for(log, policy)
    world, reason = rebuild_world(log, folder)
    if world is None:
        raise LogError(
            f"{log.path}: its world cannot be run again: {reason}; `tpstream replay --check` asks what the "
            f"policy decides on the events as they are"
        )
    arms = logged_arms(log, world)
    scenario = scenario_of(log, folder)
    run = simulate(scenario, choice, seed=header.seed, run=header.run)
    other = run.arms[: len(arms)]
    means = np.array(header.means)
    return WhatIf(
        log=str(log.path),
        policy=header.policy,
        other=choice.label,
        arms=arms,
        other_arms=other,
        regret=regret_by_round(arms, means),
        other_regret=regret_by_round(other, means),
        notes=notes_on(log, None),
    )


def _check_end(log: Log) -> None:
    """Raise if the log's end counts other events than there are."""
    ending = log.reader.ending
    if ending.end is not None and ending.last is not None and ending.end != ending.last + 1:
        raise LogError(f"{log.path}: its end counts {ending.end} events, but the last one has seq {ending.last}")


def is_own(log: Log, policy: str | PolicyForm) -> bool:
    """Whether that is the policy of the log's header, with the same parameters."""
    try:
        own = own_choice(log)
    except LogError:
        return False
    asked = choose_for(log, policy)
    return (asked.form.name, asked.parameters) == (own.form.name, own.parameters)


def choose_for(log: Log, policy: str | PolicyForm | None) -> PolicyChoice:
    """The policy that is meant: the header's own by default or by its label, else as for the header's scenario."""
    header = log.header
    if policy is None or policy == header.policy:
        return own_choice(log)
    if isinstance(policy, str):
        return choose(policy, listed_policies(header), header.problem())
    parameters = header.parameters if policy.name == header.kind else {}
    return complete(policy.name, policy, parameters, header.problem())


def own_choice(log: Log) -> PolicyChoice:
    """The policy that the header names."""
    header = log.header
    try:
        form = find_policy(header.kind)
    except UnknownNameError as error:
        raise LogError(f"{log.path}: {error}; load it with --plugin, or name another policy (--policy)") from None
    return complete(header.policy, form, header.parameters, header.problem())


def listed_policies(header: Header) -> tuple[PolicyTable, ...]:
    """The policies that the header's scenario lists, if it can be read."""
    try:
        return read_policies(header.scenario.get("policies", []))
    except (TpstreamError, ValidationError):
        return ()


def scenario_of(log: Log, folder: str | Path) -> Scenario:
    """The scenario of the header; relative file names in it start in the folder."""
    return Scenario.parse(log.header.scenario, folder, source="the header's scenario")


def rebuild_world(log: Log, folder: str | Path) -> tuple[World | None, str]:
    """The world of a log, or none and the reason."""
    header = log.header
    if not header.scenario:
        return None, "the header has no scenario"
    try:
        scenario = scenario_of(log, folder)
    except (ScenarioError, UnknownNameError) as error:
        return None, str(error)
    problem = scenario.problem()
    told: list[tuple[str, Any, Any]] = [
        ("arms", list(problem.names), header.arms),
        ("span", problem.span, header.span),
        ("horizon", problem.horizon, header.horizon),
        ("groups", problem.groups, header.groups),
        ("maxima", problem.maxima.tolist(), header.maxima),
    ]
    for key, built, claimed in told:
        if built != claimed:
            raise LogError(f"{log.path}: header: {key} is {claimed}, but its scenario gives {built}")
    if not np.allclose(header.means, problem.means, rtol=1e-9, atol=0.0):  # type: ignore[arg-type]
        raise LogError(f"{log.path}: header: means are {header.means}, but its scenario gives {problem.means}")
    return scenario.build_world(header.seed, header.run), ""


def logged_arms(log: Log, world: World) -> Ints:
    """The arm of every round of a log that passes the audit."""
    audit, arms = Audit(log.header, world), [np.empty(0, dtype=np.int64)]
    for events in log.batches():
        _, broken = audit.sound(events)
        if broken is not None:
            raise broken.error(source_of(log, world))
        arms.append(events.arm[events.kind == Kind.PULL])
    broken = audit.at_end(complete=log.complete)
    if broken is not None:
        raise broken.error(log.path)
    return np.concatenate(arms)


def source_of(log: Log, world: World | None) -> str:
    """The log's name for errors, with the versions that may explain a value that is drawn otherwise."""
    here, there = package_versions(), log.header.versions
    others = [f"{name} {there[name]} (here {here[name]})" for name in here if there.get(name, here[name]) != here[name]]
    return f"{log.path} (written with {', '.join(others)})" if others and world is not None else str(log.path)


def notes_on(log: Log, reason: str | None) -> tuple[str, ...]:
    """What is torn, and why values were not drawn again."""
    torn = [] if log.complete else [log.truncated or "truncated"]
    return (*torn, *([] if reason is None else [f"values were not drawn again: {reason}"]))
