"""What `tpstream calibrate` prints and reports of the threshold that it found."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from tpstream.experiment.report import FOUND, RESULTS, command_section, described_section
from tpstream.figures import style
from tpstream.model.display import counted
from tpstream.scenario.description import describe_scenario
from tpstream.scenario.scenario import Scenario
from tpstream.trial.calibrate import Calibration
from tpstream.view.pages import Page
from tpstream.view.report import Block, Picture, Section, Sentences, Table, make_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def threshold(found: Calibration) -> str:
    """The threshold with its interval, if that is known."""
    sure = "" if math.isnan(found.low) else f" (95 % interval {found.low:.6g} to {found.high:.6g})"
    return f"{found.key} = {found.value:.6g}{sure}"


def rate_rows(found: Calibration) -> list[dict[str, str]]:
    """The rate in the search and in fresh trials."""
    return [
        {
            "": name,
            found.target: f"{one.value:.4f} ({one.low:.4f} to {one.high:.4f})",
            "standard error": f"{one.error:.4f}",
            "trials": f"{one.trials:,}",
        }
        for name, one in (("in the search", found.found), ("in fresh trials", found.confirmed))
    ]


def calibration_figure(path: str | Path | None, found: Calibration) -> "Figure":
    """Draw the two rates with their intervals, and the one that was wanted."""
    with style.new_figure(path, 8, 2.4) as figure:
        axes = figure.subplots()
        axes.axvline(found.wanted, color=style.GREY, linewidth=1.5, linestyle="--")
        rates = {"in fresh trials": found.confirmed, "in the search": found.found}
        for place, one in enumerate(rates.values()):
            axes.plot([one.low, one.high], [place, place], color=style.COLOURS[0], linewidth=2, solid_capstyle="butt")
            axes.plot(one.value, place, "o", color=style.COLOURS[0], markersize=7)
        axes.set_yticks(range(len(rates)), list(rates))
        axes.set_ylim(-0.6, len(rates) - 0.4)
        axes.set(xlabel=f"{found.target}; dashed: {found.wanted:g}, which was wanted")
        style.draw_grid(axes)
    return figure


def calibration_report(found: Calibration, scenario: Scenario, seed: int) -> Page:
    """The report of a threshold that was found for this scenario."""
    tried = [{found.key: f"{value:.6g}", found.target: f"{rate:.4f}"} for value, rate in found.steps]
    results: list[Block] = [
        Table(rate_rows(found), f"The rate at {threshold(found)}; wanted: {found.wanted:g}"),
        Picture(calibration_figure(None, found), "Rates with 95 % intervals; dashed: the one that was wanted."),
        Table(tried, "The thresholds that were tried"),
    ]
    return make_report(
        f"{scenario.name}: {found.key} calibrated",
        f"At which {found.key} does the design {scenario.name} have {found.target} = {found.wanted:g}?",
        [
            Section(FOUND, [Sentences(_findings(found), points=True)]),
            Section(RESULTS, results),
            described_section(describe_scenario(scenario, [])),
            command_section([("method", found.method), ("trials", f"{found.trials:,} in all"), ("seed", str(seed))]),
        ],
    )


def _findings(found: Calibration) -> list[str]:
    """What was found, in sentences."""
    one = found.confirmed
    inside = one.low <= found.wanted <= one.high
    apart = "includes" if inside else "lies above" if one.low > found.wanted else "lies below"
    end = (
        ""
        if math.isnan(found.low)
        else (f" With other random numbers it might be between {found.low:.6g} and {found.high:.6g} (95 %).")
    )
    fresh = (
        f"In {counted(one.trials, 'fresh trial')}, which had no part in the search, {found.target} is {one.value:.4f}"
    )
    interval = f"({one.low:.4f} to {one.high:.4f}): the interval {apart} the wanted {found.wanted:g}."
    return [f"The threshold is {found.key} = {found.value:.6g}.{end}", f"{fresh} {interval}"]
