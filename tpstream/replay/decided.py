"""The replay of a log of decisions that were made for real, with chance and changes by its owners among them."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from tpstream.log.contract import Checker
from tpstream.log.reader import Log
from tpstream.model.events import COLUMN_NAMES, Events
from tpstream.replay.replay import Divergence, Replay
from tpstream.replay.retelling import Retelling
from tpstream.replay.steering import Steering, Teller
from tpstream.scenario.policy_choice import PolicyChoice


def replay_decided(log: Log, choice: PolicyChoice) -> Replay:
    """Tell the policy, and those that followed it, what they were told, and compare each decision."""
    header = log.header
    steering = Steering(choice, header)
    retelling = Retelling(steering, Teller(header), header, log.path, partial(written_before, log))
    found = _first_divergence(log, retelling)
    notes = tuple(filter(None, (log.truncated, "values were not drawn again: they came from outside")))
    return Replay(str(log.path), choice.label, retelling.rounds, found, log.complete, notes)


def _first_divergence(log: Log, retelling: Retelling) -> Divergence | None:
    for events in audited_as_written(log):
        found = retelling.take(events)
        if found is not None:
            return found
    return retelling.finish()


def audited_as_written(log: Log) -> Iterator[Events]:
    """The batches that are in the file; the first event that breaks a rule is a LogError."""
    checker = Checker(log.header)
    for events in written(log):
        broken = checker.first_broken(events)
        if broken is not None:
            raise broken.error(log.path)
        yield events


def written(log: Log) -> Iterator[Events]:
    """The batches that are in the file."""
    reader = log.reader.written or log.reader
    for columns in reader.batches(COLUMN_NAMES):
        yield Events(**columns)


def written_before(log: Log, seq: int) -> Iterator[Events]:
    """The batches up to before the event of this number."""
    for events in written(log):
        last = int(np.searchsorted(events.seq, seq))
        yield events.cut(0, last)
        if last < len(events):
            return
