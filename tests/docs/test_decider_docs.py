"""docs/decider.md: its program runs, and its table names every reason and status."""

import re
from pathlib import Path
from typing import get_args

import pytest

from tpstream.serve.requests import Reason, Status

PAGE = (Path(__file__).parents[2] / "docs" / "decider.md").read_text("utf-8")


@pytest.mark.slow
def test_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It decides, is paid, and leaves a log."""
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(program, "decider.md", "exec"), {})  # noqa: S102 (our own page)
    assert "price" in capsys.readouterr().out
    assert (tmp_path / "logs" / "shop.jsonl").read_text().count("\n") == 3


def test_every_answer_is_explained() -> None:
    """All reasons of refusals and all statuses of receipts stand on the page."""
    for word in (*get_args(Reason), *get_args(Status)):
        assert re.search(rf"\b{word}\b", PAGE), word
