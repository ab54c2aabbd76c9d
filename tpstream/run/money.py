"""The money of one run: from its events, or in the paper's world, where no events are made, from its pulls alone."""

from collections.abc import Sequence

import numpy as np

from tpstream.analysis.money import Account
from tpstream.engines.draws import Block, Draws, DrawsReader
from tpstream.model.arrays import Floats, Ints
from tpstream.model.numba_support import compiled_loop
from tpstream.model.world import World
from tpstream.run.options import Measures


class EventAccount:
    """The measures of a run from its events, which the subscriber hears."""

    def __init__(self, world: World, rounds: Ints) -> None:
        self.subscriber = Account(np.array(world.problem.means), rounds, world.problem.horizon)

    def add(self, arms: Ints) -> None:
        """Do nothing: the events tell of the pulls, too."""

    def values(self) -> Measures:
        """The measures of the run, by name."""
        return self.subscriber.values()


class PullAccount:
    """The measures of a run in the paper's world, where part j of the pull of round t is credited in round t + j - 1.

    They are those of an `EventAccount`, bit for bit. What each pull pays is read from the draws once more, so that the
    loops of the engines, which make no events without a log, have nothing to do for it.
    """

    subscriber = None

    def __init__(self, draws: Draws, rounds: Ints) -> None:
        problem, before = draws.world.problem, draws.world.problem.span - 1
        self._reader = DrawsReader(draws)
        self._means = np.array(problem.means)
        self._blocks: list[tuple[Block, int] | None] = [None] * problem.arms
        """For each arm its block, and how many pulls of it were used."""
        self._rounds = rounds
        self._cursor = np.zeros(2, dtype=np.int64)  # rounds done, checkpoints done
        self._settled = np.zeros(1)
        self._arms, self._totals = np.zeros(before, dtype=np.int64), np.zeros(before)
        """Of the last span - 1 pulls, which may be open."""
        self._paid = np.zeros((len(rounds), before))
        """For each checkpoint, what the pulls that are open then were credited with: that of the same round first."""
        self._earned, self._outstanding = np.zeros(len(rounds)), np.zeros(len(rounds))

    def add(self, arms: Ints) -> None:
        """Take the arms that were pulled in the next rounds."""
        before = len(self._arms)
        all_arms, totals = np.concatenate([self._arms, arms]), np.concatenate([self._totals, np.empty(len(arms))])
        for arm in np.flatnonzero(np.bincount(arms)).tolist():
            self._take(arm, np.flatnonzero(arms == arm), totals[before:])
        add_rounds(
            self._means,
            self._rounds,
            all_arms,
            totals,
            self._paid,
            self._cursor,
            self._settled,
            self._earned,
            self._outstanding,
        )
        self._arms, self._totals = all_arms[len(arms) :], totals[len(arms) :]

    def _take(self, arm: int, places: Ints, totals: Floats) -> None:
        """Take the next pulls of the arm, which are at these places among the new rounds."""
        done = int(self._cursor[0])
        first = int(np.searchsorted(self._rounds, done + 1))
        while len(places):
            block, used = self._blocks[arm] or (self._reader.next_block(arm), 0)
            end = min(len(block), used + len(places))
            here, places = places[: end - used], places[end - used :]
            totals[here] = block.totals[used:end]
            add_paid(block.rewards, used, here, done, self._rounds, first, self._paid)
            self._blocks[arm] = None if end == len(block) else (block, end)

    def values(self) -> Measures:
        """The measures of the run, by name; nothing is late or lost in the paper's world."""
        rows = len(self._rounds)
        lost = np.zeros(rows, dtype=np.int64)
        return {"earned": self._earned, "outstanding": self._outstanding, "late": np.zeros(rows), "lost_parts": lost}


def open_accounts(
    world: World, policies: int, rounds: Ints, *, from_events: bool = False
) -> tuple[Draws, Sequence[EventAccount | PullAccount]]:
    """The draws of a run, with all readers that they need, and the account of each policy.

    `from_events`: also in the paper's world, as for a run that may end before its horizon.
    """
    if from_events or not world.timing.plain:
        return Draws(world, readers=policies), [EventAccount(world, rounds) for _ in range(policies)]
    draws = Draws(world, readers=2 * policies)  # each policy, and its account
    return draws, [PullAccount(draws, rounds) for _ in range(policies)]


@compiled_loop
def add_paid(rewards: Floats, used: int, places: Ints, done: int, rounds: Ints, first: int, paid: Floats) -> None:
    """Write what pulls were credited with up to each checkpoint at which they are open.

    The pulls were made in the rounds done + 1 + place; what they pay is in the rows of `rewards` from `used` on.
    `first` is the first checkpoint that may know of them.
    """
    longest = paid.shape[1]
    for number in range(places.size):
        round = done + 1 + places[number]
        while rounds[first] < round:
            first += 1
        checkpoint, part, amount = first, 0, 0.0
        while checkpoint < rounds.size and rounds[checkpoint] - round < longest:
            back = rounds[checkpoint] - round
            while part <= back:
                amount += rewards[used + number, part]
                part += 1
            paid[checkpoint, back] = amount
            checkpoint += 1


@compiled_loop
def add_rounds(
    means: Floats,
    rounds: Ints,
    arms: Ints,
    totals: Floats,
    paid: Floats,
    cursor: Ints,
    settled: Floats,
    earned: Floats,
    outstanding: Floats,
) -> None:
    """Fill the rows of the checkpoints among the new rounds; the first span - 1 arms and totals are of earlier ones."""
    before = paid.shape[1]
    for place in range(arms.size - before):
        round = cursor[0] + 1
        cursor[0] = round
        settled[0] += totals[place]  # of the pull of round - span + 1, which is closed now; 0 before the first one
        if rounds[cursor[1]] == round:
            received, due = settled[0], 0.0
            for back in range(min(round, before) - 1, -1, -1):
                amount = paid[cursor[1], back]
                received += amount
                due += means[arms[place + before - back]] - amount
            earned[cursor[1]], outstanding[cursor[1]] = received, due
            cursor[1] += 1
