"""Sums that forget the order of their terms."""

import math

import numpy as np
from hypothesis import given, strategies as st
from worlds import build_policy, events_of, table_world

from tpstream.policies import completion
from tpstream.policies.index import add, total

TERMS = st.lists(st.floats(0.0, 1e9).map(lambda value: value if value > 1e-9 else 0.0), max_size=60)


def compensated(terms: list[float]) -> float:
    """The terms added one by one at the middle place of three."""
    sums = np.zeros((3, 2))
    for term in terms:
        add(sums, 1, term)
    return total(sums, 1)


@given(TERMS, st.randoms(use_true_random=False))
def test_total_is_the_true_sum_to_one_unit(terms: list[float], random: object) -> None:
    """In any order the total is within one unit in the last place of the correctly rounded sum."""
    random.shuffle(terms)  # type: ignore[attr-defined]
    true = math.fsum(terms)
    assert abs(compensated(terms) - true) <= math.ulp(true)


@given(TERMS, TERMS)
def test_taking_terms_away_leaves_the_rest(kept: list[float], gone: list[float]) -> None:
    """Terms that are added and taken away again leave what the others add up to, to one unit of the largest sum."""
    left = compensated([*gone, *kept, *(-term for term in reversed(gone))])
    largest = math.fsum([*gone, *kept])
    assert abs(left - math.fsum(kept)) <= math.ulp(math.fsum(kept)) + 1e-27 * largest


def test_totals_nearly_always_equal_the_true_sum() -> None:
    """Of 2000 shuffled sums of 100 terms at least 1990 are the correctly rounded sum to the last bit."""
    stream = np.random.default_rng(5)
    sums = [stream.random(100) * 10.0 ** stream.integers(-3, 4, 100) for _ in range(2000)]
    assert sum(compensated(terms.tolist()) == math.fsum(terms) for terms in sums) >= 1990


def test_places_are_apart() -> None:
    """Adding at one place leaves the others at zero."""
    sums = np.zeros((3, 2))
    add(sums, 1, 0.1)
    assert [total(sums, place) for place in range(3)] == [0.0, 0.1, 0.0]


@given(st.permutations(range(1, 13)), st.integers(0, 1000))
def test_ew_index_forgets_the_order_of_arrival(order: list[int], seed: int) -> None:
    """The index of TP-UCB-EW is the same to 1e-14 whatever the order in which pulls complete a group."""
    values = np.random.default_rng(seed).random(13)
    found = []
    for pulls in (range(1, 13), order):
        policy = build_policy(table_world(np.ones((1, 1, 1)), 20), "tp-ucb-ew", groups=1)
        policy.hear(events_of([("pull", pull, 0, 0, np.nan) for pull in range(1, 13)]))
        policy.hear(events_of([("partial", pull, 0, 1, values[pull]) for pull in pulls]))
        policy.decide(13)
        found.append(policy.indices()[0])
    assert abs(found[0] - found[1]) <= 1e-14 * found[0]


@given(st.permutations(range(12)), st.integers(0, 50_000))
def test_weights_of_open_pulls_forget_their_slots(order: list[int], closed: int) -> None:
    """The weight of an arm's open pulls is the same to the last bit in any order of slots, however many are closed.

    Engines give slots in different orders. Beyond 8192 closed pulls, fractions of 2^-40 do not fit beside them.
    """
    world = table_world(np.ones((1, 1, 12)), 20)
    profile = tuple(np.append(np.sort(np.random.default_rng(closed).random(11)), 1.0).tolist())
    state = completion.init(world.problem, completion.CompletionParameters(profile=profile))
    found = []
    for slots in (range(12), order):
        started = np.array([-float(slot) for slot in slots])
        slotted = state._replace(started=started, owners=np.ones(12, dtype=np.int64), closed=np.array([closed]))
        completion.expect(slotted)
        found.append(float(slotted.expected[0]))
    assert found[0] == found[1]
