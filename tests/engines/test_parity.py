"""Two engines, one truth: SimPy and the compiled loops give the same events, indices and decisions, bit for bit."""

import os

import numba
import numpy as np
import pytest
from families import every
from heard import HANDLERS, policy_with
from hypothesis import given, settings, strategies as st
from parity import (
    BUILTIN,
    Case,
    calls_of,
    case_of,
    cases,
    different_call,
    different_row,
    first_difference,
    lab_worlds,
    long_worlds,
    losing_worlds,
    real_worlds,
    recorded_worlds,
    replay_state,
    run_compiled,
    run_simpy,
    timed_worlds,
)
from worlds import PlainArm, table_world, world_of

from tpstream import Scenario
from tpstream.engines import compiled_real_agenda, compiled_real_next
from tpstream.model.world import World
from tpstream.policies import POLICIES
from tpstream.policies.base import GroupParameters
from tpstream.timing.pipeline import ROUNDS_PER_BATCH

SEVERAL = st.data()
INTERPRETED = bool(numba.config.DISABLE_JIT)
MANY = 40 if INTERPRETED else {"search": 5000}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 150)
"""Examples of each search: fewer as plain Python, more in `make verify`."""
AT_REAL_TIMES = MANY if INTERPRETED else max(MANY, 500)
"""Worlds at real-valued times with stages in any order: as many as this search promises (one policy, compiled once)."""
HEARING = {
    "all": tuple(HANDLERS),
    "groups": ("on_pull", "on_received", "on_group", "on_closed"),
    "losses": ("on_pull", "on_lost"),
    "parts": ("on_pull", "on_partial", "on_closed"),
    "closed": ("on_pull", "on_closed"),
    "decides": (),
}
"""Which handlers a policy may have; the loop without a log takes another way through each of them."""
EVERY = every(list(POLICIES.builtin), BUILTIN)
"""All policies; most of them only as plain Python or in `make verify`, since each would compile three loops."""
WRITING = {name: policy_with(*handlers, clairvoyant=name == "closed") for name, handlers in HEARING.items()}


@pytest.mark.slow
@pytest.mark.parametrize("policy", EVERY)
@settings(max_examples=MANY)
@given(SEVERAL)
def test_engines_agree(policy: str, data: st.DataObject) -> None:
    """Every event, index and decision of a random case is the same in all engines."""
    assert first_difference(data.draw(cases(POLICIES.find(policy)))) is None


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="would take hours")
@pytest.mark.parametrize("policy", every(list(POLICIES.builtin), ("tp-ucb-fr", "tp-ucb-ew")))
def test_engines_agree_for_long(policy: str) -> None:
    """The same for 20 000 rounds of the paper's Setting 1: some batches of rounds, many blocks and flushes."""
    scenario = Scenario.load("setting-1").with_(horizon=20_000)
    assert scenario.horizon > 4 * ROUNDS_PER_BATCH
    assert first_difference(case_of(scenario.build_world(1, 0), policy)) is None


@pytest.mark.parametrize("policy", EVERY)
@settings(max_examples=6)
@given(SEVERAL)
def test_engines_agree_over_blocks(policy: str, data: st.DataObject) -> None:
    """The same where arms use up blocks, at the very end too, and the horizon is about the end of a block."""
    assert first_difference(data.draw(cases(POLICIES.find(policy), long_worlds()))) is None


@pytest.mark.parametrize(
    "horizon", [ROUNDS_PER_BATCH - 1, ROUNDS_PER_BATCH, ROUNDS_PER_BATCH + 1, 2 * ROUNDS_PER_BATCH]
)
def test_engines_agree_over_batches(horizon: int) -> None:
    """The same where the horizon is about the end of a batch of rounds."""
    world = world_of([PlainArm(1.0, 2)] * 9, span=2, horizon=horizon, groups=1, drain=True)
    assert first_difference(case_of(world, "uniform")) is None


@pytest.mark.slow
@pytest.mark.parametrize("hearing", every(list(WRITING), ("all",)))
@settings(max_examples=MANY)
@given(SEVERAL)
def test_handlers_are_called_in_the_same_order(hearing: str, data: st.DataObject) -> None:
    """A policy that writes down every call, with its values, has written the same in all engines."""
    worlds = losing_worlds() if hearing == "losses" else None
    assert different_call(data.draw(cases(WRITING[hearing], worlds))) is None


@pytest.mark.slow
@settings(max_examples=AT_REAL_TIMES)
@given(real_worlds() | real_worlds() | real_worlds() | lab_worlds())
def test_engines_agree_at_real_times(world: World) -> None:
    """Every event, every call of a policy and its replay are the same in both engines, with stages in any order.

    Most of these worlds have many things that happen at the same time: who is served first is part of the contract.
    """
    assert different_call(Case(world, WRITING["all"], GroupParameters())) is None


@pytest.mark.skipif(not INTERPRETED, reason="would compile all loops anew")
@pytest.mark.parametrize("far", [0, 1])
@settings(max_examples=20)
@given(data=SEVERAL)
def test_engines_agree_however_lists_are_sorted(far: int, data: st.DataObject) -> None:
    """The same where all lists are dealt to buckets, and nearly all entries that are out of order go on the heap."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_real_agenda, "FEW", 0)
        patch.setattr(compiled_real_next, "FAR", far)
        assert different_call(Case(data.draw(real_worlds()), WRITING["all"], GroupParameters())) is None


@pytest.mark.slow
@pytest.mark.parametrize("policy", EVERY)
@settings(max_examples=MANY // 10)
@given(SEVERAL)
def test_policies_agree_at_real_times(policy: str, data: st.DataObject) -> None:
    """Every built-in policy decides the same in both engines."""
    assert first_difference(data.draw(cases(POLICIES.find(policy), real_worlds()))) is None


@pytest.mark.slow
@settings(max_examples=MANY // 5)
@given(timed_worlds())
def test_replay_makes_the_same_calls_at_real_times(world: World) -> None:
    """Where time is real-valued, a replay of the events makes the calls that SimPy made, at the same times."""
    case = Case(world, WRITING["all"], GroupParameters())
    reference = run_simpy(case)
    assert reference.events is not None
    assert different_row(calls_of(reference.state), calls_of(replay_state(case, reference.events))) is None


@settings(max_examples=60)
@given(recorded_worlds(longest=20), st.integers(1, 3))
def test_records_run_out_alike(world: World, rows: int) -> None:
    """When a record has no more pulls, both engines raise the same error, after the same events."""
    table = [arm.rows[:rows] for arm in world.rewards.arms]
    short = table_world(table, world.problem.arms * rows + 1, groups=world.problem.groups)
    case = case_of(short, "uniform")
    assert first_difference(case) is None
    assert "no recorded pull" in str(run_compiled(case, log=False).error)


def test_a_record_that_runs_out_leaves_a_log() -> None:
    """What happened before the error is in the log of both engines."""
    case = case_of(table_world(np.ones((1, 3, 2)), horizon=5), "uniform")
    outcomes = [run_simpy(case), run_compiled(case, log=True)]
    assert [None if outcome.events is None else len(outcome.events) for outcome in outcomes] == [10, 10]
