"""The rewards and delays of a run, drawn in blocks: those of an arm's n-th pull are the same whatever the policy."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, cast

import numpy as np

from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import USER_RAISES, DelayError, RewardError, TpstreamError, user_error
from tpstream.model.events import Kind
from tpstream.model.interfaces import FilledRewards, Recorded, Schedule
from tpstream.model.numba_support import compiled_loop, hold_stream
from tpstream.model.world import BLOCK, Purpose, Timing, World, open_stream
from tpstream.timing.pipeline import Calendars, LaterDraws, draw_later, sample_first

IMPUTED = -1
"""Stands for a kind of event in the engines' codes: a part that is missing at the closing is credited with the default
reward, as an event of kind PARTIAL. It comes before other events of that part at the same time."""
REPEATED, DEFAULT_REPEATED = len(Kind), len(Kind) + 1
"""Stand for kinds, too: what was credited for a part, or the default reward in its place, was withheld, and is shown
at the closing as an event of kind PARTIAL. It comes after other events of that part at the same time."""
CODES = len(Kind) + 3
"""How many codes there are for each part of a pull: kind + 1 is its code, so that of IMPUTED is 0."""
LONGEST_REACH = 2**24
"""How many rounds after its pull a part may come in a world of whole rounds that is drained to its end: an engine keeps
a list for each round ahead. Both engines refuse more, so that neither knows worlds that the other does not."""
PROBES = 1_000
"""Times at which it is looked how long a calendar keeps what arrives."""
TOLERANCE = 1e-9
"""How far a sum of parts may exceed its arm's maximum by rounding, as a share of the maximum."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some pulls of one arm: what they pay (pulls, span), and when, if that is not as in the paper's world."""

    rewards: Floats
    totals: Floats
    """The pulls' cumulative rewards, added in the order of the parts."""
    schedule: Schedule | None
    later: LaterDraws | None
    """What the later stages need; None if there are none."""

    def __len__(self) -> int:
        return len(self.rewards)


class Pull(NamedTuple):
    """What one pull pays, part by part and in total, and when; None means the times of the paper's world."""

    rewards: Floats
    total: float
    offsets: Floats | None
    lost: Bools | None
    later: LaterDraws | None
    """What the later stages need, for this pull only: arrays of shape (stages, span)."""


