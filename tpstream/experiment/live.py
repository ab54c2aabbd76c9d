"""What a live page is told of the finished runs of a study, so that it can show estimates before the study ends."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tpstream.analysis.regret import best_arms, pseudo_regret
from tpstream.experiment.plan import Plan
from tpstream.experiment.store import RunResult, unpack
from tpstream.run.options import Measures

if TYPE_CHECKING:
    from tpstream.run.watch import LiveLink


def tell_results(plan: Plan, results: Sequence[RunResult]) -> None:
    """Tell the page of runs of the plan's first cell."""
    cell = plan.cells[0]
    labels = {one.result_key: one.choice.label for one in cell.policies}
    fine = [one for one in results if one.failure is None and one.result_key in labels]
    runs = ((labels[one.result_key], unpack(one.measures)) for one in fine)
    if plan.options.live is not None:
        tell_runs(plan.options.live, cell.world.scenario.means, runs)


def tell_runs(live: "LiveLink", means: Any, runs: Iterable[tuple[str, Measures]]) -> None:
    """Tell the page of runs: the policy's label and the measures of each."""
    found = [(label, _numbers(np.asarray(means), measures)) for label, measures in runs if "pulls" in measures]
    live.finished([{"policy": label, "numbers": numbers} for label, numbers in found])


def _numbers(means: Any, measures: Measures) -> Mapping[str, float]:
    """The numbers of a run of which estimates are shown: its regret, and how well it found the best arm."""
    pulls, best = measures["pulls"][-1], best_arms(means)
    numbers = {
        "regret": float(pseudo_regret(pulls, means)),
        "share of best arm": float(pulls[best].sum() / pulls.sum()),
    }
    if "chosen" in measures:  # in a trial
        chosen = int(measures["chosen"])
        numbers["best arm chosen"] = float(chosen >= 0 and best[chosen])
    return numbers
