"""Figures that a person wants to look at."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from tpstream.analysis.intervals import Interval
from tpstream.analysis.theory import Bound
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import FigureError

COLOURS = ("#4477AA", "#EE6677", "#228833", "#AA3377", "#CCBB44", "#66CCEE", "#BBBBBB", "#000000")
"""Paul Tol's bright scheme: told apart with any colour vision."""
GREY = "#555555"
ENDINGS = (".png", ".svg", ".pdf")
STYLE: dict[Any, Any] = {
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "axes.labelcolor": "#444444",
    "svg.hashsalt": "tpstream",
}
LINE_HEIGHT = 1.3
"""The distance between two labels, in heights of their letters."""


def prepare_figure(path: Path) -> Path:
    """The path, with its folder made; raises before any work is done if no figure can be written there."""
    if path.suffix.lower() not in ENDINGS:
        raise FigureError(f"{path}: a figure ends in {', '.join(ENDINGS)}, got {path.suffix or 'no ending'!r}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FigureError(f"{path.parent}: cannot make this folder: {error.strerror}; choose another place") from error
    return path


def regret_figure(
    path: Path,
    title: str,
    rounds: Ints,
    curves: Mapping[str, Interval],
    *,
    log_rounds: bool = False,
    bounds: Sequence[Bound] = (),
) -> None:
    """Regret over rounds, a line and a band for each policy, named at the line's end; written as PNG, SVG or PDF.

    Bounds make the regret's axis logarithmic, since they are many times as large: a policy's upper one is dashed in its
    colour, lower ones are dotted.
    """
    prepare_figure(path)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.8), layout="constrained")
        axes = figure.subplots()
        colours = dict(zip(curves, colours_for(len(curves)), strict=True))
        axes.set_xscale("log" if log_rounds else "linear")  # forgets how numbers are written
        draw_curves(axes, rounds, curves, colours)
        axes.set_title(title, loc="left", fontweight="bold", pad=12)
        axes.set_xlim(rounds[0] if log_rounds else 0, max(rounds[-1], 2))
        ends = {label: float(curve.mean[-1]) for label, curve in curves.items()}
        name_lines(axes, ends | draw_bounds(axes, rounds, curves, bounds, colours), colours)
        save_figure(figure, path)


def draw_curves(axes: Axes, rounds: Ints, curves: Mapping[str, Interval], colours: Mapping[str, str]) -> None:
    """A line and a band for each policy."""
    for label, curve in curves.items():
        axes.plot(rounds, curve.mean, color=colours[label], linewidth=2)
        axes.fill_between(rounds, curve.low, curve.high, color=colours[label], alpha=0.2, linewidth=0)
    axes.set_xlabel("round")
    axes.set_ylabel("pseudo-regret")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", linewidth=0.6, alpha=0.35)
    axes.set_axisbelow(True)


def draw_bounds(
    axes: Axes, rounds: Ints, curves: Mapping[str, Interval], bounds: Sequence[Bound], colours: dict[str, str]
) -> dict[str, float]:
    """Draw bounds on a logarithmic axis; returns where the lower ones end, under their names."""
    if not bounds:
        return {}
    ends = {}
    lines = [curve.mean for curve in curves.values()]
    for bound in bounds:
        lines.append(bound.at(rounds))
        dashes = "--" if bound.upper else ":"
        axes.plot(rounds, lines[-1], color=colours.get(bound.name, GREY), linestyle=dashes, linewidth=1.3)
        if not bound.upper:
            colours[bound.name] = GREY
            ends[bound.name] = float(lines[-1][-1])
    later = np.searchsorted(rounds, rounds[-1] / 100)
    lowest = min(float(line[later:].min()) for line in lines)
    axes.set_yscale("log")
    axes.set_ylim(max(lowest, 1.0) / 2, 1.5 * max(float(line[-1]) for line in lines))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    return ends


def spread(heights: Floats, gap: float) -> Floats:
    """Heights moved as little as possible (least squares) so that any two are at least a gap apart; same order."""
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    moved = np.empty(len(heights))
    moved[order] = isotonic_regression(heights[order] - steps).x + steps
    return moved


def name_lines(axes: Axes, ends: Mapping[str, float], colours: Mapping[str, str]) -> None:
    """Write each policy's name where its line ends, apart from one another."""
    figure = axes.get_figure(root=True)
    assert figure is not None  # noqa: S101 (these axes are drawn)
    figure.draw_without_rendering()  # a layout gives the axes their height
    letters = mpl.rcParams["font.size"] * figure.dpi / 72
    heights = axes.transData.transform([(1.0, end) for end in ends.values()])[:, 1]
    fractions = (spread(heights, LINE_HEIGHT * letters) - axes.bbox.y0) / axes.bbox.height
    for label, fraction in zip(ends, fractions.tolist(), strict=True):
        axes.annotate(
            label,
            (1.0, fraction),
            xytext=(6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=colours[label],
            fontweight="bold",
        )


def save_figure(figure: Figure, path: Path) -> None:
    """Write the file; the same figure gives the same bytes."""
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    try:
        figure.savefig(path, dpi=150, metadata=metadata)
    except OSError as error:
        raise FigureError(f"{path}: cannot write the figure: {error.strerror}; choose another place") from error


def colours_for(count: int) -> list[str]:
    """A colour for each of so many lines."""
    return [COLOURS[number % len(COLOURS)] for number in range(count)]
