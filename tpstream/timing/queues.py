"""Queues: every part waits for a shared resource, such as a laboratory, and is handed out when it was served."""

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, PositiveFloat

from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.interfaces import BuildContext, DelayKind, PullContext
from tpstream.timing.kinds import BuiltInTiming, TimingSettings

if TYPE_CHECKING:
    import simpy


class LabQueue(TimingSettings):
    """Parts queue for a resource that the scenario declares, first come first served; serving takes `mean` time."""

    resource: str = Field(min_length=1)
    mean: PositiveFloat
    service: Literal["exponential", "constant"] = "exponential"

    def build(self, context: BuildContext) -> Self:
        """The same; a resource that the scenario does not declare is refused."""
        if self.resource not in context.resources:
            near = did_you_mean(self.resource, context.resources)
            raise ScenarioError(
                f"resource: there is no resource {self.resource!r}{near}; "
                f"declare it, as in [resources] {self.resource} = 1"
            )
        return self

    def run(self, context: PullContext) -> "Generator[simpy.Event, Any, None]":
        """The process of a pull: each of its parts joins the queue when it arrives."""
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
        """Let one part wait for the resource, be served and be handed out.

        By callbacks: a trial has tens of thousands of parts, and a process for each takes half as long again.
        """
        resource = context.resources[self.resource]
        turn = resource.request()

        def begin(_: "simpy.Event") -> None:
            context.env.timeout(time).callbacks.append(end)

        def end(_: "simpy.Event") -> None:
            resource.release(turn)
            hand_out()

        turn.callbacks.append(begin)


LAB_QUEUE: DelayKind = BuiltInTiming(LabQueue)
