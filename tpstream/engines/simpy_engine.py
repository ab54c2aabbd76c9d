"""The SimPy engine, the reference: one process decides, and a process for each pull delivers its parts."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import simpy
from simpy.events import NORMAL, Event

from tpstream.engines.draws import IMPUTED, Draws, DrawsReader, Pull
from tpstream.engines.engine import Bus, announced
from tpstream.engines.simpy_clock import DECISION, END, STOP, Timeline
from tpstream.engines.simpy_events import EventBuffer
from tpstream.engines.simpy_process import ProcessPull
from tpstream.engines.simpy_queues import QueuedPull
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import USER_RAISES, DelayError, PolicyError, TpstreamError, user_code, user_error
from tpstream.model.events import DROPPED, LATE, PARTIAL, Events, Kind, Told
from tpstream.model.interfaces import Policy, ProcessDelay, TimedPolicy
from tpstream.model.world import Purpose, Timing, World, open_stream
from tpstream.policies.base import check_arm
from tpstream.policies.runner import drops_arms, tell_look, tell_open_arms
from tpstream.timing.pipeline import ROUNDS_PER_BATCH, due_decisions, pass_stages

Process = Generator[Event, None, None]
LONGEST_BATCH = 0.25
"""Seconds after which a batch of rounds ends, so that a slow policy can be watched and stopped."""


def timetable(
    buffer: EventBuffer, pull: int, time: float, times: Floats, lost: Bools, timing: Timing
) -> list[tuple[float, int]]:
    """The times and codes of all events of a pull, in order; its parts arrive, or are known to be lost, at `times`.

    A pull is closed when nothing of it is missing any more, or when its window ends, where feedback is hidden only
    then; a part due at that very time is still credited. What has not arrived by then is credited with the default
    reward, if there is one. What was withheld is repeated.
    """
    last = np.inf if buffer.hides else float(times.max())
    closing = last if timing.window is None else min(last, time + timing.window)
    late = ~lost & (times > closing)
    kinds = np.where(lost, DROPPED, np.where(late, LATE, PARTIAL))
    moments = [
        (due, buffer.code(pull, part, kind))
        for part, (due, kind) in enumerate(zip(times.tolist(), kinds.tolist(), strict=True), start=1)
    ]
    missing = (np.flatnonzero(lost | late) + 1).tolist() if timing.default is not None else []
    moments.extend((closing, buffer.code(pull, part, IMPUTED)) for part in missing)
    credited = (np.flatnonzero(kinds == PARTIAL) + 1).tolist()
    moments.extend((closing, code) for code in buffer.repeated_codes(pull, credited, missing))
    moments.append((closing, buffer.closed_code(pull)))
    moments.sort()
    return moments


def shown_columns(policy: Policy, arm: int, optional: tuple[str, ...]) -> dict[str, Any]:
    """The optional columns of one decision, a row each."""
    columns: dict[str, Any] = {}
    if "indices" in optional:
        columns["indices"] = policy.indices()[np.newaxis]
    if "probabilities" in optional:
        probabilities = probabilities_of(policy)
        columns |= {"probability": probabilities[[arm]], "probabilities": probabilities[np.newaxis]}
    return columns


def probabilities_of(policy: Policy) -> Floats:
    """The probability of every arm at the last decision; NaN for a policy that does not tell any."""
    tell = getattr(policy, "probabilities", None)
    return np.full(len(policy.indices()), np.nan) if tell is None else np.asarray(tell(), dtype=np.float64)


class ToldPolicy:
    """Subscribes a policy to the bus: it hears the events that it is told."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._told = Told()

    def hear(self, events: Events) -> None:
        """Tell the policy those of the events that it is shown."""
        told = self._told.of(events)
        if len(told):
            self._policy.hear(told)


