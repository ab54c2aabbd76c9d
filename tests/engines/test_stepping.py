"""Worlds whose decisions are made outside: the same events as in a run, step by step, in both engines."""

import os
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from parity import drawn_worlds, long_worlds, losing_worlds, real_worlds, recorded_worlds
from stepped import plain_bytes, simulated, stepped

from tpstream import Scenario
from tpstream.engines import compiled_stepped_room, stepping
from tpstream.engines.stepping import open_stepping
from tpstream.model.arrays import Ints
from tpstream.model.errors import EngineError
from tpstream.model.events import PARTIAL, Events
from tpstream.model.world import World

INTERPRETED = bool(numba.config.DISABLE_JIT)
MANY = 20 if INTERPRETED else {"search": 2000}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 100)
WORLDS = drawn_worlds() | losing_worlds() | recorded_worlds() | real_worlds()
ENGINES = ("compiled", "simpy")


def any_arms(world: World, seed: int) -> Ints:
    """Decisions at random."""
    return np.random.default_rng(seed).integers(0, world.problem.arms, world.problem.horizon)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=MANY)
@given(WORLDS, st.integers(0, 99), st.sampled_from([8192, 1]))
def test_steps_make_the_events_of_a_run(engine: str, world: World, seed: int, rows: int) -> None:
    """Every event, what is told at each step, and when each decision is due are those of a run, to the bit.

    Also where there is hardly any room for events, and if a record runs out; then the error is the same, too.
    """
    arms = any_arms(world, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stepping, "ROWS", rows)
        patch.setattr(compiled_stepped_room, "SLOTS_AT_FIRST", rows)
        assert plain_bytes(stepped(world, arms, engine)) == plain_bytes(simulated(world, arms))


@pytest.mark.parametrize("reveal", ["all", "positive"])
def test_a_step_of_many_events(reveal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where one step has far more events than there is room for: all parts come after the last decision."""
    keys = {"window": 400, "reveal": reveal, "delays": [{"kind": "lump", "at": 300}], "drain": True}
    world = Scenario.load("setting-1").with_(horizon=40, **keys).build_world(3, 1)
    arms = any_arms(world, 5)
    monkeypatch.setattr(stepping, "ROWS", 1)
    assert plain_bytes(stepped(world, arms, "compiled")) == plain_bytes(simulated(world, arms))


@settings(max_examples=6)
@given(long_worlds(), st.integers(0, 99))
def test_steps_over_blocks(world: World, seed: int) -> None:
    """The same where arms use up blocks of draws."""
    arms = any_arms(world, seed)
    assert plain_bytes(stepped(world, arms, "compiled")) == plain_bytes(simulated(world, arms))


@pytest.mark.parametrize("name", ["setting-1", "medical-trial", "e-commerce"])
def test_shipped_worlds(name: str) -> None:
    """The same in worlds that ship."""
    world = Scenario.load(name).with_(horizon=600).build_world(3, 1)
    arms = any_arms(world, 5)
    assert plain_bytes(stepped(world, arms, "compiled")) == plain_bytes(simulated(world, arms))


def test_what_was_told_cannot_be_changed() -> None:
    """The arrays of a step refuse to be written to: a log may be written from them later."""
    world = Scenario.load("setting-1").with_(horizon=10).build_world(3, 1)
    events = open_stepping(world, "compiled").pull(0)
    with pytest.raises(ValueError, match="read-only"):
        events.value[0] = 1.0


def test_a_world_cannot_be_copied() -> None:
    """A copy between two steps is refused with the remedy: compiled code would go on in the arrays of the original."""
    world = Scenario.load("setting-1").with_(horizon=10).build_world(3, 1)
    with pytest.raises(EngineError, match="a world between two steps cannot be copied; open it again"):
        deepcopy(open_stepping(world, "compiled"))


def test_the_total_of_a_pull() -> None:
    """What a pull pays in total is what its parts add up to, in both engines."""
    world = Scenario.load("setting-1").with_(horizon=10, drain=True).build_world(3, 1)
    for engine in ENGINES:
        one = open_stepping(world, engine)
        told = Events.join([one.pull(arm) for arm in (1,) * 10])
        paid = told.value[(told.kind == PARTIAL) & (told.pull == 10)]
        assert np.cumsum(paid)[-1] == one.total > 0


class Laboratory:
    """A process of a user: every part waits for one of two benches, and every third part is lost there."""

    whole = False

    def run(self, context: Any) -> Iterator[Any]:
        """Deliver the parts of a pull."""
        for due, part in context.arrivals:
            yield context.wait_until(due)
            with context.resources["bench"].request() as turn:
                yield turn
                yield context.env.timeout(round(2 * context.stream.random()) / 2)
            (context.lose if part % 3 == 0 else context.deliver)(part)


@pytest.mark.parametrize("every", [1.0, 0.25])
def test_processes_of_users(every: float) -> None:
    """Where a user's process delivers the parts, SimPy serves, with the events of a run; things happen at one time."""
    world = Scenario.load("setting-1").with_(horizon=40, arrivals={"kind": "regular", "every": every})
    built = world.build_world(3, 1)
    process = {"process": Laboratory(), "process_name": "laboratory", "resources": {"bench": 2}}
    built = replace(built, timing=replace(built.timing, **process))
    arms = any_arms(built, 5)
    assert open_stepping(built).engine == "simpy"
    assert plain_bytes(stepped(built, arms, "auto")) == plain_bytes(simulated(built, arms))
    with pytest.raises(EngineError, match="the compiled engine cannot serve: laboratory is a process"):
        open_stepping(built, "compiled")


def test_an_unknown_engine() -> None:
    """A misspelt engine gets a line with the nearest name."""
    world = Scenario.load("setting-1").build_world(3, 1)
    with pytest.raises(EngineError, match=r"unknown engine 'compield' \(did you mean 'compiled'\?\)"):
        open_stepping(world, "compield")
