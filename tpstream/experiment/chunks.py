"""Cutting a study into chunks: long enough to be worth sending to a worker, short enough to be shared out evenly."""

import math
from collections import deque
from collections.abc import Sequence

from tpstream.experiment.plan import Plan, Task
from tpstream.experiment.worker import Chunk

LENGTH = 0.5
"""Seconds that a chunk should take: about a hundred times what it costs to send one to another machine."""
LENGTH_PER_WORKER = 0.01
"""The same for each of many workers: however many there are, no more than a hundred chunks a second come back."""
SHARES = 4
"""At least so many chunks for each worker, so that none waits long for the last one."""


class Chunker:
    """Cuts consecutive runs of one world into chunks, by the time that such runs took so far.

    The cost of a round varies a thousandfold between engines, rewards and policies, so it is measured and not
    guessed. How the runs are cut changes no result: results are kept run by run.
    """

    def __init__(self, tasks: Sequence[Task], plan: Plan, workers: int) -> None:
        self._tasks = deque(tasks)
        self._plan = plan
        self._workers = workers
        self._seconds_per_run: dict[tuple[str, ...], float] = {}

    def __bool__(self) -> bool:
        """Whether any runs are left."""
        return bool(self._tasks)

    @property
    def measured(self) -> bool:
        """Whether it is known of any run how long it took."""
        return bool(self._seconds_per_run)

    @property
    def expected(self) -> float:
        """The seconds that one worker would need for all that is left; infinity as long as nothing was measured."""
        return len(self._tasks) * max(self._seconds_per_run.values(), default=math.inf)

    @property
    def events(self) -> int:
        """Roughly the events of the next run."""
        scenario = self._tasks[0].world.scenario
        return len(self._tasks[0].policies) * scenario.horizon * scenario.span

    def next_chunk(self) -> Chunk:
        """The next runs, as a chunk."""
        first = self._tasks.popleft()
        runs = [first.run]
        most = self._most_runs(first)
        while self._tasks and self._tasks[0].keys == first.keys and len(runs) < most:
            runs.append(self._tasks.popleft().run)
        return Chunk(first.world, first.policies, tuple(runs), self._plan.seed, first.rounds, self._plan.options)

    def _most_runs(self, task: Task) -> int:
        """How many runs the next chunk may have; one, as long as nothing like it was measured."""
        # A world that was not met yet is taken to be like those that were, at the slowest.
        slowest = max(self._seconds_per_run.values(), default=LENGTH)
        seconds = self._seconds_per_run.get(task.keys, slowest)
        fair = -(-len(self._tasks) // (SHARES * self._workers))
        length = max(LENGTH, LENGTH_PER_WORKER * self._workers)
        return max(1, min(int(length / max(seconds, 1e-6)), fair))

    def learn(self, chunk: Chunk, seconds: float) -> None:
        """Remember what a run of this chunk took; the last one counts, since the first ones compile."""
        keys = tuple(policy.result_key for policy in chunk.policies)
        self._seconds_per_run[keys] = seconds / len(chunk.runs)
