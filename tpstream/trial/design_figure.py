"""The figure of designs with looks: when trials conclude what, how large they are, and who gets which arm over time.

It has a row for each design and truth, and three panels side by side.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tpstream.figures.style import COLOURS, GREY, OTHERS, draw_grid, figure_text, new_figure, tick_text
from tpstream.model.arrays import Floats
from tpstream.model.display import counted
from tpstream.model.units import plural
from tpstream.trial.decisions import CONCLUSIONS, SimulatedTrials

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tpstream.trial.designs import OperatingCharacteristics

MOST_ROWS = 8
"""Designs and truths that are drawn; the tables have all of them."""
SHADES = {
    "superiority": COLOURS[2],
    "equivalence": COLOURS[0],
    "futility": COLOURS[1],
    "inferiority": COLOURS[3],
    "maximum": COLOURS[6],
}
ARM_COLOURS = (GREY, *COLOURS[:4], *OTHERS)
"""The control is grey."""
BINS = 30
SECTIONS = 20
"""Parts of the enrolment in which the allocation is shown."""
ROW_HEIGHT = 2.5


def design_figure(path: str | Path | None, found: "OperatingCharacteristics") -> "Figure":
    """Draw the trials of every design and truth, at most eight of them; written if there is a path."""
    shown = [one for one in found.trials if len(one)][:MOST_ROWS]
    trials = max(len(one) for one in shown)
    with new_figure(path, 13.0, 0.9 + ROW_HEIGHT * len(shown)) as figure:
        panels = figure.subplots(len(shown), 3, squeeze=False, width_ratios=[1.3, 1.0, 1.1])
        names = figure_text(", ".join(found.designs))
        left_out = len(found.trials) - len(shown)
        more = f"; {left_out} further rows are in the tables" if left_out else ""
        figure.suptitle(
            f"{names}: {counted(trials, 'simulated trial')}{more}", x=0.01, ha="left", fontweight="bold", wrap=True
        )
        unit = found.time_unit
        latest = max(float(np.nanmax(one.measures["duration"])) for one in shown)
        horizon = max(description.horizon for description in found.descriptions.values())
        for row, (one, axes) in enumerate(zip(shown, panels, strict=True)):
            title = ", ".join([one.design, one.truth] if len(found.designs) > 1 else [one.truth])
            _draw_conclusions(axes[0], one, latest)
            _draw_sizes(axes[1], one, horizon)
            _draw_allocation(axes[2], one)
            axes[0].set_title(figure_text(title), loc="left", fontsize=10.5)
            if row == 0:
                axes[1].set_title("patients of a trial", loc="left", color=GREY, fontsize=10.5)
                axes[2].set_title("share of patients on each arm", loc="left", color=GREY, fontsize=10.5)
        panels[-1][0].set_xlabel(f"time in {plural(unit)}" if unit else "time")
        panels[-1][1].set_xlabel("patients")
        panels[-1][2].set_xlabel("patient, in order of enrolment")
        handles = {
            label: handle for axes in panels for handle, label in zip(*axes[0].get_legend_handles_labels(), strict=True)
        }
        ordered = [label for label in map(_legend, SHADES) if label in handles]
        marks = [handles[label] for label in ordered]
        figure.legend(marks, ordered, loc="outside lower left", frameon=False, ncols=len(ordered))
        _name_arms(panels, shown)
    return figure


def conclusions_over_time(trials: SimulatedTrials, times: Floats) -> dict[str, Floats]:
    """The share of trials that came to each conclusion up to and including each of these times."""
    found = {}
    for code, word in CONCLUSIONS.items():
        decided = np.sort(trials.decided_at[trials.decision == code])
        if len(decided):
            found[word] = np.searchsorted(decided, times, side="right") / len(trials)
    return found


def _draw_conclusions(axes: "Axes", trials: SimulatedTrials, latest: float) -> None:
    times = np.linspace(0.0, latest, 400)
    shares = conclusions_over_time(trials, times)
    axes.stackplot(
        times,
        [100 * share for share in shares.values()],
        labels=[_legend(word) for word in shares],
        colors=[SHADES[word] for word in shares],
        alpha=0.85,
        linewidth=0,
    )
    axes.set(xlim=(0, latest), ylim=(0, 100))
    axes.yaxis.set_major_formatter("{x:.0f} %")
    axes.xaxis.set_major_formatter(tick_text)
    draw_grid(axes)


def _legend(word: str) -> str:
    return "maximum reached, nothing shown" if word == "maximum" else word


def _draw_sizes(axes: "Axes", trials: SimulatedTrials, horizon: int) -> None:
    """How many patients trials have: a bar for each size if there are few, else a histogram."""
    sizes, counts = np.unique(trials.size, return_counts=True)
    if len(sizes) <= BINS:
        width = max(horizon / (2 * BINS), 1.0)
        axes.bar(sizes, 100 * counts / len(trials), width=width, color=COLOURS[0])
    else:
        weights = np.full(len(trials), 100 / len(trials))
        axes.hist(trials.size, bins=BINS, range=(0, horizon), weights=weights, color=COLOURS[0])
    mean = float(trials.size.mean())
    axes.axvline(mean, color=GREY, linewidth=1.2, linestyle="--")
    top = axes.get_ylim()[1]
    axes.set(xlim=(0, 1.04 * horizon), ylim=(0, 1.15 * top))
    side, gap = ("right", -4) if mean > horizon / 2 else ("left", 4)
    axes.annotate(
        f"mean {mean:,.0f}",
        (mean, 1.13 * top),
        xytext=(gap, 0),
        textcoords="offset points",
        ha=side,
        va="top",
        color=GREY,
        fontsize="small",
    )
    axes.yaxis.set_major_formatter("{x:.0f} %")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    draw_grid(axes)


def allocation_over_time(trials: SimulatedTrials, rounds: Floats) -> tuple[Floats, Floats]:
    """The middle of each part of the enrolment, and the share of the patients in it that each arm got, over all trials.

    `rounds` are the numbers of patients up to which they were counted.
    """
    chosen = np.unique(np.searchsorted(rounds, np.linspace(0, rounds[-1], SECTIONS + 1)[1:]))
    ends = rounds[chosen]
    pulls = trials.measures["pulls"][:, chosen].sum(axis=0).astype(np.float64)
    inside = np.diff(pulls, axis=0, prepend=0.0)
    totals = inside.sum(axis=1)
    kept = totals > 0
    middles = (ends + np.concatenate([[0.0], ends[:-1]])) / 2
    return middles[kept], inside[kept] / totals[kept, np.newaxis]


def _draw_allocation(axes: "Axes", trials: SimulatedTrials) -> None:
    from tpstream.analysis.regret import checkpoints  # noqa: PLC0415 (only where it is drawn)

    rounds = checkpoints(trials.horizon).astype(np.float64)
    middles, shares = allocation_over_time(trials, rounds)
    for arm, name in enumerate(trials.comparison.arms):
        axes.plot(middles, 100 * shares[:, arm], color=arm_colour(trials, arm), linewidth=2, label=figure_text(name))
    axes.set(xlim=(0, trials.horizon), ylim=(0, max(100 * float(shares.max(initial=0.5)) * 1.15, 50)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:.0f} %")
    draw_grid(axes)


def arm_colour(trials: SimulatedTrials, arm: int) -> str:
    """The colour of an arm: grey for the control, the others in their order."""
    control = trials.comparison.control
    if control is None:
        return ARM_COLOURS[1 + arm % (len(ARM_COLOURS) - 1)]
    others = [other for other in range(len(trials.comparison.arms)) if other != control]
    return ARM_COLOURS[0] if arm == control else ARM_COLOURS[1 + others.index(arm) % (len(ARM_COLOURS) - 1)]


def _name_arms(panels: Any, shown: "list[SimulatedTrials]") -> None:
    """Name the arms inside the first panel, and again where a design has others."""
    named: tuple[str, ...] = ()
    for axes, trials in zip(panels, shown, strict=True):
        if trials.comparison.arms != named:
            named = trials.comparison.arms
            axes[2].legend(frameon=False, fontsize="small", ncols=min(3, len(named)), loc="upper left")
