"""The figure of a sweep: final regret over the values of a key that was varied."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tpstream.analysis.printed import in_currency
from tpstream.figures.style import (
    draw_grid,
    figure_of,
    figure_text,
    line_styles,
    name_lines,
    new_figure,
    open_axes,
    policy_colours,
    run_count,
    scale_logarithmic,
    shown_names,
    tick_text,
)
from tpstream.model.errors import FigureError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
MOST_COLUMNS = 3
MOST_TICKS = 10
"""Up to this many values each one has a tick."""
FEWEST_LOGARITHMIC = 3
"""With fewer values the axis is linear."""


def sweep_figure(
    path: str | Path | None,
    title: str,
    table: pd.DataFrame,
    paths: list[str],
    *,
    log_values: bool | None = None,
    ax: "Axes | None" = None,
    log_y: bool = False,
    labels: Mapping[str, str] | None = None,
    currency: str | None = None,
) -> "Figure":
    """Draw final regret over the first path's values, a line and a band for each policy; written if there is a path.

    There is a panel for each combination of values of the other paths. `table` has a row for each cell and policy: the
    paths, policy, runs, regret, low, high. The axis of values is logarithmic where that keeps them further apart,
    unless `log_values` says which one to take; with `log_y` that of regret is logarithmic.
    """
    names = shown_names(dict.fromkeys(table["policy"]), labels)
    colours = {names[label]: colour for label, colour in policy_colours(names).items()}
    across, others, table = paths[0], paths[1:], table.assign(policy=table["policy"].map(names))
    panels = list(table.groupby(others, sort=False)) if others else [((), table)]
    if len(panels) > MOST_PANELS:
        place = "" if path is None else f"{path}: "
        raise FigureError(f"{place}{len(panels)} panels are too many, the most is {MOST_PANELS}; vary less at a time")
    if len(panels) > 1 and ax is not None:
        raise FigureError(f"a sweep of {len(panels)} panels does not fit on given axes; leave out `ax`")
    columns = min(MOST_COLUMNS, math.ceil(math.sqrt(len(panels))) if len(panels) > MOST_COLUMNS else len(panels))
    whole_title = f"{figure_text(title)}: {run_count(int(table['runs'].max()))}"
    with _open_grid(path, ax, math.ceil(len(panels) / columns), columns) as grid:
        for number, (values, part) in enumerate(panels):
            axes = grid.flat[number]
            _draw_panel(axes, part, across, colours, log_values=log_values)
            if others:
                pairs = zip(others, values if isinstance(values, tuple) else (values,), strict=True)
                shown = "\n".join(figure_text(f"{name} = {value}") for name, value in pairs)
                axes.set_title(shown, loc="left", fontsize=10)
            if number % columns == 0:
                axes.set_ylabel(f"final pseudo-regret{in_currency(currency)}")
            if number + columns >= len(panels):
                axes.set_xlabel(figure_text(across))
        grid[0, 0].set_ylim(bottom=0)
        if log_y:
            scale_logarithmic(grid[0, 0], [table["regret"].to_numpy(dtype=np.float64)])
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        if len(panels) == 1:
            grid[0, 0].set_title(whole_title, loc="left", fontweight="bold", pad=12)
        else:
            figure_of(grid[0, 0]).suptitle(whole_title, x=0.01, ha="left", fontweight="bold", fontsize=12)
        # The last panel of the first row, which has room at its right.
        name_lines(grid[0, -1], _line_ends(panels[columns - 1][1], across), colours, own=ax is None)
    return figure_of(grid[0, 0])


@contextmanager
def _open_grid(path: str | Path | None, ax: "Axes | None", rows: int, columns: int) -> Iterator[Any]:
    """The axes of the panels as an array (rows, columns): those of a new figure, or the given ones alone."""
    size = (8, 4.8) if rows * columns == 1 else (3.6 * columns + 1.6, 3.1 * rows + 1)
    if ax is None:
        with new_figure(path, *size) as figure:
            yield figure.subplots(rows, columns, sharey=True, squeeze=False)
    else:
        with open_axes(path, ax, *size) as axes:
            yield np.array([[axes]])


def _draw_panel(
    axes: "Axes", table: pd.DataFrame, across: str, colours: Mapping[str, str], *, log_values: bool | None
) -> None:
    """One panel: numbers on a scale, words side by side; no markers for a policy that the values do not affect."""
    values, numeric = list(dict.fromkeys(table[across])), _is_numeric(table[across])
    values = sorted(values) if numeric else values
    places = dict(zip(values, values if numeric else range(len(values)), strict=True))
    groups = {str(policy): part for policy, part in table.groupby("policy", sort=False)}
    styles = line_styles({policy: part["regret"].to_numpy(dtype=np.float64) for policy, part in groups.items()})
    for policy, part in groups.items():
        ordered = part.assign(place=part[across].map(places)).sort_values("place")
        x, regret = (ordered[column].to_numpy(dtype=np.float64) for column in ("place", "regret"))
        bounds = ordered[["low", "high"]].to_numpy(dtype=np.float64).T
        colour = colours[policy]
        affected = len(set(regret)) > 1
        axes.plot(
            x,
            regret,
            color=colour,
            linewidth=2,
            linestyle=styles[policy],
            label=policy,
            marker="o" if affected else None,
            markersize=4.5,
        )
        if numeric or not affected:
            axes.fill_between(x, *bounds, color=colour, alpha=0.2, linewidth=0)
        else:
            bars = np.abs(bounds - regret)
            axes.errorbar(x, regret, bars, color=colour, linestyle="none", elinewidth=1.2, capsize=3)
    if numeric and (fits_logarithm(values) if log_values is None else log_values):
        _set_logarithmic(axes, values)
    if not numeric:
        axes.margins(x=0.2)
    if len(values) <= MOST_TICKS:
        axes.set_xticks(list(places.values()), [f"{value:,}" if numeric else figure_text(value) for value in values])
        axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:,.0f}")
    draw_grid(axes)


def _set_logarithmic(axes: "Axes", values: Sequence[float]) -> None:
    """A logarithmic axis for these sorted values; with values of 0 or below it is linear around 0."""
    positive = [value for value in values if value > 0]
    if values[0] > 0 or not positive:
        axes.set_xscale("log" if positive else "linear")
    else:
        axes.set_xscale("symlog", linthresh=positive[0])
    axes.xaxis.set_major_formatter(tick_text)  # that of a logarithmic axis would write powers as formulas
    axes.minorticks_off()


def fits_logarithm(values: Sequence[float]) -> bool:
    """Whether the nearest two of these sorted values are further apart on a logarithmic axis than on a linear one."""
    if len(values) < FEWEST_LOGARITHMIC or values[0] <= 0:
        return False
    linear, ratio = np.diff(values), np.diff(np.log(values))
    return bool(ratio.min() / ratio.sum() > linear.min() / linear.sum())


def _is_numeric(column: "pd.Series[Any]") -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _line_ends(table: pd.DataFrame, across: str) -> dict[str, float]:
    """The regret at the right end of each policy's line, which ends before values without a finished run."""
    table = table.dropna(subset="regret")
    ordered = table.sort_values(across, kind="stable") if _is_numeric(table[across]) else table
    return {str(policy): float(part["regret"].iloc[-1]) for policy, part in ordered.groupby("policy", sort=False)}
