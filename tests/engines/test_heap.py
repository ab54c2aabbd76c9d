"""The heap of the compiled loop at real-valued times: entries come out by time, then by rank."""

import numpy as np
from hypothesis import given, strategies as st

from tpstream.engines.compiled_real_memory import SIZE, make_heap, put, remove_top

ENTRIES = st.lists(st.tuples(st.integers(0, 4).map(float), st.integers(0, 9), st.integers(0, 99)), max_size=40)


@given(ENTRIES, ENTRIES)
def test_entries_come_out_in_order(entries: list[tuple[float, int, int]], later: list[tuple[float, int, int]]) -> None:
    """What is put on the heap, at first or while some is taken from it, comes out by time and then by rank."""
    heap, cursor = make_heap(99), np.zeros(SIZE + 1, dtype=np.int64)
    for entry in entries:
        put(heap, cursor, *entry)
    expected = sorted((time, rank) for time, rank, _ in entries)
    for entry in later:
        if expected:
            assert (heap.time[0], heap.rank[0]) == expected.pop(0)
            remove_top(heap, cursor)
        put(heap, cursor, *entry)
        expected = sorted([*expected, entry[:2]])
    found = []
    while cursor[SIZE]:
        found.append((heap.time[0], heap.rank[0]))
        remove_top(heap, cursor)
    assert found == expected