class SimpyEngine:
    """One run of a world under a policy; subscribe sinks to its bus, then take its batches of rounds."""

    def __init__(
        self,
        world: World,
        policy: Policy,
        label: str,
        *,
        clairvoyant: bool = False,
        optional: tuple[str, ...] = (),
        reader: DrawsReader | None = None,
        pauses: Floats | None = None,
    ) -> None:
        problem, timing = world.problem, world.timing
        self._world = world
        self._policy = policy
        self._label = label
        self._clairvoyant = clairvoyant
        self._optional = optional
        default = np.nan if timing.default is None else timing.default
        self._buffer = EventBuffer(problem, default, timing.reveal)
        self._timeline = Timeline(self._buffer.open_instant)
        self._reader = DrawsReader(Draws(world)) if reader is None else reader
        self._offsets = timing.nominal(problem.span)
        self._none_lost = np.zeros(problem.span, dtype=np.bool_)
        self._resources = {name: simpy.Resource(self._timeline, size) for name, size in timing.resources.items()}
        self._services = [open_stream(world.seed, world.run, Purpose.SERVICE, arm) for arm in range(problem.arms)]
        self._pause = self._timeline.event()
        self._failure: Exception | SystemExit | None = None
        self._round = 0  # the last one decided
        self._shown: dict[str, Any] = {}
        self._pauses: list[float] = [] if pauses is None else pauses.tolist()
        self._recruits = True
        self.passed = 0
        self.bus = Bus()
        self.bus.subscribe(f"policy {label}", ToldPolicy(policy))

    @property
    def makes_events(self) -> bool:
        """Whether the bus gets events even if nobody else subscribes: the policy needs them."""
        return True

    def round_batches(self) -> Iterator[Ints]:
        """Run all rounds; yields the arms of each batch of rounds."""
        decisions = self._timeline.process(self._keep_error(self._decide()))
        done = 0
        while decisions.is_alive:
            self._pass_time(self._pause)
            yield self._buffer.arms[done : self._round]
            done = self._round
        if self._world.drain:
            self._pass_time()
        self._publish(self._round)

    def policy_measures(self) -> Mapping[str, float]:
        """Numbers by name that the policy reports after the last round."""
        report = getattr(self._policy, "measures", None)
        return {} if report is None else report()

    @property
    def drops_arms(self) -> bool:
        """Whether the policy leaves out arms that are not open."""
        return drops_arms(self._policy)

    def tell_look(self, stage: int) -> None:
        """Tell the policy that the data are cut now (stage 0), or that it is decided on them (stage 1)."""
        with user_code(PolicyError, f"policy {self._label!r}", "at a look"):
            tell_look(self._policy, self._pauses[self.passed - 1], stage)

    def set_open_arms(self, open_arms: Bools) -> None:
        """Tell the policy which arms are open from now on."""
        with user_code(PolicyError, f"policy {self._label!r}", "at a look"):
            tell_open_arms(self._policy, open_arms)

    def announce(self, kind: Kind, look: int, arm: Ints, part: Ints, value: Floats) -> None:
        """Publish events about a look, at the time of the pause."""
        timing = self._world.timing
        world = (*(["shown"] if timing.reveal != "all" else []), *(["site"] if timing.sites else []))
        events = announced(
            (*self._optional, *world),
            self._world.problem.arms,
            seq=self._buffer.number(len(arm)),
            round=self._round,
            time=self._pauses[self.passed - 1],
            kind=kind,
            look=look,
            arm=arm,
            part=part,
            value=value,
        )
        self.bus.publish(events)

    def end_recruitment(self) -> None:
        """Let no more decisions be made; what is still to come of the pulls comes."""
        self._recruits = False

    def _decide(self) -> Process:
        """The process of the policy: in every round, tell it what was delivered, ask it for an arm, start the pull."""
        policy, problem = self._policy, self._world.problem
        set_clock = policy.set_clock if isinstance(policy, TimedPolicy) else None
        times, sites = due_decisions(self._world)
        paused = perf_counter()
        for round, time in enumerate(times.tolist(), start=1):
            yield from self._pause_until(time)
            yield self._timeline.moment(time, DECISION)
            if not self._recruits:
                break
            self._publish(self._round)
            outside = self._wait_for_decision()
            if outside is not None:
                yield outside
            try:
                if set_clock is not None:
                    set_clock(time)
                arm = check_arm(policy.decide(round), problem, round, self._label)
                self._shown = shown_columns(policy, arm, self._optional)
                if sites is not None:
                    self._shown["site"] = sites[[round - 1]]
            except TpstreamError:
                raise
            except USER_RAISES as error:
                raise user_error(PolicyError, f"policy {self._label!r}", f"in round {round}", error) from error
            drawn = self._reader.next_pull(arm)
            shown = drawn.total if self._clairvoyant else np.nan
            self._buffer.add_pull(round, time, arm, drawn.rewards, shown)
            process = self._start(round, time, arm, drawn)
            if process is not None:
                self._timeline.process(process)
            self._round = round
            late = perf_counter() > paused + LONGEST_BATCH
            if (late or round % ROUNDS_PER_BATCH == 0) and round < problem.horizon:
                self._stop(STOP)
                paused = perf_counter()
        yield from self._pause_until(np.inf)
        yield self._timeline.moment(max(time, self._timeline.now), END)
        self._stop()

    def _wait_for_decision(self) -> Event | None:
        """What happens when somebody outside has decided; None: the policy is asked at once."""
        return None

    def _pause_until(self, time: float) -> Process:
        """Make every pause that comes before this time, each after all else at its own time."""
        while self.passed < len(self._pauses) and self._pauses[self.passed] < time:
            yield self._timeline.moment(self._pauses[self.passed], END)
            self._publish(self._round)
            self.passed += 1
            self._stop()

    def _start(self, pull: int, time: float, arm: int, drawn: Pull) -> Process | None:
        """The process that delivers the parts of one pull; none if they pass queues, which is done by callbacks."""
        timing = self._world.timing
        plain = drawn.offsets is None and timing.calendar is None and timing.window is None and not timing.later
        if plain and timing.process is None:
            return self._emit(pull, time)
        offsets = self._offsets if drawn.offsets is None else drawn.offsets
        lost = self._none_lost if drawn.lost is None else drawn.lost
        times = time + offsets if timing.calendar is None else timing.calendar.reported(time + offsets, pull)
        if timing.queues and drawn.later is not None:
            queued = QueuedPull(self._buffer, self._timeline, self._resources, timing, pull, time, drawn.later)
            queued.start(times, lost)
            return None
        if drawn.later is not None:
            later = drawn.later
            times, lost = pass_stages(timing.later, times, lost, time, later.lags, later.limits, pull)
        if timing.process is not None:
            return self._keep_error(self._run_process_pull(timing.process, pull, time, arm, times, lost))
        return self._follow(pull, timetable(self._buffer, pull, time, times, lost, timing))

    def _emit(self, pull: int, time: float) -> Process:
        """Deliver each part as in the paper's world, then close the pull."""
        known, tick, deliver = self._timeline.ticks.get, self._timeline.tick, self._buffer.codes.append
        for due, code in zip((self._offsets + time).tolist(), self._buffer.partial_codes(pull), strict=True):
            yield known(due) or tick(due)
            deliver(code)
        deliver(self._buffer.closed_code(pull))
        self._buffer.finished.append(pull)

    def _follow(self, pull: int, moments: list[tuple[float, int]]) -> Process:
        """Deliver the events of a timetable."""
        now, deliver = None, self._buffer.codes.append
        for due, code in moments:
            if due != now:
                yield self._timeline.tick(due)
                now = due
            deliver(code)
        self._buffer.finished.append(pull)

    def _run_process_pull(
        self, process: ProcessDelay, pull: int, time: float, arm: int, times: Floats, lost: Bools
    ) -> Process:
        """Let a user's process deliver the parts, except those that a delay before it lost."""
        timing, name = self._world.timing, self._world.timing.process_name
        arrivals = sorted((due, part) for part, due in enumerate(times.tolist(), start=1) if not lost[part - 1])
        process_pull = ProcessPull(
            self._buffer,
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
            process_pull.lose_at(part, float(times[part - 1]))
        if timing.window is not None:
            process_pull.close_at(time + timing.window)
        with user_code(DelayError, name, f"for pull {pull}"):
            steps = process.run(process_pull)
        if not hasattr(steps, "throw"):
            raise DelayError(
                f"{name}: run must be a generator, got {type(steps).__name__} for pull {pull}; yield events"
            )
        yield from process_pull.watched(steps)
        process_pull.check_complete()

    def _keep_error(self, process: Process) -> Process:
        """The same process, but its error is kept to be raised outside of SimPy, which would make a copy of it."""
        try:
            yield from process
        except USER_RAISES as error:  # it is raised again, outside of SimPy
            self._failure = self._failure or error
            self._stop()

    def _stop(self, priority: int = NORMAL) -> None:
        """Make SimPy return to its caller; with the priority STOP before anything else happens at this time."""
        pause, self._pause = self._pause, self._timeline.event()
        self._timeline.put(pause, self._timeline.now, priority)

    def _pass_time(self, until: Event | None = None) -> None:
        """Let SimPy run; before an error is raised, the events so far go to the bus."""
        try:
            self._timeline.run(until)
        except Exception as error:
            if self._world.timing.process is None and not self._world.timing.later:
                raise
            self._failure = self._failure or self._callback_error(error)
        if self._failure is not None:
            self._publish(self._round)
            raise self._failure

    def _callback_error(self, error: Exception) -> Exception:
        """What a callback of the process delay raised, with its name and the time."""
        if isinstance(error, TpstreamError):
            return error
        when = f"in a callback at time {self._timeline.now}"
        named = user_error(DelayError, self._world.timing.process_name, when, error)
        named.__cause__ = error
        return named

    def _publish(self, round: int) -> None:
        """Hand to the bus the decision of this round, which is the last one made, and all events since."""
        if not self._buffer.codes:
            return
        events = self._buffer.take(round)
        self.bus.publish(replace(events, **self._shown) if self._shown else events)
        self._shown = {name: rows[:0] for name, rows in self._shown.items()}
