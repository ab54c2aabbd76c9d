"""My arrival: decisions at random distances between a shortest and a longest one."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from pydantic import BaseModel, NonNegativeFloat, PositiveFloat, model_validator

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import ArrivalKind, BuildContext
from tpstream.model.settings import Settings


class MyArrivalSettings(Settings):
    """Decisions come at distances that are uniform between `shortest` and `longest`."""

    # The keys of the [arrivals] table, checked before anything runs.
    shortest: NonNegativeFloat = 0.5
    longest: PositiveFloat = 1.5

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.longest < self.shortest:
            raise ValueError("longest is below shortest; exchange them")
        return self


@dataclass(frozen=True)
class MyArrival:
    """Independent uniform distances."""

    shortest: float
    longest: float

    @property
    def regular(self) -> bool:
        """Whether round t is at time t, for certain: then the compiled engine serves, too."""
        return False

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions: `horizon` numbers above 0 that never fall, drawn from the stream only."""
        times: Floats = np.cumsum(stream.uniform(self.shortest, self.longest, horizon))
        return times


class MyArrivalKind:
    """What a scenario finds under the name: the keys of its table, and how the process is built from them."""

    settings: type[BaseModel] = MyArrivalSettings

    def build(self, settings: MyArrivalSettings, place: BuildContext) -> MyArrival:  # noqa: ARG002 (the protocol's)
        """The process for these settings; `place` knows the arms, the span, the horizon and the scenario's folder."""
        return MyArrival(settings.shortest, settings.longest)


KIND: ArrivalKind = MyArrivalKind()
PLUGINS = {"arrivals": {"my-arrival": KIND}}
