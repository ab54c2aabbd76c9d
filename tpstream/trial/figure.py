"""The figure of a trial: the share of patients on the best arm over the enrolment, and the benefit lost."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tpstream.analysis.regret import all_equal
from tpstream.figures.style import GREY, draw_grid, label_lines, line_styles, new_figure, policy_colours, short_number
from tpstream.trial.characteristics import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trial_figure(path: Path, trial: Trial) -> None:
    """On the left allocation over the enrolment, on the right the benefit lost and how often the best arm was chosen.

    A policy that failed in every run is left out.
    """
    colours = {policy: colour for policy, colour in policy_colours(trial.outcomes).items() if trial.outcomes[policy]}
    runs = max(len(outcomes) for outcomes in trial.outcomes.values())
    with new_figure(path, 10.5, 4.4) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        title = f"{trial.name}: {runs} run{'s, 95 % intervals' if runs > 1 else ''}"
        figure.suptitle("\n".join([title, *trial.notes]), x=0.01, ha="left", fontweight="bold", wrap=True)
        _draw_allocation(left, trial, colours)
        _draw_losses(right, trial, colours)
        if not all_equal(trial.means):
            label_lines(left, {policy: 100 * float(trial.allocation(policy).mean[-1]) for policy in colours}, colours)


def _draw_allocation(axes: "Axes", trial: Trial, colours: dict[str, str]) -> None:
    """The share of patients on the best arm, a line and a band for each policy."""
    styles = line_styles({policy: trial.allocation(policy).mean for policy in colours})
    if all_equal(trial.means):
        colours = {}
        axes.text(0.5, 0.5, "no best arm", transform=axes.transAxes, ha="center", color=GREY)
    for policy, colour in colours.items():
        curve = trial.allocation(policy)
        middles = (np.arange(len(curve.mean)) + 0.5) * trial.horizon / len(curve.mean)
        axes.plot(middles, 100 * curve.mean, color=colour, linewidth=2, linestyle=styles[policy])
        axes.fill_between(middles, 100 * curve.low, 100 * curve.high, color=colour, alpha=0.15, linewidth=0)
    axes.set(xlim=(0, trial.horizon), ylim=(0, 100), xlabel="patient, in order of enrolment")
    axes.set_title("patients on the best arm", loc="left", color=GREY, fontsize=10.5)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:.0f} %")
    draw_grid(axes)


def _draw_losses(axes: "Axes", trial: Trial, colours: dict[str, str]) -> None:
    """A point and its interval for each policy, the smallest loss at the bottom."""
    table = trial.table().query("runs > 0").sort_values("lost")
    for place, row in enumerate(table.to_dict("records")):
        colour = colours[row["policy"]]
        if row["runs"] > 1:
            axes.plot([row["lost_low"], row["lost_high"]], [place, place], color=colour, linewidth=2.5)
        axes.plot([row["lost"]], [place], "o", color=colour, markersize=6)
        text = row["policy"] + ("" if np.isnan(row["best_chosen"]) else f" ({row['best_chosen']:.0%})")
        side = "right" if row["lost"] > table["lost"].max() / 2 else "left"
        axes.annotate(text, (row["lost"], place), xytext=(0, 9), textcoords="offset points", ha=side, color=colour)
    axes.set(xlim=(0, 1.1 * table["lost"].max() or 1.0), ylim=(-0.5, len(table) - 0.3), yticks=[])
    axes.set_xlabel("against all on the best arm, in expectation")
    axes.spines["left"].set_visible(False)
    axes.set_title("benefit lost (best arm chosen in the end)", loc="left", color=GREY, fontsize=10.5)
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
    draw_grid(axes, "x")
