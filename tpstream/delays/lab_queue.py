"""Lab queues: every part waits its turn at a shared resource and is handed out when it was served."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.protocols import DelayKind, Place, PullContext
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
        served = []
        for (arrival, part), time in zip(context.arrivals, times, strict=True):
            yield context.wait_until(arrival)
            served.append(context.env.process(self.serve(context, part, float(time))))
        yield context.env.all_of(served)

    def serve(self, context: PullContext, part: int, time: float) -> "Generator[simpy.Event, Any, None]":
        """One part: wait for the resource, be served, be handed out."""
        with context.resources[self.resource].request() as turn:
            yield turn
            yield context.env.timeout(time)
        context.deliver(part)


class LabQueueKind:
    """The delay "lab-queue"."""

    settings: type[BaseModel] = LabQueueSettings

    def build(self, settings: LabQueueSettings, place: Place) -> LabQueue:
        """The delay for these settings."""
        if settings.resource not in place.resources:
            near = did_you_mean(settings.resource, place.resources)
            raise ScenarioError(
                f"resource: there is no resource {settings.resource!r}{near}; "
                f"declare it, as in [resources] {settings.resource} = 1"
            )
        return LabQueue(settings.resource, settings.mean, settings.service)


KIND: DelayKind = LabQueueKind()
