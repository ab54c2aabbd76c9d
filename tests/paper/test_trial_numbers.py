"""Numbers of published trial designs: when two agree, and the command that compares them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Command, tpstream

from tpstream import Scenario
from tpstream.paper import trials_looks
from tpstream.paper.published import Effort, Number, deviation, mean, share
from tpstream.paper.trial_numbers import TABLES, Validation, shown, write_validation
from tpstream.paper.trials_looks import best_arms
from tpstream.paper.trials_rpact import rpact
from tpstream.paper.trials_villar import gittins_indices

__all__ = ["tpstream"]


def test_numbers_agree_within_four_combined_errors_and_the_rounding() -> None:
    """Errors 0.3 and 0.4 make 0.5: with a rounding of 0.1, a difference of 2.1 is just near enough."""
    near = Number("table", "what", 5.0999, 0.3, 3.0, 0.4, 0.1)
    assert near.errors == pytest.approx(4.0, abs=1e-3)
    assert near.agrees
    assert not near._replace(ours=5.11).agrees
    assert near._replace(ours=0.9).errors == pytest.approx(-4.0)
    assert near._replace(ours=3.09, error=0.0, published_error=0.0).agrees
    assert math.isinf(near._replace(error=0.0, published_error=0.0).errors)


def test_errors_of_shares_and_means() -> None:
    """A share has a binomial error, a mean that of its sample; theirs from the number of trials behind them."""
    found = share("table", "what", np.array([1.0, 1.0, 0.0, 0.0]), 0.2, trials=400)
    assert (found.ours, found.error, found.published_error) == pytest.approx((0.5, 0.25, 0.02))
    assert share("table", "what", np.zeros(60), 0.034, trials=10_000).agrees
    found = mean("table", "what", np.array([1.0, 3.0]), 2.5, deviation=3.0, trials=9, rounding=0.5)
    assert (found.ours, found.error, found.published_error) == pytest.approx((2.0, 1.0, 1.0))
    assert found.errors == 0


def test_shown_digits() -> None:
    """Two digits of the error are shown; a computed number has eight."""
    assert shown(0.123456, 0.0012) == "0.1235 (0.0012)"
    assert shown(1749.62, 3.7) == "1,749.6 (3.7)"
    assert shown(2.8874465) == "2.8874465"


def test_rpact_agrees_to_its_digits() -> None:
    """Boundaries are computed, so that only the published rounding may remain."""
    assert all(one.agrees and one.error == 0 for one in rpact(Effort(1)))


def test_indices_and_probabilities_agree_to_their_digits() -> None:
    """Gittins indices and probabilities of being the best arm are computed, so that only the rounding may remain."""
    numbers = [*gittins_indices(Effort(1)), *best_arms(Effort(1))]
    assert len(numbers) == 5
    assert all(one.agrees and one.error == one.published_error == 0 for one in numbers)
    assert not numbers[0]._replace(ours=numbers[0].ours + 1e-4).agrees


def test_the_error_of_a_standard_deviation() -> None:
    """Of normal numbers it is the deviation over the root of 2 n, of ours and, with their n, of theirs."""
    ours = np.random.default_rng(1).normal(0, 3.0, 4000)
    found = deviation("table", "what", ours, 3.0, 1000, 0.05)
    assert found.ours == pytest.approx(np.std(ours, ddof=1))
    assert found.error == pytest.approx(3.0 / math.sqrt(8000), rel=0.05)
    assert found.published_error == pytest.approx(2 * found.error)
    assert found.agrees


def test_numbers_that_are_known_to_disagree_are_shown_and_no_surprise(tmp_path: Path) -> None:
    """The report says no, and why; any other disagreement is a surprise."""
    numbers = pd.DataFrame([Number("table", "bias", 0.081, 0.001, 0.095, known=True)]).assign(
        errors=-14.0, agrees=False
    )
    found = Validation(1_000, numbers)
    text = write_validation(found, tmp_path / "page.md").read_text()
    assert "| bias | 0.0810 (0.0010) | 0.095 | -14.0 | **no**, see above |" in text
    assert "**0 of 1 numbers agree**" in text
    assert "known not to be that of one rule" in text
    biased = numbers.assign(what="current belief: bias", ours=0.0807)
    text = write_validation(Validation(1_000, biased), tmp_path / "page.md").read_text()
    assert "but then the bias is 0.0807 (0.0010)" in text
    assert not found.surprises
    assert Validation(1_000, numbers.assign(known=False)).surprises
    assert (
        "known not to be"
        not in write_validation(Validation(9, numbers.assign(known=False)), tmp_path / "b.md").read_text()
    )


def test_the_command(tpstream: Command, tmp_path: Path) -> None:
    """One table, its report, and a name that is none."""
    shown = tpstream("paper", "trials", "--table", "rpact", "--report", str(tmp_path / "page.md"), "--quiet")
    assert shown.code == 0
    text = (tmp_path / "page.md").read_text()
    assert "**9 of 9 numbers agree**" in text
    assert "| critical value, look 1 | 2.8874465 | 2.8874465 |" in text
    unknown = tpstream("paper", "trials", "--table", "rpackt", "--report", str(tmp_path / "page.md"))
    assert unknown.code == 2
    assert "did you mean 'rpact'" in unknown.err
    assert set(TABLES) >= {"rpact"}


def test_designs_with_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The designs of adaptr and RARtrials are those of their descriptions, and a few trials give all their numbers."""
    adaptr = trials_looks.adaptr_design()
    design = adaptr.design()
    assert design is not None
    assert (design.lower, design.due, len(design.looks), adaptr.horizon) == (True, 100.0, 17, 2000)
    monkeypatch.setattr(trials_looks, "adaptr_design", lambda: adaptr.with_(horizon=420, trial=smaller(adaptr)))
    numbers = trials_looks.adaptr(Effort(20))
    spread = "standard deviation of patients"
    assert [one.what for one in numbers] == ["patients", spread, "superiority", "equivalence", "maximum"]
    assert sum(one.ours for one in numbers[2:]) == pytest.approx(1)
    assert trials_looks.LAGS.mean() == pytest.approx(1, abs=1e-3)
    assert trials_looks.LAGS.std() == pytest.approx(0.3, abs=3e-3)
    assert trials_looks.rar_design(0.4).means.tolist() == [0.2] * 4 + [0.4]


def smaller(scenario: Scenario) -> dict[str, Any]:
    """The design with a single look."""
    table = scenario.resolved()["trial"]
    return table | {"looks": table["looks"] | {"values": [300]}}


def test_reports_of_numbers_are_pages(tpstream: Command, tmp_path: Path) -> None:
    """With .html the report of trials is a page: how many numbers agree, all of them, the figure, and the command."""
    shown = tpstream("paper", "trials", "--table", "rpact", "--report", "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text.startswith("<!doctype html>")
    for words in ("9 of 9 numbers agree within 4 combined errors.", "2.8874465", "<svg", "tpstream paper trials"):
        assert words in text
    assert "made by `tpstream" not in text
    assert "report: page.html" in shown.out
