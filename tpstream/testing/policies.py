"""The check of policies, in both forms: `check_policy`."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn

import numpy as np

from tpstream.engines.compiled_engine import CompiledEngine
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import timing_obstacle
from tpstream.model.arrays import Floats
from tpstream.model.events import Events, Kind
from tpstream.model.interfaces import Policy, Rewards
from tpstream.model.random_streams import Purpose, open_stream
from tpstream.model.world import World
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, PolicyForm, SharedPolicy
from tpstream.replay.follow import follow
from tpstream.scenario.policy_choice import complete
from tpstream.testing.runs import SimulatedRun, difference, fresh_policy, run_compiled, run_simpy, small_scenario
from tpstream.testing.subject import Subject, subject_of

LOSSES = [{"kind": "geometric", "p": 0.4}, {"kind": "missing", "p": 0.2}, {"kind": "dropout", "mean": 10.0}]
OUT_OF_ORDER = "with parts out of order"
WORLDS: Mapping[str, Mapping[str, Any]] = {
    "in the paper's world": {},
    OUT_OF_ORDER: {"delays": [{"kind": "geometric", "p": 0.3}]},
    "with lost parts": {"delays": LOSSES, "window": 9.0},
    "with lost parts that count as something": {"delays": LOSSES, "window": 9.0, "default_reward": 0.5},
    "with everything at once": {"delays": [{"kind": "lump", "at": 30}]},
    "with real-valued times": {
        "arrivals": {"kind": "poisson", "rate": 2.0},
        "delays": [{"kind": "weibull", "shape": 1.5, "scale": 3.0}],
    },
    "with one arm": {"arms": [{"maximum": 5.0}]},
}
"""Changes of a small scenario, by what reports of faults call the world."""


def check_policy(form: PolicyForm | str, parameters: Mapping[str, Any] | None = None) -> None:
    """Check that a policy keeps what policies promise.

    It decides for arms that exist, in worlds with parts out of order, lost or at any time; it decides the same in both
    engines and in a replay; equal streams give equal decisions, and no other randomness is used; it decides by what
    was delivered and nothing else, and changes nothing that it is given.

    Parameters
    ----------
    form
        The policy, a SharedPolicy or a PythonPolicy, or its name once it is installed or loaded.
    parameters
        Its parameters, as in a `[[policies]]` table; none: the defaults.

    Raises
    ------
    AssertionError
        If the policy breaks a promise; the text says which, and in which world.

    Examples
    --------
    >>> from tpstream.testing import check_policy
    >>> check_policy("uniform")
    """
    subject = subject_of(POLICIES, form, None)
    if not isinstance(subject.definition, PolicyForm):
        subject.fail(f"is a {type(subject.definition).__name__}; give a SharedPolicy or a PythonPolicy")
    with subject.watched():
        subject.settings(subject.definition.parameters, parameters)
        for where in WORLDS:
            _check_world(_make_case(subject, where, parameters))
        _check_foresight(_make_case(subject, OUT_OF_ORDER, parameters))


@dataclass(frozen=True)
class Case:
    """A policy with its parameters in one of the worlds."""

    subject: Subject
    where: str
    form: Any
    parameters: Parameters
    world: World

    def fail(self, fault: str) -> NoReturn:
        """Raise the AssertionError that says what is wrong, and in which world."""
        self.subject.fail(f"{self.where}, {fault}")


def _make_case(subject: Subject, where: str, parameters: Mapping[str, Any] | None) -> Case:
    scenario = small_scenario(**WORLDS[where])
    chosen = complete(subject.name, subject.definition, dict(parameters or {}), scenario.problem())
    return Case(subject, where, chosen.form, chosen.parameters, scenario.build_world(scenario.seed, 0))


def _check_world(case: Case) -> None:
    """Check runs in this world: what the policy changes, that it repeats itself, its replay, and both engines."""
    outcome = _run_watched(case)
    fault = difference(outcome, run_simpy(case.world, case.form, case.parameters, indices=True))
    if fault:
        case.fail(f"two runs with the same seed differ: {fault}")
    policy = fresh_policy(case.world, case.form, case.parameters)
    _, found = follow(policy, [outcome.events], clairvoyant=case.form.clairvoyant)
    if found is not None:
        case.fail(f"replay decides for arm {found.decided} in round {found.round}, the run for {found.logged}")
    if isinstance(case.form, SharedPolicy) and timing_obstacle(case.world.timing) is None:
        _check_compiled(case, outcome)


def _check_compiled(case: Case, outcome: SimulatedRun) -> None:
    """Check that the compiled engine decides as SimPy, with a log and without, also if another run comes in between."""
    reader = DrawsReader(Draws(case.world))
    waiting = CompiledEngine(case.world, case.form, case.parameters, reader, case.form.name)
    fault = difference(outcome, run_compiled(case.world, case.form, case.parameters, indices=True))
    if fault:
        case.fail(f"the engines differ, SimPy first: {fault}")
    arms = np.concatenate([batch.copy() for batch in waiting.round_batches()])
    if not np.array_equal(arms, outcome.arms):
        round = int(np.argmax(arms != outcome.arms)) + 1
        case.fail(f"it decides differently in round {round} beside another run, or without a log")


@dataclass(frozen=True)
class WatchedPolicy:
    """Hands every call on to a policy, and checks what the policy does with the events and what indices it has."""

    case: Case
    policy: Policy

    def hear(self, events: Events) -> None:
        """Let the policy hear the events, which must be the same afterwards."""
        before = events.take(np.arange(len(events)))
        self.policy.hear(events)
        for name in (field.name for field in fields(Events) if field.name != "indices"):
            column = getattr(before, name)
            if not np.array_equal(column, getattr(events, name), equal_nan=column.dtype.kind == "f"):
                self.case.fail(f"it changes the column {name} of the events that it hears")

    def decide(self, round: int) -> int:
        """The policy's decision."""
        return self.policy.decide(round)

    def indices(self) -> Floats:
        """The policy's indices, which must be numbers, one for each arm."""
        indices, arms = self.policy.indices(), self.case.world.problem.arms
        if not isinstance(indices, np.ndarray) or indices.shape != (arms,) or indices.dtype != np.float64:
            self.case.fail(f"indices must be float64 of shape ({arms},), got {indices!r}")
        return indices


