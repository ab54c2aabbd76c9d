"""Published designs with looks: the example of adaptr 1.4.0, and the random delays of RARtrials.

adaptr: three arms without a control, so that superiority ends the trial there, too; an undesirable binary outcome,
allocation by the probability of being best, at least 0.2 for each arm. Looks when 300, 400, ..., 2000 outcomes are
known, while 100 more patients are randomised. An arm is dropped if its probability of being best is below 1 - s, and
superior if it is above s = 0.9814318; all are equivalent if they lie within 0.05 with probability 0.9. Its README
simulates 1,000 trials.

RARtrials: five arms, 5 patients a month, outcomes known after N(1, 0.3) months, Beta(0.2, 0.8) priors, 50 patients to
burn in, 250 in all. Probabilities of allocation are cut at 0.1 and 0.9. An arm is futile if it is better than the
control by 0.2 with a probability below 0.01, and superior at the end if that probability is above 0.345.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm

from tpstream.looks.design import Reason
from tpstream.looks.posteriors import best_probabilities
from tpstream.model.arrays import Floats
from tpstream.paper.published import Effort, Number, deviation, mean, share
from tpstream.scenario.scenario import Scenario
from tpstream.trial.decisions import SimulatedTrials
from tpstream.trial.designs import OperatingCharacteristics
from tpstream.trial.trial import trial

ADAPTR_TRIALS, RAR_TRIALS = 1_000, 10_000
FEWER = 5
"""These trials are long: a fifth of the trials is simulated."""
SUPERIOR = 0.9814318
BEST = ((30.0, 30.0, 0.01796526), (41.0, 20.0, 0.8788907), (35.0, 27.0, 0.1031441))
"""Beta posteriors of three arms, and the probability that each is the best one."""
BEST_TOLERANCE = 1e-7
LAGS = np.maximum(norm.ppf((np.arange(400) + 0.5) / 400, loc=1.0, scale=0.3), 0.0)
"""Equally likely delays, in months, that stand for a normal distribution."""


def adaptr_design() -> Scenario:
    """The design of adaptr's README, all arms alike; one patient in each unit of time."""
    return Scenario(
        name="adaptr",
        horizon=2000,
        visits=[100.0],
        drain=True,
        rewards={"kind": "binary"},
        arms=[{"name": name, "probability": 0.25} for name in ("Arm A", "Arm B", "Arm C")],
        trial={
            "direction": "lower",
            "looks": {"at": "known", "values": list(range(300, 2000, 100))},
            "allocation": {"kind": "best-probability", "minimum": 0.2, "update": "look"},
            "rules": [
                {"kind": "inferiority", "against": "best", "threshold": 1 - SUPERIOR},
                {"kind": "superiority", "against": "best", "threshold": SUPERIOR},
                {"kind": "equivalence", "against": "all", "threshold": 0.9, "margin": 0.05},
            ],
        },
    )


def rar_design(best: float) -> Scenario:
    """The design of RARtrials' tests: four treatments, of which the last may be better."""
    rule: dict[str, Any] = {"against": "control", "margin": 0.2, "prior": [0.2, 0.8]}
    return Scenario(
        name="RARtrials",
        horizon=250,
        visits=[0.0],
        drain=True,
        rewards={"kind": "binary"},
        arms=[
            {"name": name, "probability": rate}
            for name, rate in zip(("control", "1", "2", "3", "4"), (0.2,) * 4 + (best,), strict=True)
        ],
        arrivals={"kind": "regular", "every": 0.2},
        delays=[{"kind": "empirical", "lags": LAGS.tolist()}],
        trial={
            "control": "control",
            "looks": {
                "at": "randomised",
                "values": list(range(50, 250)),
                "information": [patients / 250 for patients in range(50, 250)],
            },
            "allocation": {
                "kind": "best-probability",
                "burn_in": 50,
                "minimum": 0.1,
                "maximum": 0.9,
                "limit": "clip",
                "prior": [0.2, 0.8],
            },
            "rules": [
                rule | {"kind": "superiority", "threshold": 0.345, "when": "end"},
                rule | {"kind": "futility", "threshold": 0.01},
            ],
        },
    )


def simulated(effort: Effort, design: Scenario) -> SimulatedTrials:
    """The trials of a design."""
    few = replace(effort, trials=max(effort.trials // FEWER, 2))
    place = effort.place(f"{design.name} {design.means[-1]:g} seed={effort.seed}")
    found = trial(design, runs=few.trials, seed=few.seed, jobs=few.jobs, folder=place, progress=effort.progress)
    assert isinstance(found, OperatingCharacteristics)  # noqa: S101 (the scenario has a design)
    return found.trials[0]


def shares(found: Any) -> Floats:
    """Truth values as numbers."""
    return np.asarray(found, dtype=np.float64)


def adaptr(effort: Effort) -> list[Number]:
    """The size of its trials, and how they end."""
    found, table = simulated(effort, adaptr_design()), "adaptr: three equal arms"
    sizes = found.measures["patients"].sum(axis=1)
    numbers = [
        mean(table, "patients", sizes, 1749.6, 373.7, ADAPTR_TRIALS, 0.05),
        deviation(table, "standard deviation of patients", sizes, 373.7, ADAPTR_TRIALS, 0.05),
    ]
    for reason, published in ((Reason.SUPERIORITY, 0.048), (Reason.EQUIVALENCE, 0.381), (Reason.MAXIMUM, 0.571)):
        numbers.append(share(table, reason.name.lower(), shares(found.decision == reason), published, ADAPTR_TRIALS))
    return numbers


def best_arms(_: Effort) -> list[Number]:
    """Probabilities of being the best of three arms, in the documentation of RARtrials; nothing is simulated."""
    table, found = (
        "RARtrials: probabilities of being the best arm",
        best_probabilities("beta", *np.array(BEST)[:, :2].T),
    )
    return [
        Number(table, f"Beta({a:g}, {b:g})", float(ours), 0.0, published, rounding=BEST_TOLERANCE)
        for (a, b, published), ours in zip(BEST, found, strict=True)
    ]


def rartrials(effort: Effort) -> list[Number]:
    """How often each treatment is superior in the end, and futile on the way."""
    published = {
        0.4: ((0.034, 0.036, 0.031, 0.669), (0.562, 0.561, 0.564, 0.078)),
        0.2: ((0.018, 0.014, 0.012, 0.012), (0.752, 0.759, 0.753, 0.756)),
    }
    numbers = []
    for best, (superior, futile) in published.items():
        found, table = simulated(effort, rar_design(best)), f"RARtrials: random delays, the last treatment {best}"
        claims = shares(found.final_claims)
        dropped = shares(found.measures["final_verdict"] == Reason.FUTILITY)
        for arm in range(1, 5):
            who = f"treatment {arm}"
            numbers.append(share(table, f"{who} superior", claims[:, arm], superior[arm - 1], RAR_TRIALS))
            numbers.append(share(table, f"{who} futile", dropped[:, arm], futile[arm - 1], RAR_TRIALS))
    return numbers
