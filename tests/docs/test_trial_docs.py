"""docs/design-a-trial.md tells the truth: its scenario is the shipped one, and its trial is what the command prints."""

import re
from pathlib import Path

from tpstream import Scenario, tell_trial

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "design-a-trial.md").read_text(encoding="utf-8")


def test_the_scenario_is_the_shipped_one() -> None:
    """The file that the page quotes, to the letter."""
    (quoted,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    shipped = ROOT / "scenarios" / "applications" / "three-arm-trial.toml"
    assert quoted == shipped.read_text(encoding="utf-8")


def test_the_trial_that_is_told() -> None:
    """The text below `--tell 7` is that of the trial with seed 7."""
    told = PAGE.partition("--tell 7\n")[2].partition("```text\n")[2].partition("```")[0]
    assert told.splitlines() == tell_trial(Scenario.load("three-arm-trial"), seed=7)
