"""Waiting: parts that arrived are handed out only at certain times (a calendar), or once they were served (a queue).

A calendar is that of weekly reports, or of days without weekends; a queue is that of a shared resource such as a
laboratory.
"""

from collections.abc import Callable, Generator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.interfaces import BuildContext, PullContext
from tpstream.timing.kinds import TimingSettings

if TYPE_CHECKING:
    import simpy


class Reporting(TimingSettings):
    """Handed out at the times first, first + every, ... or, with `days`, at whole times on these days of the week.

    Without `first` the first report is a whole period after the start. Time 1 is day 1, so that
    `days = [1, 2, 3, 4, 5]` is a world that begins on a Monday and rests at weekends.
    """

    exactly_one = ("every", "days")

    every: PositiveFloat | None = Field(None, description="time between two reports; give this or days")
    first: Annotated[float | None, Field(ge=0)] = Field(None, description="time of the first report; default: every")
    days: Annotated[list[Annotated[int, Field(ge=1)]] | None, Field(min_length=1)] = Field(
        None, description="days of the week with a report, from 1; give this or every"
    )
    week: Annotated[int, Field(ge=1)] = Field(7, description="days of a week")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.days is not None and self.first is not None:
            raise ValueError("first belongs to every; remove it, or use every instead of days")
        return self

    def build(self, context: BuildContext) -> Self:  # noqa: ARG002 (the days are checked here so that the error names its key)
        """The same; days that the week does not have are refused."""
        if self.days is not None and max(self.days) > self.week:
            raise ScenarioError(
                f"days: there is no day {max(self.days)} in a week of {self.week}; use 1 to {self.week}"
            )
        return self

    @property
    def whole(self) -> bool:
        """Whether all reports are at whole times."""
        return self.every is None or (self.every.is_integer() and (self.first or 0.0).is_integer())

    def reported(self, times: Floats) -> Floats:
        """The time of the first report that is not before each time."""
        if self.every is None:
            days = np.ceil(times)
            return days + self._waits[(days.astype(np.int64) - 1) % self.week]
        first = self.every if self.first is None else self.first
        number = np.maximum(np.ceil((times - first) / self.every), 0.0)
        # The quotient is rounded: the report before may still be in time, or this one a hair too early.
        before = first + np.maximum(number - 1, 0.0) * self.every
        this = first + number * self.every
        later = first + (number + 1) * self.every
        return np.where(before >= times, before, np.where(this >= times, this, later))

    @cached_property
    def _waits(self) -> Ints:
        """For each day of the week, how many days to the next report; 0 on a day of reports."""
        waits = [min((day - today) % self.week for day in self.days or ()) for today in range(1, self.week + 1)]
        return np.array(waits, dtype=np.int64)


class LabQueue(TimingSettings):
    """Parts queue for a declared resource, first come first served; serving takes `mean` time, 0 is no delay."""

    resource: str = Field(min_length=1, description="name in [resources] of what serves the parts")
    mean: NonNegativeFloat = Field(description="mean time that serving a part takes")
    service: Literal["exponential", "constant"] = Field(
        "exponential", description="distribution of the time that serving a part takes"
    )

    @property
    def absent(self) -> bool:
        """Whether nothing has to wait: serving takes no time."""
        return self.mean == 0

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
