"""Delays by arm: each arm has its own, since one treatment is read out sooner than another."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

from tpstream.delays.tables import InnerDelay, build_inner
from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.protocols import DelayKind, DelayProcess, Place, Schedule
from tpstream.model.settings import Settings


class ByArmSettings(Settings):
    """A delay for each arm by its name, as in `arms = { low = { kind = "constant", lag = 3 } }`; one for the others."""

    arms: dict[str, InnerDelay]
    others: InnerDelay | None = None


@dataclass(frozen=True, eq=False)
class ByArm:
    """Applies the delay of the pulls' arm; arms without one are not delayed."""

    delays: Mapping[int, DelayProcess]

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole, whatever the arm."""
        return all(delay.whole for delay in self.delays.values())

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:
        """The schedule after the delay of this arm."""
        return self.delays[arm].apply(schedule, rewards, arm, stream) if arm in self.delays else schedule


class ByArmKind:
    """The delay "by-arm"."""

    settings: type[BaseModel] = ByArmSettings

    def build(self, settings: ByArmSettings, place: Place) -> ByArm:
        """The delay for these settings."""
        delays = {}
        for name, table in settings.arms.items():
            if name not in place.names:
                near = did_you_mean(name, place.names)
                raise ScenarioError(f"arms.{name}: there is no such arm{near}; use names of {', '.join(place.names)}")
            delays[place.names.index(name)] = build_inner(table, place, f"arms.{name}")
        if settings.others is not None:
            others = build_inner(settings.others, place, "others")
            delays = {arm: delays.get(arm, others) for arm in range(len(place.names))}
        return ByArm(delays)


KIND: DelayKind = ByArmKind()
