"""The chunker: tasks become pieces that are long enough to be worth sending, and short enough to be shared."""

import math
from collections import deque
from collections.abc import Sequence

from tpstream.experiment.plan import Plan, Task
from tpstream.experiment.worker import Chunk

LENGTH = 0.5
"""Seconds that a piece should take: about a hundred times what it costs to send one to another machine."""
LENGTH_PER_WORKER = 0.01
"""The same for each of many workers: however many there are, no more than a hundred pieces a second come back."""
SHARES = 4
"""At least so many pieces for each worker, so that none waits long for the last one."""


class Chunker:
    """Cuts consecutive runs of one world into pieces, by the time that such runs took so far.

    The cost of a round varies a thousandfold between engines, rewards and policies, so it is measured and not
    guessed. The cut changes no result: runs are kept one by one.
    """

    def __init__(self, tasks: Sequence[Task], plan: Plan, workers: int) -> None:
        self._tasks = deque(tasks)
        self._plan = plan
        self._workers = workers
        self._pace: dict[tuple[str, ...], float] = {}

    def __bool__(self) -> bool:
        """Whether anything is left to cut."""
        return bool(self._tasks)

    @property
    def learned(self) -> bool:
        """Whether any pace is known."""
        return bool(self._pace)

    @property
    def expected(self) -> float:
        """The seconds that one worker would need for all that is left, as far as that is known; else infinity."""
        return len(self._tasks) * max(self._pace.values(), default=math.inf)

    @property
    def events(self) -> int:
        """Roughly the events of the next run."""
        scenario = self._tasks[0].site.scenario
        return len(self._tasks[0].entrants) * scenario.horizon * scenario.span

    def cut(self) -> Chunk:
        """The next piece."""
        first = self._tasks.popleft()
        runs = [first.run]
        most = self._most(first)
        while self._tasks and self._tasks[0].group == first.group and len(runs) < most:
            runs.append(self._tasks.popleft().run)
        plan = self._plan
        return Chunk(
            first.site, first.entrants, tuple(runs), plan.seed, first.rounds, plan.engine, plan.logs, plan.sinks
        )

    def _most(self, task: Task) -> int:
        """How many runs the next piece may have; one, as long as nothing like it was measured."""
        # A world that was not met yet is taken to be like those that were, at the slowest.
        pace = self._pace.get(task.group, max(self._pace.values(), default=LENGTH))
        fair = -(-len(self._tasks) // (SHARES * self._workers))
        length = max(LENGTH, LENGTH_PER_WORKER * self._workers)
        return max(1, min(int(length / max(pace, 1e-6)), fair))

    def learn(self, piece: Chunk, seconds: float) -> None:
        """Remember what a run of this piece took; the last one counts, since the first ones compile."""
        self._pace[tuple(one.entry for one in piece.entrants)] = seconds / len(piece.runs)
