"""The check of policies, in both forms: `check_policy`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.events import Events, Kind
from tpstream.model.interfaces import Policy, Rewards, TimedPolicy
from tpstream.model.world import Purpose, open_stream
from tpstream.policies import POLICIES
from tpstream.policies.base import PolicyForm, SharedPolicy
from tpstream.policies.functions import IndexCheck
from tpstream.replay.replay import follow
from tpstream.rewards.trace import SequenceArm
from tpstream.scenario.policy_choice import PolicyRequest
from tpstream.testing.runs import Case, SimulatedRun, small_scenario
from tpstream.testing.subject import Subject, watched

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

    A policy in the shared form is run uncompiled first, with every index of an array checked (`simulate(debug=True)`).
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
    with watched(POLICIES, form, None) as subject:
        if not isinstance(subject.definition, PolicyForm):
            subject.fail(f"is a {type(subject.definition).__name__}; give a SharedPolicy or a PythonPolicy")
        subject.settings(subject.definition.parameters, parameters)
        cases = [_make_case(subject, where, parameters) for where in WORLDS]
        # An index out of bounds in compiled code can end the process, so every world is run with checked ones before.
        checked = [case.run(case.start(debug=True)) if isinstance(case.form, SharedPolicy) else None for case in cases]
        for case, run in zip(cases, checked, strict=True):
            _check_world(case, run)
        _check_foresight(subject, _make_case(subject, OUT_OF_ORDER, parameters))


def _make_case(subject: Subject, where: str, parameters: Mapping[str, Any] | None) -> Case:
    """The policy in one of the worlds, which is named in a report of a fault."""
    scenario = small_scenario(**WORLDS[where])
    chosen = PolicyRequest(subject.name, subject.definition, dict(parameters or {})).choose(scenario.problem())
    world = scenario.build_world(scenario.seed, 0)
    return Case(world, chosen.form, chosen.parameters, lambda fault: subject.fail(f"{where}, {fault}"))


def _check_world(case: Case, checked: SimulatedRun | None) -> None:
    """Check runs in this world: what the policy changes, that it repeats itself, its replay, and both engines.

    `checked` is the run of a compiled policy as ordinary Python, which must be the same.
    """
    outcome = _run_watched(case)
    if checked is not None:
        case.check_equal(checked, outcome, "compiled and uncompiled it decides differently, uncompiled first")
    waiting = case.compiled_engine(indices=False) if case.compiles else None  # while another run goes on
    case.check_repeats(outcome)
    _, found = follow(case.start(), [outcome.events], clairvoyant=case.form.clairvoyant)
    if found is not None:
        case.fail(f"replay decides for arm {found.decided} in round {found.round}, the run for {found.logged}")
    if waiting is not None:
        arms = np.concatenate([batch.copy() for batch in waiting.round_batches()])
        if not np.array_equal(arms, outcome.arms):
            round = int(np.argmax(arms != outcome.arms)) + 1
            case.fail(f"it decides differently in round {round} beside another run, or without a log")


@dataclass(frozen=True)
class WatchedPolicy:
    """Hands every call on to a policy, and checks what the policy does with the events and what indices it has."""

    case: Case
    policy: Policy
    check: IndexCheck = field(default_factory=IndexCheck)
    rounds: list[int] = field(default_factory=lambda: [0])
    """The last round."""

    def hear(self, events: Events) -> None:
        """Let the policy hear the events, which must be the same afterwards."""
        before = events.take(np.arange(len(events)))
        self.policy.hear(events)
        for name, column in before.columns().items():
            if not np.array_equal(column, getattr(events, name), equal_nan=column.dtype.kind == "f"):
                self.case.fail(f"it changes the column {name} of the events that it hears")

    def set_clock(self, time: float) -> None:
        """Tell it the time of its next decision, if it wants to know."""
        if isinstance(self.policy, TimedPolicy):
            self.policy.set_clock(time)

    def decide(self, round: int) -> int:
        """The policy's decision."""
        self.rounds[0] = round
        return self.policy.decide(round)

    def indices(self) -> Floats:
        """The policy's indices, which must be numbers, one for each arm."""
        indices, arms = self.policy.indices(), self.case.world.problem.arms
        if not isinstance(indices, np.ndarray) or indices.shape != (arms,) or indices.dtype != np.float64:
            self.case.fail(f"indices must be float64 of shape ({arms},), got {indices!r}")
        fault = self.check.fault(indices, self.rounds[0])
        if fault:
            self.case.fail(fault)
        return indices


def _run_watched(case: Case) -> SimulatedRun:
    """A run under the watched policy, which must not change the problem that it is told, either."""
    problem = case.world.problem
    assert problem.means is not None  # noqa: S101 (a scenario knows its means)
    maxima, means = problem.maxima.copy(), problem.means.copy()
    told = replace(problem, maxima=maxima, means=means)
    outcome = case.run(WatchedPolicy(case, case.start(told)))
    if not (np.array_equal(maxima, problem.maxima) and np.array_equal(means, problem.means)):
        case.fail("it changes the problem that it is told; copy its arrays")
    return outcome


def _check_foresight(subject: Subject, case: Case) -> None:
    """Check that decisions up to a round stay the same if all that is delivered after it is changed.

    Clairvoyant policies are shown totals at the pull and are left out.
    """
    world, horizon = case.world, case.world.problem.horizon
    if case.form.clairvoyant:
        return
    streams = [open_stream(world.seed, world.run, Purpose.REWARDS, arm) for arm in range(world.problem.arms)]
    tables = [arm.sample(stream, horizon) for arm, stream in zip(world.rewards.arms, streams, strict=True)]
    one = _run_with_tables(case, tables)
    for round in (horizon // 3, horizon // 2):
        other = _run_with_tables(case, _halve_later(tables, one, round))
        if not np.array_equal(one.arms[:round], other.arms[:round]):
            parting = int(np.argmax(one.arms[:round] != other.arms[:round])) + 1
            subject.fail(
                f"decides differently in round {parting} if only what arrives from round {round} on is another"
            )


def _run_with_tables(case: Case, tables: list[Floats]) -> SimulatedRun:
    """A run in which the n-th pull of an arm pays the n-th row of its table."""
    rewards = case.world.rewards
    arms = [SequenceArm(rows, arm.mean, arm.maximum or np.nan) for rows, arm in zip(tables, rewards.arms, strict=True)]
    return replace(case, world=replace(case.world, rewards=Rewards(arms, rewards.groups))).run()


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