class Draws:
    """Draws every arm's pulls in blocks from that arm's own stream, once for all policies of a run.

    Policies of one run share the draws: a block is kept until every reader took it, and then forgotten.
    """

    def __init__(self, world: World, readers: int = 1) -> None:
        arms = range(world.problem.arms)
        self.world = world
        self._readers = readers
        self._streams: dict[tuple[Purpose, int], np.random.Generator] = {}
        self._services: dict[int, list[np.random.Generator]] = {}
        self._held: dict[int, Any] = {}
        self._drawn = [0 for _ in arms]
        self._kept: dict[tuple[int, int], tuple[Block, int]] = {}

    def _stream(self, purpose: Purpose, arm: int) -> np.random.Generator:
        """The stream of an arm, opened when it is first needed: that takes as long as a short block."""
        if (purpose, arm) not in self._streams:
            self._streams[purpose, arm] = open_stream(self.world.seed, self.world.run, purpose, arm)
        return self._streams[purpose, arm]

    def block(self, arm: int, number: int) -> Block:
        """The arm's block of that number; a reader takes each once, in order."""
        block, waiting = self._kept.pop((arm, number), (None, self._readers))
        if block is None:
            rewards, totals = self._draw(arm)
            schedule = self._schedule(arm, rewards)
            check_reach(self.world, schedule)
            block = Block(rewards, totals, schedule, self._later(arm, rewards, schedule))
            self._drawn[arm] += len(block)
        if waiting > 1:
            self._kept[arm, number] = (block, waiting - 1)
        return block

    def _open_services(self, arm: int) -> list[np.random.Generator]:
        """The streams of an arm's service times, one for each queue."""
        world, timing = self.world, self.world.timing
        numbers = [None] if timing.lone_queue else range(len(timing.queues))
        return [open_stream(world.seed, world.run, Purpose.SERVICE, arm, number) for number in numbers]

    def _draw(self, arm: int) -> tuple[Floats, Floats]:
        """The rewards of the arm's next block and their totals, checked; fewer than a block where a record ends."""
        model, name, first = self.world.rewards.arms[arm], self.world.problem.names[arm], self._drawn[arm]
        try:
            if hasattr(model, "recorded"):  # isinstance would take as long as a short block
                block = cast("Recorded", model).recorded(first, BLOCK)
                expected = len(block)
            else:
                block, expected = self._sample(arm, first), BLOCK
        except TpstreamError:
            raise
        except USER_RAISES as error:
            who = f"{self.world.rewards.name} of arm {name!r}: drawing"
            pulls = f"for pulls {first + 1} to {first + BLOCK} of the arm"
            raise user_error(RewardError, who, pulls, error) from error
        if expected == 0:
            raise RewardError(
                f"arm {name!r} has no recorded pull {first + 1}, but the policy pulls it once more; "
                f'record more, lower the horizon or set draw = "resample"'
            )
        return check_block(block, expected, self.world, arm, first)

    def _sample(self, arm: int, first: int) -> Floats:
        """The arm's next block; after the first, whose stream would cost more to hold than is saved, it is filled."""
        model, stream = self.world.rewards.arms[arm], self._stream(Purpose.REWARDS, arm)
        if not first or not hasattr(model, "fill"):
            return model.sample(stream, BLOCK)
        if arm not in self._held:
            self._held[arm] = hold_stream(stream)
        block = np.empty((BLOCK, self.world.problem.span))
        cast("FilledRewards", model).fill(self._held[arm], block)
        return block

    def _schedule(self, arm: int, rewards: Floats) -> Schedule | None:
        """When the parts of a block arrive."""
        timing = self.world.timing
        if not timing.delays and not timing.visit_spread:
            return None
        name, stream = self.world.problem.names[arm], self._stream(Purpose.DELAYS, arm)
        return sample_first(timing, rewards, arm, stream, first=self._drawn[arm], arm_name=name)

    def _later(self, arm: int, rewards: Floats, schedule: Schedule | None) -> LaterDraws | None:
        """What the later stages need for a block."""
        if not self.world.timing.later:
            return None
        lost = np.zeros(rewards.shape, dtype=np.bool_) if schedule is None else schedule.lost
        if arm not in self._services:
            self._services[arm] = self._open_services(arm)
        stream = self._stream(Purpose.DELAYS, arm)
        return draw_later(self.world.timing, rewards, lost, arm, stream, self._services[arm])


def check_reach(world: World, schedule: Schedule | None) -> None:
    """Raise DelayError for parts that come later than any engine could wait for, in a drained world of whole rounds.

    Calendars of plug-ins are not asked before the run asks them.
    """
    timing, horizon = world.timing, world.problem.horizon
    if not world.drain or not at_whole_rounds(timing) or timing.plain:
        return
    lags = timing.nominal(world.problem.span)
    if schedule is not None:
        lags = schedule.offsets[~schedule.lost]
    last = float(lags.max(initial=0.0))
    calendar = timing.calendar
    built_in = isinstance(calendar, Calendars) and all(hasattr(one, "table") for one in calendar.delays)
    if calendar is not None and built_in and last <= LONGEST_REACH:
        first, spread = np.arange(1.0, PROBES), np.linspace(1.0, horizon + last, PROBES).round()
        probes = np.concatenate([first, spread])
        last = max(last, float((calendar.reported(probes) - probes).max()))
    if last > LONGEST_REACH:
        raise too_far(last)


def too_far(rounds: float) -> DelayError:
    """The error about a part that comes too late."""
    return DelayError(
        f"a part comes {rounds:,.0f} rounds after its pull, and at most {LONGEST_REACH:,} are possible where a run is "
        f"drained; use shorter delays, or drain = false"
    )


def at_whole_rounds(timing: Timing) -> bool:
    """Whether everything happens at whole rounds, in the order sampled delays, then calendars, and without queues.

    Then the compiled engine keeps a list for each round, which is faster than sorting by time. Where feedback is
    hidden or a run pauses, it takes the loop for real-valued times in any case.
    """
    whole = timing.whole and not timing.later and float(timing.window or 0.0).is_integer()
    return whole and timing.reveal == "all"


def put_block(reader: "DrawsReader", arm: int, memory: Any) -> tuple[Block, int]:
    """Put an arm's next block into the memory of a loop: its rewards, if there is room for them, and its totals.

    A short block, at the end of a record, is put at the end of the room. Returns it, and where it begins.
    """
    block = reader.next_block(arm)
    first = BLOCK - len(block)
    memory.used[arm] = first
    memory.totals[arm, first:] = block.totals
    if len(memory.pool):
        memory.pool[arm, first:] = block.rewards
    return block, first


