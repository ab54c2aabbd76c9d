"""What is possible but probably not meant: parts that are never credited, and policies misled; how long a pull pays.

It is found by drawing some pulls of every arm with the delays, the calendar, the window and the horizon of the
scenario, so that user-written delays are judged as built-in ones are. Waiting in a process or a queue, such as that of
a laboratory, depends on the policy and is not counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tpstream.looks.design import Design, Dropouts
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import DelayError, TpstreamError, user_code
from tpstream.model.units import count_of
from tpstream.model.world import Timing, World
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.timing.pipeline import decision_times, pass_stages

if TYPE_CHECKING:
    from tpstream.engines.draws import Block

MOST = 0.8
"""The share of parts that are not credited from which on there is a warning."""
MOST_DRAWN, MOST_TIMES = 100_000, 100_000_000
"""Parts of all arms together up to which pulls are drawn, and decisions whose times are."""


@dataclass(frozen=True, eq=False)
class DrawnParts:
    """What became of the parts (pulls, span) of pulls of all arms that were spread evenly over the rounds."""

    lost: Bools
    late: Bools
    """They arrive, but after their pull was closed by the window."""
    after: Bools
    """They would be credited, but only after the last decision, at which the run ends."""
    waits: Floats
    """How long after it was made each pull is closed, since nothing of it is missing or the window ends."""
    rounds: Floats
    """How many further decisions are made before that; NaN where the last decision comes first."""

    @property
    def credited(self) -> Bools:
        """Whether a part is credited."""
        return ~(self.lost | self.late | self.after)


class Decisions:
    """When the decisions of a run are due; where round t is at time t, no array of all of them is needed."""

    def __init__(self, world: World) -> None:
        self._horizon = world.problem.horizon
        self._all = None if world.timing.arrivals.regular else decision_times(world)
        self.last = float(self.times(np.array([self._horizon - 1]))[0])
        """The time of the last one."""

    def times(self, places: Ints) -> Floats:
        """The times of the decisions at these places, from 0 on."""
        return (places + 1).astype(np.float64) if self._all is None else self._all[places]

    def until(self, times: Floats) -> Ints:
        """How many decisions are made up to and including each of these times."""
        if self._all is None:
            return np.clip(np.floor(times), 0, self._horizon).astype(np.int64)
        return np.searchsorted(self._all, times, side="right")


def draw_parts(world: World) -> DrawnParts:
    """Draw a block of pulls of every arm; what breaks a contract is the error that a run would raise at these pulls."""
    from tpstream.engines.draws import Draws  # noqa: PLC0415 (Numba is slow to import)

    timing, drawn = world.timing, []
    decisions, draws = Decisions(world), Draws(world)
    for arm in range(world.problem.arms):
        block = draws.block(arm, 0)
        chosen = np.linspace(0, world.problem.horizon - 1, len(block)).astype(np.int64)
        pulled = decisions.times(chosen)[:, None]
        arrivals, lost = _pass(world.timing, block, pulled)
        window = np.inf if timing.window is None else timing.window
        late = ~lost & (arrivals - pulled > window)
        after = ~lost & ~late & (arrivals > decisions.last) & (not world.drain)
        last = arrivals.max(axis=1) if timing.reveal == "all" else np.inf
        closed = np.minimum(last, pulled[:, 0] + window)
        # A decision at the time of the closing is made before it.
        rounds = decisions.until(closed) - (chosen + 1)
        drawn.append((lost, late, after, closed - pulled[:, 0], np.where(closed < decisions.last, rounds, np.nan)))
    return DrawnParts(*(np.concatenate(arrays) for arrays in zip(*drawn, strict=True)))


def _pass(timing: Timing, block: "Block", pulled: Floats) -> tuple[Floats, Bools]:
    """When the parts of pulls that were made then arrive, without waiting in queues, and whether they are lost."""
    pulls, span = block.rewards.shape
    times, lost = np.tile(timing.nominal(span), (pulls, 1)), np.zeros((pulls, span), dtype=np.bool_)
    if block.schedule is not None:
        times, lost = block.schedule.offsets, block.schedule.lost
    times = pulled + times
    if timing.calendar is not None:
        times = timing.calendar.reported(times)
    if block.later is None:
        return times, lost
    with user_code(DelayError, "a delay", "for the first pulls"):
        return pass_stages(timing.later, times, lost, pulled, block.later.lags, block.later.limits, None)


def _too_large(world: World) -> bool:
    """Whether drawing a block of pulls of every arm, or the times of all decisions, would take much memory."""
    irregular = not world.timing.arrivals.regular
    return world.problem.arms * world.problem.span > MOST_DRAWN or (irregular and world.problem.horizon > MOST_TIMES)


def find_warnings(
    world: World, choices: Sequence[PolicyChoice], unit: str | None, design: Design | None = None
) -> list[str]:
    """What the rewards, the timing and these policies should be asked about, with figures; `unit` is that of time.

    `design` is that of a trial. If pulls cannot be drawn, nothing is said about them: the run itself tells the error,
    with its pull and round.
    """
    if _too_large(world):
        return [
            *world.rewards.warnings,
            "no pulls were drawn to look for parts that are never credited: too many parts",
        ]
    try:
        parts = draw_parts(world)
    except TpstreamError:
        return list(world.rewards.warnings)
    return [
        *world.rewards.warnings,
        *_missing_parts(parts, world, unit),
        *_misled_policies(parts, world, choices, None if design is None else design.dropouts),
        *(() if design is None else _late_looks(world, design)),
    ]


def _late_looks(world: World, design: Design) -> Iterator[str]:
    """Whether looks at times come after the end of a trial, so that they are not held."""
    end = Decisions(world).last + float(design.visits[-1])
    late = [value for value in design.looks.values if value > end] if design.looks.at == "time" else []
    if late:
        times = ", ".join(f"{value:g}" for value in late)
        yield (
            f"looks at {times} are not held in a trial that is over by then, such as a drawn one with its last "
            f"endpoint at {end:.4g}; choose earlier times, or looks by patients"
        )


def _missing_parts(parts: DrawnParts, world: World, unit: str | None) -> Iterator[str]:
    """Whether parts are never credited, nearly all are missing, or no pull is complete."""
    pulls, span = parts.lost.shape
    never: Bools = np.logical_not(parts.credited.any(axis=0))
    share = 1 - parts.credited.mean()
    if never.any():
        fate = _reasons(parts, world, never, unit)
        yield f"{never.sum():,} of {span:,} parts are never credited in {pulls:,} drawn pulls: {fate}"
    elif share >= MOST:
        fate = _reasons(parts, world, np.ones(span, dtype=np.bool_), unit)
        yield f"{share:.0%} of the parts of {pulls:,} drawn pulls are not credited: {fate}"
    elif (parts.lost | parts.late).any(axis=1).all():
        fate = _reasons(parts, world, np.ones(span, dtype=np.bool_), unit)
        yield f"no pull is complete: each of {pulls:,} drawn pulls misses parts: {fate}"


def _reasons(parts: DrawnParts, world: World, columns: Bools, unit: str | None) -> str:
    """What happens to the parts in these columns, and the remedy."""
    timing, window = world.timing, world.timing.window
    end = f"arrive after the last decision (round {world.problem.horizon:,})"
    found = [
        (parts.lost, "are lost", "lower what the delays lose"),
        (
            parts.late,
            f"arrive after the window of {count_of(window, unit)}" if window else "",
            "widen the window or shorten delays",
        ),
        (parts.after, end, "set drain = true or raise the horizon"),
    ]
    there = [(mask[:, columns].mean(), what, remedy) for mask, what, remedy in found if mask[:, columns].any()]
    fates = ", ".join(f"{share:.0%} {what}" for share, what, _ in there)
    default = "" if timing.default is None else f" (a missing part counts as default_reward = {timing.default:g})"
    return f"{fates}{default}; {', or '.join(remedy for _, _, remedy in there)}"


def _misled_policies(
    parts: DrawnParts, world: World, choices: Sequence[PolicyChoice], dropouts: Dropouts | None
) -> Iterator[str]:
    """Whether parts are missing for ever that policies among these count as zero, and the design does not."""
    missing = float((parts.lost | parts.late).mean())
    endpoint, remedy = world.problem.endpoint, "use tp-ucb-ew, or set default_reward"
    misled = [choice for choice in choices if choice.form.lost_as_zero]
    if dropouts == "exclude":
        misled = [choice for choice in misled if endpoint is None or not (endpoint.complete and choice.form.excludes)]
        remedy = "use one that learns from closed pulls, such as delayed-thompson: it leaves out who is excluded"
    if missing and misled and world.timing.default is None and dropouts != "failure":
        labels, verb = [choice.label for choice in misled], "counts" if len(misled) == 1 else "count"
        yield (
            f"{' and '.join(labels)} {verb} lost and late parts as zero, and {missing:.1%} of the parts are missing: "
            f"arms that lose more look worse than they are; {remedy}"
        )


def describe_duration(world: World, unit: str | None) -> str:
    """How long a pull pays, in decisions and in time, as a sentence; `unit` is that of time.

    Waiting in a queue or a process depends on the policy and is not counted; the sentence says so. If pulls cannot be
    drawn, this raises what a run would raise.
    """
    timing = world.timing
    whole = count_of(world.problem.span, "round" if timing.arrivals.regular else "part")
    parts = draw_parts(world)
    if timing.plain:
        time = "" if unit is None else f" of one {unit} each"
        return f"a pull pays over {whole}{time}; {_decisions(parts, 'complete')}"
    time = _range(parts.waits, unit) + (" units of time" if unit is None else "")
    waits = [stage.name for stage in timing.queues] + ([] if timing.process is None else [timing.process_name])
    # Where feedback is hidden, pulls are closed when their window ends, whatever waits.
    besides = f", and the wait in {' and '.join(waits)} besides" if waits and timing.reveal == "all" else ""
    return f"a pull pays over {whole} and is closed after {time}{besides}; {_decisions(parts, 'closed')}"


def _decisions(parts: DrawnParts, end: str) -> str:
    """How many decisions are made before a pull is complete, or closed."""
    known = parts.rounds[~np.isnan(parts.rounds)]
    if not known.size:
        return f"no pull is {end} before the last decision"
    least, most = known.min(), known.max()
    more = f"{_range(known, 'more decision')} {'is' if least == most == 1 else 'are'} due before it is {end}"
    first = f", and the decision {count_of(most + 1, 'round')} later is the first that knows all of it"
    return f"{more}{first if least == most else ''}"


def _range(numbers: Floats, unit: str | None) -> str:
    """Numbers of units in words: the median, and where 80 % of them are if they differ."""
    low, middle, high = np.quantile(numbers, [0.1, 0.5, 0.9])
    if count_of(low, unit) == count_of(high, unit):
        return count_of(middle, unit)
    return f"{count_of(middle, unit)} (80 % of pulls: {count_of(low, None)} to {count_of(high, None)})"
