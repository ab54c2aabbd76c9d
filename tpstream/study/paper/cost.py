"""Cost: what the runs took, and how much of it were random draws."""

import time
from dataclasses import dataclass

import numpy as np

from tpstream.model.protocols import ArmRewards
from tpstream.model.streams import BLOCK
from tpstream.study.paper.reproduction import Reproduction
from tpstream.study.result import Study
from tpstream.study.scenario import Scenario

PAPER_HOURS = 468
"""What the paper's experiments took."""
TIMES = 3
"""How often a block is timed; the shortest time counts."""


@dataclass(frozen=True)
class Cost:
    """The seconds of a setting: of the clock, of its runs, and of the processors if they only drew rewards."""

    setting: str
    clock: float
    """Of this call: less for runs that were there already."""
    recorded: float
    """Of all runs, also those that were there already, as each took by the clock."""
    draws: float


def costs(found: Reproduction) -> list[Cost]:
    """What every setting took."""
    return [
        Cost(
            setting.name,
            found.seconds[setting.name],
            sum(float(seconds.sum()) for name in setting.scenarios for seconds in found.studies[name].seconds.values()),
            sum(draw_seconds(found.scenarios[name], found.studies[name]) for name in setting.scenarios),
        )
        for setting in found.settings
    ]


def shares_by_kind(found: Reproduction) -> dict[str, float]:
    """The share of the time in runs that each kind of policy took; UCB1 comes first and draws for the others."""
    spent: dict[str, float] = {}
    for _, _, study in found.worlds():
        for policy, seconds in study.seconds.items():
            kind = policy.partition(":")[0]
            spent[kind] = spent.get(kind, 0.0) + float(seconds.sum())
    return {kind: seconds / sum(spent.values()) for kind, seconds in spent.items()}


def draw_seconds(scenario: Scenario, study: Study) -> float:
    """The blocks that a study drew (policies of one run share them) times the seconds that one takes."""
    pulls = np.stack([study.pulled(policy)[:, 0] for policy in study.records]).max(axis=0)
    blocks = np.ceil(pulls / BLOCK).sum(axis=0)
    stream = np.random.default_rng(0)
    total = 0.0
    for arm, number in zip(scenario.build_rewards().arms, blocks, strict=True):
        total += min(_seconds_of_a_block(arm, stream) for _ in range(TIMES)) * float(number)
    return total


def _seconds_of_a_block(arm: ArmRewards, stream: np.random.Generator) -> float:
    began = time.process_time()
    arm.sample(stream, BLOCK)
    return time.process_time() - began
