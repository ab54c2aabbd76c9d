"""The figure of a twin: recorded and simulated curves, for all of the log and for the part that was held out."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tpstream.analysis.printed import in_currency
from tpstream.figures import style
from tpstream.model.arrays import Floats
from tpstream.model.units import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tpstream.twin.fit import Twin
    from tpstream.twin.goodness import Comparison

BAND = (0.025, 0.975)
"""The quantiles of the simulated curves between which a band is drawn."""


def twin_figure(path: str | Path | None, twin: "Twin") -> "Figure":
    """Draw a row of four panels for each comparison; written if there is a path."""
    colours = style.policy_colours(twin.recorded.names)
    unit, money = plural(twin.recorded.unit or "unit"), in_currency(twin.recorded.currency)
    with style.new_figure(path, 17, 4.4 * len(twin.comparisons) + 0.4) as figure:
        name = style.figure_text(twin.recorded.name)
        title = f"{name}: recorded (lines) and simulated (bands: 95 % of the simulated logs)"
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        panels = figure.subplots(len(twin.comparisons), 4, squeeze=False)
        for row, comparison in zip(panels, twin.comparisons, strict=True):
            ends = _draw_ages(row[0], comparison, colours)
            row[0].set(xlabel=f"age ({unit})", ylabel=f"{comparison.part}: paid up to this age{money}")
            _draw_zeros(row[1], comparison, colours)
            row[1].set(ylabel="share without payment")
            _draw_times(row[2], comparison, "paid")
            row[2].set(xlabel=f"time ({unit})", ylabel=f"paid per {twin.recorded.unit or 'unit of time'}{money}")
            _draw_times(row[3], comparison, "open")
            row[3].set(xlabel=f"time ({unit})", ylabel="open decisions")
            for axes in row:
                style.draw_grid(axes)
                axes.yaxis.set_major_formatter(style.tick_text)
            style.label_lines(row[0], ends, colours)
    return figure


def _draw_ages(axes: "Axes", comparison: "Comparison", colours: dict[str, str]) -> dict[str, float]:
    """What is paid up to each age; where the lines end."""
    ends = {}
    for number, name in enumerate(comparison.names):
        own = np.append(0.0, comparison.recorded.by_age[number])
        others = np.stack([np.append(0.0, one.by_age[number]) for one in comparison.simulated])
        _band(axes, np.arange(float(len(own))), own, others, colours[name])
        ends[name] = float(own[-1])
    return ends


def _draw_zeros(axes: "Axes", comparison: "Comparison", colours: dict[str, str]) -> None:
    """The share of decisions without payment: a line for what was simulated, a mark for what was recorded."""
    others = np.stack([one.zeros for one in comparison.simulated])
    low, high = np.quantile(others, BAND, axis=0)
    for number, name in enumerate(comparison.names):
        colour = colours[name]
        axes.plot([number, number], [low[number], high[number]], color=colour, linewidth=9, alpha=0.25)
        axes.plot(number, comparison.recorded.zeros[number], "o", color=colour)
    axes.set_xticks(range(len(comparison.names)), [style.figure_text(name) for name in comparison.names])
    axes.set_xlim(-0.5, len(comparison.names) - 0.5)


def _draw_times(axes: "Axes", comparison: "Comparison", what: str) -> None:
    """What happened in each piece of time, or was open at its end."""
    own = getattr(comparison.recorded, what)
    others = np.stack([getattr(one, what) for one in comparison.simulated])
    ends, lengths = comparison.grid[1:], np.diff(comparison.grid)
    if what == "open":
        _band(axes, ends, own, others, style.COLOURS[0])
    else:
        _band(axes, ends - lengths / 2, own / lengths, others / lengths, style.COLOURS[0])


def _band(axes: "Axes", x: Floats, own: Floats, others: Floats, colour: str) -> None:
    low, high = np.quantile(others, BAND, axis=0)
    axes.fill_between(x, low, high, color=colour, alpha=0.25, linewidth=0)
    axes.plot(x, own, color=colour, linewidth=1.6)
