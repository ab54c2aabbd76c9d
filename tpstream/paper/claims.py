"""What the paper says in words, as claims that the runs confirm or contradict."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tpstream.analysis.intervals import t_interval
from tpstream.model.arrays import Floats
from tpstream.paper.estimates import Estimate, bootstrap, crossing, ratio
from tpstream.paper.reproduction import Curves, Reproduction
from tpstream.paper.settings import BY_GROUPS, DELAYED, EW, FR, GRID, NAMES, SETTINGS, UCB1, family_scenario

YES, NOISE, NO = "yes", "within noise", "no"
ABOUT = 0.2
"""A number that the paper reads off a figure is confirmed if ours differs by at most this share of it."""
START = 0.01
"""The share of the rounds that counts as the start of a run."""
PARALLEL = 0.05
"""Curves look parallel if their growth differs by at most this share."""
Range = tuple[float, float]
"""The smallest and the largest number that a claim allows."""


class Claim(NamedTuple):
    """What the paper says, what we found, and whether it holds: yes, no, or no but within the interval (noise)."""

    setting: str
    says: str
    found: str
    holds: str


def judge(estimates: Sequence[Estimate], allowed: Range) -> str:
    """Whether all estimates are in a range; `NOISE` if of those that are not an end of the interval is."""
    least, most = allowed
    inside = [[least <= number <= most for number in (one.value, one.low, one.high)] for one in estimates]
    if all(value for value, *_ in inside):
        return YES
    return NOISE if all(any(numbers) for numbers in inside) else NO


def about(number: float) -> Range:
    """The range of numbers near one that was read off a figure."""
    return number - ABOUT * number, number + ABOUT * number


def claims(found: Reproduction) -> list[Claim]:
    """Every claim about the settings that were run."""
    checks = {"1": setting_1, "2": setting_2, "4": setting_4, "5": setting_5, "spotify": spotify}
    return [claim for name, check in checks.items() if found.has(name) for claim in check(found)]


def below_from(setting: str, says: str, curves: tuple[Curves, Curves], allowed: Range, text: str = "{}") -> Claim:
    """A claim about the round from which on the first policy's regret is below the second's."""
    when = crossing(*curves)
    crossed = "not below at the end"
    if np.isfinite(when.value):
        high = f"{when.high:,.0f}" if np.isfinite(when.high) else "never"
        crossed = f"below from round {when.value:,.0f} on (95 %: {when.low:,.0f} to {high})"
    return Claim(setting, says, text.format(crossed), judge([when], allowed))


def in_percent(setting: str, says: str, estimates: Sequence[Estimate], allowed: Range, text: str = "{}") -> Claim:
    """A claim about percentages."""
    spelled = " and ".join(f"{one.value:.1f} % ({one.low:.1f} to {one.high:.1f})" for one in estimates)
    return Claim(setting, says, text.format(spelled), judge(estimates, allowed))


def smallest(setting: str, says: str, curves: dict[str, Curves]) -> Claim:
    """A claim that the first of these policies has the smallest final regret."""
    means = {NAMES[policy]: float(one.final.mean()) for policy, one in curves.items()}
    text = ", ".join(f"{name} {mean:,.0f}" for name, mean in means.items())
    return Claim(setting, says, text, YES if next(iter(means.values())) == min(means.values()) else NO)


def setting_1(found: Reproduction) -> list[Claim]:
    """Which policy is better from when on, and what the assumed number of groups does."""
    curves = {policy: found.curves("setting-1", policy) for policy in SETTINGS["1"].policies}
    fr, ew, delayed, ucb1 = curves[BY_GROUPS[FR][20]], curves[BY_GROUPS[EW][20]], curves[DELAYED], curves[UCB1]
    always = "TP-UCB-EW(20) is below Delayed-UCB1 over the entire horizon"
    start = 0, START * int(fr.rounds[-1])
    late = "TP-UCB-FR(20) is below Delayed-UCB1 for t > 10,000 (and above it up to 7,000)"
    return [
        below_from("1", always, (ew, delayed), start, "{}; before, in the start, they take turns"),
        below_from("1", late, (fr, delayed), (7_000, 10_000)),
        below_from("1", "TP-UCB-FR(20) is below TP-UCB-EW(20) for t > 20,000", (fr, ew), about(20_000)),
        *[_varies_with_groups(kind, curves, percent) for kind, percent in ((FR, 40), (EW, 3))],
        *[_more_groups_are_better(kind, curves) for kind in (FR, EW)],
        smallest("1", "TP-UCB-FR(20) beats even clairvoyant UCB1", {FR: fr, UCB1: ucb1}),
        _parallel(ew, delayed, ucb1),
    ]


def _varies_with_groups(kind: str, curves: dict[str, Curves], percent: float) -> Claim:
    finals = np.stack([curves[policy].final for policy in BY_GROUPS[kind].values()], axis=1)

    def variation(weights: Floats) -> Floats:
        means = weights @ finals
        share: Floats = 100 * (1 - means.min(axis=1) / means.max(axis=1))
        return share

    says = f"{NAMES[kind]}'s final regret varies by about {percent:g} % over eta"
    return in_percent("1", says, [bootstrap(len(finals), variation)], about(percent), "{} from worst to best")


def _more_groups_are_better(kind: str, curves: dict[str, Curves]) -> Claim:
    """Whether each larger number of groups has a smaller regret, run by run on the same random numbers."""
    finals = {groups: curves[policy].final for groups, policy in BY_GROUPS[kind].items()}
    steps = [t_interval(after - before) for before, after in pairwise(finals.values())]
    means = ", ".join(f"{groups}: {final.mean():,.0f}" for groups, final in finals.items())
    sure = sum(bool(step.high < 0) for step in steps)
    text = f"{means}; {sure} of {len(steps)} steps are sure (95 %, paired)"
    better = all(step.mean < 0 for step in steps)
    return Claim("1", f"{NAMES[kind]}: larger eta is better", text, YES if better else NO)


def _parallel(ew: Curves, delayed: Curves, ucb1: Curves) -> Claim:
    since = ew.nearest(4000)
    growth_ew, growth_delayed, growth_ucb1 = (one.final - one.regret[:, since] for one in (ew, delayed, ucb1))
    ratios = [ratio(growth, growth_ucb1) for growth in (growth_ew, growth_delayed)]
    spelled = [f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})" for one in ratios]
    return Claim(
        "1",
        "TP-UCB-EW, Delayed-UCB1 and UCB1 are parallel after about 4,000 rounds",
        f"from then on TP-UCB-EW(20) grows {spelled[0]} and Delayed-UCB1 {spelled[1]} times as much as UCB1",
        judge(ratios, (1 - PARALLEL, 1 + PARALLEL)),
    )


def setting_2(found: Reproduction) -> list[Claim]:
    """What span and groups do to the regret in percent of Delayed-UCB1's."""
    finals = {
        (policy, pair): found.curves(family_scenario("2", *pair), policy).final
        for policy in (FR, EW, DELAYED)
        for pair in GRID
    }

    def share(policy: str, pair: tuple[int, int], weights: Floats) -> Floats:
        """A policy's regret divided by Delayed-UCB1's."""
        return weights @ finals[policy, pair] / (weights @ finals[DELAYED, pair])

    def change(policy: str, short: tuple[int, int], long: tuple[int, int]) -> Estimate:
        """The relative change of a policy's percentage from one span to the other, in percent."""
        return bootstrap(
            found.runs, lambda weights: 100 * (share(policy, long, weights) / share(policy, short, weights) - 1)
        )

    shares = {
        (policy, pair): ratio(finals[policy, pair], finals[DELAYED, pair], scale=100)
        for policy in (FR, EW)
        for pair in GRID
    }
    worst = max(shares.values(), key=lambda one: one.value)
    more = [(policy, *pairs) for policy in (FR, EW) for pairs in (GRID[::2], GRID[1::2])]
    grouped = [f"{NAMES[p]} {shares[p, few].value:.2f} to {shares[p, many].value:.2f} %" for p, few, many in more]
    better = all(shares[policy, many].value < shares[policy, few].value for policy, few, many in more)
    ew, fr = ([change(policy, *pairs) for pairs in (GRID[:2], GRID[2:])] for policy in (EW, FR))
    less = "Both policies lose less than 95.5 % of what Delayed-UCB1 loses"
    return [
        in_percent("2", less, [worst], (0, 95.5), "at most {}"),
        Claim("2", "At the same span, more groups are better", "; ".join(grouped), YES if better else NO),
        in_percent("2", "From span 100 to 200 TP-UCB-EW improves by more than 6 %", ew, (-100, -6)),
        in_percent("2", "From span 100 to 200 TP-UCB-FR gets worse by more than 30 %", fr, (30, math.inf)),
    ]


