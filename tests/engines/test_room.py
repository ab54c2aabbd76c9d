"""Room for open pulls: loops that start with hardly any and enlarge it make the same events as others."""

import numpy as np
import pytest

from tpstream import Scenario, simulate
from tpstream.engines import compiled_general, compiled_real_room
from tpstream.log.sinks import MemorySink
from tpstream.model.events import Columns, Events

WORLDS = {
    "whole rounds": ("setting-1", {"horizon": 150, "delays": [{"kind": "geometric", "p": 0.3}]}),
    "real times": ("medical-trial", {"horizon": 150}),
}


def events_of(name: str) -> Columns:
    """All events of a run of this world under a policy that keeps something for every open pull."""
    shipped, changes = WORLDS[name]
    sink = MemorySink()
    simulate(Scenario.load(shipped).with_(**changes), "tp-ucb-fr", engine="compiled", sinks=[sink])
    return Events.join(sink.batches).columns()


@pytest.mark.parametrize("name", WORLDS)
def test_enlarged_room(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that enlarges its room again and again, from a single pull on, has the same events."""
    expected = events_of(name)
    monkeypatch.setattr(compiled_general, "SLOTS_AT_FIRST", 1)
    monkeypatch.setattr(compiled_real_room, "SORTED_AT_FIRST", 1)
    found = events_of(name)
    assert found.keys() == expected.keys()
    for column, rows in expected.items():
        np.testing.assert_array_equal(found[column], rows, err_msg=column)
