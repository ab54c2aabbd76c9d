"""The command evaluate: its table, JSON, figure and report, and mistakes in one line."""

import json
from pathlib import Path

import pytest
from command import Command, tpstream
from logged_worlds import CUSTOMERS, LoggedWorld

__all__ = ["tpstream"]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with unequal probabilities and open decisions."""
    path = tmp_path_factory.mktemp("logs") / "log.arrows"
    for made in LoggedWorld("customers", CUSTOMERS, 0.4).logs(1, seed=3):
        path.write_bytes(made.read_bytes())
    return path


def test_an_allocation(tpstream: Command, log: Path, tmp_path: Path) -> None:
    """Table, sentence, figure and report; the report says how to repeat it."""
    figure, report = tmp_path / "e.png", tmp_path / "e.html"
    shown = tpstream(
        "evaluate", log, "--allocation", "A=0.2,B=0.3", "--allocation", "C=0.5", "-f", figure, "-r", report
    )
    assert shown.code == 0
    for text in (
        "doubly robust",
        "as logged",
        "effective",
        "finished",
        "fixed probabilities",
        "the twin (model-based)",
    ):
        assert text in " ".join(shown.out.split())
    assert figure.stat().st_size > 1000
    page = report.read_text(encoding="utf-8")
    assert f"tpstream evaluate {log} --allocation A=0.2,B=0.3 --allocation C=0.5" in page
    assert "What was found" in page


def test_json(tpstream: Command, log: Path) -> None:
    """JSON has every estimate, and what a policy that learns kept."""
    words = ("evaluate", log, "-p", "epsilon-greedy", "--replays", "10", "--json")
    found = json.loads(tpstream(*words, "--no-twin").out)
    assert found["twin"] is None
    assert (found["policy"], found["allocation"], found["reason"]) == ("epsilon-greedy", None, None)
    assert found["thinning"] == pytest.approx(0.2)
    first, logged = found["estimates"]
    assert (first["estimator"], logged["estimator"]) == ("replay with rejection", "as logged")
    assert first["low"] < first["value"] < first["high"]
    assert first["naive"] < first["value"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--allocation", "A"], "--allocation A: write the arm and its probability"),
        (["--allocation", "A=much"], "--allocation A=much: write the arm"),
        (["--allocation", "A=0.5,A=0.5"], "arm 'A' is given twice"),
        (["--allocation", "A=0.5"], "sum to 0.5"),
        (["-p", "uniforn"], "did you mean 'uniform'"),
        ([], "name a policy or an allocation"),
    ],
)
def test_a_mistake_is_one_line(tpstream: Command, log: Path, arguments: list[str], message: str) -> None:
    """Mistakes are one line on standard error, and exit code 2."""
    shown = tpstream("evaluate", log, *arguments)
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert message in shown.err
