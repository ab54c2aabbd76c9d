"""The rewards of a run: the n-th pull of an arm pays the same whatever the policy and the engine."""

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import RewardError
from tpstream.model.protocols import Recorded
from tpstream.model.streams import BLOCK, Purpose, open_stream
from tpstream.model.world import World

TOLERANCE = 1e-9
"""How far a sum of parts may exceed its arm's maximum by rounding, as a share of the maximum."""


class Draws:
    """Draws every arm's pulls in blocks from that arm's own stream."""

    def __init__(self, world: World) -> None:
        arms = range(world.problem.arms)
        self._world = world
        self._streams = [open_stream(world.seed, world.run, Purpose.REWARDS, arm) for arm in arms]
        self._blocks: list[Floats] = [np.empty((0, world.problem.span)) for _ in arms]
        self._used = [0 for _ in arms]
        self._drawn = [0 for _ in arms]

    def next_pull(self, arm: int) -> Floats:
        """The partial rewards of the arm's next pull."""
        if self._used[arm] == len(self._blocks[arm]):
            self._blocks[arm] = self.next_block(arm)
            self._used[arm] = 0
        row: Floats = self._blocks[arm][self._used[arm]]
        self._used[arm] += 1
        return row

    def next_block(self, arm: int) -> Floats:
        """The arm's next block of pulls, checked; shorter only where a record ends."""
        model, first = self._world.rewards.arms[arm], self._drawn[arm]
        if isinstance(model, Recorded):
            block = model.recorded(first, BLOCK)
            if len(block) == 0:
                name = self._world.problem.names[arm]
                raise RewardError(
                    f"arm {name!r} has {first} recorded pulls and the policy asks for one more; "
                    f'record more, lower the horizon or set draw = "resample"'
                )
        else:
            block = model.sample(self._streams[arm], BLOCK)
            self._check(arm, block, first)
        self._drawn[arm] += len(block)
        return block

    def _check(self, arm: int, block: Floats, first: int) -> None:
        """Refuse what a reward model must not pay; NaN fails every comparison."""
        problem = self._world.problem
        where = f"rewards of arm {problem.names[arm]!r}"
        if not isinstance(block, np.ndarray) or block.shape != (BLOCK, problem.span) or block.dtype != np.float64:
            got = f"{block.dtype} {block.shape}" if isinstance(block, np.ndarray) else type(block).__name__
            raise RewardError(f"{where}: sample must return float64 of shape ({BLOCK}, {problem.span}), got {got}")
        bound = problem.maxima[arm] * (1 + TOLERANCE)
        if block.min() >= 0.0 and block.sum(axis=1).max() <= bound:
            return
        for row, parts in enumerate(block):
            if not (parts.min() >= 0.0 and parts.sum() <= bound):
                part = int(np.argmin(parts >= 0.0)) + 1
                shown = f"part {part} = {parts[part - 1]}" if not parts.min() >= 0.0 else f"a total of {parts.sum()}"
                raise RewardError(
                    f"{where}: pull {first + row + 1} of the arm has {shown}; "
                    f"parts must be at least 0 and add up to at most {problem.maxima[arm]}"
                )
