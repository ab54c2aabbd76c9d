"""Tests of the sink my-sink; run them with pytest."""

from pathlib import Path

import pytest

from tpstream import Scenario, compare, load_plugin
from tpstream.testing import check_sink

load_plugin(Path(__file__).with_name("my_sink.py"))

SCENARIO = Scenario(
    name="small",
    horizon=50,
    span=10,
    rewards={"kind": "smooth-beta", "groups": 5},
    arms=[{"maximum": 10.0}, {"maximum": 40.0}],
)


def test_it_keeps_its_promises(tmp_path: Path) -> None:
    """It passes the conformance kit."""
    check_sink("my-sink", {"file": str(tmp_path / "pulls.csv")})


@pytest.mark.parametrize("jobs", [1, 2])
def test_it_hears_every_run(tmp_path: Path, jobs: int) -> None:
    """Each run adds one line, and every pull is counted."""
    compare(SCENARIO, ["uniform"], runs=4, jobs=jobs, sinks=[f'my-sink:file="{tmp_path / "pulls.csv"}"'])
    rows = sorted(line.split(",") for line in (tmp_path / "pulls.csv").read_text().splitlines())
    assert [row[:2] for row in rows] == [["uniform", str(run)] for run in range(4)]
    assert [sum(map(int, row[2:])) for row in rows] == [50] * 4
