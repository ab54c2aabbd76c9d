"""The figure of a sweep: final regret over what was varied."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tpstream.figures.style import STYLE, colours_for, name_lines, prepare_figure, save_figure
from tpstream.model.errors import FigureError

MOST_PANELS = 12
MOST_TICKS = 10
"""Up to so many values, each has its tick."""
MOST_EVEN = 3
"""Fewer values than so many are on an even axis."""
COLUMNS = 3


def sweep_figure(
    path: Path, title: str, table: pd.DataFrame, paths: list[str], *, log_values: bool | None = None
) -> None:
    """Draw final regret over the first path's values, a line and a band for each policy, a panel for all other values.

    `table` has a row for each cell and policy: the paths, policy, runs, regret, low, high. The values are on a
    logarithmic axis where that keeps them further apart, unless `log_values` says.
    """
    prepare_figure(path)
    across, others = paths[0], paths[1:]
    panels = list(table.groupby(others, sort=False)) if others else [((), table)]
    if len(panels) > MOST_PANELS:
        raise FigureError(f"{path}: {len(panels)} panels are too many, the most is {MOST_PANELS}; vary less at a time")
    columns = min(COLUMNS, math.ceil(math.sqrt(len(panels))) if len(panels) > COLUMNS else len(panels))
    rows = math.ceil(len(panels) / columns)
    size = (8, 4.8) if len(panels) == 1 else (3.6 * columns + 1.6, 3.1 * rows + 1)
    policies = list(dict.fromkeys(table["policy"]))
    colours = dict(zip(policies, colours_for(len(policies)), strict=True))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for number, (values, part) in enumerate(panels):
            axes = grid[number // columns, number % columns]
            _draw(axes, part, across, colours, log_values=log_values)
            if others:
                told = zip(others, values if isinstance(values, tuple) else (values,), strict=True)
                axes.set_title("\n".join(f"{one} = {value}" for one, value in told), loc="left", fontsize=10)
            if number % columns == 0:
                axes.set_ylabel("final pseudo-regret")
            if number + columns >= len(panels):
                axes.set_xlabel(across)
        grid[0, 0].set_ylim(bottom=0)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        runs = int(table["runs"].max())
        whole = f"{title}: mean of {runs} run{'s' if runs > 1 else ''}" + (", 95 % interval" if runs > 1 else "")
        if len(panels) == 1:
            grid[0, 0].set_title(whole, loc="left", fontweight="bold", pad=12)
        else:
            figure.suptitle(whole, x=0.01, ha="left", fontweight="bold", fontsize=12)
        last = grid[(len(panels) - 1) // columns, (len(panels) - 1) % columns] if rows == 1 else grid[0, -1]
        name_lines(last, _ends(panels[-1 if rows == 1 else columns - 1][1], across), colours)
        save_figure(figure, path)


def _draw(axes: Axes, table: pd.DataFrame, across: str, colours: dict[str, str], *, log_values: bool | None) -> None:
    """One panel: numbers on a scale, words side by side; a policy that what varies does not touch is a plain line."""
    values, numeric = list(dict.fromkeys(table[across])), _numeric(table[across])
    values = sorted(values) if numeric else values
    places = dict(zip(values, values if numeric else range(len(values)), strict=True))
    for policy, part in table.groupby("policy", sort=False):
        ordered = part.assign(place=part[across].map(places)).sort_values("place")
        x, regret = (ordered[column].to_numpy(dtype=np.float64) for column in ("place", "regret"))
        bounds = ordered[["low", "high"]].to_numpy(dtype=np.float64).T
        colour = colours[str(policy)]
        touched = len(set(regret)) > 1
        axes.plot(x, regret, color=colour, linewidth=2, marker="o" if touched else None, markersize=4.5)
        if numeric or not touched:
            axes.fill_between(x, *bounds, color=colour, alpha=0.2, linewidth=0)
        else:
            bars = np.abs(bounds - regret)
            axes.errorbar(x, regret, bars, color=colour, linestyle="none", elinewidth=1.2, capsize=3)
    if numeric and (fits_logarithm(values) if log_values is None else log_values):
        axes.set_xscale("log")
    if not numeric:
        axes.margins(x=0.2)
    if len(values) <= MOST_TICKS:
        axes.set_xticks(list(places.values()), [f"{value:,}" if numeric else str(value) for value in values])
        axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", linewidth=0.6, alpha=0.35)
    axes.set_axisbelow(True)


def fits_logarithm(values: Sequence[float]) -> bool:
    """Whether sorted values are further apart on a logarithmic axis, at the nearest two of them."""
    if len(values) < MOST_EVEN or values[0] <= 0:
        return False
    linear, ratio = np.diff(values), np.diff(np.log(values))
    return bool(ratio.min() / ratio.sum() > linear.min() / linear.sum())


def _numeric(column: "pd.Series[Any]") -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _ends(table: pd.DataFrame, across: str) -> dict[str, float]:
    """Where each policy's line ends."""
    ordered = table.sort_values(across, kind="stable") if _numeric(table[across]) else table
    return {str(policy): float(part["regret"].iloc[-1]) for policy, part in ordered.groupby("policy", sort=False)}
