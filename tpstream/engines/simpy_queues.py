"""A pull whose parts pass queues on SimPy's timeline, with the sampled delays and calendars between them."""

from collections.abc import Mapping, Sequence

import numpy as np
import simpy
from simpy.events import Event

from tpstream.engines.simpy_clock import ARRIVAL, RELEASE, Timeline
from tpstream.engines.simpy_events import EventBuffer
from tpstream.engines.simpy_process import OpenPull
from tpstream.model.arrays import Bools, Floats
from tpstream.model.world import Stage, Timing
from tpstream.timing.pipeline import LaterDraws, pass_stages


class QueuedPull(OpenPull):
    """One pull, part by part on its way through the later stages; by callbacks, which are faster than processes."""

    def __init__(
        self,
        buffer: EventBuffer,
        timeline: Timeline,
        resources: Mapping[str, simpy.Resource],
        timing: Timing,
        pull: int,
        pulled: float,
        drawn: LaterDraws,
    ) -> None:
        span = drawn.services.shape[1]
        super().__init__(buffer, timeline, pull, "the queues", default=timing.default, span=span)
        self._resources = resources
        self._opening = timing.opening
        self._stages = timing.later
        self._lone = timing.lone_queue
        self._pulled = pulled
        self._drawn = drawn
        self._services = drawn.services.copy()
        self._number = pull * (span + 2)
        if timing.window is not None:
            self.close_at(pulled + timing.window)

    def start(self, times: Floats, lost: Bools) -> None:
        """Let all parts go through the stages; they get to the first one at `times`, unless they are lost."""
        parts = np.arange(1, len(times) + 1)
        times, lost = self._pass(self._until_queue(0), times, lost, parts)
        if self._lone:
            self._services[0, np.lexsort((parts, times, lost))] = self._drawn.services[0]
        for part, time, is_lost in zip(parts.tolist(), times.tolist(), lost.tolist(), strict=True):
            self._go_on(part, len(self._until_queue(0)), time, lost=is_lost)

    def _until_queue(self, first: int) -> Sequence[Stage]:
        """The stages from this one on that come before the next queue."""
        queue = next(
            (place for place, stage in enumerate(self._stages) if place >= first and stage.form == "queue"), None
        )
        return self._stages[first:queue]

    def _pass(self, stages: Sequence[Stage], times: Floats, lost: Bools, parts: object) -> tuple[Floats, Bools]:
        """When these parts leave these stages, of which queues are skipped."""
        columns = np.asarray(parts) - 1
        lags, limits = self._drawn.lags[:, columns], self._drawn.limits[:, columns]
        return pass_stages(stages, times, lost, self._pulled, lags, limits, self.pull)

    def _go_on(self, part: int, stage: int, time: float, *, lost: bool) -> None:
        """Send a part that left the stages before this one, a queue or the end, to where it goes next."""
        if lost:
            known, _ = self._pass(self._stages[stage:], np.array([time]), np.array([True]), [part])
            self.lose_at(part, float(known[0]))
        elif stage < len(self._stages):
            event = self._timeline.moment(time, ARRIVAL + self._number + part)
            event.callbacks.append(lambda _: self._join(part, stage))
        else:
            self._timeline.tick(time).callbacks.append(lambda _: self.hand_out(part))

    def _join(self, part: int, stage: int) -> None:
        """Let a part wait for the resource, be served and go on."""
        queue = self._stages[stage]
        resource = self._resources[queue.delay.resource]
        turn = resource.request()

        def begin(_: Event) -> None:
            start, opening = self._timeline.now, self._opening.get(queue.delay.resource)
            if opening is not None:
                start = float(opening.reported(np.array([start]))[0])
            end = self._timeline.moment(
                start + float(self._services[queue.index, part - 1]), RELEASE + self._number + part
            )
            end.callbacks.append(leave)

        def leave(_: Event) -> None:
            resource.release(turn)
            now = self._timeline.now
            between = self._until_queue(stage + 1)
            times, lost = self._pass(between, np.array([now]), np.array([False]), [part])
            self._go_on(part, stage + 1 + len(between), float(times[0]), lost=bool(lost[0]))

        turn.callbacks.append(begin)
