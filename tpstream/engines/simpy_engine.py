"""The SimPy engine, the reference: a process per pull emits its parts, a policy process decides, the bus tells.

The timetable of one pull: when each of its parts comes to which end, and when the pull is closed.
"""

from collections.abc import Generator, Iterator
from dataclasses import replace

import numpy as np
import simpy
from simpy.events import Event

from tpstream.engines.draws import Draws, DrawsReader, Pull
from tpstream.engines.engine import Bus
from tpstream.engines.simpy_clock import CLOSING, DECISION, END, Timeline
from tpstream.engines.simpy_events import DROPPED, IMPUTED, LATE, PARTIAL, EventBuffer
from tpstream.engines.simpy_process import ProcessPull
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import DelayError, TpstreamError, blame, user_code
from tpstream.model.interfaces import Policy, ProcessDelay
from tpstream.model.random_streams import Purpose, open_stream
from tpstream.model.world import Timing, World
from tpstream.policies.runner import check_arm
from tpstream.timing.pipeline import ROUNDS_PER_BATCH, decision_times


def timetable(
    event_buffer: EventBuffer, pull: int, time: float, times: Floats, lost: Bools, timing: Timing
) -> list[tuple[float, int]]:
    """The moments of a pull whose parts come to their ends at these times, and the events there, in order.

    A pull is closed when nothing of it is missing any more, or when its window ends; a part due at that very moment
    is still credited. What did not come until then is credited with the default, if there is one.
    """
    closing = closing_time(times, time, timing.window)
    late = ~lost & (times > closing)
    kinds = np.where(lost, DROPPED, np.where(late, LATE, PARTIAL))
    moments = [
        (due, event_buffer.code(pull, part, kind))
        for part, (due, kind) in enumerate(zip(times.tolist(), kinds.tolist(), strict=True), start=1)
    ]
    if timing.default is not None:
        missing = np.flatnonzero(lost | late) + 1
        moments.extend((closing, event_buffer.code(pull, part, IMPUTED)) for part in missing.tolist())
    moments.append((closing, event_buffer.closed_code(pull)))
    moments.sort()
    return moments


def closing_time(times: Floats, time: float, window: float | None) -> float:
    """When a pull is closed whose parts come to their ends at these times."""
    last = float(times.max())
    return last if window is None else min(last, time + window)


Process = Generator[Event, None, None]


