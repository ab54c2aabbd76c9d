"""The guide to delays tells the truth: its scenarios run, its program prints what it says, its tables are complete."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tpstream import Scenario, simulate
from tpstream.engines.engine import select
from tpstream.model.registry import Registry
from tpstream.timing import ARRIVALS, DELAYS

GUIDE = (Path(__file__).parents[2] / "docs" / "delays.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
SCENARIOS = {keys["name"]: keys for keys in (tomllib.loads(text) for language, text in BLOCKS if language == "toml")}
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", GUIDE, re.MULTILINE | re.DOTALL))


def rows(section: str) -> dict[str, str]:
    """The column of keys of each kind in the table of that section."""
    return dict(re.findall(r"^\| `([\w-]+)` \| ([^|]*)\|", SECTIONS[section], re.MULTILINE))


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_runs(name: str) -> None:
    """Each scenario of the guide runs, in the compiled engine."""
    scenario = Scenario.parse(SCENARIOS[name]).with_(horizon=200)
    assert select("auto", scenario.policy("uniform").form, scenario.timing()) == "compiled"
    assert len(simulate(scenario, "uniform").arms) == 200


def test_all_scenarios_are_there() -> None:
    """Each task has a scenario, and all but the shop a picture."""
    assert list(SCENARIOS) == ["clinic", "leaving", "payments", "offers", "hospitals", "rush", "shop"]
    pictures = re.findall(r"images/delays-(\w+)\.png", GUIDE)
    assert pictures == list(SCENARIOS)[:-1]
    assert all((Path(__file__).parents[2] / "docs" / "images" / f"delays-{name}.png").is_file() for name in pictures)


def test_the_program_prints_what_it_says(tmp_path: Path) -> None:
    """Beside the file of the clinic, it prints exactly the text below it."""
    texts = {tomllib.loads(text)["name"]: text for language, text in BLOCKS if language == "toml"}
    (tmp_path / "clinic.toml").write_text(texts["clinic"], encoding="utf-8")
    (program,) = [text for language, text in BLOCKS if language == "python"]
    (printed,) = [text for language, text in BLOCKS if language == "text"]
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


@pytest.mark.parametrize(("section", "registry"), [("Arrivals", ARRIVALS), ("Delays", DELAYS)])
def test_the_tables_have_every_kind(section: str, registry: Registry) -> None:
    """Each table has exactly the kinds that are built in."""
    assert sorted(rows(section)) == sorted(registry.builtin)


@pytest.mark.parametrize(
    ("section", "registry", "kind"),
    [
        *(("Arrivals", ARRIVALS, kind) for kind in ARRIVALS.builtin),
        *(("Delays", DELAYS, kind) for kind in DELAYS.builtin),
    ],
)
def test_a_row_has_every_key(section: str, registry: Registry, kind: str) -> None:
    """The row of a kind names exactly its keys; what is in brackets are defaults."""
    named = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", rows(section)[kind]))
    assert sorted(named) == sorted(registry.find(kind).settings.model_fields)


def test_the_keys_of_a_scenario_are_there() -> None:
    """The first table has every key of a scenario that is about time."""
    listed = re.findall(r"^\| `\[*(\w+)\]*` \| ", GUIDE.split("\n## ")[0], re.MULTILINE)
    world = {"name", "horizon", "span", "seed", "currency", "rewards", "arms", "policies", "trial"}
    assert sorted(listed) == sorted(set(Scenario.model_fields) - world)
