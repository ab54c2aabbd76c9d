"""Random streams: a generator for each seed, run, purpose and arm, whatever else is drawn."""

from enum import IntEnum

import numpy as np

BLOCK = 256
"""Every engine draws the pulls of an arm in blocks of this many; another number would change all results."""


class Purpose(IntEnum):
    """What a stream is for; the numbers are part of the contract of reproducibility."""

    REWARDS = 0
    DELAYS = 1
    ARRIVALS = 2
    POLICY = 3
    SERVICE = 4


def open_stream(seed: int, run: int, purpose: Purpose, arm: int = 0) -> np.random.Generator:
    """Open a stream at its beginning; the same four numbers always give the same stream."""
    sequence = np.random.SeedSequence(seed, spawn_key=(run, int(purpose), arm))
    return np.random.Generator(np.random.PCG64(sequence))
