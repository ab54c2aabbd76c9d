"""docs/policies.md and docs/value.md: their tables are made by docs/results.py, and name what ships."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from studies import small

from tpstream import Scenario, league
from tpstream.experiment.advice import FEATURES
from tpstream.experiment.league import LEFT_OUT
from tpstream.policies import POLICIES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """docs/results.py."""
    spec = importlib.util.spec_from_file_location("results_of_pages", DOCS / "results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def block(script: ModuleType, what: str) -> str:
    """What is between the marks of a page."""
    begin = re.escape(script.BEGIN.format(what=what))
    found = re.search(f"{begin}(.*?){re.escape(script.END)}", script.PAGES[what].read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_has_the_tables(script: ModuleType) -> None:
    """There is a row for each feature and for each policy that can be used, and all names are known."""
    text = block(script, "league")
    assert all(f"| {name} (" in text for name in FEATURES)
    standings = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    scenario = Scenario.load("setting-1")
    assert all(scenario.policy(policy).label == policy for policy in standings)
    assert {policy.partition(":")[0] for policy in standings} == set(POLICIES.builtin) - set(LEFT_OUT)
    assert (DOCS / "images" / "league.png").stat().st_size > 10_000


def test_parts_in_every_setting(script: ModuleType) -> None:
    """Each of the three tables about the value of parts has a row for each setting."""
    text = block(script, "value")
    assert [text.count(f"| `{setting}` |") for setting in script.SETTINGS] == [3] * len(script.SETTINGS)


def test_a_league_in_words(script: ModuleType) -> None:
    """What is known of a world, which policy to take there, and how all of them stand."""
    text = script.describe_league(league([small(name="playlist", horizon=100)], ["tp-ucb-ew"], runs=3))
    assert "3 runs in each of 1 worlds" in text
    assert "the parts of a pull depend on each other (`playlist`)" in text
    assert "| `tp-ucb-ew` | " in text


def test_the_tables_are_put_into_the_page(script: ModuleType) -> None:
    """What stood between the marks is replaced, and nothing else; a page without marks is an error."""
    begin = script.BEGIN.format(what="value")
    page = f"before\n{begin}\nold\n{script.END}\nafter\n"
    assert script.put_into(page, "value", "new") == f"before\n{begin}\nnew\n{script.END}\nafter\n"
    with pytest.raises(SystemExit, match="marks"):
        script.put_into(page, "league", "new")
