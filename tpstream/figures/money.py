"""The figure of a comparison where rewards are money: regret over rounds, and beside it what was earned."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tpstream.analysis.intervals import Interval
from tpstream.analysis.theory import Bound
from tpstream.figures import style
from tpstream.model.arrays import Floats, Ints

BEST = "best arm"
"""The line of what the best arm pays on average."""


def money_figure(
    path: Path,
    title: str,
    rounds: Ints,
    regret: Mapping[str, Interval],
    earned: Mapping[str, Interval],
    best: Floats,
    currency: str,
    *,
    log_rounds: bool = False,
    bounds: Sequence[Bound] = (),
) -> None:
    """Pseudo-regret on the left, with bounds of the theory if given; on the right what was earned.

    `best` is what pulls of the best arm only would have paid, on average and at once; a dotted line shows it.
    """
    unit = f" in {currency}" if currency else ""
    with style.new_figure(path, 13, 4.8) as figure:
        left, right = figure.subplots(1, 2)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        colours = style.policy_colours(regret)
        style.draw_regret(left, rounds, regret, colours, log_rounds=log_rounds)
        left.set_ylabel(f"pseudo-regret{unit}")
        right.plot(rounds, best, color=style.GREY, linestyle=":", linewidth=1.3)
        style.draw_curves(right, rounds, earned, colours, log_rounds=log_rounds)
        right.set(ylim=(0, None), ylabel=f"earned{unit}")
        ends = {label: float(curve.mean[-1]) for label, curve in regret.items()}
        style.label_lines(left, ends | style.draw_bounds(left, rounds, regret, bounds, colours), colours)
        ends = {BEST: float(best[-1])} | {label: float(curve.mean[-1]) for label, curve in earned.items()}
        style.label_lines(right, ends, colours | {BEST: style.GREY})