def setting_4(found: Reproduction) -> list[Claim]:
    """The average over ten scenarios, and each of them alone."""
    policies, scenarios = (FR, UCB1, EW, DELAYED), SETTINGS["4"].scenarios
    curves = {policy: found.average("4", policy) for policy in policies}
    finals = [[found.curves(name, policy).final.mean() for policy in policies] for name in scenarios]
    best_alone = np.argmin(finals, axis=1) == 0
    best = smallest("4", "TP-UCB-FR is consistently the best at the end", curves)
    text = f"{best.found} on average; the best in {sum(best_alone)} of {len(best_alone)} worlds"
    first = "Of the policies with partial feedback, TP-UCB-EW is the best for t <= 35,000"
    return [
        best._replace(found=text, holds=best.holds if best_alone.all() else NO),
        below_from("4", first, (curves[FR], curves[EW]), about(35_000), "TP-UCB-FR is {}"),
    ]


def setting_5(found: Reproduction) -> list[Claim]:
    """The long run."""
    fr, delayed = found.curves("setting-5", FR), found.curves("setting-5", DELAYED)
    lead = delayed.regret - fr.regret
    growth = t_interval(lead[:, -1] - lead[:, fr.nearest(fr.rounds[-1] / 10)])
    text = f"by {growth.mean:,.0f} ({growth.low:,.0f} to {growth.high:,.0f}) over the last nine tenths of the rounds"
    return [Claim("5", "TP-UCB-FR(20)'s lead over Delayed-UCB1 keeps growing", text, YES if growth.low > 0 else NO)]


def spotify(found: Reproduction) -> list[Claim]:
    """Our synthetic rewards, compared with what the paper says about the real sessions."""
    (name,) = SETTINGS["spotify"].scenarios
    curves = {policy: found.curves(name, policy) for policy in (FR, UCB1, EW, DELAYED)}
    early = "TP-UCB-FR is above TP-UCB-EW only for t < 4,000"
    return [
        smallest("spotify", "TP-UCB-FR is the best, clairvoyant UCB1 included", curves),
        below_from("spotify", early, (curves[FR], curves[EW]), about(4000)),
    ]
