"""The synthetic world of "Impatient Bandits" (McDonald et al., KDD 2023) once more: `tpstream paper impatient`.

A world has 600 shows, and a listener who was recommended one is active or not on each of 59 days, until leaving for
good. The prior is fitted to 10,000 recorded listeners of each of 200 shows. Then 50 of the other 400 are candidates in
180 rounds of 10 or 50 recommendations. What is compared is the average regret of a recommendation.

The published numbers are of a single world, drawn with a seed that gives other worlds in other programs. Worlds differ:
in some the best candidates are far better than in others. So many worlds are drawn here, each with a prior of its own.
A published number agrees if it is within 3 standard errors of our mean, where its own standard error is the standard
deviation between our worlds. Differences between policies are compared as well, within each world: they vary much less.
"""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd

from tpstream.experiment.compare import Expecting, compare
from tpstream.experiment.processes import process_pool
from tpstream.model.arrays import Floats
from tpstream.paper.agreement import Z95, compare_numbers, mean_and_half
from tpstream.paper.policies import NEAR, SEED
from tpstream.policies.path_prior import PathPrior, fit_prior
from tpstream.rewards.churn import ChurnArm
from tpstream.run.options import Progress
from tpstream.scenario.scenario import Scenario

QUESTION = (
    'Do the sums of the prior and the regrets that McDonald et al. published in "Impatient Bandits" (KDD 2023) come '
    "out again in worlds that are drawn as theirs was?"
)
WORLDS = 20
SETS = 5
"""Choices of candidates in each world."""
DAYS = 59
HISTORY, OTHERS, CANDIDATES, TRACES = 200, 400, 50, 10_000
ROUNDS = 180
HEARS = {"progressive": "parts", "delayed": "closed", "proxy": "first", "oracle": "pull"}
"""The policies of the paper: what `progressive-thompson` hears."""
REGRETS = {
    10: {"progressive": 1.290, "delayed": 1.824, "proxy": 2.049, "oracle": 1.410},
    50: {"progressive": 0.693, "delayed": 1.335, "proxy": 2.014, "oracle": 0.585},
}
"""The published regrets of a recommendation, with so many of them in a round."""
SUMS = {"1'mu": 3.5255, "1'Sigma1": 0.6614, "1'V1": 39.516}
"""The sums of the published prior: of its mean, of the covariance between shows, of the noise of a listener."""


