"""Claims: what the paper says in words, as numbers that can be true or false.

The paper's claims about each setting, checked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tpstream.analysis.intervals import t_interval
from tpstream.model.arrays import Floats
from tpstream.paper.limits import Estimate, bootstrap, crossing
from tpstream.paper.reproduction import Curves, Reproduction
from tpstream.paper.settings import ASSUMED, DELAYED, EW, FR, GRID, SETTINGS, UCB1, assuming, family_scenario

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


START = 0.01
"""The start of a run: this share of its rounds."""
PARALLEL = 0.05
"""Curves that grow alike up to this share look parallel."""


def claims(found: Reproduction) -> list[Claim]:
    """Every claim about the settings that were run."""
    by_setting: dict[str, Callable[[Reproduction], list[Claim]]] = {
        "1": setting_1,
        "2": setting_2,
        "4": setting_4,
        "5": setting_5,
        "spotify": spotify,
    }
    return [claim for name, check in by_setting.items() if found.has(name) for claim in check(found)]


def setting_1(found: Reproduction) -> list[Claim]:
    """Who is better from when on, and what the assumed groups do."""
    curve = {policy: found.curves("setting-1", policy) for policy in SETTINGS["1"].policies}
    fr, ew, delayed = curve[assuming(FR, 20)], curve[assuming(EW, 20)], curve[DELAYED]
    first, second, third = (overtaking(*pair) for pair in ((ew, delayed), (fr, delayed), (fr, ew)))
    start = START * int(fr.rounds[-1])
    return [
        Claim(
            "1",
            "TP-UCB-EW(20) is below Delayed-UCB1 over the entire horizon",
            f"{spell_round(first)}; before, in the start, they take turns",
            judge([first], lambda when: when <= start),
        ),
        Claim(
            "1",
            "TP-UCB-FR(20) is below Delayed-UCB1 for t > 10,000 (and above it up to 7,000)",
            spell_round(second),
            judge([second], lambda when: 7_000 <= when <= 10_000),  # noqa: PLR2004 (the claim's numbers)
        ),
        Claim(
            "1",
            "TP-UCB-FR(20) is below TP-UCB-EW(20) for t > 20,000",
            spell_round(third),
            judge([third], is_about(20_000)),
        ),
        *[_spread(kind, curve, percent) for kind, percent in ((FR, 40), (EW, 3))],
        *[_larger_is_better(kind, curve) for kind in (FR, EW)],
        order("1", "TP-UCB-FR(20) beats even clairvoyant UCB1", curve, (assuming(FR, 20), UCB1)),
        _parallel(ew, delayed, curve[UCB1]),
    ]


def _spread(kind: str, curve: dict[str, Curves], percent: float) -> Claim:
    """How much the final regret varies with the assumed groups."""
    finals = np.stack([curve[assuming(kind, groups)].final for groups in ASSUMED], axis=1)

    def share(weights: Floats) -> Floats:
        means = weights @ finals
        spread: Floats = 100 * (1 - means.min(axis=1) / means.max(axis=1))
        return spread

    estimate = bootstrap(len(finals), share)
    return Claim(
        "1",
        f"{NAMES[kind]}'s final regret varies by about {percent:g} % over eta",
        f"{spell_percent(estimate)} from worst to best",
        judge([estimate], is_about(percent)),
    )


def _larger_is_better(kind: str, curve: dict[str, Curves]) -> Claim:
    """Whether each larger number of groups has a smaller regret, run by run on the same random numbers."""
    finals = [curve[assuming(kind, groups)].final for groups in ASSUMED]
    steps = [t_interval(after - before) for before, after in pairwise(finals)]
    means = ", ".join(f"{groups}: {final.mean():,.0f}" for groups, final in zip(ASSUMED, finals, strict=True))
    sure = sum(bool(step.high < 0) for step in steps)
    return Claim(
        "1",
        f"{NAMES[kind]}: larger eta is better",
        f"{means}; {sure} of {len(steps)} steps are sure (95 %, paired)",
        YES if all(step.mean < 0 for step in steps) else NO,
    )


def _parallel(ew: Curves, delayed: Curves, ucb1: Curves) -> Claim:
    """Whether three curves grow alike after 4,000 rounds."""
    since = ew.near(4000)
    growth = {name: one.final - one.regret[:, since] for name, one in (("ew", ew), ("late", delayed), ("now", ucb1))}
    ratios = [_ratio(growth[name], growth["now"]) for name in ("ew", "late")]
    spelt = [f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})" for one in ratios]
    return Claim(
        "1",
        "TP-UCB-EW, Delayed-UCB1 and UCB1 are parallel after about 4,000 rounds",
        f"from then on TP-UCB-EW(20) grows {spelt[0]} and Delayed-UCB1 {spelt[1]} times as much as UCB1",
        judge(ratios, lambda ratio: abs(ratio - 1) <= PARALLEL),
    )


def _ratio(numerator: Floats, denominator: Floats) -> Estimate:
    return bootstrap(len(numerator), lambda weights: (weights @ numerator) / (weights @ denominator))


def setting_2(found: Reproduction) -> list[Claim]:
    """What span and groups do, in percent of what Delayed-UCB1 loses."""

    def share(policy: str, cell: tuple[int, int]) -> Estimate:
        name = family_scenario("2", *cell)
        return _ratio(100 * found.curves(name, policy).final, found.curves(name, DELAYED).final)

    short_few, long_few, short_many, long_many = GRID
    shares = {(policy, cell): share(policy, cell) for policy in (FR, EW) for cell in GRID}
    worst = max(shares.values(), key=lambda one: one.value)
    pairs = [
        (policy, few, many) for policy in (FR, EW) for few, many in ((short_few, short_many), (long_few, long_many))
    ]
    grouped = [f"{NAMES[p]} {shares[p, few].value:.2f} to {shares[p, many].value:.2f} %" for p, few, many in pairs]
    better = all(shares[policy, many].value < shares[policy, few].value for policy, few, many in pairs)
    ew, fr = (
        [_change(found, policy, short, long) for short, long in ((short_few, long_few), (short_many, long_many))]
        for policy in (EW, FR)
    )
    return [
        Claim(
            "2",
            "Both policies lose less than 95.5 % of what Delayed-UCB1 loses",
            f"at most {spell_percent(worst)}",
            judge([worst], lambda percent: percent < 95.5),  # noqa: PLR2004 (the claim's number)
        ),
        Claim("2", "At the same span, more groups are better", "; ".join(grouped), YES if better else NO),
        Claim(
            "2",
            "From span 100 to 200 TP-UCB-EW improves by more than 6 %",
            " and ".join(map(spell_percent, ew)),
            judge(ew, lambda percent: percent < -6),  # noqa: PLR2004 (the claim's number)
        ),
        Claim(
            "2",
            "From span 100 to 200 TP-UCB-FR gets worse by more than 30 %",
            " and ".join(map(spell_percent, fr)),
            judge(fr, lambda percent: percent > 30),  # noqa: PLR2004 (the claim's number)
        ),
    ]


def _change(found: Reproduction, policy: str, short: tuple[int, int], long: tuple[int, int]) -> Estimate:
    """How a policy's percentage changes from one span to another, in percent of it."""
    own, reference = (
        [found.curves(family_scenario("2", *cell), one).final for cell in (short, long)] for one in (policy, DELAYED)
    )

    def change(weights: Floats) -> Floats:
        before, after = (weights @ own[place] / (weights @ reference[place]) for place in (0, 1))
        changed: Floats = 100 * (after / before - 1)
        return changed

    return bootstrap(len(own[0]), change)


