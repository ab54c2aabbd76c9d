"""Digests of a block of rewards: sums of consecutive parts, added in the order of the parts."""

from tpstream.model.arrays import Floats
from tpstream.model.compiled import compiled_loop

ROWS = 4
"""Pulls whose sums are taken at once: a processor adds several numbers in the time that one addition takes."""


def fill_sums(block: Floats, sums: Floats) -> None:
    """Write every pull's sums over equal groups of its parts, (pull, group); with one group, the cumulative reward."""
    whole = len(block) // ROWS * ROWS
    _add_four(block[:whole], sums[:whole])
    if whole < len(block):
        _add_one(block[whole:], sums[whole:])


@compiled_loop
def _add_four(block: Floats, sums: Floats) -> None:
    groups = sums.shape[1]
    width = block.shape[1] // groups
    for pull in range(0, block.shape[0], 4):
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


@compiled_loop
def _add_one(block: Floats, sums: Floats) -> None:
    groups = sums.shape[1]
    width = block.shape[1] // groups
    for pull in range(block.shape[0]):
        for group in range(groups):
            total = 0.0
            for part in range(group * width, (group + 1) * width):
                total += block[pull, part]
            sums[pull, group] = total
