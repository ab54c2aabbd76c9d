"""How policies stand in one world: their regrets against the best policy and against fixed randomisation, run by run.

- `of_fixed` is a policy's regret as a share of that of fixed randomisation: 0 loses nothing, 1 learns nothing.
- `of_best` is its regret as a multiple of that of the policy with the smallest mean regret in this world.
- Both have Fieller's 95 % interval for a ratio of paired means, cut at 0.
- The `rank` of a policy is 1 + the number of policies that lose less than it in this world beyond chance: those for
  which the 95 % interval (Student's) of the paired difference is on one side of 0. So policies that cannot be told
  apart share a rank. No correction is made for the number of pairs: about one in twenty equal pairs is told apart.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from tpstream.analysis.intervals import Contrast, fieller_interval, is_informed, paired
from tpstream.analysis.printed import amount, show_value
from tpstream.experiment.result import Study
from tpstream.model.arrays import Floats
from tpstream.model.display import counted

Run = TypeVar("Run", int, tuple[int, int])
FIXED = "uniform"
"""Fixed randomisation, which takes part in every league."""


def final_regrets(study: Study) -> dict[str, dict[int, float]]:
    """The final regret of every policy that finished a run, by the number of the run."""
    return {
        policy: dict(zip(records.runs.tolist(), study.regret(policy)[:, -1].tolist(), strict=True))
        for policy, records in study.records.items()
        if len(records)
    }


def common_runs(one: Mapping[Run, float], other: Mapping[Run, float]) -> tuple[Floats, Floats]:
    """The regrets of two policies in the runs that both finished, by the number of the run, or seed and number."""
    runs = sorted(one.keys() & other.keys())
    return np.array([one[run] for run in runs]), np.array([other[run] for run in runs])


def ratio(own: Mapping[int, float], other: Mapping[int, float]) -> tuple[float, float, float]:
    """Mean regret as a multiple of another policy's, with Fieller's interval; NaN where it has none."""
    one, two = common_runs(own, other)
    if not len(two) or two.mean() <= 0:
        return np.nan, np.nan, np.nan
    value = float(one.mean() / two.mean())
    if len(two) == 1 or paired("", "", two, np.zeros(len(two))).low <= 0:
        return value, np.nan, np.nan
    low, high = fieller_interval(one, two)
    return value, max(low, 0.0), high


def best_policy(study: Study) -> str | None:
    """The policy with the smallest mean regret, of those that know no more than a real one; None if there is none."""
    finals = final_regrets(study)
    means = {policy: np.mean(list(found.values())) for policy, found in finals.items() if not is_informed(policy)}
    return min(means, key=lambda policy: means[policy]) if means and study.largest_regret > 0 else None


def judge(world: str, study: Study) -> list[dict[str, object]]:
    """The rows of `League.cells` for one world."""
    finals, best = final_regrets(study), best_policy(study)
    rows = []
    means = {str(row["policy"]): row for row in study.table().to_dict("records")}
    for policy, own in finals.items():
        mean = means[policy]
        better = sum(
            paired("", "", *common_runs(own, other)).low > 0 for name, other in finals.items() if name != policy
        )
        of_best = ratio(own, finals[best]) if best is not None else (np.nan,) * 3
        of_fixed = ratio(own, finals[FIXED]) if FIXED in finals and best is not None else (np.nan,) * 3
        microseconds = 1e6 * float(mean["seconds_per_run"]) / int(study.rounds[-1])
        rows.append(
            {"world": world, "policy": policy, "runs": len(own)}
            | {name: float(mean[name]) for name in ("regret", "low", "high")}
            | dict(zip(("of_best", "of_best_low", "of_best_high"), of_best, strict=True))
            | dict(zip(("of_fixed", "of_fixed_low", "of_fixed_high"), of_fixed, strict=True))
            | {"rank": 1 + better if best is not None else np.nan, "microseconds": microseconds}
        )
    return rows


def write_loss(study: Study, value: float) -> str:
    """What is lost, as people read it: in money where rewards are money."""
    return amount(value) if study.currency is None else show_value(value, "money", study.currency)


def conclude(study: Study) -> list[str]:
    """What was found in this study, how sure it is, and what it would cost to be wrong."""
    best = best_policy(study)
    if best is None:
        return [study.no_best_arm or "no policy finished a run"]
    finals = final_regrets(study)
    found = _who_loses_least(study, best, finals)
    rivals = {
        name: paired("", "", *common_runs(finals[best], other))
        for name, other in finals.items()
        if name != best and not is_informed(name)
    }
    tied = {name: one for name, one in rivals.items() if not one.high < 0}  # NaN is not told apart, too
    if not rivals:
        return [found, "No other policy took part.", "So nothing can be said about another choice."]
    if not tied:
        each = "The other policy" if len(rivals) == 1 else f"Each of the {len(rivals)} other policies"
        sure = f"{each} loses more beyond chance (paired 95 % intervals)."
        return [found, sure, _how_much_more(study, rivals, float(np.mean(list(finals[best].values()))))]
    many = counted(len(finals[best]), "run")
    names = ", ".join(tied)
    sure = f"With {many} it cannot be told apart from {names}: paired 95 % intervals of the difference include 0."
    own = next(float(row["high"]) for row in study.rows if row["policy"] == best)  # none loses less than nothing
    most = write_loss(study, min(own, max(one.high for one in tied.values())))
    cost = f"If one of these is better, choosing {best} costs at most {most} (upper end of 95 %)."
    if len(finals[best]) == 1:
        cost = "What a wrong choice would cost cannot be said from a single run; give more runs."
    return [found, sure, cost]


def _who_loses_least(study: Study, best: str, finals: Mapping[str, Mapping[int, float]]) -> str:
    row = next(row for row in study.rows if row["policy"] == best)
    low, mean, high = (write_loss(study, row[name]) for name in ("low", "regret", "high"))
    around = "" if np.isnan(row["low"]) else f" (95 % interval {low} to {high})"
    share = ratio(finals[best], finals[FIXED])[0] if FIXED in finals else np.nan
    of_fixed = "" if np.isnan(share) or best == FIXED else f", {share:.1%} of what fixed randomisation loses"
    many = counted(len(finals[best]), "run")
    return f"In {study.name} {best} loses least: {mean} on average of {many}{around}{of_fixed}."


def _how_much_more(study: Study, rivals: Mapping[str, Contrast], least: float) -> str:
    """What the next best policy loses more than the best one, which loses `least` on average."""
    nearest = max(rivals, key=lambda name: rivals[name].difference)
    gap = rivals[nearest]
    more, low, high = (write_loss(study, -value) for value in (gap.difference, gap.high, gap.low))
    share = f"{-gap.difference / least:.0%}"
    return f"The next best, {nearest}, loses {more} more (95 % interval {low} to {high}), a plus of {share}."
