"""The paper's formulas, evaluated literally: every sum from scratch, over the whole history, in 50 digits.

Slow and obvious on purpose. Nothing here is kept from one round to the next, and no event is heard: what is known at
the decision of round t follows from the paper's conditions on the round h of a pull alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache, reduce
from operator import add

from tpstream.model.events import Event

DIGITS = 50
TIE = Decimal("1e-12")
"""Indices closer than this, relative to the larger, are ties."""
ZERO, INFINITE = Decimal(0), Decimal("Infinity")

Table = Sequence[Sequence[Sequence[float]]]
"""arm -> its pulls in order -> the parts that each pays."""
Pull = tuple[int, list[Decimal]]
"""The round h of a pull and its parts."""


@dataclass(frozen=True)
class Setting:
    """A policy with all that it is told: maxima (Rbar), span (tau_max), groups (alpha), how it starts."""

    policy: str
    maxima: tuple[float, ...]
    span: int
    groups: int = 1
    start: str = "round-robin"

    @property
    def width(self) -> int:
        """How many parts a group has (phi)."""
        return self.span // self.groups


def decisions(setting: Setting, table: Table, horizon: int) -> list[int]:
    """The arms of rounds 1 to the horizon, with ties for the first arm."""
    arms: list[int] = []
    for now in range(1, horizon + 1):
        arms.append(decide(setting, arms, now, indices(setting, table, arms, now)))
    return arms


def decide(setting: Setting, arms: Sequence[int], now: int, values: Sequence[Decimal]) -> int:
    """The arm of round `now` after the arms of all rounds before; ties for the first arm."""
    return candidates(setting, arms, now, values)[0]


def candidates(setting: Setting, arms: Sequence[int], now: int, values: Sequence[Decimal]) -> list[int]:
    """The arms among which a tie has to be broken: the largest indices, or the one arm that the start prescribes."""
    count = len(setting.maxima)
    if setting.policy == "delayed-ucb1" and setting.start == "round-robin":
        if now <= setting.span:
            return [(now - 1) % count]
    else:
        for arm in range(count):
            if arm not in arms:
                return [arm]
    best = max(values)
    return [arm for arm, value in enumerate(values) if tied(value, best)]


def tied(value: Decimal, best: Decimal) -> bool:
    """Whether an index counts as equal to the largest one."""
    return value == best or (best != INFINITE and best - value <= TIE * abs(best))


def indices(setting: Setting, table: Table, arms: Sequence[int], now: int) -> list[Decimal]:
    """The index of every arm at round `now`, when `arms` were pulled in rounds 1 to now - 1."""
    with localcontext(prec=DIGITS):
        return [
            INDEX[setting.policy](setting, Decimal(maximum), pulls_of(arm, table, arms), now)
            for arm, maximum in enumerate(setting.maxima)
        ]


def pulls_of(arm: int, table: Table, arms: Sequence[int]) -> list[Pull]:
    """The pulls of one arm: its n-th pull, made in round h, pays the n-th row of its table."""
    rounds = [h for h, pulled in enumerate(arms, start=1) if pulled == arm]
    return [(h, [Decimal(value) for value in row]) for h, row in zip(rounds, table[arm], strict=False)]


def ucb1(_: Setting, maximum: Decimal, pulls: list[Pull], now: int) -> Decimal:
    """Mean(R) + Rbar sqrt(2 ln t / n); R is seen at the pull."""
    n = len(pulls)
    if n == 0:
        return INFINITE
    return sum(sum(parts) for _, parts in pulls) / n + maximum * (2 * ln(now) / n).sqrt()


def delayed_ucb1(setting: Setting, maximum: Decimal, pulls: list[Pull], now: int) -> Decimal:
    """Mean of completed R + Rbar sqrt(2 ln(t-1) / s); a pull is complete iff h <= t - tau_max."""
    complete = [sum(parts) for h, parts in pulls if h <= now - setting.span]
    s = len(complete)
    if s == 0:
        return INFINITE
    return sum(complete) / s + maximum * (2 * ln(now - 1) / s).sqrt()


def tp_ucb_fr(setting: Setting, maximum: Decimal, pulls: list[Pull], now: int) -> Decimal:
    """(Sum of parts received) / n + Rbar sqrt(2 ln(t-1) / (alpha n)) + phi (alpha+1) Rbar / (2n); iff h + j <= t."""
    n = len(pulls)
    if n == 0:
        return INFINITE
    known = [value for h, parts in pulls for j, value in enumerate(parts, start=1) if h + j <= now]
    alpha, phi = setting.groups, setting.width
    return (
        sum(known, ZERO) / n + maximum * (2 * ln(now - 1) / (alpha * n)).sqrt() + phi * (alpha + 1) * maximum / (2 * n)
    )


def tp_ucb_ew(setting: Setting, maximum: Decimal, pulls: list[Pull], now: int) -> Decimal:
    """Sum over k of mean(completed Z_k) + (Rbar / alpha) sqrt(2 ln(t-1) / n_k); Z_k is complete iff h <= t - k phi."""
    alpha, phi = setting.groups, setting.width
    index = ZERO
    for k in range(1, alpha + 1):
        complete = [sum(parts[(k - 1) * phi : k * phi]) for h, parts in pulls if h <= now - k * phi]
        n_k = len(complete)
        if n_k == 0:
            return INFINITE
        index += sum(complete) / n_k + maximum / alpha * (2 * ln(now - 1) / n_k).sqrt()
    return index


@cache
def ln(number: int) -> Decimal:
    """The natural logarithm."""
    with localcontext(prec=DIGITS):
        return Decimal(number).ln()


INDEX: dict[str, Callable[[Setting, Decimal, list[Pull], int], Decimal]] = {
    "ucb1": ucb1,
    "delayed-ucb1": delayed_ucb1,
    "tp-ucb-fr": tp_ucb_fr,
    "tp-ucb-ew": tp_ucb_ew,
}


def timetable(table: Table, arms: Sequence[int], *, drain: bool, shown: bool) -> list[Event]:
    """Every event of a run with these decisions, from the rule of order alone.

    Part j of the pull of round t comes at time t + j - 1. Events are sorted by time; of one time the decision is first,
    then by pull, then by part, then closed. Not drained, the run ends with all that is due at the horizon.
    """
    span, horizon = len(table[0][0]), len(arms)
    rows, events = [iter(rows) for rows in table], []
    for pull, arm in enumerate(arms, start=1):
        parts = next(rows[arm])
        total = reduce(add, parts)  # one by one: `sum` rounds differently since Python 3.12
        events.append(((pull, 0, pull, 0), "pull", arm, total if shown else None))
        events.extend(((pull + j - 1, 1, pull, j), "partial", arm, parts[j - 1]) for j in range(1, span + 1))
        events.append(((pull + span - 1, 1, pull, span + 1), "closed", arm, total))
    events.sort(key=lambda event: event[0])
    return [
        Event(seq, float(time), kind, min(time, horizon), pull, arm, part if kind == "partial" else 0, value)
        for seq, ((time, _, pull, part), kind, arm, value) in enumerate(events)
        if drain or time <= horizon
    ]
