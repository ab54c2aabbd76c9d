"""Lab queues: every part waits its turn at a shared resource and is handed out when it was served."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.interfaces import BuildContext, DelayKind, PullContext
from tpstream.model.settings import Settings

if TYPE_CHECKING:
    import simpy


class LabQueueSettings(Settings):
    """Parts queue for a resource that the scenario declares, first come first served; serving takes `mean` time."""

    resource: str = Field(min_length=1)
    mean: PositiveFloat
    service: Literal["exponential", "constant"] = "exponential"


@dataclass(frozen=True)
class LabQueue:
    """The queue before a resource; service times are exponential, or all the same."""

    resource: str
    mean: float
    service: Literal["exponential", "constant"]

    def run(self, context: PullContext) -> "Generator[simpy.Event, Any, None]":
        """Let each part of the pull join the queue when it arrives."""
        # All service times are drawn at the pull, so that the n-th pull of an arm needs the same ones in every run.
        parts = len(context.arrivals)
        times = context.stream.exponential(self.mean, parts) if self.service == "exponential" else [self.mean] * parts
        missing, all_served = parts, context.env.event()

        def hand_out(part: int) -> None:
            nonlocal missing
            context.deliver(part)
            missing -= 1
            if not missing:
                all_served.succeed()

        for (arrival, part), time in zip(context.arrivals, times, strict=True):
            yield context.wait_until(arrival)
            self.serve(context, float(time), partial(hand_out, part))
        if parts:
            yield all_served

    def serve(self, context: PullContext, time: float, hand_out: Callable[[], None]) -> None:
        """One part: wait for the resource, be served, be handed out.

        By callbacks: a trial has tens of thousands of parts, and a process for each takes half as long again.
        """
        place = context.resources[self.resource]
        turn = place.request()

        def begin(_: "simpy.Event") -> None:
            context.env.timeout(time).callbacks.append(end)

        def end(_: "simpy.Event") -> None:
            place.release(turn)
            hand_out()

        turn.callbacks.append(begin)


class LabQueueKind:
    """The delay "lab-queue"."""

    settings: type[BaseModel] = LabQueueSettings

    def build(self, settings: LabQueueSettings, place: BuildContext) -> LabQueue:
        """The delay for these settings."""
        if settings.resource not in place.resources:
            near = did_you_mean(settings.resource, place.resources)
            raise ScenarioError(
                f"resource: there is no resource {settings.resource!r}{near}; "
                f"declare it, as in [resources] {settings.resource} = 1"
            )
        return LabQueue(settings.resource, settings.mean, settings.service)


LAB_QUEUE: DelayKind = LabQueueKind()
