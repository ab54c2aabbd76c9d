"""A pull whose parts a user's process delivers: the context that the process is given, with checks of what it does."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import simpy
from simpy.events import Event

from tpstream.engines.draws import IMPUTED
from tpstream.engines.simpy_clock import CLOSING, Steps, Timeline
from tpstream.engines.simpy_events import EventBuffer
from tpstream.model.errors import USER_RAISES, DelayError, TpstreamError, user_error
from tpstream.model.events import DROPPED, LATE, PARTIAL


class OpenPull:
    """A pull of which parts are missing; it is closed when nothing of it is missing any more, or by its window."""

    def __init__(
        self, buffer: EventBuffer, timeline: Timeline, pull: int, name: str, *, default: float | None, span: int
    ) -> None:
        self.pull = pull
        self._buffer = buffer
        self._timeline = timeline
        self._name = name
        self._default = default
        self._pending = set(range(1, span + 1))
        self._uncredited = set(range(1, span + 1))
        self._credited: set[int] = set()
        self._closed = False

    def close_at(self, time: float) -> None:
        """Close the pull at this time, after all deliveries."""
        self._timeline.moment(time, CLOSING).callbacks.append(lambda _: self.close())

    def close(self) -> None:
        """Close the pull with what has arrived, unless it is closed."""
        if self._closed:
            return
        self._closed = True
        self._buffer.open_instant(self._timeline.now)
        missing = self._uncredited if self._default is not None else set()
        self._buffer.codes.extend(self._buffer.code(self.pull, part, IMPUTED) for part in missing)
        self._buffer.codes.extend(self._buffer.repeated_codes(self.pull, self._credited, missing))
        self._buffer.codes.append(self._buffer.closed_code(self.pull))
        if not self._pending:
            self._buffer.finished.append(self.pull)

    def lose_at(self, part: int, time: float) -> None:
        """Let it be known at this time that the part never arrives."""
        self._timeline.tick(time).callbacks.append(lambda _: self.lose(part))

    def lose(self, part: int) -> None:
        """Declare that the part never arrives, which is known from now on."""
        self._settle(part, DROPPED)

    def hand_out(self, part: int) -> None:
        """Hand the part out now."""
        self._settle(part, LATE if self._closed else PARTIAL)

    def _settle(self, part: int, kind: int) -> None:
        if not math.isfinite(self._timeline.now):
            raise DelayError(
                f"{self._name} settled part {part} of pull {self.pull} at time {self._timeline.now}; "
                "leave the clock to SimPy"
            )
        if part not in self._pending:
            raise DelayError(f"{self._name} settled part {part} of pull {self.pull} twice, or it is no part of it")
        self._pending.remove(part)
        if kind == PARTIAL:
            self._uncredited.remove(part)
            self._credited.add(part)
        self._buffer.open_instant(self._timeline.now)
        self._buffer.codes.append(self._buffer.code(self.pull, part, kind))
        if self._closed and not self._pending:
            self._buffer.finished.append(self.pull)
        elif not self._pending and not self._buffer.hides:
            self.close()


class ProcessPull(OpenPull):
    """The PullContext of a process delay for one pull."""

    def __init__(
        self,
        buffer: EventBuffer,
        timeline: Timeline,
        pull: int,
        arm: int,
        arrivals: Sequence[tuple[float, int]],
        resources: Mapping[str, simpy.Resource],
        stream: np.random.Generator,
        name: str,
        *,
        default: float | None,
        span: int,
    ) -> None:
        super().__init__(buffer, timeline, pull, name, default=default, span=span)
        self.arm = arm
        self.env: simpy.Environment = timeline
        self.resources = resources
        self.stream = stream
        self.arrivals = arrivals
        self._due = {part: due for due, part in arrivals}

    def wait_until(self, time: float) -> simpy.Event:
        """An event at exactly this time, or now if that is past."""
        now, time = self._timeline.now, float(time)
        if not math.isfinite(time):
            raise DelayError(f"{self._name} waits until {time} in pull {self.pull} at time {now}; give a finite time")
        return self._timeline.moment(max(time, now), 1)

    def deliver(self, part: int) -> None:
        """Hand the part out now."""
        if self._timeline.now < self._due.get(part, -math.inf):
            raise DelayError(
                f"{self._name} delivered part {part} of pull {self.pull} at time {self._timeline.now}, "
                f"before it arrives at {self._due[part]}; wait until then"
            )
        self.hand_out(part)

    def watched(self, steps: Steps) -> Steps:
        """The same steps of a user's process, but its errors name the delay and the pull."""
        me = self._timeline.active_process
        assert me is not None  # noqa: S101 (for mypy: only a process takes steps)
        self._timeline.watchers[me] = self.watched
        try:
            return (yield from self._only_events(steps))
        except TpstreamError:
            raise
        except USER_RAISES as error:
            if me.callbacks:  # another process waits for this one, and may know what to do
                raise
            raise user_error(DelayError, self._name, f"in pull {self.pull}", error) from error
        finally:
            self._timeline.watchers.pop(me, None)

    def check_complete(self) -> None:
        """Raise if the process ended without delivering or losing a part."""
        forgotten = self._pending & {part for _, part in self.arrivals}
        if forgotten:
            raise DelayError(
                f"{self._name} ended without part {min(forgotten)} of pull {self.pull}; deliver or lose every part once"
            )

    def _only_events(self, steps: Steps) -> Steps:
        """The same steps, as `yield from` gives them, but each must be an event of this timeline."""
        step = partial(next, steps)
        while True:
            try:
                event = step()
            except StopIteration as end:
                return end.value
            if not isinstance(event, Event) or event.env is not self._timeline:
                raise DelayError(
                    f"{self._name} yields {event!r} in pull {self.pull}; give an event of context.env, "
                    "as in context.env.timeout(1)"
                )
            try:
                step = partial(steps.send, (yield event))
            except Exception as error:  # noqa: BLE001 (it is for the process, which may be waiting for it)
                step = partial(steps.throw, error)
