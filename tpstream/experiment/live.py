"""What a live page is told of the finished runs of a study, so that it can show estimates before the study ends."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpstream.analysis.regret import best_arms, pseudo_regret
from tpstream.experiment.plan import Cell, Plan
from tpstream.experiment.store import RunResult, unpack
from tpstream.looks.design import Reason
from tpstream.run.options import Measures

if TYPE_CHECKING:
    from tpstream.run.watch import LiveLink

NOT_STATED = frozenset({"arms"})
"""Keys of which a value that has a label, such as the truth of a trial, is told by its label alone."""


class Told(NamedTuple):
    """Whose estimates a finished run belongs to, and the means of its arms."""

    scenario: str
    cell: str
    """The values that were set, in words; empty if the study has one cell."""
    policy: str
    means: Any


class ResultTeller:
    """Tells a page of the finished runs of a study, cell by cell."""

    def __init__(self, plan: Plan, live: "LiveLink") -> None:
        self._live = live
        self._told: dict[str, list[Told]] = defaultdict(list)
        for cell in plan.cells:
            words = _in_words(cell) if len(plan.cells) > 1 else ""
            means = np.asarray(cell.world.scenario.means)
            for one in cell.policies:
                self._told[one.result_key].append(Told(plan.scenario.name, words, one.choice.label, means))

    def tell(self, results: Sequence[RunResult]) -> None:
        """Tell of these runs, but for those that failed."""
        fine = [(one, unpack(one.measures)) for one in results if one.failure is None]
        tell_runs(self._live, ((told, measures) for one, measures in fine for told in self._told[one.result_key]))


def tell_runs(live: "LiveLink", runs: Iterable[tuple[Told, Measures]]) -> None:
    """Tell the page of finished runs by their measures."""
    live.finished(
        [
            {"scenario": of.scenario, "cell": of.cell, "policy": of.policy, "numbers": _numbers(of.means, measures)}
            for of, measures in runs
            if "pulls" in measures
        ]
    )


def found_superior(measures: Measures) -> bool:
    """Whether a trial with looks decided that an arm is superior: at its stop, or in its final analysis."""
    at_stop = int(measures["conclusion"]) != Reason.MAXIMUM and not measures["stop_delayed"]
    return int(measures["conclusion" if at_stop else "final_conclusion"]) == Reason.SUPERIORITY


def _in_words(cell: Cell) -> str:
    return ", ".join(
        str(value) if path in NOT_STATED and value is not cell.settings[path] else f"{path}={value}"
        for path, value in cell.shown.items()
    )


def _numbers(means: Any, measures: Measures) -> Mapping[str, float]:
    """The numbers of a run of which estimates are shown: its regret, and how well it found the best arm."""
    pulls, best = measures["pulls"][-1], best_arms(means)
    numbers: dict[str, float] = {}
    if "conclusion" in measures:  # in a trial with looks
        numbers["superiority"] = float(found_superior(measures))
        numbers["patients"] = float(np.sum(measures["patients"]))
    numbers["regret"] = float(pseudo_regret(pulls, means))
    if not best.all():
        numbers["share of best arm"] = float(pulls[best].sum() / pulls.sum())
    if "chosen" in measures:  # in a trial without looks
        chosen = int(measures["chosen"])
        numbers["best arm chosen"] = float(chosen >= 0 and best[chosen])
    return numbers
