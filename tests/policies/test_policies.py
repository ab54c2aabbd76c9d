"""Policies decide as the paper's formulas say, and see only what they are entitled to."""

import literal
import numpy as np
import pytest
from families import every, up_to
from hypothesis import example, given, settings, strategies as st
from scipy import stats
from worlds import (
    PAPER,
    VARIANTS,
    build_policy,
    events_of,
    first_mismatch,
    parameters_of,
    run_world,
    table_world,
    table_worlds,
)

from tpstream.model.errors import PolicyError
from tpstream.model.world import Problem, World
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, PythonPolicy
from tpstream.policies.runner import start_policy

UNLIKELY = 1e-6
"""A statistical test of a right program fails with this probability (over the choice of its fixed seed)."""


def corner(arms: int, span: int, groups: int, horizon: int = 30) -> tuple[World, int]:
    """A world with a few whole-numbered rewards and equal maxima, so that ties abound."""
    table = np.random.default_rng(span).integers(0, 3, (arms, horizon, span))
    return table_world(table, horizon, maxima=[2.0 * span] * arms, groups=groups), groups


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=up_to(250))
@given(table_worlds())
@example(corner(arms=5, span=1, groups=1))
@example(corner(arms=5, span=2, groups=1))
@example(corner(arms=5, span=2, groups=2))
@example(corner(arms=1, span=6, groups=3))
@example(corner(arms=3, span=40, groups=8))
def test_decisions_are_those_of_the_literal_formulas(variant: str, case: tuple[World, int]) -> None:
    """Every decision and every index equals the formula, summed over the whole history in 50 digits."""
    world, groups = case
    assert first_mismatch(world, variant, groups) is None


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=up_to(100))
@given(table_worlds(exact=True))
def test_ties_go_to_the_first_arm(variant: str, case: tuple[World, int]) -> None:
    """Where indices tie again and again, what is equal on paper is equal in the policy, and the first arm is pulled."""
    world, groups = case
    assert first_mismatch(world, variant, groups) is None


def test_literal_formulas_on_paper() -> None:
    """The literal formulas give what one gets by hand for two pulls of one arm at round 4."""
    table, arms, now = [[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], [[0.0] * 4]], [0, 1, 0], 4
    root = np.sqrt(2 * np.log(3) / 2)
    by_hand = {
        "ucb1": (10 + 26) / 2 + 40 * np.sqrt(2 * np.log(4) / 2),
        "delayed-ucb1": np.inf,
        "tp-ucb-fr": (1 + 2 + 3 + 5) / 2 + 40 * root / np.sqrt(2) + 2 * 3 * 40 / 4,
        "tp-ucb-ew": np.inf,
    }
    told = {name: literal.Setting(name, (40.0, 1.0), span=4, groups=2) for name in PAPER}
    assert {name: float(literal.indices(told[name], table, arms, now)[0]) for name in PAPER} == pytest.approx(by_hand)


def test_literal_formulas_on_paper_for_known_pulls() -> None:
    """The literal formulas give what one gets by hand when one pull, and one more first group, are complete."""
    table, arms, now = [[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], [[0.0] * 4]], [0, 1, 0, 1], 5
    by_hand = {
        "delayed-ucb1": 10 + 40 * np.sqrt(2 * np.log(4)),
        "tp-ucb-ew": (3 + 11) / 2 + 7 + 20 * (np.sqrt(2 * np.log(4) / 2) + np.sqrt(2 * np.log(4))),
    }
    told = {name: literal.Setting(name, (40.0, 1.0), span=4, groups=2) for name in by_hand}
    assert {name: float(literal.indices(told[name], table, arms, now)[0]) for name in by_hand} == pytest.approx(by_hand)


@pytest.mark.parametrize("ties", ["random", "first"])
@pytest.mark.parametrize("variant", ["ucb1", "delayed-random", "fr", "ew"])
def test_each_arm_once_at_the_start(variant: str, ties: str) -> None:
    """The first rounds pull each arm once, however ties are broken and however late rewards come."""
    name, parameters = VARIANTS[variant]
    world = table_world(np.ones((5, 6, 8)), horizon=6)
    run = run_world(world, name, parameters | {"ties": ties})
    assert sorted(run.arms[:5].tolist()) == [0, 1, 2, 3, 4]


def test_round_robin_lasts_for_the_span() -> None:
    """Delayed-UCB1 pulls the arms in turn for a whole span by default, whatever it has learned."""
    run = run_world(table_world(np.ones((3, 11, 11)), horizon=11), "delayed-ucb1")
    assert run.arms.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]


