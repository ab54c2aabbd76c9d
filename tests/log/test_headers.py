"""Logs whose header, end or pulls cannot be: told before anything is computed from them."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import Command, tpstream
from log_samples import make_events, make_header, write_log
from studies import small

from tpstream import diagnose, log_regret, read_log, replay, simulate
from tpstream.log import jsonl
from tpstream.log.arrow import HEADER
from tpstream.model.errors import LogError

__all__ = ["tpstream"]
DEEP = b'{"schema":1,"scenario":' + b'{"a":' * 3000 + b"1" + b"}" * 3000 + b"}"
BAD: dict[str, dict[str, Any]] = {
    "seed": {"seed": -1},
    "run": {"run": -1},
    "horizon 0": {"horizon": 0},
    "horizon": {"horizon": 2**70},
    "span": {"span": 10**9},
    "span 0": {"span": 0},
    "means": {"means": [1e308, 1e308]},
    "maxima": {"maxima": [1e300, -1e300]},
    "arms": {"arms": [], "means": [], "maxima": []},
    "arms of numbers": {"arms": [1, 2]},
    "groups": {"groups": 0},
    "groups that do not divide the span": {"groups": 2},
    "window": {"window": -1.0},
    "sites": {"sites": [{}]},
    "detail": {"detail": "everything"},
    "policy": {"policy": "x" * 20_000},
    "endpoint": {"endpoint": {"scale": [1.0], "shift": [0.0], "maxima": [None], "means": [None]}},
    "name of the scenario": {"scenario": {"name": 7}},
    "visits": {"scenario": {"visits": ["a", "b", "c"]}},
    "window of the scenario": {"scenario": {"window": "long"}},
    "delays": {"scenario": {"delays": 5}},
    "trial": {"scenario": {"trial": [1]}},
    "looks": {"scenario": {"trial": {"looks": {"cleaning": "x"}}}},
    "rewards": {"scenario": {"rewards": "many"}},
    "drain": {"scenario": {"drain": "yes"}},
    "start": {"scenario": {"start": "2024-01-03x"}},
    "origin": {"origin": "today"},
    "map of an import": {"imported": {"map": {"decisions": 5}}},
    "tables of an import": {"imported": {"tables": [1]}},
}
"""Headers that cannot be, each wrong in one thing."""
TEXTS = {"no UTF-8": b'{"schema":1,"policy":"\xff\xfe"}', "deep": DEEP, "no object": b"[1]"}


def with_header(path: Path, text: bytes) -> Path:
    """A log in the format of the file's ending, with this text as its header."""
    log = write_log(path, make_header(), [make_events(10)], end=False)
    if path.suffix == ".jsonl":
        path.write_bytes(b"\n".join([text, *log.path.read_bytes().splitlines()[1:]]) + b"\n")
    elif path.suffix == ".parquet":
        pq.write_table(pq.read_table(path).replace_schema_metadata({HEADER: text}), path)
    else:
        table = pa.ipc.open_stream(path.read_bytes()).read_all().replace_schema_metadata({HEADER: text})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a run."""
    simulate(small(), "uniform", log=tmp_path / "run.jsonl")
    return tmp_path / "run.jsonl"


def change(log: Path, line: int, **keys: Any) -> None:
    """Other values of some keys in a line."""
    lines = log.read_text().splitlines()
    lines[line] = json.dumps(json.loads(lines[line]) | keys)
    log.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("key", ["means", "maxima"])
@pytest.mark.parametrize("use", [replay, log_regret, diagnose])
def test_lists_of_the_wrong_length(log: Path, key: str, use: Any) -> None:
    """A header with fewer means or maxima than arms."""
    change(log, 0, **{key: [7.0]})
    with pytest.raises(LogError, match=rf"header: there are 1 {key} for 3 arms"):
        use(log)


@pytest.mark.parametrize("format", ["jsonl", "arrows", "parquet"])
def test_headers_that_cannot_be(tmp_path: Path, format: str) -> None:
    """Every value has a type and a range, in all formats alike; the error is one line that names the place."""
    good = json.loads(msgspec.json.encode(make_header()))
    texts = TEXTS | {name: json.dumps(good | keys).encode() for name, keys in BAD.items()}
    assert len(read_log(with_header(tmp_path / f"good.{format}", json.dumps(good).encode())).join()) == 10
    for name, text in texts.items():
        path = with_header(tmp_path / f"{name}.{format}", text)
        with pytest.raises(LogError, match=r"header") as caught:
            read_log(path)
        assert (name, len(str(caught.value).splitlines())) == (name, 1)


@pytest.mark.parametrize("words", [("replay",), ("regret",), ("diagnose",), ("convert", "copy.arrows"), ("check",)])
def test_commands_on_such_headers(tpstream: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    """One line on standard error, and exit code 2."""
    header = json.loads(msgspec.json.encode(make_header()))
    path = with_header(tmp_path / "log.jsonl", json.dumps(header | {"seed": -1}).encode())
    command, *rest = words
    found = tpstream(command, path, *rest)
    assert (found.code, found.out, len(found.err.splitlines())) == (2, "", 1)
    assert "header: Expected `int` >= 0 - at `$.seed`; correct it" in found.err


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are read up to a length that no event has."""
    path = write_log(tmp_path / "log.jsonl", make_header(), [make_events(10)]).path
    path.write_bytes(path.read_bytes() + b"x" * 400_000)
    monkeypatch.setattr(jsonl, "LONGEST", 100_000)
    with pytest.raises(LogError, match=r"its last line has more than 100,000 bytes"):
        read_log(path)


def test_an_end_that_counts_other_events(log: Path) -> None:
    """Events were added or lost."""
    change(log, -1, end=7)
    with pytest.raises(LogError, match=r"its end counts 7 events, but the last one has seq 479"):
        replay(log)


def test_pulls_after_the_horizon(log: Path) -> None:
    """The header says that there are fewer rounds."""
    change(log, 0, horizon=2, scenario={})
    with pytest.raises(LogError, match=r"pull 3 after the last round that the header tells of"):
        replay(log)


def test_an_arm_without_complete_pulls(tmp_path: Path) -> None:
    """It is left out of a diagnosis, and too few pulls test nothing."""
    simulate(small(), "oracle", log=tmp_path / "run.jsonl")
    (found,) = diagnose(tmp_path / "run.jsonl")
    assert found.pulls.tolist() == [0, 0, 60]
