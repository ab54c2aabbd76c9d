"""`tpstream new`: what it writes works out of the box, and nothing is overwritten."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command, tpstream
from plugged import forgetful
from studies import KEYS, TOML

__all__ = ["forgetful", "tpstream"]
pytestmark = pytest.mark.usefixtures("forgetful")

ROOT = Path(__file__).parents[2]
USES: dict[str, tuple[str, list[str]]] = {
    "delay": (TOML + '[[delays]]\nkind = "my-own"\nmean = 2.5\n', []),
    "policy": (TOML, ["-p", "my-own:explore=0.3"]),
    "reward": (
        TOML.replace('"smooth-beta"\ngroups = 3\nspread = "random"', '"my-own"\nprice = 2.0')
        .replace("maximum = 10.0", "chance = 0.2")
        .replace("maximum = 20.0", "chance = 0.4")
        .replace("maximum = 30.0", "chance = 0.9"),
        [],
    ),
    "arrival": (TOML + '[arrivals]\nkind = "my-own"\nlongest = 3.0\n', []),
    "sink": (TOML, ["--sink", "my-own:file=pulls.csv"]),
}
"""A scenario and words of a command that use a new plug-in of each kind."""


@pytest.mark.parametrize("kind", USES)
def test_what_is_new_passes_its_test(tpstream: Command, tmp_path: Path, kind: str) -> None:
    """The plug-in passes the test that comes with it, without a change."""
    shown = tpstream("new", kind, "my-own", "--out", "mine")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines()[:2] == ["plug-in: mine/my_own.py", "test:    mine/test_my_own.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "mine/test_my_own.py"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kind", USES)
def test_what_is_new_can_be_used(tpstream: Command, tmp_path: Path, kind: str) -> None:
    """`run` and `list` know it with --plugin, and only with it."""
    text, words = USES[kind]
    Path("world.toml").write_text(text)
    tpstream("new", kind, "my-own")
    command = ("run", "world.toml", "--json", "-j", 1, *words)
    without = tpstream(*command)
    shown = tpstream(*command, "--plugin", "my_own.py")
    assert (without.code, without.out) == (2, "")
    assert "unknown" in without.err
    assert (shown.code, shown.err) == (0, "")
    assert json.loads(shown.out)["rounds"] == KEYS["horizon"]
    section = {"policy": "policies"}.get(kind, f"{kind}s")
    assert " my-own " in tpstream("list", section, "--plugin", "my_own.py").out
    assert (tmp_path / "pulls.csv").exists() == (kind == "sink")


@pytest.mark.parametrize("there", ["my_own.py", "test_my_own.py"])
def test_nothing_is_overwritten(tpstream: Command, there: str) -> None:
    """If one of the two files is there, neither is written."""
    Path(there).write_text("mine")
    shown = tpstream("new", "delay", "my-own")
    assert (shown.code, shown.out) == (2, "")
    assert shown.err == f"tpstream: {there}: is there already; choose another name or another --out\n"
    assert sorted(path.name for path in Path().glob("*.py")) == [there]
    assert Path(there).read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("delay", "My Own"),
            "'My Own' is no name for a plug-in; use small letters, digits and hyphens, as in post-office",
        ),
        (("delay", "lump"), "there is a delay 'lump' already; choose another name"),
        (("reward", "trace"), "there is a reward model 'trace' already"),
        (("delays", "mine"), "'delays' is not one of"),
        (("delay", "mine", "--out", "small.toml"), "small.toml: cannot be written (File exists); choose another --out"),
    ],
)
def test_mistakes(tpstream: Command, words: tuple[str, ...], message: str) -> None:
    """A name that cannot be used, or a place that cannot be written to, is one line."""
    shown = tpstream("new", *words)
    assert (shown.code, shown.out, len(shown.err.splitlines())) == (2, "", 1)
    assert message in shown.err


def test_the_extra_with_pytest_is_named_where_it_is_missing(
    tpstream: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has no pytest is told what installs it; others are not."""
    told = tpstream("new", "delay", "first-own", "--out", tmp_path).out
    monkeypatch.setattr("tpstream.cli.describe.find_spec", lambda _: None)
    without = tpstream("new", "delay", "second-own", "--out", tmp_path).out
    assert ("tpstream[test]" in told, "pip install 'tpstream[test]'" in without) == (False, True)
