"""The heap of the compiled loop at real-valued times: entries come out by time, then by rank."""

import numpy as np
from hypothesis import given, strategies as st

from tpstream.engines.compiled_real_memory import SIZE, Heap, put, remove_top, sink

ENTRIES = st.lists(st.tuples(st.integers(0, 4).map(float), st.integers(0, 9), st.integers(0, 99)), max_size=40)


@given(ENTRIES, ENTRIES)
def test_entries_come_out_in_order(entries: list[tuple[float, int, int]], later: list[tuple[float, int, int]]) -> None:
    """What is put on the heap, or in the place of its first entry, is taken from it by time and then by rank."""
    heap = Heap(np.zeros(99), np.zeros(99, dtype=np.int64), np.zeros(99, dtype=np.int64))
    cursor, expected = np.zeros(SIZE + 1, dtype=np.int64), sorted(entries)
    for entry in entries:
        put(heap, cursor, *entry)
    for entry in later:
        if expected:
            sink(heap, cursor[SIZE], *entry)
            expected = sorted([*expected[1:], entry])
    found = []
    while cursor[SIZE]:
        found.append((heap.time[0], heap.rank[0]))
        remove_top(heap, cursor)
    assert found == [(time, rank) for time, rank, _ in expected]