class DrawsReader:
    """Hands one policy the draws of every arm in order; each policy of a run has a reader of its own."""

    def __init__(self, draws: Draws) -> None:
        arms = range(draws.world.problem.arms)
        self._draws = draws
        self._number = [0 for _ in arms]
        self._pulls: list[Iterator[Pull]] = [iter(()) for _ in arms]

    def next_pull(self, arm: int) -> Pull:
        """The arm's next pull."""
        pull = next(self._pulls[arm], None)
        if pull is None:
            self._pulls[arm] = _pulls(self.next_block(arm))
            pull = next(self._pulls[arm])
        return pull

    def next_block(self, arm: int) -> Block:
        """The arm's next block of pulls."""
        block = self._draws.block(arm, self._number[arm])
        self._number[arm] += 1
        return block


def _pulls(block: Block) -> Iterator[Pull]:
    """The pulls of a block, one by one."""
    schedule, drawn = block.schedule, block.later
    offsets, lost = (repeat(None), repeat(None)) if schedule is None else (schedule.offsets, schedule.lost)
    later: Iterable[LaterDraws | None] = repeat(None)
    if drawn is not None:
        later = (LaterDraws(drawn.lags[:, n], drawn.limits[:, n], drawn.services[:, n]) for n in range(len(block)))
    return map(Pull, block.rewards, block.totals.tolist(), offsets, lost, later)


def check_block(block: Floats, pulls: int, world: World, arm: int, first: int) -> tuple[Floats, Floats]:
    """The rewards of a block and their totals; raises RewardError for what a reward model must not return."""
    problem = world.problem
    where = f"{world.rewards.name} of arm {problem.names[arm]!r}"
    if not isinstance(block, np.ndarray) or block.shape != (pulls, problem.span) or block.dtype != np.float64:
        got = f"{block.dtype} {block.shape}" if isinstance(block, np.ndarray) else type(block).__name__
        raise RewardError(f"{where}: sample must return float64 of shape ({pulls}, {problem.span}), got {got}")
    absent = np.isnan(problem.maxima[arm])
    rewards, bound = np.ascontiguousarray(block), np.inf if absent else problem.maxima[arm] * (1 + TOLERANCE)
    least = -np.inf if problem.signed else 0.0
    totals = np.empty(pulls)
    fill_sums(rewards, totals.reshape(-1, 1))
    if rewards.min() >= least and totals.max() <= bound and np.isfinite(totals.sum()):  # NaN fails every comparison
        return rewards, totals
    allowed = (rewards >= least) & np.isfinite(rewards)
    row = int((~(allowed.all(axis=1) & (totals <= bound))).argmax())
    part = int(np.argmin(allowed[row]))
    shown = f"a total of {totals[row]}" if allowed[row, part] else f"part {part + 1} = {rewards[row, part]}"
    must = "be finite" if problem.signed else "be at least 0"
    raise RewardError(
        f"{where}: pull {first + row + 1} of the arm has {shown}; "
        f"parts must {must}{'' if absent else f' and add up to at most {problem.maxima[arm]}'}"
    )


@compiled_loop
def fill_sums(block: Floats, sums: Floats) -> None:
    """Write every pull's sums over equal groups of its parts, (pull, group); with one group, the cumulative reward.

    Parts are added in their order. Four pulls are added side by side, since a processor does several additions at once.
    """
    pulls, groups = block.shape[0], sums.shape[1]
    width = block.shape[1] // groups
    for pull in range(0, pulls - 3, 4):
        for group in range(groups):
            first = second = third = fourth = 0.0
            for part in range(group * width, (group + 1) * width):
                first += block[pull, part]
                second += block[pull + 1, part]
                third += block[pull + 2, part]
                fourth += block[pull + 3, part]
            sums[pull, group] = first
            sums[pull + 1, group] = second
            sums[pull + 2, group] = third
            sums[pull + 3, group] = fourth
    for pull in range(pulls - pulls % 4, pulls):
        for group in range(groups):
            total = 0.0
            for part in range(group * width, (group + 1) * width):
                total += block[pull, part]
            sums[pull, group] = total
