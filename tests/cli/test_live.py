"""The live page of commands: its address is printed first, the result stays the same, and an interruption ends both."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Command, tpstream
from studies import TOML

from tpstream import Scenario
from tpstream.model.errors import ScenarioError

__all__ = ["tpstream"]


@pytest.fixture(autouse=True)
def _usual() -> Iterator[None]:
    """Interruptions are not ignored, as they are for jobs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("words", [("run",), ("compare", "--runs", "2"), ("trial", "--runs", "2")])
def test_the_result_is_the_same(tpstream: Command, words: tuple[str, ...]) -> None:
    """With --live the address goes to standard error, and standard output is as without, but for the seconds."""
    asked = (words[0], "small.toml", "-p", "uniform", "--jobs", "1", *words[1:], "--json")
    alone, shown = tpstream(*asked), tpstream(*asked, "--live")
    assert shown.code == 0
    assert re.fullmatch(r"live page: http://127\.0\.0\.1:\d+/\?token=\S+\n", shown.err)
    without = [re.sub(r'"seconds_per_run": \S+', "", one.out) for one in (alone, shown)]
    assert without[0] == without[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "small.toml", "--port", "8000"), "--port 8000 is about the live page; ask for it with --live"),
        (("run", "small.toml", "--live", "--port", "99999"), "choose another with --port"),
        (("view", "small.toml", "--port", "8000"), "ask for it with --follow"),
        (("view", "small.toml", "--follow", "--out", "page.html"), "--follow writes no page"),
        (("view", "small.toml", "--follow"), "small.toml: this is not a log"),
    ],
)
def test_mistakes_are_one_line(tpstream: Command, words: tuple[str, ...], message: str) -> None:
    """Exit code 2, one line on standard error."""
    done = tpstream(*words)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert message in done.err


def test_the_address_comes_first(tpstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is printed before pulls are drawn for warnings, which may take long, and whatever these find."""

    def fail(*_: object) -> None:
        raise ScenarioError("pulls cannot be drawn")

    monkeypatch.setattr(Scenario, "warnings", fail)
    for command in ("run", "compare", "trial"):
        done = tpstream(command, "small.toml", "-p", "uniform", "--live")
        assert done.code == 2
        assert re.fullmatch(r"live page: \S+\ntpstream: pulls cannot be drawn\n", done.err)


@pytest.mark.slow
def test_an_interruption_ends_the_run_and_its_page(tmp_path: Path) -> None:
    """Ctrl-C works as without a page: exit code 130, and nothing is printed but that."""
    (tmp_path / "small.toml").write_text(TOML.replace("horizon = 60", "horizon = 40000000"))
    words = [
        sys.executable,
        "-c",
        "from tpstream.cli.app import main; main()",
        "run",
        "small.toml",
        "-p",
        "ucb1",
        "--live",
    ]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("live page: ")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert err.endswith("tpstream: interrupted\n")
