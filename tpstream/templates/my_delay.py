"""My delay: every part arrives later by a random number of whole rounds."""

import numpy as np
from pydantic import BaseModel, NonNegativeFloat

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, DelayKind, Schedule
from tpstream.model.settings import Settings


class MyDelay(Settings):
    """Every part comes later by a Poisson number of rounds, `mean` on average."""

    # The keys of a [[delays]] table, checked before anything runs.
    mean: NonNegativeFloat = 2.0

    @property
    def whole(self) -> bool:
        """Whether parts that are due at whole times arrive at whole times."""
        return True

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (asked for by the interface)
        """When the parts of some pulls of one arm arrive, in time since their pull; arrays of shape (pulls, span).

        Draw only from the stream. Do not change what you are given, and never make a part earlier. A part that is lost
        must stay lost; to lose one, return True at its place in `lost`.
        """
        lags = stream.poisson(self.mean, schedule.offsets.shape)
        return Schedule(schedule.offsets + lags, schedule.lost)


class MyDelayKind:
    """What is registered under the name: the keys of the table, and how the delay is built from them."""

    settings: type[BaseModel] = MyDelay

    def build(self, settings: MyDelay, place: BuildContext) -> MyDelay:  # noqa: ARG002 (asked for by the interface)
        """The delay for these settings: here they are the delay. One that keeps state must be a new object.

        `place` has the names of the arms, the span, the horizon and the folder of the scenario.
        """
        return settings


KIND: DelayKind = MyDelayKind()
PLUGINS = {"delays": {"my-delay": KIND}}