def draw_shows(stream: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """Draw shows, as the keys of arms of the reward `churn`.

    A listener leaves before a day with probability q ~ Beta(k c, k (1 - c)), c = expit(0.1 z - 0.4), k ~ U(0.7, 1.5).
    The log-odds of being active on a day are -0.5 + 0.1 times a Gaussian path with covariance 1.2 exp(-|i - j| / 8) -
    u |sin(pi day / 7)|, u ~ U(0.1, 1); z is standard normal.
    """
    days = np.arange(DAYS)
    root = np.linalg.cholesky(1.2 * np.exp(-np.abs(days[:, np.newaxis] - days) / 8))
    shows = []
    for number in range(count):
        leaving = expit(0.1 * stream.standard_normal() - 0.4)
        concentration = stream.uniform(0.7, 1.5)
        path = root @ stream.standard_normal(DAYS)
        active = expit(-0.5 + 0.1 * path - stream.uniform(0.1, 1.0) * np.abs(np.sin(np.pi * days / 7)))
        keys = {"churn": float(leaving), "concentration": concentration, "activity": active.tolist()}
        shows.append({"name": f"show-{number}", **keys})
    return shows


def expit(value: Any) -> Any:
    """The probability of these log-odds."""
    return 1 / (1 + np.exp(-value))


def record(stream: np.random.Generator, shows: list[dict[str, Any]], traces: int) -> Iterator[Floats]:
    """The days of so many listeners of every show."""
    for show in shows:
        arm = ChurnArm(show["churn"], show["concentration"], np.array(show["activity"]))
        yield arm.sample(stream, traces)


def run_world(seed: int, world: int, rounds: int = ROUNDS, traces: int = TRACES) -> dict[str, float]:
    """Everything that is compared, in one world: the sums of its prior, and the regrets."""
    stream = np.random.default_rng((seed, world))
    history, others = draw_shows(stream, HISTORY), draw_shows(stream, OTHERS)
    prior = fit_prior(record(stream, history, traces))
    found = dict(zip(SUMS, prior.sums(), strict=True))
    for size in REGRETS:
        regrets: dict[str, list[float]] = {policy: [] for policy in HEARS}
        for _ in range(SETS):
            chosen = [others[place] for place in stream.choice(OTHERS, CANDIDATES, replace=False)]
            scenario = make_scenario(chosen, prior, size, rounds)
            study = compare(scenario, list(HEARS), runs=1, seed=int(stream.integers(2**32)))
            for policy, several in regrets.items():
                several.append(float(study.regret(policy)[0, -1]) / scenario.horizon)
        found |= {label(size, policy): float(np.mean(several)) for policy, several in regrets.items()}
    return found


def label(size: int, policy: str) -> str:
    """What is compared, in words."""
    return f"{policy}, {size} a round"


def with_differences(numbers: dict[str, float]) -> dict[str, float]:
    """The numbers, and how much more the progressive policy loses than those that wait or know all."""
    more = {
        label(size, f"progressive - {other}"): numbers[label(size, "progressive")] - numbers[label(size, other)]
        for size in REGRETS
        for other in ("delayed", "oracle")
    }
    return numbers | more


def make_scenario(shows: list[dict[str, Any]], prior: PathPrior, size: int, rounds: int) -> Scenario:
    """The candidates as arms, with so many decisions in each round, and the four policies."""
    path = {"kind": "progressive-thompson", "groups": DAYS, "prior": prior.model_dump()}
    return Scenario(
        name="impatient",
        horizon=rounds * size,
        span=DAYS,
        rewards={"kind": "churn"},
        arms=shows,
        arrivals={"kind": "batches", "size": size},
        policies=[{**path, "name": name, "hears": hears} for name, hears in HEARS.items()],
    )


def impatient_agreement(
    *,
    worlds: int = WORLDS,
    seed: int = SEED,
    jobs: int = 1,
    rounds: int = ROUNDS,
    traces: int = TRACES,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Our numbers beside the published ones, and how many combined standard errors they are apart.

    Parameters
    ----------
    worlds, seed, jobs
        How many worlds, from which seed, on how many cores.
    rounds, traces
        Fewer rounds, and fewer recorded listeners of a show, for a quick look.
    progress
        Is told the decisions that were made.

    Returns
    -------
    DataFrame
        A row for each number: `what`, `ours` with the half-width `half` of its 95 % interval, `published` with
        `published_half`, 1.96 standard deviations between worlds, `errors` and `agrees`.
    """
    decisions = SETS * rounds * sum(REGRETS) * len(HEARS)
    if isinstance(progress, Expecting):
        progress.expect(worlds * decisions)
    with process_pool(jobs) if jobs > 1 else nullcontext() as pool:
        found = []
        for one in _run_worlds(pool, worlds, seed, rounds, traces):
            found.append(one)
            if progress is not None:
                progress(decisions)
    published = SUMS | {label(size, policy): value for size, row in REGRETS.items() for policy, value in row.items()}
    published = with_differences(published)
    table = pd.DataFrame([with_differences(one) for one in found])
    rows: list[tuple[object, ...]] = [
        (what, *mean_and_half(table[what].to_numpy()), number, Z95 * float(table[what].std()))
        for what, number in published.items()
    ]
    compared = compare_numbers(rows, ["what"])
    return compared.assign(agrees=compared["errors"].abs() <= NEAR)


def _run_worlds(pool: Executor | None, worlds: int, seed: int, rounds: int, traces: int) -> Iterator[dict[str, float]]:
    everything = ([seed] * worlds, range(worlds), [rounds] * worlds, [traces] * worlds)
    return map(run_world, *everything) if pool is None else pool.map(run_world, *everything)
