"""Rows of the tables about policies in a trial without looks, with 95 % intervals over runs."""

from collections.abc import Callable
from functools import partial

import numpy as np

from tpstream.analysis.intervals import paired_interval, paired_share_interval, t_interval, wilson_interval
from tpstream.analysis.regret import all_equal
from tpstream.model.arrays import Floats
from tpstream.trial.characteristics import FIXED, Trial


def policy_row(trial: Trial, policy: str) -> dict[str, object]:
    """A row of `Trial.table`, which says what its columns are."""
    outcomes = trial.outcomes_of(policy)
    chosen = np.array([one.chosen for one in outcomes if one.chosen is not None], dtype=np.int64)
    on_best = np.array([one.patients[trial.best].sum() for one in outcomes], dtype=np.float64)
    right, judged = int(trial.best[chosen].sum()), len(outcomes)
    if all_equal(trial.means):
        on_best, right, judged = np.empty(0), 0, 0
    gap = float(trial.means.max() - trial.means.min())
    return {
        "policy": policy,
        "runs": len(outcomes),
        **mean_columns("on_best", on_best, most=trial.horizon),
        **share_columns("best_chosen", right, judged),
        **paired_share_interval(*beside_fixed(trial, policy, partial(chose_best, trial))).columns("best_chosen_gain"),
        **mean_columns("lost", trial.lost(policy), most=trial.most_lost),
        **paired_interval(*beside_fixed(trial, policy, trial.lost), trial.most_lost).columns("against_fixed"),
        **mean_columns("last_readout", np.array([one.last_readout for one in outcomes])),
        **mean_columns("lost_later", trial.means.max() - trial.means[chosen], most=gap),
        "failed": sum(failure.policy == policy for failure in trial.failures),
    }


def chose_best(trial: Trial, policy: str) -> Floats:
    """Whether each run ended with the choice of a best arm, 1 or 0; NaN if all arms are equally good."""
    if all_equal(trial.means):
        return np.full(len(trial.outcomes_of(policy)), np.nan)
    return np.array([float(one.chosen is not None and trial.best[one.chosen]) for one in trial.outcomes_of(policy)])


def beside_fixed(trial: Trial, policy: str, values: Callable[[str], Floats]) -> tuple[Floats, Floats]:
    """A value of the policy's runs and the same of fixed randomisation, in the runs that succeeded under both."""
    if FIXED not in trial.outcomes:
        return np.empty(0), np.empty(0)
    own, fixed = (
        {(one.seed, one.run): value for one, value in zip(trial.outcomes[name], values(name), strict=True)}
        for name in (policy, FIXED)
    )
    both = [run for run in own if run in fixed]
    return np.array([own[run] for run in both]), np.array([fixed[run] for run in both])


def choice_row(trial: Trial, policy: str, arm: int) -> dict[str, object]:
    """A row of `Trial.choices`: how many patients an arm got, and how often it was chosen."""
    outcomes = trial.outcomes_of(policy)
    patients = np.array([one.patients[arm] for one in outcomes], dtype=np.float64)
    return {
        "policy": policy,
        "arm": trial.arms[arm],
        "mean": float(trial.means[arm]),
        **mean_columns("patients", patients, most=trial.horizon),
        **share_columns("chosen", sum(one.chosen == arm for one in outcomes), len(outcomes)),
    }


def mean_columns(name: str, values: Floats, *, most: float = np.inf) -> dict[str, float]:
    """The mean over the runs that know it and its interval, cut at 0 and `most`, as columns of a table."""
    return t_interval(values[~np.isnan(values)]).within(0.0, most).columns(name)


def share_columns(name: str, successes: int, trials: int) -> dict[str, float]:
    """A share and Wilson's interval as columns of a table; NaN without trials."""
    low, high = wilson_interval(successes, trials)
    return {name: successes / trials if trials else np.nan, f"{name}_low": low, f"{name}_high": high}
