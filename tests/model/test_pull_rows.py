"""Rows for open pulls, also when pulls close out of order and the rows have to grow."""

import math

import numpy as np
from families import up_to
from hypothesis import given, settings, strategies as st
from worlds import build_policy, events_of, table_world

from tpstream.model.pull_rows import Ring

Row = tuple[str, int, int, int, float]
"""An event as (kind, pull, arm, part, value)."""


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 4))
def test_open_pulls_keep_their_rows(closings: list[int], capacity: int) -> None:
    """Whatever pulls close before each new one, every open pull finds in its row what was put there."""
    ring, rows, open_pulls, lost = Ring(capacity), np.zeros((capacity, 2)), [], []
    for pull, closing in enumerate(closings, start=1):
        if open_pulls and closing < 5:
            ring.release(open_pulls.pop(closing % len(open_pulls)))
        before = ring.reserve(pull)
        if before != ring.capacity:
            rows = ring.enlarge(rows, before, pull)
        rows[pull % ring.capacity] = (pull, -pull)
        open_pulls.append(pull)
        lost += [held for held in open_pulls if rows[held % ring.capacity].tolist() != [held, -held]]
    assert lost == []


def test_ring_grows_only_when_it_must() -> None:
    """With two pulls open at a time a ring of one row grows to two and stays so."""
    ring = Ring()
    for pull in range(1, 50):
        ring.reserve(pull)
        if pull > 1:
            ring.release(pull - 1)
    assert ring.capacity == 2


def test_enlarging_keeps_the_type() -> None:
    """Rows of whole numbers stay whole numbers, and new rows are zero."""
    ring = Ring(1)
    before = ring.reserve(1)
    rows = np.full((1, 3), 7, dtype=np.int64)
    before = ring.reserve(2)
    grown = ring.enlarge(rows, before, 2)
    assert (grown.dtype, grown.tolist()) == (np.int64, [[0, 0, 0], [7, 7, 7]])


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[int, int, list[Row]]:
    """Groups, width, and the events of a few pulls of two arms whose parts mingle in any order, as with lags."""
    groups, width, pulls = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 10))
    span = groups * width
    stream = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    turns = draw(st.permutations([pull for pull in range(1, pulls + 1) for _ in range(span + 1)]))
    ids: dict[int, int] = {}
    left: dict[int, list[int]] = {}
    rows: list[Row] = []
    for turn in turns:
        if turn not in ids:
            pull = ids[turn] = len(ids) + 1
            left[pull] = stream.permutation(np.arange(1, span + 1)).tolist()
            rows.append(("pull", pull, pull % 2, 0, math.nan))
            continue
        pull = ids[turn]
        rows.append(("partial", pull, pull % 2, left[pull].pop(), float(stream.random())))
        if not left[pull]:
            paid = sum(value for kind, owner, _, _, value in rows if kind == "partial" and owner == pull)
            rows.append(("closed", pull, pull % 2, 0, paid))
    return groups, width, rows


@settings(max_examples=up_to(150))
@given(deliveries(), st.integers(1, 7))
def test_ew_gathers_groups_of_pulls_that_close_out_of_order(case: tuple[int, int, list[Row]], batch: int) -> None:
    """TP-UCB-EW's index follows from the groups heard to their end, however pulls mingle and batches are cut."""
    groups, width, rows = case
    world = table_world(np.ones((2, 1, groups * width)), 40, maxima=[9.0, 9.0])
    policy = build_policy(world, "tp-ucb-ew", groups=groups)
    for start in range(0, len(rows), batch):
        policy.hear(events_of(rows[start : start + batch], seq=start))
    policy.decide(30)
    expected = [ew_index([row for row in rows if row[2] == arm], groups, width, now=30) for arm in (0, 1)]
    np.testing.assert_allclose(policy.indices(), expected, rtol=1e-12)


def ew_index(rows: list[Row], groups: int, width: int, now: int) -> float:
    """The index of an arm with maximum 9 from the parts heard: a group of a pull counts once all its parts came."""
    index = 0.0
    for group in range(groups):
        paid: dict[int, list[float]] = {}
        for kind, pull, _, part, value in rows:
            if kind == "partial" and (part - 1) // width == group:
                paid.setdefault(pull, []).append(value)
        complete = [math.fsum(values) for values in paid.values() if len(values) == width]
        if not complete:
            return math.inf
        index += math.fsum(complete) / len(complete) + 9.0 / groups * math.sqrt(2 * math.log(now - 1) / len(complete))
    return index
