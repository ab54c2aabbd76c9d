"""My delay: every part comes later by a random number of whole rounds."""

from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, NonNegativeFloat

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, DelayKind, Schedule
from tpstream.model.settings import Settings


class MyDelaySettings(Settings):
    """Every part comes later by a Poisson number of rounds, `mean` on average."""

    # The keys of a [[delays]] table, checked before anything runs.
    mean: NonNegativeFloat = 2.0


@dataclass(frozen=True)
class MyDelay:
    """Lags are drawn for many pulls of one arm at once."""

    mean: float

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole: then the compiled engine serves, too."""
        return True

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """When the parts arrive, in time since their pull; arrays of shape (pulls, span).

        Draw from the stream and from nothing else. Never change what you are given, and never make a part earlier. A
        part that is lost must stay lost; to lose one, return it as True in `lost`.
        """
        lags = stream.poisson(self.mean, schedule.offsets.shape)
        return Schedule(schedule.offsets + lags, schedule.lost)


class MyDelayKind:
    """What a scenario finds under the name: the keys of its table, and how the delay is built from them."""

    settings: type[BaseModel] = MyDelaySettings

    def build(self, settings: MyDelaySettings, place: BuildContext) -> MyDelay:  # noqa: ARG002 (the protocol's)
        """The delay for these settings; `place` knows the arms, the span and the folder of the scenario."""
        return MyDelay(settings.mean)


KIND: DelayKind = MyDelayKind()
PLUGINS = {"delays": {"my-delay": KIND}}