def _run_watched(case: Case) -> SimulatedRun:
    """A run under the watched policy, which must not change the problem that it is told, either."""
    problem = case.world.problem
    assert problem.means is not None  # noqa: S101 (a scenario knows its means)
    maxima, means = problem.maxima.copy(), problem.means.copy()
    told = replace(problem, maxima=maxima, means=means)
    policy = WatchedPolicy(case, fresh_policy(case.world, case.form, case.parameters, told))
    outcome = run_simpy(case.world, case.form, case.parameters, policy=policy, indices=True)
    if not (np.array_equal(maxima, problem.maxima) and np.array_equal(means, problem.means)):
        case.fail("it changes the problem that it is told; copy its arrays")
    return outcome


@dataclass(frozen=True)
class TableArm:
    """An arm whose n-th pull pays the n-th row of a table."""

    rows: Floats
    mean: float
    maximum: float

    def recorded(self, first: int, pulls: int) -> Floats:
        """The next rows."""
        return self.rows[first : first + pulls].copy()

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """Never called: what is recorded is not drawn."""
        raise NotImplementedError


def _check_foresight(case: Case) -> None:
    """Check that decisions up to a round stay the same if all that is delivered after it is changed.

    Clairvoyant policies are shown totals at the pull and are left out.
    """
    form, world, horizon = case.form, case.world, case.world.problem.horizon
    if form.clairvoyant:
        return
    streams = [open_stream(world.seed, world.run, Purpose.REWARDS, arm) for arm in range(world.problem.arms)]
    tables = [arm.sample(stream, horizon) for arm, stream in zip(world.rewards.arms, streams, strict=True)]
    one = run_simpy(_with_tables(world, tables), form, case.parameters)
    for round in (horizon // 3, horizon // 2):
        other = run_simpy(_with_tables(world, _halve_later(tables, one, round)), form, case.parameters)
        if not np.array_equal(one.arms[:round], other.arms[:round]):
            parting = int(np.argmax(one.arms[:round] != other.arms[:round])) + 1
            case.subject.fail(
                f"decides differently in round {parting} if only what arrives from round {round} on is another"
            )


def _with_tables(world: World, tables: list[Floats]) -> World:
    arms = [TableArm(rows, arm.mean, arm.maximum) for rows, arm in zip(tables, world.rewards.arms, strict=True)]
    return replace(world, rewards=Rewards(arms, world.rewards.groups))


def _halve_later(tables: list[Floats], outcome: SimulatedRun, round: int) -> list[Floats]:
    """The tables with half of the reward for every part that was not delivered before the decision of that round."""
    events, changed = outcome.events, [rows / 2 for rows in tables]
    moment = float(events.time[np.flatnonzero(events.kind == Kind.PULL)[round - 1]])
    number = [int(np.count_nonzero(outcome.arms[:pull] == arm)) for pull, arm in enumerate(outcome.arms)]
    heard = (events.kind == Kind.PARTIAL) & (events.time < moment)
    for pull, part in zip(events.pull[heard].tolist(), events.part[heard].tolist(), strict=True):
        arm, row = int(outcome.arms[pull - 1]), number[pull - 1]
        changed[arm][row, part - 1] = tables[arm][row, part - 1]
    return changed
