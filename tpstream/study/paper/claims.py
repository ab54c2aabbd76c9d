"""Claims: what the paper says in words, as numbers that can be true or false."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tpstream.analysis.crossing import Estimate, crossing
from tpstream.study.paper.reproduction import Curves
from tpstream.study.paper.settings import DELAYED, EW, FR, UCB1

ABOUT = 0.2
"""A number that the paper reads off a figure ("about") counts as confirmed within this share of it."""
NAMES = {UCB1: "UCB1", DELAYED: "Delayed-UCB1", FR: "TP-UCB-FR", EW: "TP-UCB-EW"}
"""The paper's names."""
YES, NOISE, NO = "yes", "within noise", "no"


@dataclass(frozen=True)
class Claim:
    """What the paper says, what we found, and whether it holds: yes, within noise (the interval allows it), or no."""

    setting: str
    says: str
    found: str
    holds: str


def judge(estimates: list[Estimate], test: Callable[[float], bool]) -> str:
    """Whether all estimates pass a test; within noise if an end of the interval of each one that fails would."""
    if all(test(one.value) for one in estimates):
        return YES
    return NOISE if all(test(one.value) or test(one.low) or test(one.high) for one in estimates) else NO


def overtaking(first: Curves, second: Curves) -> Estimate:
    """From which round on the first policy is below the second."""
    return crossing(first.rounds, first.regret, second.regret)


def is_about(claimed: float) -> Callable[[float], bool]:
    """Whether a number is near enough to one that was read off a figure."""
    return lambda value: abs(value - claimed) <= ABOUT * claimed


def order(
    setting: str, says: str, curve: dict[str, Curves], policies: tuple[str, ...], *, first_only: bool = False
) -> Claim:
    """A claim that policies have ever larger final regrets; or that the first has the smallest."""
    means = [float(curve[policy].final.mean()) for policy in policies]
    names = [NAMES[policy.partition(":groups")[0]] for policy in policies]
    text = ", ".join(f"{name} {mean:,.0f}" for name, mean in zip(names, means, strict=True))
    holds = means[0] == min(means) if first_only else means == sorted(means)
    return Claim(setting, says, text, YES if holds else NO)


def spell_round(found: Estimate) -> str:
    """A crossing with its interval."""
    if not np.isfinite(found.value):
        return "not below at the end"
    high = f"{found.high:,.0f}" if np.isfinite(found.high) else "never"
    return f"below from round {found.value:,.0f} on (95 %: {found.low:,.0f} to {high})"


def spell_percent(found: Estimate) -> str:
    """A share in percent with its interval."""
    return f"{found.value:.1f} % ({found.low:.1f} to {found.high:.1f})"
