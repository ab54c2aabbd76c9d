"""The commands for data of one's own: what they print and write, and their exit codes."""

import json
import re
from pathlib import Path

import pytest
from command import Command, tpstream
from shops import make_shop
from tampering import write_lines

from tpstream import import_log, read_log

FIXTURES = (tpstream,)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The tables of a shop as CSV files."""
    shop = make_shop(800, seed=3)
    shop.offers.to_csv(tmp_path / "offers.csv", index=False)
    shop.payments.to_csv(tmp_path / "payments.csv", index=False)
    return tmp_path / "offers.csv", tmp_path / "payments.csv"


def test_import_and_its_map(tpstream: Command, files: tuple[Path, Path], tmp_path: Path) -> None:
    """The guess is printed and written; with it as --map the same log is written again; the counts are printed."""
    done = tpstream("import", *files, "--window", "60d", "--out", "shop.arrows")
    assert (done.code, done.err) == (0, "")
    for text in ("guessed", "variant", "rows read", "no decision has this id", "log: shop.arrows", "shop.map.toml"):
        assert text in done.out
    again = tpstream("import", *files, "--map", "shop.map.toml", "--out", "again.arrows", "--json")
    found = json.loads(again.out)
    assert found["payments"]["rows"] == sum(count for key, count in found["payments"].items() if key != "rows")
    assert (tmp_path / "again.arrows").read_bytes()[-2000:] == (tmp_path / "shop.arrows").read_bytes()[-2000:]
    assert not (tmp_path / "again.map.toml").exists()


def test_import_keeps_what_is_there(tpstream: Command, files: tuple[Path, Path], tmp_path: Path) -> None:
    """A corrected map or a log is not overwritten without --force; the guess of an import that failed is."""
    assert tpstream("import", *files, "--window", "0d", "--out", "shop.arrows", "--quiet").code == 2
    assert tpstream("import", *files, "--window", "60d", "--out", "shop.arrows", "--quiet").code == 0
    map = tmp_path / "shop.map.toml"
    assert 'window = "60d"' in map.read_text()
    map.write_text(map.read_text().replace("60d", "30d"))
    refused = tpstream("import", *files, "--out", "shop.arrows")
    assert refused.code == 2
    assert "there is a map already" in refused.err
    refused = tpstream("import", *files, "--out", "shop.arrows", "--map", "shop.map.toml")
    assert "there is a log already" in refused.err
    assert tpstream("import", *files, "--out", "shop.arrows", "--force").code == 0


def test_mistakes_are_one_line(tpstream: Command, files: tuple[Path, Path], tmp_path: Path) -> None:
    """A wrong file or option is one line on standard error and exit code 2."""
    (tmp_path / "empty.csv").write_text("")
    for words in (
        (files[0], "none.csv"),
        (files[0], "empty.csv"),
        (files[0], files[0]),
        (*files, "--window", "0d"),
        (*files, "--unit", "month"),
        (*files, "--map", "none.toml"),
    ):
        done = tpstream("import", *words, "--out", "x.arrows")
        assert done.code == 2, words
        assert done.err.startswith("tpstream: ")
        assert done.err.count("\n") == 1


def test_check(tpstream: Command, files: tuple[Path, Path], tmp_path: Path) -> None:
    """Exit code 0 for a log that keeps the rules, 1 with all faults and their lines, 2 for a file that is no log."""
    tpstream("import", *files, "--window", "60d", "--out", "shop.jsonl", "--quiet")
    good = tpstream("check", "shop.jsonl")
    assert (good.code, "keeps every rule" in good.out) == (0, True)
    lines = (tmp_path / "shop.jsonl").read_text().splitlines()
    for number in (40, 400):
        event = json.loads(lines[number])
        lines[number] = json.dumps({**event, "round": 10_000})
    write_lines(tmp_path / "bad.jsonl", [json.loads(line) for line in lines])
    bad = tpstream("check", "bad.jsonl", "--json")
    assert bad.code == 1
    assert [fault["line"] for fault in json.loads(bad.out)["faults"]] == [41, 401]
    printed = tpstream("check", "bad.jsonl")
    assert "line 41" in printed.out
    assert "2 faults" in printed.out
    none = tpstream("check", files[0])
    assert (none.code, none.err.count("\n")) == (2, 1)


def test_answer(tpstream: Command, tmp_path: Path) -> None:
    """It prints values beside what was paid so far, draws a figure, and gives JSON with the promised keys."""
    shop = make_shop(4000, seed=3)
    import_log(shop.offers, shop.payments, out=tmp_path / "shop.arrows", window="60d", currency="EUR")
    shown = tpstream("answer", "shop.arrows", "--figure", "shop.png", "--against", "A", "--report", "shop.html")
    assert (shown.code, shown.err) == (0, "")
    for text in (
        "closed",
        "in the end",
        "outstanding",
        "minus A",
        "leads",
        "EUR",
        "figure: shop.png",
        "report: shop.html",
        "no plan was",
    ):
        assert text in shown.out
    report = (tmp_path / "shop.html").read_text("utf-8")
    assert re.search(r"A decision for E pays [\d.]+ more than one for A, and the interval does not include 0\.", report)
    plan = ("--plan-until", "2025-12-31", "--alpha", "0.1")
    planned = json.loads(tpstream("answer", "shop.arrows", *plan, "--json").out)
    assert f"minus {planned['leader']}" in shown.out
    assert (planned["plan_until"], planned["alpha"], planned["notes"]) == ("2025-12-31", 0.1, [])
    assert "plan: looks up to 2025-12-31" in tpstream("answer", "shop.arrows", *plan).out
    for text in (
        "Which of 5 arms of shop.arrows pays most",
        "tpstream answer shop.arrows",
        "outstanding in all",
        "<svg",
    ):
        assert text in report
    found = json.loads(tpstream("answer", "shop.arrows", "--json").out)
    assert {"arms", "clear_since", "leader"} <= set(found)
    keys = "arm decisions open paid naive value low high outstanding outstanding_low outstanding_high best_probability"
    page = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text("utf-8")
    assert all(f"`{key}`" in page for key in {*found, *found["arms"][0]} - {"log"})
    for arm in found["arms"]:
        assert set(keys.split()) <= set(arm)
        assert arm["low"] < arm["value"] < arm["high"]
        assert arm["naive"] == pytest.approx(arm["paid"] / arm["decisions"])
    for words in (("--against", "Z"), ("--plan-until", "2024-01-02"), ("--alpha", "2")):
        refused = tpstream("answer", "shop.arrows", *words)
        assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_an_answer_that_is_withheld(tpstream: Command, files: tuple[Path, Path]) -> None:
    """What cannot be trusted is null in JSON, with the reason, which is printed, too."""
    tpstream("import", *files, "--window", "60d", "--until", "2024-02-20", "--out", "shop.arrows", "--quiet")
    found = json.loads(tpstream("answer", "shop.arrows", "--json").out)
    assert all(arm["low"] is None and arm["reason"] for arm in found["arms"])
    assert found["clear_since"] is None
    assert found["clear_reason"]
    assert "withheld for A" in tpstream("answer", "shop.arrows").out


def test_other_commands_on_imported_logs(tpstream: Command, files: tuple[Path, Path], tmp_path: Path) -> None:
    """Commands that need a run say so in one line; converting and looking work."""
    tpstream("import", *files, "--window", "60d", "--out", "shop.arrows", "--currency", "EUR", "--quiet")
    for words in (
        ("replay",),
        ("replay", "-p", "uniform"),
        ("replay", "-p", "uniform", "--check"),
        ("regret",),
        ("diagnose",),
    ):
        done = tpstream(words[0], "shop.arrows", *words[1:])
        assert done.code == 2, words
        assert done.err.count("\n") == 1
        assert "was imported from tables" in done.err
    assert tpstream("convert", "shop.arrows", "dense.parquet", "--dense").code == 0
    assert tpstream("convert", "shop.arrows", "shop.jsonl").code == 0
    assert tpstream("check", "dense.parquet").code == tpstream("check", "shop.jsonl").code == 0
    assert tpstream("view", "shop.arrows", "--out", "shop.html").code == 0
    assert (tmp_path / "shop.html").stat().st_size > 10_000
    log = read_log(tmp_path / "shop.arrows")
    assert "not known" in repr(log)
    log.plot(tmp_path / "shop.png")
