"""The figure of an answer: what is paid by age, the values over time, and what is outstanding, for each arm."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tpstream.analysis.intervals import LEVEL
from tpstream.analysis.open_values import estimate
from tpstream.analysis.printed import in_currency
from tpstream.figures import style
from tpstream.model.units import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tpstream.analysis.answer import Answer

MOST_POINTS = 24
"""Times at which values are drawn."""


def answer_figure(path: str | Path | None, answer: "Answer") -> "Figure":
    """Draw the three panels; written if there is a path."""
    header = answer.table.header
    unit = in_currency(header.currency)
    colours = style.policy_colours([one.arm for one in answer.arms])
    with style.new_figure(path, 15, 4.8) as figure:
        ages, times, bars = figure.subplots(1, 3)
        name = style.figure_text(header.scenario.get("name", Path(answer.log).name))
        figure.suptitle(f"{name}: what a decision pays in the end", x=0.01, ha="left", fontweight="bold")
        ends = _draw_ages(ages, answer, colours)
        ages.set(xlabel=f"age ({plural(answer.unit)})", ylabel=f"paid per decision up to this age{unit}")
        _draw_times(times, answer, colours)
        times.set(xlabel=f"time ({plural(answer.unit)})", ylabel=f"value per decision, {LEVEL:.0%} interval{unit}")
        _draw_outstanding(bars, answer, colours)
        bars.set(ylabel=f"paid, and outstanding (hatched){unit}")
        for axes in (ages, times, bars):
            style.draw_grid(axes)
            axes.yaxis.set_major_formatter(style.tick_text)
        if ends:
            style.label_lines(ages, ends, colours)
    return figure


def _draw_ages(axes: "Axes", answer: "Answer", colours: dict[str, str]) -> dict[str, float]:
    """What is paid up to each age, with a 95 % band where intervals are given; where the lines end."""
    ends = {}
    for one, arm in zip(answer.arms, answer.table.arms, strict=True):
        if one.estimate is None:
            continue
        curve = np.append(0.0, np.cumsum(one.estimate.curve))
        axes.plot(np.arange(len(curve)), curve, color=colours[one.arm], linewidth=1.8)
        if one.reason is None:
            half = 1.96 * np.append(0.0, one.estimate.curve_errors(arm))
            axes.fill_between(np.arange(len(curve)), curve - half, curve + half, color=colours[one.arm], alpha=0.15)
        ends[one.arm] = float(curve[-1])
    return ends


def _draw_times(axes: "Axes", answer: "Answer", colours: dict[str, str]) -> None:
    """The values as they were known at some times, each from what was known then."""
    table = answer.table
    for number, one in enumerate(answer.arms):
        if one.estimate is None:
            continue
        arm = table.arms[number]
        begin = float(arm.made[0]) + answer.ages
        moments = np.unique(np.floor(np.linspace(begin, table.until, MOST_POINTS)))
        points = []
        for time in moments:
            then = arm.cut(table.times[number], float(time), table.whole)
            if then.count and then.usable() >= answer.ages:
                found = estimate(then, answer.ages)
                points.append((time, found.value, *(found.interval() if one.reason is None else (np.nan, np.nan))))
        if points:
            time, value, low, high = np.array(points).T
            axes.plot(time, value, color=colours[one.arm], linewidth=1.8)
            axes.fill_between(time, low, high, color=colours[one.arm], alpha=0.15)


def _draw_outstanding(axes: "Axes", answer: "Answer", colours: dict[str, str]) -> None:
    """What was paid so far and what is outstanding, in total."""
    names = [one.arm for one in answer.arms]
    for place, one in enumerate(answer.arms):
        axes.bar(place, one.paid, color=colours[one.arm])
        if one.estimate is None:
            continue
        row = one.columns()
        axes.bar(
            place, one.estimate.outstanding, bottom=one.paid, color=colours[one.arm], alpha=0.35, hatch="//", zorder=2
        )
        if row["outstanding_low"] is not None:
            value, ends = row["outstanding"], (row["outstanding_low"], row["outstanding_high"])
            reach = [[value - ends[0]], [ends[1] - value]]
            axes.errorbar(place, one.paid + value, yerr=reach, color=style.GREY, capsize=4)
    axes.set_xticks(range(len(names)), [style.figure_text(name) for name in names])
