"""Figures: labels that keep apart, and colours of policies."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given, strategies as st
from matplotlib.figure import Figure
from studies import small

from tpstream import compare, log_regret, simulate, sweep
from tpstream.figures.logs import log_regret_figure
from tpstream.figures.style import COLOURS, DASHED, line_styles, policy_colours, short_number, spread_apart

heights = st.lists(st.floats(0, 1000), min_size=1, max_size=12)
gaps = st.floats(0.1, 50)


@given(heights, gaps)
def test_labels_are_a_gap_apart(at: list[float], gap: float) -> None:
    """Any two labels are at least a gap apart."""
    assert np.diff(np.sort(spread_apart(np.array(at), gap))).min(initial=gap) >= gap * (1 - 1e-9) - 1e-9


@given(heights, gaps)
def test_labels_keep_their_order(at: list[float], gap: float) -> None:
    """A label that belongs below another one stays below it."""
    moved = spread_apart(np.array(at), gap)
    assert all(moved[one] < moved[other] for one in range(len(at)) for other in range(len(at)) if at[one] < at[other])


@given(heights, gaps, st.floats(0, 500))
def test_labels_stay_above_the_lowest_place(at: list[float], gap: float, lowest: float) -> None:
    """No label is below the axes, where the labels of ticks are; they still are a gap apart."""
    moved = np.sort(spread_apart(np.array(at), gap, lowest))
    assert moved[0] >= lowest
    assert np.diff(moved).min(initial=gap) >= gap * (1 - 1e-9) - 1e-9


def test_labels_with_room_stay() -> None:
    """Labels that are apart already are not moved."""
    assert spread_apart(np.array([30.0, 0.0, 10.0]), 10.0).tolist() == [30.0, 0.0, 10.0]


def test_labels_share_the_way() -> None:
    """Three labels at one height move apart evenly around it."""
    assert spread_apart(np.array([5.0, 5.0, 5.0]), 2.0).tolist() == [3.0, 5.0, 7.0]


def test_the_papers_policies_keep_their_colours() -> None:
    """Whatever else is drawn and in whatever order, each of the four kinds has its own colour."""
    colours = policy_colours(["uniform", "TP-UCB-EW", "delayed-ucb1:start=random", "tp-ucb-fr", "mine", "ucb1"])
    assert [colours[label] for label in ("ucb1", "delayed-ucb1:start=random", "tp-ucb-fr", "TP-UCB-EW")] == list(
        COLOURS[:4]
    )
    assert colours["uniform"] == COLOURS[4]


def test_a_policy_has_one_colour_in_all_figures() -> None:
    """Which other policies are drawn, and in which order, does not matter."""
    alone = {label: policy_colours([label])[label] for label in ("uniform", "oracle", "ucb1", "mine", "yours")}
    for others in (["mine", "oracle", "uniform"], ["uniform", "ucb1", "yours", "mine"]):
        assert policy_colours(others) == {label: alone[label] for label in others}


def test_a_line_on_another_is_dashed() -> None:
    """Of lines that cannot be told apart the one above is dashed, so that the one below shows."""
    line = np.linspace(0.0, 100.0, 30)
    styles = line_styles({"below": line, "above": line + 0.5, "apart": line * 0.9, "shorter": line[:3]})
    assert styles == {"below": "-", "above": DASHED, "apart": "-", "shorter": "-"}
    mostly = np.where(np.arange(30) < 25, line, line + 5.0)
    assert line_styles({"below": line, "above": mostly}) == {"below": "-", "above": DASHED}


def test_numbers_are_written_for_people() -> None:
    """No powers of ten, and no more digits than are read."""
    assert [short_number(value) for value in (10_040.0, 999.96, 12.3456, 0.5)] == ["10,040", "1000", "12.35", "0.5"]


@given(st.lists(st.sampled_from(["ucb1", "tp-ucb-fr", "tp-ucb-fr:groups=5", "mine", "yours"]), unique=True))
def test_policies_have_different_colours(labels: list[str]) -> None:
    """No two policies share a colour while there are enough of them, also two of one kind."""
    colours = policy_colours(labels)
    assert list(colours) == labels
    assert len(set(colours.values())) == len(labels)


def test_many_policies_share_colours() -> None:
    """Colours are used again where there are more policies than colours."""
    assert len(policy_colours([f"policy-{number}" for number in range(20)])) == 20


def test_matplotlib_waits_for_a_figure() -> None:
    """Importing what studies import does not import Matplotlib or scipy.stats."""
    code = (
        "import sys, tpstream.figures.style, tpstream.figures.sweep, tpstream.scenario.bounds; "
        "print([name for name in ('matplotlib', 'scipy.stats', 'scipy.optimize') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_axes_of_regret_have_the_currency(tmp_path: Path) -> None:
    """Wherever regret is drawn, its axis says what it is counted in, if that is known."""
    for currency, unit in (("EUR", " in EUR"), (None, "")):
        scenario = small(currency=currency) if currency else small()
        study = compare(scenario, ["uniform"], runs=1, jobs=1, logs=tmp_path / str(currency))
        found = sweep(scenario, {"span": [6, 12]}, ["uniform"], runs=1)
        figures = [study.plot(), study.plot(ax=Figure().subplots()), simulate(scenario, "uniform").plot(), found.plot()]
        labels = [figure.axes[0].get_ylabel() for figure in figures]
        assert labels == [f"pseudo-regret{unit}"] * 3 + [f"final pseudo-regret{unit}"]
        log_regret_figure(tmp_path / "logs.svg", log_regret(tmp_path / str(currency)))
        assert (f"pseudo-regret, at the pull{unit} -->") in (tmp_path / "logs.svg").read_text()