TOLD = {
    "ucb1": [("pull", arm + 1, arm, 0, 1.0 if arm in {1, 3} else 0.0) for arm in range(4)],
    "delayed-round-robin": [("closed", arm + 1, arm, 0, 1.0 if arm in {1, 3} else 0.0) for arm in range(4)],
    "delayed-random": [("closed", arm + 1, arm, 0, 1.0) for arm in (0, 2)],
    "fr": [
        *(("pull", arm + 1, arm, 0, np.nan) for arm in range(4)),
        *(("partial", arm + 1, arm, 1, 1.0) for arm in (1, 3)),
    ],
    "ew": [
        *(("pull", arm + 1, arm, 0, np.nan) for arm in range(4)),
        *(("partial", arm + 1, arm, part, 1.0) for arm in (0, 2) for part in (1, 2)),
    ],
}
"""What each policy hears of four pulls so that arms 1 and 3 tie for the largest index, be it finite or infinite."""


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_ties_are_uniform(variant: str) -> None:
    """Among tied arms each is as likely, and no other arm is pulled; chi-square test on 4000 decisions."""
    name, parameters = VARIANTS[variant]
    policy = build_policy(table_world(np.ones((4, 9, 2)), 9, maxima=[2.0] * 4), name, **parameters, ties="random")
    policy.hear(events_of(TOLD[variant]))
    counts = np.bincount([policy.decide(9) for _ in range(4000)], minlength=4)
    assert (counts[[0, 2]].sum(), stats.chisquare(counts[[1, 3]]).pvalue > UNLIKELY) == (0, True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_first_ties_take_the_first_of_the_tied(variant: str) -> None:
    """With ties = "first" the same four pulls always lead to arm 1."""
    name, _ = VARIANTS[variant]
    policy = build_policy(table_world(np.ones((4, 9, 2)), 9, maxima=[2.0] * 4), name, **parameters_of(variant, 1))
    policy.hear(events_of(TOLD[variant]))
    assert {policy.decide(9) for _ in range(50)} == {1}


def test_ties_are_random_by_default() -> None:
    """A policy that is not told how to break ties breaks them at random."""
    policy = build_policy(table_world(np.ones((4, 9, 2)), 9, maxima=[2.0] * 4), "ucb1")
    policy.hear(events_of(TOLD["ucb1"]))
    assert {policy.decide(9) for _ in range(50)} == {1, 3}


def test_uniform_is_uniform() -> None:
    """The uniform policy pulls every arm as often; chi-square test on 4000 rounds."""
    run = run_world(table_world(np.ones((5, 4000, 1)), 4000), "uniform")
    assert stats.chisquare(np.bincount(run.arms, minlength=5)).pvalue > UNLIKELY


def test_uniform_has_no_memory() -> None:
    """Successive decisions of the uniform policy are independent; chi-square test on the pairs of 8000 rounds."""
    arms = run_world(table_world(np.ones((4, 8000, 1)), 8000), "uniform").arms
    pairs = np.bincount(arms[:-1:2] * 4 + arms[1::2], minlength=16)
    assert stats.chisquare(pairs).pvalue > UNLIKELY


def test_oracle_pulls_the_best_arm() -> None:
    """The oracle always pulls the arm of the largest mean, though its maximum is the smallest."""
    table = np.array([[[3.0]] * 9, [[4.0]] * 9, [[1.0]] * 9])
    run = run_world(table_world(table, 9, maxima=[9.0, 5.0, 9.0]), "oracle")
    assert run.arms.tolist() == [1] * 9


@pytest.mark.parametrize("name", every(list(POLICIES.builtin)))
def test_only_the_clairvoyant_is_shown_totals(name: str) -> None:
    """The events of pulls carry the cumulative reward for UCB1 and nothing for any other policy."""
    run = run_world(table_world(np.full((2, 8, 3), 0.5), 8), name)
    assert {event.value for event in run.of_kind("pull")} == ({1.5} if name == "ucb1" else {None})


@pytest.mark.parametrize("entitled", [False, True])
def test_means_are_told_to_the_entitled_only(entitled: bool) -> None:  # noqa: FBT001
    """A policy is told the true means only if its form says that it knows them."""
    told: list[Problem] = []
    form = PythonPolicy("spy", Parameters, lambda problem, *_: told.append(problem), knows_means=entitled)
    start_policy(form, table_world(np.ones((2, 1, 1)), 1).problem, Parameters(), np.random.default_rng(0))
    assert (told[0].means is not None) == entitled


def test_only_the_oracle_knows_means() -> None:
    """Of the built-in policies only the oracle is told the means, and only UCB1 the totals."""
    forms = [POLICIES.find(name) for name in POLICIES.builtin]
    entitled = {form.name: (form.clairvoyant, form.knows_means) for form in forms}
    plain = dict.fromkeys(POLICIES.builtin, (False, False))
    assert entitled == plain | {"ucb1": (True, False), "oracle": (False, True)}


@pytest.mark.parametrize("name", ["tp-ucb-fr", "tp-ucb-ew"])
def test_groups_must_divide_the_span(name: str) -> None:
    """Groups that do not divide the span are refused with a text that says so."""
    with pytest.raises(PolicyError, match=r"groups = 4 does not divide the span 6"):
        build_policy(table_world(np.ones((2, 1, 6)), 1), name, groups=4)


@pytest.mark.parametrize("name", ["tp-ucb-fr", "tp-ucb-ew"])
@settings(max_examples=up_to(20))
@given(data=st.data())
def test_groups_default_to_the_environments(name: str, data: st.DataObject) -> None:
    """A policy that is given no groups assumes the environment's."""
    world, groups = data.draw(table_worlds(longest=20))
    default = run_world(world, name, {"ties": "first"}, indices=True)
    given_groups = run_world(world, name, {"ties": "first", "groups": groups}, indices=True)
    assert default.events == given_groups.events