def setting_4(found: Reproduction) -> list[Claim]:
    """The average over ten worlds, and every single one."""
    setting = SETTINGS["4"]
    curve = {policy: found.average(setting, policy) for policy in setting.policies}
    singly = [
        found.curves(name, FR).final.mean() < min(found.curves(name, one).final.mean() for one in (EW, DELAYED, UCB1))
        for name in setting.scenarios
    ]
    best = order("4", "TP-UCB-FR is consistently the best at the end", curve, (FR, UCB1, EW, DELAYED), first_only=True)
    crossed = overtaking(curve[FR], curve[EW])
    text = f"{best.found} on average; the best in {sum(singly)} of {len(singly)} worlds"
    return [
        Claim("4", best.says, text, best.holds if all(singly) else NO),
        Claim(
            "4",
            "Of the policies with partial feedback, TP-UCB-EW is the best for t <= 35,000",
            f"TP-UCB-FR is {spell_round(crossed)}",
            judge([crossed], is_about(35_000)),
        ),
    ]


def setting_5(found: Reproduction) -> list[Claim]:
    """The long run."""
    fr, delayed = found.curves("setting-5", FR), found.curves("setting-5", DELAYED)
    tenth = fr.near(fr.rounds[-1] / 10)
    lead = delayed.regret - fr.regret
    growth = t_interval(lead[:, -1] - lead[:, tenth])
    return [
        Claim(
            "5",
            "TP-UCB-FR(20)'s lead over Delayed-UCB1 keeps growing",
            f"by {growth.mean:,.0f} ({growth.low:,.0f} to {growth.high:,.0f}) over the last nine tenths of the rounds",
            YES if growth.low > 0 else NO,
        )
    ]


def spotify(found: Reproduction) -> list[Claim]:
    """The stand-in against what is said about the real sessions."""
    (name,) = SETTINGS["spotify"].scenarios
    curve = {policy: found.curves(name, policy) for policy in SETTINGS["spotify"].policies}
    says = "TP-UCB-FR is the best, clairvoyant UCB1 included"
    crossed = overtaking(curve[FR], curve[EW])
    return [
        order("spotify", says, curve, (FR, UCB1, EW, DELAYED), first_only=True),
        Claim(
            "spotify",
            "TP-UCB-FR is above TP-UCB-EW only for t < 4,000",
            spell_round(crossed),
            judge([crossed], is_about(4000)),
        ),
    ]
