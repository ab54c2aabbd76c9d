"""docs/policies.md: its tables are made by docs/league.py, and name what ships."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from studies import small

from tpstream import Scenario, league
from tpstream.experiment.advice import FEATURES
from tpstream.policies import POLICIES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """docs/league.py."""
    spec = importlib.util.spec_from_file_location("league_page", DOCS / "league.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def block(page: str, script: ModuleType) -> str:
    """What is between the marks."""
    found = re.search(f"{re.escape(script.BEGIN)}(.*){re.escape(script.END)}", page, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_has_the_tables(script: ModuleType) -> None:
    """There is a row for each feature and for each policy that can be used, and all names are known."""
    text = block((DOCS / "policies.md").read_text("utf-8"), script)
    assert all(f"| {name} (" in text for name in FEATURES)
    standings = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    scenario = Scenario.load("setting-1")
    assert all(scenario.policy(policy).label == policy for policy in standings)
    assert {policy.partition(":")[0] for policy in standings} == set(POLICIES.builtin) - {"ucb1", "oracle"}
    assert (DOCS / "images" / "league.png").stat().st_size > 10_000


def test_the_tables_are_put_into_the_page(script: ModuleType) -> None:
    """What stood between the marks is replaced, and nothing else; a page without marks is an error."""
    found = league([small(name="playlist", horizon=100)], ["tp-ucb-ew"], runs=3)
    text = script.describe(found)
    assert "3 runs in each of 1 worlds" in text
    assert "the parts of a pull depend on each other (`playlist`)" in text
    page = f"before\n{script.BEGIN}\nold\n{script.END}\nafter\n"
    assert script.put_into(page, "new") == f"before\n{script.BEGIN}\nnew\n{script.END}\nafter\n"
    with pytest.raises(SystemExit, match="marks"):
        script.put_into("no marks", "new")
