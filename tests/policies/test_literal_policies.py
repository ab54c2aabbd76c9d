"""Every policy decides as its formula says, evaluated literally from all events before each decision."""

import os
from typing import Any

import literal_policies
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from parity import losing_worlds
from policy_variants import TRIED, TRIED_IN_TWO, Tried, complete, label
from worlds import floats, run_world, table_worlds

from tpstream.model.world import Purpose, World, open_stream
from tpstream.policies import POLICIES
from tpstream.policies.base import groups_of

EXAMPLES = {"search": 200, "brief": 3}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 10)
"""Worlds for each policy: many in `make verify`, few as plain Python."""


ROUNDED = ("completion-ucb", "completion-thompson")
"""Policies that divide by sums of learned shares, of which equal ones may be rounded differently."""


def first_mismatch(world: World, name: str, keys: dict[str, Any]) -> str | None:
    """Where a run first differs from the literal formulas, in an index or a decision; None if it never does."""
    parameters = POLICIES.find(name).parameters(**keys, ties="first")
    run = run_world(world, name, {**keys, "ties": "first"}, indices=True)
    auto = getattr(parameters, "groups", 1) == "auto"
    groups = 1 if auto or not hasattr(parameters, "groups") else groups_of(parameters, world.problem)
    decider = literal_policies.Decider(name, open_stream(world.seed, world.run, Purpose.POLICY))
    for event in run.of_kind("pull"):
        known = literal_policies.known_at(world.problem, parameters, groups, run.events, event.round)
        expected, shown = decider.indices(known), floats(event.indices)
        if not np.allclose(shown, expected, rtol=1e-9, atol=1e-9 * np.nanmax(np.append(world.problem.maxima, 1e-300))):
            return f"round {event.round}: indices {shown}, literally {expected}"
        arm = decider.decide(known, expected)
        if event.arm != arm and name in ROUNDED and np.isclose(expected[event.arm], expected[arm], rtol=1e-10, atol=0):
            return None  # a tie but for rounding: what follows differs
        if event.arm != arm:
            return f"round {event.round}: arm {event.arm}, literally {arm}; indices {shown}"
    return None


@pytest.mark.parametrize("tried", TRIED, ids=label)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_decisions_are_those_of_the_literal_formulas(tried: Tried, data: st.DataObject) -> None:
    """Every index and decision, in worlds with delays, losses, windows and default rewards."""
    name, keys, grouped = tried
    world = data.draw(losing_worlds())
    groups = data.draw(st.sampled_from([n for n in range(1, world.problem.span + 1) if world.problem.span % n == 0]))
    assert first_mismatch(world, name, complete(keys, groups, grouped=grouped)) is None


@pytest.mark.parametrize("tried", TRIED, ids=label)
@settings(max_examples=EXAMPLES)
@given(case=table_worlds(longest=40))
def test_the_same_where_rewards_tie(tried: Tried, case: tuple[World, int]) -> None:
    """Every index and decision where rewards are a few numbers and arms are often alike; ties go to the first arm."""
    name, keys, grouped = tried
    world, groups = case
    assert first_mismatch(world, name, complete(keys, groups, grouped=grouped)) is None


@pytest.mark.parametrize("tried", TRIED_IN_TWO, ids=label)
@settings(max_examples=EXAMPLES)
@given(world=losing_worlds())
def test_caps_and_priors_that_are_given(tried: Tried, world: World) -> None:
    """Every index and decision with lists of caps, and with a prior with correlated noise and without any scale."""
    assume(world.problem.span % 2 == 0)
    name, keys, _ = tried
    assert first_mismatch(world, name, keys) is None
