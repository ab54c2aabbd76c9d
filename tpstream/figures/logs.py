"""Figures of logs: regret and the arms' shares of pulls, and diagnostics of the rewards."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tpstream.analysis.diagnose import Diagnosis
from tpstream.analysis.log_regret import LogRegret
from tpstream.analysis.printed import in_currency
from tpstream.analysis.theory import Bound
from tpstream.figures import style
from tpstream.log.reader import Log
from tpstream.model.errors import LogError
from tpstream.model.events import Kind, pull_events

ARM_COLOURS = ("#C6D7EB", "#2B5C94")
"""From the worst arm to the second best; the best arm has a colour of its own."""
BEST_COLOUR = "#EE6677"
COMPATIBLE, CONTRADICTED = "#228833", "#EE6677"
MOST_LABELS = 12
MOST_POINTS = 2000
"""Points of a line; more than a figure has pixels across."""
MOST_GROUPS = 20
"""The largest number of groups whose correlations are drawn where the policy assumes none."""
TITLES = {"pseudo-regret": "pseudo-regret, at the pull", "shortfall": "shortfall of what was delivered"}


def log_regret_figure(path: Path, result: LogRegret, *, log_rounds: bool = False, bounds: Sequence[Bound] = ()) -> None:
    """Pseudo-regret and shortfall with bands above; below, for each policy, the arms' shares of pulls over time.

    The shortfall is left out if only pulls are known. Bounds are drawn with the pseudo-regret, whose axis is then
    logarithmic.
    """
    names = ["pseudo-regret"] if result.shortfall(next(iter(result.accounts))) is None else list(TITLES)
    runs = max(len(account.counts) for account in result.accounts.values())
    with style.new_figure(path, 8 if len(names) == 1 else 11, 8) as figure:
        figure.suptitle(f"{result.name}: {style.run_count(runs)}", x=0.01, ha="left", fontweight="bold")
        upper, lower = figure.subfigures(2, 1, height_ratios=(5, 4), hspace=0.04, squeeze=False)[:, 0]
        panels = upper.subplots(1, len(names), squeeze=False)[0]
        _draw_shares(lower, result, log_rounds=log_rounds)
        curves = {name: {policy: result.intervals(policy)[name] for policy in result.accounts} for name in names}
        colours = style.policy_colours(result.accounts)
        for axes, name in zip(panels, names, strict=True):
            style.draw_curves(axes, result.rounds, curves[name], colours, log_rounds=log_rounds)
            axes.set_title(f"{TITLES[name]}{in_currency(result.currency)}", loc="left", fontsize=10.5)
            axes.set_xlabel(result.round_title)
            if name == "pseudo-regret":
                axes.set_ylim(bottom=0)
            if not log_rounds:
                axes.xaxis.set_major_locator(MaxNLocator(4))
        for axes, name in zip(panels, names, strict=True):
            ends = {policy: float(curve.mean[-1]) for policy, curve in curves[name].items()}
            drawn = bounds if name == "pseudo-regret" else ()
            style.label_lines(
                axes, ends | style.draw_bounds(axes, result.rounds, curves[name], drawn, colours), colours
            )


def _draw_shares(figure: SubFigure, result: LogRegret, *, log_rounds: bool) -> None:
    """Stacked shares of the arms in all pulls so far, the best arm at the bottom."""
    order = np.argsort(-result.means, kind="stable")
    colours = _arm_colours(len(order))
    panels = figure.subplots(1, len(result.accounts), squeeze=False, sharey=True)[0]
    for axes, policy in zip(panels, result.accounts, strict=True):
        layers = axes.stackplot(result.rounds, result.shares(policy)[:, order].T, colors=colours, linewidth=0)
        axes.set_title(policy, loc="left", fontsize=10.5, fontweight="bold")
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        style.scale_rounds(axes, result.rounds, log_rounds=log_rounds)
        axes.set_xlabel(result.round_title)
        if not log_rounds:
            axes.xaxis.set_major_locator(MaxNLocator(6 // len(panels) + 1))
    panels[0].set_ylabel("share of pulls so far")
    shown = list(range(len(order))) if len(order) <= MOST_LABELS else [0, 1, len(order) - 1]
    handles = [layers[place] for place in reversed(shown)]
    labels = [
        f"{result.arms[order[place]]} ({style.short_number(result.means[order[place]])})" for place in reversed(shown)
    ]
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=9, title="arm (mean)")


def _arm_colours(arms: int) -> list[Any]:
    """The colours of arms from the largest mean to the smallest."""
    scale = LinearSegmentedColormap.from_list("arms", ARM_COLOURS[::-1])
    return [BEST_COLOUR, *(scale(number / max(arms - 2, 1)) for number in range(arms - 1))]


def log_figure(
    path: str | Path | None,
    log: Log,
    *,
    ax: Axes | None = None,
    log_y: bool = False,
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """What each arm's pulls were credited with over time, the best arm in red; of a log of pulls, how many there were.

    Written if there is a path.
    """
    header, only_pulls = log.header, log.header.detail == "pulls"
    names = style.shown_names(header.arms, labels, "arm")
    kind = Kind.PULL if only_pulls else Kind.PARTIAL
    columns = pull_events(log.columns(["time", "kind", "arm", "value", "shown"], [kind]))
    if not len(columns["time"]):
        raise LogError(f"{log.path}: holds nothing to draw ({log.truncated or 'no part was delivered'})")
    end = float(columns["time"][-1])
    lines = {}
    for arm, name in enumerate(header.arms):
        own = columns["arm"] == arm
        paid = np.cumsum(np.ones(own.sum()) if only_pulls else columns["value"][own])
        shown = np.unique(np.linspace(0, len(paid) - 1, min(len(paid), MOST_POINTS)).astype(np.int64))
        total = paid[-1] if paid.size else 0.0
        lines[names[name]] = np.append(columns["time"][own][shown], end), np.append(paid[shown], total)
    order = np.argsort(-header.known_means(), kind="stable")
    ranked = dict(zip([names[header.arms[arm]] for arm in order], _arm_colours(len(order)), strict=True))
    with style.open_axes(path, ax, 8, 4.8) as axes:
        for name in reversed(ranked):  # the best arm above the others
            axes.step(*lines[name], where="post", color=ranked[name], linewidth=1.6, label=name)
        axes.set(xlim=(0, end), ylim=(0, None), xlabel="time")
        axes.set_ylabel("pulls so far" if only_pulls else "reward credited so far")
        scenario = header.scenario.get("name", "log")
        title = f"{scenario}: {header.policy}, seed {header.seed}, run {header.run}"
        axes.set_title(title, loc="left", fontweight="bold", pad=12)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(style.tick_text)
        style.draw_grid(axes)
        if log_y:
            style.scale_logarithmic(axes, [line for _, line in lines.values()])
        most = sorted(lines, key=lambda name: -lines[name][1][-1])[:MOST_LABELS]
        style.name_lines(axes, {name: float(lines[name][1][-1]) for name in most}, ranked, own=ax is None)
    return style.figure_of(axes)


def diagnosis_figure(path: Path, diagnoses: Sequence[Diagnosis]) -> None:
    """For each policy: which parts pay the reward, which numbers of groups fit the pulls, how groups correlate."""
    with style.new_figure(path, 13, 4.1 * len(diagnoses)) as figure:
        rows = figure.subfigures(len(diagnoses), 1, squeeze=False)[:, 0]
        for row, diagnosis in zip(rows, diagnoses, strict=True):
            assumed = "" if diagnosis.assumed is None else f", assumes {diagnosis.assumed} groups"
            title = f"{diagnosis.policy}{assumed} ({int(diagnosis.pulls.sum()):,} complete pulls)"
            row.suptitle(title, x=0.01, ha="left", fontweight="bold")
            panels = row.subplots(1, 3, width_ratios=(4, 4, 3))
            _draw_part_shares(panels[0], diagnosis)
            _draw_groupings(panels[1], diagnosis)
            _draw_correlations(panels[2], diagnosis)


def _draw_part_shares(axes: Axes, diagnosis: Diagnosis) -> None:
    """The share of the reward that each part pays: the most pulled arm in blue with its interval, others in grey."""
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
    axes.set(xlim=(0, parts[-1] + 1), ylim=(0, None))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    style.draw_grid(axes)


def _draw_groupings(axes: Axes, diagnosis: Diagnosis) -> None:
    """The largest group as a share of its bound, for each number of groups; green if nothing contradicts the number."""
    for place, grouping in enumerate(diagnosis.groupings):
        colour = COMPATIBLE if grouping.compatible else CONTRADICTED
        shape = "o" if grouping.independent else "X"
        axes.plot(place, grouping.largest, shape, color=colour, markersize=10, zorder=3)
        if grouping.groups == diagnosis.assumed:
            axes.axvspan(place - 0.4, place + 0.4, color="#4477AA", alpha=0.18, linewidth=0, zorder=0)
    axes.axhline(1.0, color="#666666", linewidth=1)
    numbers = [grouping.groups for grouping in diagnosis.groupings]
    step = -(-len(numbers) // MOST_LABELS)
    axes.set_xticks(range(0, len(numbers), step), [str(number) for number in numbers[::step]])
    highest = max(1.15, 1.1 * max(grouping.largest for grouping in diagnosis.groupings))
    axes.set(xlim=(-0.6, len(numbers) - 0.4), ylim=(0, highest))
    axes.set_xlabel("groups (green: compatible; cross: dependent)")
    axes.set_title("largest group paid, as a share of maximum / groups", loc="left", fontsize=10.5)


def _draw_correlations(axes: Axes, diagnosis: Diagnosis) -> None:
    """The correlation of every two groups, for the policy's number of groups, else the largest compatible one."""
    groups = diagnosis.assumed or max(diagnosis.compatible, default=1)
    if groups == 1:  # a single group correlates with nothing: take a larger number
        groups = max(grouping.groups for grouping in diagnosis.groupings if grouping.groups <= MOST_GROUPS)
    matrix = diagnosis.grouping(groups).independence.correlations.copy()
    np.fill_diagonal(matrix, np.nan)
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1, extent=(0.5, groups + 0.5, groups + 0.5, 0.5))
    axes.set_title(f"correlation between the {groups} groups", loc="left", fontsize=10.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.figure.colorbar(image, ax=axes, shrink=0.9)
