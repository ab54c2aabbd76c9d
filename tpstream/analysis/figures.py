"""Figures that a person wants to look at."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from tpstream.analysis.intervals import Interval
from tpstream.model.arrays import Ints

COLOURS = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#BBBBBB", "#000000")
"""Paul Tol's bright scheme: told apart with any colour vision."""


def regret_figure(
    path: Path, title: str, rounds: Ints, curves: Mapping[str, Interval], *, log_rounds: bool = False
) -> None:
    """Regret over rounds, a line and a band for each policy, named at the line's end; written as PNG, SVG or PDF."""
    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(8, 4.8), layout="constrained")
        axes = figure.subplots()
        for (label, curve), colour in zip(curves.items(), _colours(len(curves)), strict=True):
            axes.plot(rounds, curve.mean, color=colour, linewidth=1.8, label=label)
            axes.fill_between(rounds, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0)
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set_xlabel("round")
        axes.set_ylabel("pseudo-regret")
        axes.set_ylim(bottom=0)
        if log_rounds:
            axes.set_xscale("log")
        else:
            axes.set_xlim(left=0)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.grid(axis="y", linewidth=0.5, alpha=0.4)
        axes.legend(frameon=False)
        figure.savefig(path, dpi=150)


def _colours(count: int) -> list[str]:
    return [COLOURS[number % len(COLOURS)] for number in range(count)]
