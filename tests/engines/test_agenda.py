"""The agenda of the compiled loop at real-valued times: entries find their lists, and lists come out roughly sorted."""

import numpy as np
from hypothesis import example, given, strategies as st

from tpstream.engines.compiled_real_agenda import BY_ENTRY, enter, find_list, make_agenda, take_list
from tpstream.model.pull_rows import longer

TIMES = st.one_of(st.integers(1, 9).map(float), st.floats(1, 9), st.floats(1, 1e300))
EDGES = st.lists(TIMES, min_size=1, max_size=20).map(sorted)
SPAN = 6


@given(EDGES, st.data())
def test_lists_are_found_from_anywhere(edges: list[float], data: st.DataObject) -> None:
    """The list of a time is that of the last decision which is due not after it, wherever the search begins."""
    near = data.draw(st.integers(0, len(edges) - 1))
    time = data.draw(st.sampled_from(edges) | st.floats(edges[0], 1.7e308))
    assert find_list(np.array(edges), near, time) == np.searchsorted(edges, time, side="right") - 1


@given(EDGES, st.lists(st.tuples(st.integers(0, 40), TIMES), max_size=60))
@example([1.0, 2.0, 1e300], [(0, 1.0), (0, 1.7e308), (1, 1e300)])
@example([1.0], [(0, time) for time in (1.0, 5e-324, 1.0, 2.0, *[1.5] * 9)])
def test_lists_have_all_entries(edges: list[float], given: list[tuple[int, float]]) -> None:
    """Lists have the entries due between two decisions; of those of one time the one that was added first is first."""
    agenda = make_agenda(np.array(edges), SPAN, len(given))
    slots = -(-len(given) // SPAN) << agenda.bits
    agenda = agenda._replace(**{name: longer(getattr(agenda, name), slots) for name in BY_ENTRY})
    entries = []
    for place, (least, time) in enumerate(given):
        number = min(least, len(edges) - 1)
        slot, part = place // SPAN, place % SPAN + 1
        due = max(time, edges[number])
        enter(agenda, number, due, slot, part)
        entries.append((int(np.searchsorted(edges, due, side="right")) - 1, due, (slot << agenda.bits) + part))
    for number in range(len(edges)):
        take_list(agenda, number)
        dealt = agenda.dealt[: agenda.sizes[number]].tolist()
        expected = [(due, entry) for owner, due, entry in entries if owner == number]
        assert sorted(dealt) == sorted(entry for _, entry in expected)
        by_time = sorted(dealt, key=lambda entry: agenda.time[entry])
        assert by_time == [entry for _, entry in sorted(expected, key=lambda one: one[0])]
