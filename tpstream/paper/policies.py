"""The regrets of policies on Setting 1 against those of an independent simulator: `tpstream paper policies`.

That simulator was written from the formulas alone, with random numbers of its own: 100,000 rounds, 20 runs (10 where
said), each arm once, then at random among arms of which nothing is known, and random ties. A published half-width is
that of a 95 % interval. Numbers agree if they are within 3 combined standard errors; where no half-width was published,
ours stands for it.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tpstream.experiment.compare import compare
from tpstream.paper.agreement import compare_numbers, mean_and_half
from tpstream.run.options import Progress
from tpstream.scenario.scenario import Scenario

QUESTION = (
    "Do the final regrets of policies on Setting 1 agree with those of an independent simulator, which was written "
    "from the formulas alone?"
)
SEED = 20230806
RUNS = 20
NEAR = 3.0
"""Standard errors within which two numbers agree."""


class Published(NamedTuple):
    """A final regret of the other simulator, with the half-width of its 95 % interval (NaN: not published)."""

    policy: str
    regret: float
    half: float


PUBLISHED = (
    Published("delayed-ucb1:start=random", 544_358, 6_335),
    Published("tp-ucb-ew", 473_135, np.nan),
    Published("tp-ucb-fr", 323_848, 1_290),
    Published("delayed-ucb-v:start=random", 302_718, 9_810),
    Published("delayed-kl-ucb:start=random", 232_800, 2_769),
    Published("delayed-moss:start=random", 198_225, 6_689),
    Published("delayed-ucb1-tuned:start=random", 128_210, 5_157),
    Published("delayed-thompson", 87_132, 13_742),
    Published("tp-ucb-fr-exact", 78_758, 8_190),
    Published("delayed-ucb1:groups=20,start=random", 73_280, 4_865),
    Published("tp-ucb-pooled", 49_725, 875),
    Published("tp-ucb-pooled:safe=true", 69_570, np.nan),
    Published("group-thompson:family=beta", 5_760, 557),
    Published("group-thompson:prior=none", 25_838, 722),
)


def policy_agreement(
    *, runs: int = RUNS, seed: int = SEED, jobs: int = 1, horizon: int | None = None, progress: Progress | None = None
) -> pd.DataFrame:
    """Our regrets beside the published ones, and how many combined standard errors they are apart.

    Parameters
    ----------
    runs, seed, jobs
        How many runs of each policy, from which seed, on how many cores.
    horizon
        Fewer rounds for a quick look; the published numbers are of 100,000.
    progress
        Is told the rounds that are done.

    Returns
    -------
    DataFrame
        A row for each policy, `what`: `ours` and `published` with `half` and `published_half`, `errors` (the difference
        in combined standard errors) and `agrees`.
    """
    scenario = Scenario.load("setting-1")
    scenario = scenario if horizon is None else scenario.with_(horizon=horizon)
    study = compare(scenario, [one.policy for one in PUBLISHED], runs=runs, seed=seed, jobs=jobs, progress=progress)
    finals = {policy: study.counts[policy][:, -1] @ (scenario.means.max() - scenario.means) for policy in study.counts}
    rows: list[tuple[object, ...]] = []
    for one in PUBLISHED:
        mean, half = mean_and_half(finals[one.policy])
        rows.append((one.policy, mean, half, one.regret, half if np.isnan(one.half) else one.half))
    table = compare_numbers(rows, ["what"])
    return table.assign(
        published_half=[one.half for one in PUBLISHED],
        agrees=table["errors"].abs() <= NEAR,
    )
