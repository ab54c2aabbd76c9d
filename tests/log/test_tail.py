"""A log that is being written: its tail gives every whole event once, wherever the file ends at the moment."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from studies import KEYS

from tpstream import Scenario, read_log, simulate
from tpstream.log.arrow import Tail as ArrowTail
from tpstream.log.jsonl import Tail as JsonTail
from tpstream.log.writer import LogWriter

NAMES = ("time", "kind", "pull", "arm", "part", "value")
TAILS: dict[str, Any] = {".jsonl": JsonTail, ".arrows": ArrowTail}


@pytest.fixture(scope="module", params=TAILS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in some format, written in many small batches."""
    folder = tmp_path_factory.mktemp("logs")
    simulate(Scenario(**KEYS), "uniform", log=folder / "source.jsonl")
    source, path = read_log(folder / "source.jsonl"), folder / f"log{request.param}"
    events = source.join()
    with LogWriter(path, source.header, patience=0.0) as writer:
        for first in range(0, len(events), 37):
            writer.hear(events.cut(first, first + 37))
    return path


@given(cuts=st.lists(st.floats(0.0, 1.0), max_size=8))
def test_every_event_is_read_once(path: Path, cuts: list[float]) -> None:
    """However the file grows: all events in order, the end only once it is there, a torn line or batch never."""
    whole, growing = path.read_bytes(), path.with_name(f"growing{path.suffix}")
    least = whole.index(b"\n") + 1 if path.suffix == ".jsonl" else 3000  # the header is there
    growing.write_bytes(whole[:least])
    tail, found = TAILS[path.suffix](growing), []
    for size in sorted(least + int(cut * (len(whole) - least)) for cut in cuts):
        growing.write_bytes(whole[:size])
        found += list(tail.read(NAMES))
        assert (tail.end is None) or size > len(whole) - 20
    growing.write_bytes(whole)
    found += list(tail.read(NAMES))
    assert list(tail.read(NAMES)) == []
    expected = read_log(path)
    assert tail.end == expected.reader.end
    for name in NAMES:
        joined = np.concatenate([columns[name] for columns in found])
        np.testing.assert_array_equal(joined, expected.columns([name])[name])
