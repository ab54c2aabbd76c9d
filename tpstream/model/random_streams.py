"""Random streams: one generator with one owner, found by what it is for and never by who asked first."""

from enum import IntEnum

import numpy as np

BLOCK = 256
"""Pulls of an arm are drawn in blocks of this many, by every engine: a constant of the contract."""


class Purpose(IntEnum):
    """What a stream is for; the numbers are part of the contract."""

    REWARDS = 0
    DELAYS = 1
    ARRIVALS = 2
    POLICY = 3
    SERVICE = 4


def open_stream(seed: int, run: int, purpose: Purpose, arm: int = 0) -> np.random.Generator:
    """The stream of one owner; the same four numbers always give the same stream."""
    sequence = np.random.SeedSequence(seed, spawn_key=(run, int(purpose), arm))
    return np.random.Generator(np.random.PCG64(sequence))
