"""The visits of Rossi's experiment: weeks without arrest, as a table that can be imported and asked."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from command import Command, tpstream

from tpstream import answer, check_log, import_log
from tpstream.datasets import prepared, rossi
from tpstream.datasets.rossi import data_file, read_visits
from tpstream.model.errors import DataError

FIXTURES = (tpstream,)
FAKE = "week,arrest,fin,age\n20,1,0,27\n52,1,1,18\n52,0,1,23\n1,1,0,30\n"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four persons who never were."""
    file = tmp_path / "fake.csv"
    file.write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(rossi, "data_file", lambda: file)
    return file


def test_visits_by_hand(fake: Path) -> None:
    """The week of an arrest is not free, nor is any later one; without an arrest, all 52 are."""
    visits = read_visits(fake)
    assert len(visits) == 4 * 52
    free = visits.groupby(["person", "aid"])["free"].sum()
    assert free.to_dict() == {(1, "no aid"): 19, (2, "aid"): 51, (3, "aid"): 52, (4, "no aid"): 0}
    first = visits[visits["person"] == 1]
    assert first["free"].is_monotonic_decreasing


@pytest.mark.usefixtures("fake")
def test_the_command_and_its_map(tpstream: Command, tmp_path: Path) -> None:
    """The files that the command writes can be imported with their map; they are not overwritten without --force."""
    done = tpstream("data", "rossi", "--out", "data")
    assert done.code == 0
    assert "rossi.map.toml" in done.out
    folder = tmp_path / "data"
    log = import_log(folder / "rossi.csv", out=tmp_path / "a.arrows", map=folder / "rossi.map.toml")
    assert check_log(log).sound
    assert (log.header.span, log.header.arms, log.header.time_unit) == (52, ["aid", "no aid"], "week")
    refused = tpstream("data", "rossi", "--out", "data")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert tpstream("data", "rossi", "--out", "data", "--force").code == 0


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without lifelines, or with data that have other columns, one line says what to install."""
    monkeypatch.setattr(prepared, "find_spec", lambda _: None)
    with pytest.raises(DataError, match=r"pip install 'tpstream\[data\]'"):
        data_file()
    (tmp_path / "other.csv").write_text("week,arrest\n1,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no column 'fin'"):
        read_visits(tmp_path / "other.csv")


@pytest.mark.skipif(find_spec("lifelines") is None, reason="the package lifelines is not installed")
def test_the_answer(tmp_path: Path) -> None:
    """Nobody left early, so values are plain means; without dates the lead is judged once, and is not clear."""
    done = rossi.prepare(tmp_path)
    log = import_log(done.visits_file, out=tmp_path / "a.arrows", map=done.map_file)
    found = answer(log)
    table = found.frame().set_index("arm")
    weeks = done.visits.groupby(["aid", "person"])["free"].sum()
    for arm in rossi.ARMS:
        assert table.loc[arm, "value"] == pytest.approx(weeks[arm].mean())
        assert table.loc[arm, "decisions"] == 216
        assert table.loc[arm, "open"] == 0
    (difference,) = found.differences().itertuples()
    assert difference.low < 0 < difference.high
    assert (found.leader, found.clear_since, found.clear_reason) == ("aid", None, "the lead is not clear yet")
