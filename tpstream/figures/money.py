"""The figure of a comparison where rewards are money: regret over rounds, and beside it what was earned."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tpstream.analysis.intervals import Interval
from tpstream.analysis.printed import in_currency
from tpstream.analysis.theory import Bound
from tpstream.figures import style
from tpstream.model.arrays import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEST = "best arm"
"""The line of what the best arm pays on average."""


def money_figure(
    path: str | Path | None,
    title: str,
    rounds: Ints,
    regret: Mapping[str, Interval],
    earned: Mapping[str, Interval],
    best: Floats,
    currency: str,
    *,
    log_rounds: bool = False,
    bounds: Sequence[Bound] = (),
    log_y: bool = False,
    labels: Mapping[str, str] | None = None,
    round_title: str = "round",
) -> "Figure":
    """Pseudo-regret on the left, with bounds of the theory if given; on the right what was earned.

    `best` is what pulls of the best arm only would have paid, on average and at once; a dotted line shows it.
    """
    unit = in_currency(currency)
    names = style.shown_names(regret, labels)
    colours = {names[label]: colour for label, colour in style.policy_colours(regret).items()}
    regret = {names[label]: curve for label, curve in regret.items()}
    earned = {names[label]: curve for label, curve in earned.items()}
    bounds = [replace(bound, name=names.get(bound.name, bound.name)) for bound in bounds]
    with style.new_figure(path, 13, 4.8) as figure:
        left, right = figure.subplots(1, 2)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        style.draw_regret(left, rounds, regret, colours, log_rounds=log_rounds)
        left.set_ylabel(f"pseudo-regret{unit}")
        if log_y:
            style.scale_logarithmic(left, [curve.mean for curve in regret.values()])
        earned_ends = draw_earned(right, rounds, earned, best, currency, colours, log_rounds=log_rounds)
        for axes in (left, right):
            axes.set_xlabel(round_title)
        ends = {label: float(curve.mean[-1]) for label, curve in regret.items()}
        style.label_lines(left, ends | style.draw_bounds(left, rounds, regret, bounds, colours), colours)
        style.label_lines(right, earned_ends, colours | {BEST: style.GREY})
    return figure


def draw_earned(
    axes: "Axes",
    rounds: Ints,
    earned: Mapping[str, Interval],
    best: Floats,
    currency: str,
    colours: Mapping[str, str],
    *,
    log_rounds: bool = False,
) -> dict[str, float]:
    """What was earned over rounds, a line and a band for each policy; returns where the lines end, by their names.

    `best` is what pulls of the best arm only would have paid, on average and at once; a dotted line shows it.
    """
    axes.plot(rounds, best, color=style.GREY, linestyle=":", linewidth=1.3)
    style.draw_curves(axes, rounds, earned, colours, log_rounds=log_rounds)
    axes.set(ylim=(0, None), ylabel=f"earned{in_currency(currency)}")
    return {BEST: float(best[-1])} | {label: float(curve.mean[-1]) for label, curve in earned.items()}
