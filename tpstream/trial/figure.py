"""How a trial is shown: the figure of allocation over the enrolment and the benefit lost, and a short summary."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tpstream.analysis.regret import all_equal
from tpstream.figures.style import (
    GREY,
    draw_grid,
    figure_of,
    line_styles,
    name_lines,
    new_figure,
    open_axes,
    policy_colours,
    scale_logarithmic,
    shown_names,
    tick_text,
)
from tpstream.model.arrays import Floats
from tpstream.model.display import Curve, Summary, counted, number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tpstream.trial.characteristics import Trial


def trial_figure(
    path: str | Path | None,
    trial: "Trial",
    *,
    ax: "Axes | None" = None,
    log_y: bool = False,
    labels: Mapping[str, str] | None = None,
) -> "Figure":
    """On the left allocation over the enrolment, on the right the benefit lost and how often the best arm was chosen.

    A policy that failed in every run is left out. On given axes only the allocation is drawn. The figure is written if
    there is a path.
    """
    names = shown_names(trial.outcomes, labels)
    colours = {policy: colour for policy, colour in policy_colours(trial.outcomes).items() if trial.outcomes[policy]}
    runs = max(len(outcomes) for outcomes in trial.outcomes.values())
    title = f"{trial.name}: {runs} run{'s, 95 % intervals' if runs > 1 else ''}"
    whole_title = "\n".join([title, *trial.notes])
    if ax is not None:
        with open_axes(path, ax, 8, 4.4) as axes:
            _draw_allocation(axes, trial, colours, names, log_y=log_y, own=False)
        return figure_of(axes)
    with new_figure(path, 10.5, 4.4) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        figure.suptitle(whole_title, x=0.01, ha="left", fontweight="bold", wrap=True)
        _draw_losses(right, trial, colours, names)
        _draw_allocation(left, trial, colours, names, log_y=log_y, own=True)
    return figure


def _draw_allocation(
    axes: "Axes", trial: "Trial", colours: Mapping[str, str], names: Mapping[str, str], *, log_y: bool, own: bool
) -> None:
    """The share of patients on the best arm, a line and a band for each policy; `own` axes have names beside lines."""
    curves = {policy: trial.allocation(policy) for policy in colours}
    styles = line_styles({policy: curve.mean for policy, curve in curves.items()})
    axes.set(xlim=(0, trial.horizon), ylim=(0, 100), xlabel="patient, in order of enrolment")
    axes.set_title("patients on the best arm", loc="left", color=GREY, fontsize=10.5)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:.0f} %")
    draw_grid(axes)
    if all_equal(trial.means):
        axes.text(0.5, 0.5, "no best arm", transform=axes.transAxes, ha="center", color=GREY)
        return
    for policy, curve in curves.items():
        x = middles(curve.mean, trial.horizon)
        line = {"color": colours[policy], "linewidth": 2, "linestyle": styles[policy], "label": names[policy]}
        axes.plot(x, 100 * curve.mean, **line)
        axes.fill_between(x, 100 * curve.low, 100 * curve.high, color=colours[policy], alpha=0.15, linewidth=0)
    if log_y:
        scale_logarithmic(axes, [100 * curve.mean for curve in curves.values()])
        axes.yaxis.set_major_formatter("{x:g} %")
    ends = {names[policy]: 100 * float(curve.mean[-1]) for policy, curve in curves.items()}
    name_lines(axes, ends, {names[policy]: colour for policy, colour in colours.items()}, own=own)


def _draw_losses(axes: "Axes", trial: "Trial", colours: Mapping[str, str], names: Mapping[str, str]) -> None:
    """A point and its interval for each policy, the smallest loss at the bottom."""
    table = trial.table().query("runs > 0").sort_values("lost")
    for place, row in enumerate(table.to_dict("records")):
        colour = colours[row["policy"]]
        if row["runs"] > 1:
            axes.plot([row["lost_low"], row["lost_high"]], [place, place], color=colour, linewidth=2.5)
        axes.plot([row["lost"]], [place], "o", color=colour, markersize=6)
        text = names[row["policy"]] + ("" if np.isnan(row["best_chosen"]) else f" ({row['best_chosen']:.0%})")
        side = "right" if row["lost"] > table["lost"].max() / 2 else "left"
        axes.annotate(text, (row["lost"], place), xytext=(0, 9), textcoords="offset points", ha=side, color=colour)
    axes.set(xlim=(0, 1.1 * table["lost"].max() or 1.0), ylim=(-0.5, len(table) - 0.3), yticks=[])
    axes.set_xlabel("against all on the best arm, in expectation")
    axes.spines["left"].set_visible(False)
    axes.set_title("benefit lost (best arm chosen in the end)", loc="left", color=GREY, fontsize=10.5)
    axes.xaxis.set_major_formatter(tick_text)
    draw_grid(axes, "x")


def summarise(trial: "Trial") -> Summary:
    """A row for each policy, and curves of the share of patients on the best arm."""
    curves, colours = {}, policy_colours(trial.outcomes)
    rows = []
    for row in trial.table().to_dict("records"):
        on_best, chosen, lost = row["on_best"], row["best_chosen"], row["lost"]
        rows.append(
            {
                "policy": str(row["policy"]),
                "runs": f"{row['runs']:,}",
                "on best arm": "none" if np.isnan(on_best) else f"{on_best:,.0f}",
                "best chosen": "none" if np.isnan(chosen) else f"{chosen:.0%}",
                "benefit lost": number_text(lost),
            }
        )
    if not all_equal(trial.means):
        shares = {policy: trial.allocation(policy).mean for policy, outcomes in trial.outcomes.items() if outcomes}
        curves = {
            policy: Curve(middles(share, trial.horizon), share, colours[policy]) for policy, share in shares.items()
        }
    failed = [f"{counted(len(trial.failures), 'run')} failed; see failed()"] if trial.failures else []
    title = f"Trial of {trial.name}: {counted(trial.horizon, 'patient')}, {counted(len(trial.arms), 'arm')}"
    return Summary(title, (), rows, [*failed, *trial.notes], curves, ("patient", "share on the best arm"))


def middles(shares: Floats, patients: int) -> Floats:
    """The middle of each section of the enrolment."""
    return (np.arange(len(shares)) + 0.5) * patients / len(shares)