class SimpyEngine:
    """One run of a world under a policy; subscribe sinks to its bus, then run it."""

    def __init__(
        self,
        world: World,
        policy: Policy,
        label: str,
        *,
        clairvoyant: bool = False,
        indices: bool = False,
        reader: DrawsReader | None = None,
    ) -> None:
        problem, timing = world.problem, world.timing
        self._world = world
        self._policy = policy
        self._label = label
        self._indices = indices
        default = np.nan if timing.default is None else timing.default
        self._event_buffer = EventBuffer(problem, clairvoyant=clairvoyant, default=default)
        self._timeline = Timeline(self._event_buffer.open_instant)
        self._reader = DrawsReader(Draws(world)) if reader is None else reader
        self._offsets = np.arange(problem.span, dtype=np.float64)
        self._none_lost = np.zeros(problem.span, dtype=np.bool_)
        self._resources = {name: simpy.Resource(self._timeline, size) for name, size in timing.resources.items()}
        self._services = [open_stream(world.seed, world.run, Purpose.SERVICE, arm) for arm in range(problem.arms)]
        self._pause = self._timeline.event()
        self._failure: Exception | None = None
        self._round = 0  # the last that was decided
        self._shown = np.empty((0, problem.arms))
        self.bus = Bus()
        self.bus.subscribe(f"policy {label}", policy)

    def round_batches(self) -> Iterator[Ints]:
        """Let time pass; yields the arms of the rounds, a stretch at a time."""
        self._timeline.process(self._guard(self._decide()))
        told = 0
        while told < self._world.problem.horizon:
            self._pass_time(self._pause)
            yield self._event_buffer.arms[told : self._round]
            told = self._round
        if self._world.drain:
            self._pass_time()
        self._publish(self._round)

    def run(self) -> Ints:
        """Let all time pass; returns the arm of every round."""
        return np.concatenate(list(self.round_batches()))

    def _decide(self) -> Process:
        """The policy process: in every round, hear what was delivered before, decide, start the pull."""
        problem = self._world.problem
        times = decision_times(self._world).tolist()
        for round, time in enumerate(times, start=1):
            yield self._timeline.moment(time, DECISION)
            self._publish(self._round)
            try:
                arm = check_arm(self._policy.decide(round), problem, round, self._label)
                if self._indices:
                    self._shown = self._policy.indices()[np.newaxis]
            except TpstreamError:
                raise
            except Exception as error:
                raise blame(error, self._label, f"in round {round}") from error
            drawn = self._reader.next_pull(arm)
            self._event_buffer.add_pull(round, time, arm, drawn.rewards)
            self._timeline.process(self._start(round, time, arm, drawn))
            self._round = round
            if round % ROUNDS_PER_BATCH == 0 and round < problem.horizon:
                self._stop()
        yield self._timeline.moment(time, END)
        self._stop()

    def _start(self, pull: int, time: float, arm: int, drawn: Pull) -> Process:
        """The process of one pull; in the paper's world it has nothing to look up."""
        timing = self._world.timing
        plain = drawn.offsets is None and timing.calendar is None and timing.window is None
        if plain and timing.process is None:
            return self._emit(pull, time)
        offsets = self._offsets if drawn.offsets is None else drawn.offsets
        lost = self._none_lost if drawn.lost is None else drawn.lost
        times = time + offsets if timing.calendar is None else timing.calendar.reported(time + offsets, pull)
        if timing.process is not None:
            return self._guard(self._run_process_pull(timing.process, pull, time, arm, times, lost))
        return self._follow(pull, timetable(self._event_buffer, pull, time, times, lost, timing))

    def _emit(self, pull: int, time: float) -> Process:
        """Deliver each part at its time, then close."""
        known, tick, deliver = self._timeline.ticks.get, self._timeline.tick, self._event_buffer.codes.append
        for due, code in zip((self._offsets + time).tolist(), self._event_buffer.partial_codes(pull), strict=True):
            yield known(due) or tick(due)
            deliver(code)
        deliver(self._event_buffer.closed_code(pull))
        self._event_buffer.finished.append(pull)

    def _follow(self, pull: int, moments: list[tuple[float, int]]) -> Process:
        """Do what the timetable says."""
        now, deliver = None, self._event_buffer.codes.append
        for due, code in moments:
            if due != now:
                yield self._timeline.tick(due)
                now = due
            deliver(code)
        self._event_buffer.finished.append(pull)

    def _run_process_pull(
        self, process: ProcessDelay, pull: int, time: float, arm: int, times: Floats, lost: Bools
    ) -> Process:
        """Let a user's process deliver the parts; those that are lost before it are dropped when that shows."""
        timing, name = self._world.timing, self._world.timing.process_name
        arrivals = sorted((due, part) for part, due in enumerate(times.tolist(), start=1) if not lost[part - 1])
        process_pull = ProcessPull(
            self._event_buffer,
            self._timeline,
            pull,
            arm,
            arrivals,
            self._resources,
            self._services[arm],
            name,
            default=timing.default,
            span=len(times),
        )
        for part in (np.flatnonzero(lost) + 1).tolist():
            self._timeline.process(self._lose(process_pull, part, float(times[part - 1])))
        if timing.window is not None:
            self._timeline.process(self._close(process_pull, time + timing.window))
        with user_code(DelayError, name, f"for pull {pull}"):
            steps = process.run(process_pull)
        if not hasattr(steps, "throw"):
            raise DelayError(
                f"{name}: run must be a generator, got {type(steps).__name__} for pull {pull}; yield events"
            )
        yield from process_pull.watched(steps)
        process_pull.check_complete()

    def _lose(self, process_pull: ProcessPull, part: int, due: float) -> Process:
        yield self._timeline.tick(due)
        process_pull.lose(part)

    def _close(self, process_pull: ProcessPull, due: float) -> Process:
        yield self._timeline.moment(due, CLOSING)
        process_pull.close()

    def _guard(self, process: Process) -> Process:
        """A process whose error leaves the engine as it is: SimPy would build it anew from its arguments."""
        try:
            yield from process
        except Exception as error:  # noqa: BLE001 (it is raised again, outside of SimPy)
            self._failure = self._failure or error
            self._stop()

    def _stop(self) -> None:
        """Let `stretches` look at the world outside."""
        pause, self._pause = self._pause, self._timeline.event()
        pause.succeed()

    def _pass_time(self, until: Event | None = None) -> None:
        """Let SimPy run; before an error, what happened is told first."""
        try:
            self._timeline.run(until)
        except Exception as error:
            if self._world.timing.process is None:
                raise
            self._failure = self._failure or self._blame_process(error)
        if self._failure is not None:
            self._publish(self._round)
            raise self._failure

    def _blame_process(self, error: Exception) -> Exception:
        """What nobody caught, as an error of the process delay: one of its callbacks raised it."""
        if isinstance(error, TpstreamError):
            return error
        name, time = self._world.timing.process_name, self._timeline.now
        blamed = DelayError(f"{name} raised {type(error).__name__} in a callback at time {time}: {error}")
        blamed.__cause__ = error
        return blamed

    def _publish(self, round: int) -> None:
        """Tell everything that happened since the decision of this round, that decision included."""
        if not self._event_buffer.codes:
            return
        events = self._event_buffer.take(round)
        self.bus.publish(replace(events, indices=self._shown) if self._indices else events)
