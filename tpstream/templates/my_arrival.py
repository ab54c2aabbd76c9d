"""My arrival: the gaps between decisions are random, between a shortest and a longest one."""

from typing import Self

import numpy as np
from pydantic import BaseModel, NonNegativeFloat, PositiveFloat, model_validator

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import ArrivalKind, BuildContext
from tpstream.model.settings import Settings


class MyArrival(Settings):
    """The gaps between decisions are uniform between `shortest` and `longest`."""

    # The keys of the [arrivals] table, checked before anything runs.
    shortest: NonNegativeFloat = 0.5
    longest: PositiveFloat = 1.5

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.longest < self.shortest:
            raise ValueError("longest is below shortest; exchange them")
        return self

    @property
    def regular(self) -> bool:
        """Whether round t is always at time t."""
        return False

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions: `horizon` numbers above 0 that never fall, drawn only from the stream."""
        times: Floats = np.cumsum(stream.uniform(self.shortest, self.longest, horizon))
        return times


class MyArrivalKind:
    """What is registered under the name: the keys of the table, and how the process is built from them."""

    settings: type[BaseModel] = MyArrival

    def build(self, settings: MyArrival, place: BuildContext) -> MyArrival:  # noqa: ARG002 (asked for by the interface)
        """The process for these settings: here they are the process. One that keeps state must be a new object.

        `place` has the names of the arms, the span, the horizon and the folder of the scenario.
        """
        return settings


KIND: ArrivalKind = MyArrivalKind()
PLUGINS = {"arrivals": {"my-arrival": KIND}}
