"""Which policy to take where several worlds have something in common, from a league.

A policy's share in a world is its regret divided by the mean regret of fixed randomisation there. For worlds that have
something in common these shares are averaged within each run, so that policies can be compared run by run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpstream.analysis.intervals import is_informed, paired, t_interval
from tpstream.experiment.league import League
from tpstream.experiment.standings import FIXED, final_regrets
from tpstream.model.arrays import Floats
from tpstream.model.errors import StudyError
from tpstream.scenario.scenario import Scenario

FEATURES: Mapping[str, tuple[str, ...]] = {
    "many independent groups pay evenly, as in the paper": (
        "setting-1",
        "setting-2.1-100-10",
        "setting-2.3-200-20",
        "spotify-like",
    ),
    "the parts of a pull depend on each other": ("playlist", "impatient", "subscriptions", "medical-trial"),
    "customers pay until they leave": ("impatient", "subscriptions"),
    "a pull may pay everything at once": ("e-commerce", "e-commerce-weekly", "lottery-one", "lump-at-the-end"),
    "few pulls pay anything, and some very much": ("rare-conversions", "lottery-one"),
    "parts are lost": ("medical-trial", "unequal-dropout"),
    "several decisions are due at one time": ("ten-at-a-time", "impatient", "rare-conversions", "subscriptions"),
    "maxima tell nothing about means": ("unrelated-maxima", "rare-conversions", "lump-at-the-end"),
}
"""What a user may know of a world, and the worlds of the shipped league of which it is true."""
NEAR_HALF = 0.05
"""A prior at half of the maximum is informed where no mean is further from it than this share of the maximum."""


@dataclass(frozen=True)
class Advice:
    """The policy with the smallest mean share over some worlds, with its 95 % interval, and its worst world.

    `tied` are the policies that cannot be told apart from it: the 95 % interval of the paired difference includes 0.
    """

    policy: str
    share: float
    low: float
    high: float
    worst: float
    worst_world: str
    tied: tuple[str, ...]


def run_shares(league: League, worlds: Sequence[str]) -> dict[str, Floats]:
    """For each policy that took part in all of these worlds: its share in each run and world, (run, world)."""
    columns: dict[str, list[Floats]] = {}
    for world in worlds:
        finals = final_regrets(league.studies[world])
        runs = sorted(set.intersection(*(set(one) for one in finals.values())))
        fixed = float(np.mean([finals[FIXED][run] for run in runs]))
        for policy, found in finals.items():
            columns.setdefault(policy, []).append(np.array([found[run] for run in runs]) / fixed)
    fewest = min(len(column) for several in columns.values() for column in several)
    return {
        policy: np.stack([column[:fewest] for column in several], axis=1)
        for policy, several in columns.items()
        if len(several) == len(worlds) and not is_informed(policy)
    }


def advise(league: League, worlds: Sequence[str]) -> Advice:
    """Say which policy to take in worlds like these.

    Parameters
    ----------
    league
        A league in which these worlds took part.
    worlds
        Their names.

    Returns
    -------
    Advice
        The policy with the smallest mean share, and those that cannot be told apart from it.

    Raises
    ------
    StudyError
        If a world is not in the league.
    """
    unknown = [world for world in worlds if world not in league.studies]
    if unknown or not worlds:
        raise StudyError(f"the league has no world {', '.join(unknown)}; use one of {', '.join(league.studies)}")
    shares = run_shares(league, worlds)
    means = {policy: found.mean(axis=1) for policy, found in shares.items()}
    best = min(means, key=lambda policy: means[policy].mean())
    spread = t_interval(means[best])
    tied = [
        policy for policy, found in means.items() if policy != best and not paired("", "", means[best], found).high < 0
    ]
    in_worlds = shares[best].mean(axis=0)
    worst = int(in_worlds.argmax())
    numbers = (float(spread.mean), float(spread.low), float(spread.high), float(in_worlds[worst]))
    return Advice(best, *numbers, worlds[worst], tuple(tied))


def has_informed_prior(scenario: Scenario) -> bool:
    """Whether every mean is near half of its maximum, so that a prior there is informed by the world."""
    maxima = scenario.problem().maxima
    return bool((np.abs(scenario.means / maxima - 0.5) <= NEAR_HALF).all())
