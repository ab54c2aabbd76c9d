"""The tables of CDNOW: first purchases are decisions, later ones payments."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from command import Command, tpstream

from tpstream import check_log, import_log
from tpstream.datasets import cdnow, prepared
from tpstream.datasets.cdnow import data_file, read_tables
from tpstream.model.errors import DataError

FIXTURES = (tpstream,)
FAKE = """ customer_id  date number_of_cds  dollar_value
 00001 19970101  1   11.77
 00002 19970112  1   12.00
 00002 19970112  1   77.00
 00002 19970120  1   5.00
 00002 19970120  1   5.00
 00003 19970102  4   20.76
 00003 19970330  2   20.76
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three customers who never were."""
    file = tmp_path / "fake.txt"
    file.write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(cdnow, "data_file", lambda: file)
    return file


def test_tables_by_hand(fake: Path) -> None:
    """What was bought on the first day is one purchase; equal purchases of a later day are two."""
    customers, purchases = read_tables(fake)
    assert customers["first_purchase"].tolist() == ["one", "two", "more"]
    assert purchases.to_numpy().tolist() == [
        [1, 2, "1997-01-20", 5.0],
        [2, 2, "1997-01-20", 5.0],
        [3, 3, "1997-03-30", 20.76],
    ]


@pytest.mark.usefixtures("fake")
def test_the_command_and_its_map(tpstream: Command, tmp_path: Path) -> None:
    """The files that the command writes can be imported with their map; they are not overwritten without --force."""
    done = tpstream("data", "cdnow", "--out", "data")
    assert done.code == 0
    assert "cdnow.map.toml" in done.out
    folder = tmp_path / "data"
    files = folder / "customers.csv", folder / "purchases.csv"
    log = import_log(*files, out=tmp_path / "a.arrows", map=folder / "cdnow.map.toml", window="10w")
    assert check_log(log).sound
    assert log.header.imported is not None
    assert (log.header.imported["payments"]["taken"], log.header.imported["payments"]["late"]) == (2, 1)
    refused = tpstream("data", "cdnow", "--out", "data")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert tpstream("data", "cdnow", "--out", "data", "--force").code == 0


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without lifetimes, one line says what to install."""
    monkeypatch.setattr(prepared, "find_spec", lambda _: None)
    with pytest.raises(DataError, match=r"pip install 'tpstream\[data\]'"):
        data_file()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("lifetimes") is None, reason="the package lifetimes is not installed")
def test_the_table_of_the_page() -> None:
    """The table of docs/own-data.md is what its command gives; the counts of customers are the known ones."""
    customers, _ = read_tables(data_file())
    assert customers["first_purchase"].value_counts().to_dict() == {"one": 11_920, "two": 5_435, "more": 6_215}
    script = Path(__file__).parents[2] / "docs" / "cdnow_table.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0
