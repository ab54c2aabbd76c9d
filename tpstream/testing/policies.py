"""The check of policies, in both forms."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tpstream.engines.compiled_engine import CompiledEngine
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import timing_obstacle
from tpstream.model.arrays import Floats
from tpstream.model.events import Events, Kind
from tpstream.model.interfaces import Policy, Rewards, TimedPolicy
from tpstream.model.random_streams import Purpose, open_stream
from tpstream.model.world import World
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, PolicyForm, SharedPolicy
from tpstream.policies.runner import start_policy
from tpstream.replay.replay import Follower
from tpstream.scenario.policy_choice import complete
from tpstream.scenario.scenario import Scenario
from tpstream.testing.probe import Subject, subject_of
from tpstream.testing.runs import SimulatedRun, difference, run_compiled, run_simpy

LOSSES = [{"kind": "geometric", "p": 0.4}, {"kind": "missing", "p": 0.2}, {"kind": "dropout", "mean": 10.0}]
WORLDS: Mapping[str, Mapping[str, Any]] = {
    "in the paper's world": {},
    "with parts out of order": {"delays": [{"kind": "geometric", "p": 0.3}]},
    "with lost parts": {"delays": LOSSES, "window": 9.0},
    "with lost parts that count as something": {"delays": LOSSES, "window": 9.0, "default_reward": 0.5},
    "with everything at once": {"delays": [{"kind": "lump", "at": 30}]},
    "with real-valued times": {
        "arrivals": {"kind": "poisson", "rate": 2.0},
        "delays": [{"kind": "weibull", "shape": 1.5, "scale": 3.0}],
    },
    "with one arm": {"arms": [{"maximum": 5.0}]},
}
"""Changes of a small scenario, by what errors call the world."""


def check_policy(form: PolicyForm | str, parameters: Mapping[str, Any] | None = None) -> None:
    """Raise unless a policy keeps what it promises, with these parameters.

    It decides for arms that exist, in worlds with parts out of order, lost or at any time; the same in both engines and
    in replay; the same from the same stream, and no other randomness; by what was delivered and nothing else; and it
    changes nothing that it was given.
    """
    subject = subject_of(POLICIES, form, None)
    if not isinstance(subject.definition, PolicyForm):
        subject.fail(f"is a {type(subject.definition).__name__}; give a SharedPolicy or a PythonPolicy")
    with subject.watched():
        subject.settings(subject.definition.parameters, parameters)
        for where in WORLDS:
            _check_world(subject, where, *_place(subject, where, parameters))
        _check_foresight(subject, *_place(subject, "with parts out of order", parameters))


def _keys() -> dict[str, Any]:
    return {
        "name": "conformance",
        "horizon": 90,
        "span": 6,
        "seed": 5,
        "drain": True,
        "rewards": {"kind": "smooth-beta", "groups": 3, "spread": "random"},
        "arms": [{"maximum": 10.0}, {"maximum": 20.0}, {"maximum": 15.0}],
    }


def _place(subject: Subject, where: str, parameters: Mapping[str, Any] | None) -> tuple[World, Parameters]:
    """One of the worlds, and the policy's parameters in it."""
    scenario = Scenario(**{**_keys(), **WORLDS[where]})
    chosen = complete(subject.name, subject.definition, dict(parameters or {}), scenario.problem())
    return scenario.build_world(scenario.seed, 0), chosen.parameters


def _check_world(subject: Subject, where: str, world: World, parameters: Parameters) -> None:
    form = subject.definition
    outcome = _run_watched(subject, where, world, parameters)
    fault = difference(outcome, run_simpy(world, form, parameters, indices=True))
    if fault:
        subject.fail(f"{where}, two runs with the same seed differ: {fault}")
    _check_replay(subject, where, world, parameters, outcome)
    if isinstance(form, SharedPolicy) and timing_obstacle(world.timing) is None:
        _check_engines(subject, where, world, parameters, outcome)


def _check_engines(subject: Subject, where: str, world: World, parameters: Parameters, outcome: SimulatedRun) -> None:
    """The compiled engine, with a log and without, does what SimPy does; also if another run comes in between."""
    form = subject.definition
    waiting = CompiledEngine(world, form, parameters, DrawsReader(Draws(world)), form.name)
    fault = difference(outcome, run_compiled(world, form, parameters, indices=True))
    if fault:
        subject.fail(f"{where}, the engines differ, SimPy first: {fault}")
    arms = np.concatenate([stretch.copy() for stretch in waiting.round_batches()])
    if not np.array_equal(arms, outcome.arms):
        round = int(np.argmax(arms != outcome.arms)) + 1
        subject.fail(f"{where}, it decides differently in round {round} beside another run, or without a log")


