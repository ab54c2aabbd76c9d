"""Figures of what logs say: regret and the arms' shares, and diagnostics of the rewards."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tpstream.analysis.diagnose import Diagnosis
from tpstream.analysis.log_regret import LogRegret
from tpstream.analysis.theory import Bound
from tpstream.figures.style import STYLE, colours_for, draw_bounds, name_lines, prepare_figure, save_figure
from tpstream.model.arrays import Ints

ARM_COLOURS = ("#C6D7EB", "#2B5C94")
"""From the worst arm to the best but one; the best has a colour of its own."""
BEST_COLOUR = "#EE6677"
YES, NO = "#228833", "#EE6677"
SMALL = 9
MOST_LABELS = 12
MOST_CELLS = 20


def log_regret_figure(path: Path, result: LogRegret, *, log_rounds: bool = False, bounds: Sequence[Bound] = ()) -> None:
    """Pseudo-regret and shortfall with bands above, the arms' shares of pulls over time below, a panel a policy.

    Bounds are drawn with the pseudo-regret, whose axis is logarithmic then.
    """
    prepare_figure(path)
    policies = list(result.accounts)
    whole = result.shortfall(policies[0]) is not None
    runs = max(len(account.counts) for account in result.accounts.values())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11 if whole else 8, 8), layout="constrained")
        figure.suptitle(
            f"{result.name}: mean of {runs} run{'s, 95 % interval' if runs > 1 else ''}",
            x=0.01,
            ha="left",
            fontweight="bold",
        )
        upper, lower = figure.subfigures(2, 1, height_ratios=(5, 4), hspace=0.04, squeeze=False)[:, 0]
        names = ("pseudo-regret", "shortfall") if whole else ("pseudo-regret",)
        panels = upper.subplots(1, len(names), squeeze=False)[0]
        _shares(lower, result, log_rounds=log_rounds)
        for axes, name in zip(panels, names, strict=True):
            _curves(axes, result, name, log_rounds=log_rounds)
        colours = dict(zip(policies, colours_for(len(policies)), strict=True))
        for axes, name in zip(panels, names, strict=True):
            curves = {policy: result.intervals(policy)[name] for policy in policies}
            ends = {policy: float(curve.mean[-1]) for policy, curve in curves.items()}
            drawn = bounds if name == "pseudo-regret" else ()
            name_lines(axes, ends | draw_bounds(axes, result.rounds, curves, drawn, colours), colours)
        save_figure(figure, path)


def _curves(axes: Axes, result: LogRegret, name: str, *, log_rounds: bool) -> None:
    for policy, colour in zip(result.accounts, colours_for(len(result.accounts)), strict=True):
        curve = result.intervals(policy)[name]
        axes.plot(result.rounds, curve.mean, color=colour, linewidth=2)
        axes.fill_between(result.rounds, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0)
    meaning = {"pseudo-regret": "pseudo-regret, at the pull", "shortfall": "shortfall of what was delivered"}
    axes.set_title(meaning[name], loc="left", fontsize=10.5)
    if name == "pseudo-regret":
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", linewidth=0.6, alpha=0.35)
    axes.set_axisbelow(True)
    _round_axis(axes, result.rounds, log_rounds=log_rounds)


def _shares(figure: SubFigure, result: LogRegret, *, log_rounds: bool) -> None:
    """Stacked shares of the arms in all pulls so far, the best arm lowest."""
    order = np.argsort(-result.means, kind="stable")
    scale = LinearSegmentedColormap.from_list("arms", ARM_COLOURS[::-1])
    others = max(len(order) - 2, 1)
    colours = [BEST_COLOUR, *(scale(number / others) for number in range(len(order) - 1))]
    panels = figure.subplots(1, len(result.accounts), squeeze=False, sharey=True)[0]
    for axes, policy in zip(panels, result.accounts, strict=True):
        layers = axes.stackplot(result.rounds, result.shares(policy)[:, order].T, colors=colours, linewidth=0)
        axes.set_title(policy, loc="left", fontsize=10.5, fontweight="bold")
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        _round_axis(axes, result.rounds, log_rounds=log_rounds, steps=6 // len(panels) + 1)
    panels[0].set_ylabel("share of pulls so far")
    shown = list(range(len(order))) if len(order) <= MOST_LABELS else [0, 1, len(order) - 1]
    handles = [layers[place] for place in reversed(shown)]
    labels = [f"{result.arms[order[place]]} ({result.means[order[place]]:,.4g})" for place in reversed(shown)]
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=SMALL, title="arm (mean)")


def _round_axis(axes: Axes, rounds: Ints, *, log_rounds: bool, steps: int = 4) -> None:
    axes.set_xlabel("round")
    axes.set_xscale("log" if log_rounds else "linear")
    axes.set_xlim(rounds[0] if log_rounds else 0, max(rounds[-1], 2))
    if not log_rounds:
        axes.xaxis.set_major_locator(MaxNLocator(steps))
    axes.xaxis.set_major_formatter("{x:,.0f}")


def diagnosis_figure(path: Path, diagnoses: Sequence[Diagnosis]) -> None:
    """For each policy: where the reward lies, which groups its pulls are compatible with, how groups correlate."""
    prepare_figure(path)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(13, 4.1 * len(diagnoses)), layout="constrained")
        rows = figure.subfigures(len(diagnoses), 1, squeeze=False)[:, 0]
        for row, diagnosis in zip(rows, diagnoses, strict=True):
            assumed = "" if diagnosis.assumed is None else f", assumes {diagnosis.assumed} groups"
            row.suptitle(
                f"{diagnosis.policy}{assumed} ({int(diagnosis.pulls.sum()):,} complete pulls)",
                x=0.01,
                ha="left",
                fontweight="bold",
            )
            panels = row.subplots(1, 3, width_ratios=(4, 4, 3))
            _mass(panels[0], diagnosis)
            _groups(panels[1], diagnosis)
            _correlations(panels[2], diagnosis)
        save_figure(figure, path)


def _mass(axes: Axes, diagnosis: Diagnosis) -> None:
    mass, parts = diagnosis.mass, np.arange(1, diagnosis.mass.mean.shape[1] + 1)
    known = np.flatnonzero(np.isfinite(mass.mean[:, 0]))
    most = known[np.argmax(diagnosis.pulls[known])] if len(known) else None
    for arm in known:
        if arm != most:
            axes.plot(parts, mass.mean[arm], color="#BBBBBB", linewidth=0.8)
    if most is not None:
        axes.fill_between(parts, mass.low[most], mass.high[most], color="#4477AA", alpha=0.3, linewidth=0)
        axes.plot(parts, mass.mean[most], color="#4477AA", linewidth=2)
        others = "; grey: other arms" if len(known) > 1 else ""
        axes.set_xlabel(f"part (blue: {diagnosis.arms[most]}, 95 % interval{others})")
    axes.set_title("share of the reward that a part pays", loc="left", fontsize=10.5)
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, parts[-1] + 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="y", linewidth=0.6, alpha=0.35)


def _groups(axes: Axes, diagnosis: Diagnosis) -> None:
    """Every number of groups: how near its bound the largest group came; green if nothing contradicts it."""
    for place, grouping in enumerate(diagnosis.groupings):
        colour = YES if grouping.compatible else NO
        shape = "o" if grouping.independent else "X"
        axes.plot(place, grouping.largest, shape, color=colour, markersize=10, zorder=3)
        if grouping.groups == diagnosis.assumed:
            axes.axvspan(place - 0.4, place + 0.4, color="#4477AA", alpha=0.18, linewidth=0, zorder=0)
    axes.axhline(1.0, color="#666666", linewidth=1)
    numbers = [grouping.groups for grouping in diagnosis.groupings]
    step = -(-len(numbers) // MOST_LABELS)
    axes.set_xticks(range(0, len(numbers), step), [str(number) for number in numbers[::step]])
    axes.set_xlim(-0.6, len(numbers) - 0.4)
    axes.set_ylim(0, max(1.15, 1.1 * max(grouping.largest for grouping in diagnosis.groupings)))
    axes.set_title("largest group paid, as a share of maximum / groups", loc="left", fontsize=10.5)
    axes.set_xlabel("groups (green: compatible; cross: dependent)")


def _correlations(axes: Axes, diagnosis: Diagnosis) -> None:
    """The correlation of every two groups: of those that the policy assumes, else of the finest compatible ones."""
    groups = diagnosis.assumed or max(diagnosis.compatible, default=1)
    if groups == 1:  # there is nothing to correlate
        groups = max(grouping.groups for grouping in diagnosis.groupings if grouping.groups <= MOST_CELLS)
    matrix = diagnosis.grouping(groups).independence.correlations.copy()
    np.fill_diagonal(matrix, np.nan)
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1, extent=(0.5, groups + 0.5, groups + 0.5, 0.5))
    axes.set_title(f"correlation between the {groups} groups", loc="left", fontsize=10.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.figure.colorbar(image, ax=axes, shrink=0.9)
