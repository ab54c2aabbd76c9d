"""Cost: what the runs took, and how much of it were random draws."""

import time
from dataclasses import dataclass

import numpy as np

from tpstream.model.streams import BLOCK
from tpstream.study.paper.reproduction import Reproduction
from tpstream.study.result import Study
from tpstream.study.scenario import Scenario

PAPER_HOURS = 468
"""What the paper's experiments took."""


@dataclass(frozen=True)
class Cost:
    """The seconds of a setting: in all runs together, in their draws (as timed now), and by the clock in this call."""

    setting: str
    runs: float
    draws: float
    clock: float


def costs(found: Reproduction) -> list[Cost]:
    """What every setting took."""
    return [
        Cost(
            setting.name,
            sum(float(seconds.sum()) for name in setting.scenarios for seconds in found.studies[name].seconds.values()),
            sum(draw_seconds(found.scenarios[name], found.studies[name]) for name in setting.scenarios),
            found.seconds[setting.name],
        )
        for setting in found.settings
    ]


def seconds_by_kind(found: Reproduction) -> dict[str, float]:
    """The seconds in runs of each kind of policy; who comes first to a block of rewards draws it for the others."""
    spent: dict[str, float] = {}
    for _, _, study in found.worlds():
        for policy, seconds in study.seconds.items():
            kind = policy.partition(":")[0]
            spent[kind] = spent.get(kind, 0.0) + float(seconds.sum())
    return spent


def draw_seconds(scenario: Scenario, study: Study) -> float:
    """The blocks that a study drew (policies of one run share them) times the seconds that one takes."""
    pulls = np.stack([study.pulled(policy)[:, 0] for policy in study.records]).max(axis=0)
    blocks = np.ceil(pulls / BLOCK).sum(axis=0)
    stream = np.random.default_rng(0)
    total = 0.0
    for arm, number in zip(scenario.build_rewards().arms, blocks, strict=True):
        began = time.perf_counter()
        arm.sample(stream, BLOCK)
        total += (time.perf_counter() - began) * float(number)
    return total