class Watched:
    """A policy whose doings are looked at."""

    def __init__(self, subject: Subject, where: str, policy: Policy, arms: int) -> None:
        self._subject, self._where, self._policy, self._arms = subject, where, policy, arms

    def hear(self, events: Events) -> None:
        """Let it hear; the events must be the same afterwards."""
        before = events.take(np.arange(len(events)))
        self._policy.hear(events)
        after = events.take(slice(None))
        for name in ("seq", "time", "kind", "round", "pull", "arm", "part", "value"):
            column = getattr(before, name)
            if not np.array_equal(column, getattr(after, name), equal_nan=column.dtype.kind == "f"):
                self._subject.fail(f"{self._where}, it changes the column {name} of the events that it hears")

    def set_clock(self, time: float) -> None:
        """Tell it the time of its next decision, if it wants to know."""
        if isinstance(self._policy, TimedPolicy):
            self._policy.set_clock(time)

    def decide(self, round: int) -> int:
        """Let it decide."""
        return self._policy.decide(round)

    def indices(self) -> Floats:
        """Its indices, one for each arm."""
        indices = self._policy.indices()
        if not isinstance(indices, np.ndarray) or indices.shape != (self._arms,) or indices.dtype != np.float64:
            self._subject.fail(f"{self._where}, indices must be float64 of shape ({self._arms},), got {indices!r}")
        return indices


def _run_watched(subject: Subject, where: str, world: World, parameters: Parameters) -> SimulatedRun:
    form, problem = subject.definition, world.problem
    told = replace(problem, maxima=problem.maxima.copy(), means=copy_of(problem.means))
    policy = start_policy(form, told, parameters, open_stream(world.seed, world.run, Purpose.POLICY))
    outcome = run_simpy(world, form, parameters, policy=Watched(subject, where, policy, problem.arms), indices=True)
    if not (np.array_equal(told.maxima, problem.maxima) and np.array_equal(told.means, problem.means)):  # type: ignore[arg-type]
        subject.fail(f"{where}, it changes the problem that it is told; copy its arrays")
    return outcome


def copy_of(values: Floats | None) -> Floats | None:
    """The values in memory of their own."""
    return None if values is None else values.copy()


def _check_replay(subject: Subject, where: str, world: World, parameters: Parameters, outcome: SimulatedRun) -> None:
    form = subject.definition
    policy = start_policy(form, world.problem, parameters, open_stream(world.seed, world.run, Purpose.POLICY))
    follower = Follower(policy, clairvoyant=form.clairvoyant)
    divergence = follower.follow(outcome.events) or follower.finish()
    if divergence is not None:
        subject.fail(
            f"{where}, replay decides for arm {divergence.decided} in round {divergence.round}, the run for "
            f"{divergence.logged}"
        )


class TableArm:
    """An arm whose n-th pull pays the n-th row."""

    def __init__(self, rows: Floats, mean: float, maximum: float) -> None:
        self.rows, self.mean, self.maximum = rows, mean, maximum

    def recorded(self, first: int, pulls: int) -> Floats:
        """The next rows."""
        return self.rows[first : first + pulls].copy()

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """A table is read, not drawn."""
        raise NotImplementedError


def _check_foresight(subject: Subject, world: World, parameters: Parameters) -> None:
    """Decisions up to a round are the same if whatever is delivered after it is another; totals at the pull aside."""
    form, horizon = subject.definition, world.problem.horizon
    if form.clairvoyant:
        return
    streams = [open_stream(world.seed, world.run, Purpose.REWARDS, arm) for arm in range(world.problem.arms)]
    tables = [arm.sample(stream, horizon) for arm, stream in zip(world.rewards.arms, streams, strict=True)]
    one = run_simpy(_with_tables(world, tables), form, parameters)
    for round in (horizon // 3, horizon // 2):
        other = run_simpy(_with_tables(world, _changed(tables, one, round)), form, parameters)
        if not np.array_equal(one.arms[:round], other.arms[:round]):
            parting = int(np.argmax(one.arms[:round] != other.arms[:round])) + 1
            subject.fail(
                f"decides differently in round {parting} if only what arrives from round {round} on is another"
            )


def _with_tables(world: World, tables: list[Floats]) -> World:
    arms = [TableArm(rows, arm.mean, arm.maximum) for rows, arm in zip(tables, world.rewards.arms, strict=True)]
    return replace(world, rewards=Rewards(arms, world.rewards.groups))


def _changed(tables: list[Floats], outcome: SimulatedRun, round: int) -> list[Floats]:
    """Half as much for every part that the decision of that round has not heard of."""
    events, changed = outcome.events, [rows / 2 for rows in tables]
    moment = float(events.time[np.flatnonzero(events.kind == Kind.PULL)[round - 1]])
    number = [int(np.count_nonzero(outcome.arms[:pull] == arm)) for pull, arm in enumerate(outcome.arms)]
    heard = (events.kind == Kind.PARTIAL) & (events.time < moment)
    for pull, part in zip(events.pull[heard].tolist(), events.part[heard].tolist(), strict=True):
        arm, row = int(outcome.arms[pull - 1]), number[pull - 1]
        changed[arm][row, part - 1] = tables[arm][row, part - 1]
    return changed
