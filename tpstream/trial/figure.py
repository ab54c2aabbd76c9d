"""How a trial is shown: the figure of allocation over the enrolment and the benefit lost, and a short summary.

Where all arms are equally good, the figure shows instead how many patients each arm got and how often it was chosen.
Where rewards are money, it also shows what was earned.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tpstream.analysis.printed import in_currency
from tpstream.analysis.regret import all_equal
from tpstream.figures.money import BEST, draw_earned
from tpstream.figures.style import (
    DASHED,
    GREY,
    draw_grid,
    figure_of,
    figure_text,
    label_lines,
    line_styles,
    name_lines,
    new_figure,
    open_axes,
    policy_colours,
    scale_logarithmic,
    shown_names,
    tick_text,
)
from tpstream.model.arrays import Floats
from tpstream.model.display import Curve, Summary, counted, number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tpstream.trial.characteristics import Trial


def trial_figure(
    path: str | Path | None,
    trial: "Trial",
    *,
    ax: "Axes | None" = None,
    log_y: bool = False,
    labels: Mapping[str, str] | None = None,
) -> "Figure":
    """On the left allocation over the enrolment, beside it the benefit lost and how often the best arm was chosen.

    If all arms are equally good, the patients of each arm are on the left, and beside it how often it was chosen. Where
    rewards are money, what was earned is on the right. A policy that failed in every run is left out. On given axes
    only the left part is drawn. The figure is written if there is a path.
    """
    names = shown_names(trial.outcomes, labels)
    colours = {policy: colour for policy, colour in policy_colours(trial.outcomes).items() if trial.outcomes[policy]}
    runs = max(len(outcomes) for outcomes in trial.outcomes.values())
    title = f"{figure_text(trial.name)}: {runs} run{'s, 95 % intervals' if runs > 1 else ''}"
    whole_title = "\n".join([title, *trial.notes])
    equal = all_equal(trial.means)
    if ax is not None:
        with open_axes(path, ax, 8, 4.4) as axes:
            if equal:
                _draw_arms(axes, trial, "patients", colours, names)
                axes.legend(frameon=False, fontsize="small")
            else:
                _draw_allocation(axes, trial, colours, names, log_y=log_y, own=False)
        return figure_of(axes)
    widths, height = ([1.25, 1.25], 2.2 + 0.25 * (len(colours) + 1) * len(trial.arms)) if equal else ([1.5, 1.0], 4.4)
    widths += [1.25] if trial.currency is not None else []
    with new_figure(path, 10.5 if trial.currency is None else 15.5, height) as figure:
        left, beside, *right = figure.subplots(1, len(widths), width_ratios=widths)
        figure.suptitle(whole_title, x=0.01, ha="left", fontweight="bold", wrap=True)
        if equal:
            _draw_arms(left, trial, "patients", colours, names)
            _draw_arms(beside, trial, "chosen", colours, names)
            beside.tick_params(labelleft=False)
            figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", frameon=False, ncols=4)
        else:
            _draw_losses(beside, trial, colours, names)
            _draw_allocation(left, trial, colours, names, log_y=log_y, own=True)
        for axes in right:
            _draw_money(axes, trial, colours, names)
    return figure


def _draw_money(axes: "Axes", trial: "Trial", colours: Mapping[str, str], names: Mapping[str, str]) -> None:
    """What was earned over the enrolment, a line and a band for each policy."""
    earned = {names[policy]: trial.earned(policy) for policy in colours}
    shown = {names[policy]: colour for policy, colour in colours.items()} | {BEST: GREY}
    ends = draw_earned(axes, trial.rounds, earned, trial.rounds * trial.means.max(), trial.currency or "", shown)
    axes.set_xlabel("patient, in order of enrolment")
    axes.set_title("earned so far", loc="left", color=GREY, fontsize=10.5)
    label_lines(axes, ends, shown)


def _draw_allocation(
    axes: "Axes", trial: "Trial", colours: Mapping[str, str], names: Mapping[str, str], *, log_y: bool, own: bool
) -> None:
    """The share of patients on the best arm, a line and a band for each policy; `own` axes have names beside lines."""
    curves = {policy: trial.allocation(policy) for policy in colours}
    styles = line_styles({policy: curve.mean for policy, curve in curves.items()})
    axes.set(xlim=(0, trial.horizon), ylim=(0, 100), xlabel="patient, in order of enrolment")
    axes.set_title("patients on the best arm", loc="left", color=GREY, fontsize=10.5)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:.0f} %")
    draw_grid(axes)
    for policy, curve in curves.items():
        x = middles(curve.mean, trial.horizon)
        line = {"color": colours[policy], "linewidth": 2, "linestyle": styles[policy], "label": names[policy]}
        axes.plot(x, 100 * curve.mean, **line)
        axes.fill_between(x, 100 * curve.low, 100 * curve.high, color=colours[policy], alpha=0.15, linewidth=0)
    if log_y:
        scale_logarithmic(axes, [100 * curve.mean for curve in curves.values()])
        axes.yaxis.set_major_formatter("{x:g} %")
    ends = {names[policy]: 100 * float(curve.mean[-1]) for policy, curve in curves.items()}
    name_lines(axes, ends, {names[policy]: colour for policy, colour in colours.items()}, own=own)


def _draw_arms(axes: "Axes", trial: "Trial", column: str, colours: Mapping[str, str], names: Mapping[str, str]) -> None:
    """A column of the table `choices`: a point and its interval for each arm and policy, and a line at equal shares."""
    chosen, arms = column == "chosen", len(trial.arms)
    factor, equal = (100.0, 100.0 / arms) if chosen else (1.0, trial.horizon / arms)
    axes.axvline(equal, color=GREY, linestyle=DASHED, linewidth=1.2)
    table, most = trial.choices(), 100.0
    if not chosen:
        most = min(trial.horizon, max(1.5 * equal, 1.05 * float(table[["patients", "patients_high"]].max().max())))
    for number, (policy, colour) in enumerate(colours.items()):
        rows = table[table["policy"] == policy]
        heights = np.arange(arms) + 0.7 * ((number + 0.5) / len(colours) - 0.5)
        low, middle, high = (factor * rows[f"{column}{end}"].to_numpy() for end in ("_low", "", "_high"))
        if len(trial.outcomes[policy]) > 1:
            axes.hlines(heights, low, high, color=colour, linewidth=2.5)
        axes.plot(middle, heights, "o", color=colour, markersize=6, label=names[policy])
    axes.set(
        ylim=(arms - 0.5, -0.5), yticks=range(arms), yticklabels=list(map(figure_text, trial.arms)), xlim=(0, most)
    )
    of_what = (
        f"share of runs (dashed: {equal:.0f} %" if chosen else f"patients of {trial.horizon:,} (dashed: {equal:,.0f}"
    )
    axes.set_xlabel(f"{of_what}, equal shares)")
    title = "how often each arm was chosen in the end" if chosen else "how many patients each arm got"
    axes.set_title(title, loc="left", color=GREY, fontsize=10.5)
    axes.xaxis.set_major_formatter("{x:.0f} %" if chosen else "{x:,.0f}")
    draw_grid(axes, "x")


def _draw_losses(axes: "Axes", trial: "Trial", colours: Mapping[str, str], names: Mapping[str, str]) -> None:
    """A point and its interval for each policy, the smallest loss at the bottom."""
    table = trial.table().query("runs > 0").sort_values("lost")
    for place, row in enumerate(table.to_dict("records")):
        colour = colours[row["policy"]]
        if row["runs"] > 1:
            axes.plot([row["lost_low"], row["lost_high"]], [place, place], color=colour, linewidth=2.5)
        axes.plot([row["lost"]], [place], "o", color=colour, markersize=6)
        text = names[row["policy"]] + ("" if np.isnan(row["best_chosen"]) else f" ({row['best_chosen']:.0%})")
        side = "right" if row["lost"] > table["lost"].max() / 2 else "left"
        axes.annotate(text, (row["lost"], place), xytext=(0, 9), textcoords="offset points", ha=side, color=colour)
    axes.set(xlim=(0, 1.1 * table["lost"].max() or 1.0), ylim=(-0.5, len(table) - 0.3), yticks=[])
    axes.set_xlabel(f"against all on the best arm, in expectation{in_currency(trial.currency)}")
    axes.spines["left"].set_visible(False)
    axes.set_title("benefit lost (best arm chosen in the end)", loc="left", color=GREY, fontsize=10.5)
    axes.xaxis.set_major_formatter(tick_text)
    draw_grid(axes, "x")


def summarise(trial: "Trial") -> Summary:
    """A row for each policy, and curves of the share of patients on the best arm; patients by arm if there is none."""
    curves, colours = {}, policy_colours(trial.outcomes)
    rows = [{"policy": policy, "runs": f"{len(outcomes):,}"} for policy, outcomes in trial.outcomes.items()]
    if all_equal(trial.means):
        for row, (_, choices) in zip(rows, trial.choices().groupby("policy", sort=False), strict=True):
            row |= {f"patients on {arm}": number_text(mean) for arm, mean in choices[["arm", "patients"]].to_numpy()}
    else:
        for row, found in zip(rows, trial.table().to_dict("records"), strict=True):
            on_best, chosen = found["on_best"], found["best_chosen"]
            row["on best arm"] = "none" if np.isnan(on_best) else f"{on_best:,.0f}"
            row["best chosen"] = "none" if np.isnan(chosen) else f"{chosen:.0%}"
            row["benefit lost"] = number_text(found["lost"])
        shares = {policy: trial.allocation(policy).mean for policy, outcomes in trial.outcomes.items() if outcomes}
        curves = {
            policy: Curve(middles(share, trial.horizon), share, colours[policy]) for policy, share in shares.items()
        }
    failed = [f"{counted(len(trial.failures), 'run')} failed; see failed()"] if trial.failures else []
    title = f"Trial of {trial.name}: {counted(trial.horizon, 'patient')}, {counted(len(trial.arms), 'arm')}"
    return Summary(title, (), rows, [*failed, *trial.notes], curves, ("patient", "share on the best arm"))


def middles(shares: Floats, patients: int) -> Floats:
    """The middle of each section of the enrolment."""
    return (np.arange(len(shares)) + 0.5) * patients / len(shares)
