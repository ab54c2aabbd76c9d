"""The memory of the loop at real-valued times: what it is at first, how blocks of draws get into it, and how it grows.

The loop of a policy (compiled_real.py) and a world that is stepped from outside (stepping.py) both use it.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from tpstream.engines import compiled_general_loop as shared
from tpstream.engines.compiled_real_agenda import BY_ENTRY, TO_SORT, make_agenda
from tpstream.engines.compiled_real_memory import RealMemory, make_heap
from tpstream.engines.compiled_real_pulls import CALENDAR, MOVES, QUEUE
from tpstream.engines.draws import DrawsReader, put_block
from tpstream.model.arrays import Floats, Ints
from tpstream.model.pull_rows import longer
from tpstream.model.reveal import REVEALS
from tpstream.model.world import BLOCK, Stage, Timing, World
from tpstream.timing.calendar_tables import join_tables
from tpstream.timing.pipeline import Calendars, due_decisions, make_stages

FORMS = {"moves": MOVES, "reported": CALENDAR, "queue": QUEUE}
BY_SLOT = (
    *("pulls", "arms", "pulled", "left", "closed", "waiting", "credited", "rewards", "order"),
    *("lost", "paid", "stage", "behind", "lags", "limits", "services", "vacant"),
)
"""Fields of the memory that have a row for each slot."""
SORTED_AT_FIRST = 256
"""Room for so many entries that are sorted, and for so many on the heap."""


def stages_of(timing: Timing) -> tuple[Stage, ...]:
    """All stages after the first sampled delays: the calendars that follow them directly, then the later ones."""
    if timing.calendar is None:
        return timing.later
    assert isinstance(timing.calendar, Calendars)  # noqa: S101 (else `real_obstacle` would have told)
    first = zip(timing.calendar.delays, timing.calendar.names, strict=True)
    methods = {"moves": "apply", "reported": "reported", "queue": "service_times"}
    rest = ((methods[stage.form], stage.delay, stage.name) for stage in timing.later)
    return make_stages([*(("reported", delay, name) for delay, name in first), *rest])


def factors_of(delays: Sequence[Any], times: Floats) -> Floats:
    """By what the lags of these delays are multiplied for pulls at these times; no rows if none depends on time."""
    if not any(hasattr(delay, "factor") for delay in delays):
        return np.zeros((0, 0))
    return np.array([one.factor(times) if hasattr(one, "factor") else np.ones(len(times)) for one in delays])


class RealRoom:
    """Makes the memory of a world, gives it blocks of draws, and enlarges it."""

    _world: World
    _reader: DrawsReader
    _cursor: Ints
    _sites: Ints | None
    _memory: Any

    def _make_memory(self) -> Any:
        """What the loop remembers, before the first round."""
        problem, timing = self._world.problem, self._world.timing
        arms, span, stages = problem.arms, problem.span, stages_of(timing)
        moves, calendars, queues = ([one for one in stages if one.form == form] for form in FORMS)
        names, opening = list(timing.resources), cast("dict[str, Any]", timing.opening)
        sampled = timing.delays or timing.visit_spread
        times, self._sites = due_decisions(self._world)
        times = np.require(times, np.float64, ("C", "A", "W"))  # of one type in compiled code
        return RealMemory(
            times=times,
            end=np.inf if self._world.drain else float(np.nextafter(times[-1], np.inf)),
            clock=np.zeros(1),
            slots=np.zeros(problem.horizon, dtype=np.int64),
            rows=0,
            window=np.inf if timing.window is None else float(timing.window),
            default=np.nan if timing.default is None else float(timing.default),
            reveal=REVEALS.index(timing.reveal),
            pool=np.empty((arms, BLOCK, span)),
            totals=np.empty((arms, BLOCK)),
            # One row means that all pulls have the same offsets; so a single arm gets a second, unused row.
            offsets=np.zeros((max(arms, 2), BLOCK, span)) if sampled else timing.nominal(span).reshape(1, 1, -1),
            missing=np.zeros((arms if sampled else 0, BLOCK, span), dtype=np.bool_),
            block_lags=np.zeros((arms, BLOCK, len(moves), span)),
            block_limits=np.zeros((arms, BLOCK, len(moves), span)),
            factors=factors_of([stage.delay for stage in moves], times),
            block_services=np.zeros((arms, BLOCK, len(queues), span)),
            lone=timing.lone_queue,
            used=np.full(arms, BLOCK),
            forms=np.array([FORMS[stage.form] for stage in stages], dtype=np.int64),
            numbers=np.array([stage.index for stage in stages], dtype=np.int64),
            calendars=join_tables([one.table() for one in (*(stage.delay for stage in calendars), *opening.values())]),
            resources=np.array([names.index(stage.delay.resource) for stage in queues], dtype=np.int64),
            opening=np.array(
                [len(calendars) + list(opening).index(n) if n in opening else -1 for n in names], np.int64
            ),
            free=np.array([timing.resources[name] for name in names], dtype=np.int64),
            first=np.full(len(names), -1),
            last=np.full(len(names), -1),
            **self._make_slots(span, len(moves), len(queues)),
            here=np.zeros(span, dtype=np.int64),
            agenda=make_agenda(times, span, SORTED_AT_FIRST),
            heap=make_heap(SORTED_AT_FIRST),
        )

    @staticmethod
    def _make_slots(span: int, moves: int, queues: int) -> dict[str, Any]:
        """The fields of the memory that have a row for each slot, without rows."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(BY_SLOT, ())
        shapes |= dict.fromkeys(("rewards", "lost", "paid"), (span,))
        shapes |= dict.fromkeys(("order", "stage", "behind"), (span if queues else 0,))
        shapes |= {"lags": (moves, span), "limits": (moves, span), "services": (queues, span)}
        floats = {"pulled", "credited", "rewards", "lags", "limits", "services"}
        flags = {"closed", "waiting", "lost", "paid"}
        types = {name: np.float64 if name in floats else np.bool_ if name in flags else np.int64 for name in shapes}
        return {name: np.zeros((0, *shape), dtype=types[name]) for name, shape in shapes.items()}

    def _refill(self, arm: int) -> None:
        """Give an arm its next block."""
        memory = self._memory
        block, first = put_block(self._reader, arm, memory)
        if block.schedule is not None:
            memory.offsets[arm, first:] = block.schedule.offsets
            memory.missing[arm, first:] = block.schedule.lost
        if block.later is not None:
            memory.block_lags[arm, first:] = block.later.lags.swapaxes(0, 1)
            memory.block_limits[arm, first:] = block.later.limits.swapaxes(0, 1)
            memory.block_services[arm, first:] = block.later.services.swapaxes(0, 1)

    def _make_room(self) -> None:
        """Add slots for open pulls, or room to sort and on the heap, whatever is used up."""
        memory, cursor = self._memory, self._cursor
        if cursor[shared.SLOTS] == 0:
            self._add_slots(len(memory.pulls))
        else:
            more = len(memory.agenda.ready)
            rows = {name: longer(getattr(memory.agenda, name), more) for name in TO_SORT}
            heap = type(memory.heap)(*(longer(entries, more) for entries in memory.heap))
            self._memory = memory._replace(agenda=memory.agenda._replace(**rows), heap=heap)

    def _add_slots(self, more: int) -> None:
        """Room for more open pulls."""
        memory, cursor = self._memory, self._cursor
        count = len(memory.pulls)
        agenda, entries = memory.agenda, more << memory.agenda.bits
        agenda = agenda._replace(**{name: longer(getattr(agenda, name), entries) for name in BY_ENTRY})
        slots = {name: longer(getattr(memory, name), more) for name in BY_SLOT}
        self._memory = memory._replace(**slots, agenda=agenda)
        free = cursor[shared.SLOTS]
        self._memory.vacant[free : free + more] = np.arange(count, count + more)
        cursor[shared.SLOTS] += more
