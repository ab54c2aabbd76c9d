"""What users implement: rewards, policies, subscribers. Protocols, not base classes."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel

from tpstream.model.arrays import Bools, Floats
from tpstream.model.events import Events

if TYPE_CHECKING:
    import simpy  # not to be loaded by those who only read a scenario


class ArmRewards(Protocol):
    """How the pulls of one arm pay: exact mean and maximum of the cumulative reward, and a sampler."""

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward."""

    @property
    def maximum(self) -> float:
        """The largest cumulative reward that a pull can pay."""

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""


@runtime_checkable
class Recorded(Protocol):
    """Rewards that are read in order from a record and can run out, instead of being drawn."""

    def recorded(self, first: int, pulls: int) -> Floats:
        """The rows of pulls first, first + 1, ... (from 0) of this arm; fewer than asked for at the end."""


@dataclass(frozen=True)
class Rewards:
    """The rewards of all arms; `groups` is the smoothness that the model guarantees, None if it promises none."""

    arms: Sequence[ArmRewards]
    groups: int | None
    name: str = "rewards"
    """What errors call them; a scenario adds the kind."""


@dataclass(frozen=True)
class BuildContext:
    """Where a model is built: the arms' names, the span, and the folder in which relative file names start."""

    names: Sequence[str]
    span: int
    folder: Path
    horizon: int | None = None
    """How many decisions are due, where that is known."""
    resources: Mapping[str, int] = field(default_factory=dict)
    """The capacities of the resources that the scenario declares."""


class RewardKind(Protocol):
    """A reward model as it is registered: the keys that it reads from a scenario, and how it is built."""

    settings: type[BaseModel]
    """Keys of the `[rewards]` table besides `kind`."""
    arm_settings: type[BaseModel]
    """Keys of an `[[arms]]` table besides `name`."""

    def build(self, settings: Any, arms: Sequence[Any], context: "BuildContext") -> Rewards:
        """The model for these settings; raises ScenarioError with a key as in "rewards.groups: ..."."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """When the parts of some pulls of one arm arrive; arrays of shape (pulls, span)."""

    offsets: Floats
    """Time from the pull to the arrival of the part; for a lost one, to the moment at which its loss shows."""
    lost: Bools
    """The part never arrives."""


class DelayProcess(Protocol):
    """A sampled delay: moves parts to later times, or loses them. It must not depend on the time of the pull."""

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole, so that the compiled engine can serve."""

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:
        """The schedule after this delay, for pulls of one arm that pay these rewards (pulls, span)."""


class CalendarDelay(Protocol):
    """A delay that depends on the calendar and not on chance: results are handed out at certain times only."""

    @property
    def whole(self) -> bool:
        """Whether whole times stay whole."""

    def reported(self, times: Floats) -> Floats:
        """When what arrives at these times (from the start of the run) is handed out; never earlier."""


class PullContext(Protocol):
    """What a process delay may use: the clock, the shared resources, and the parts of one pull."""

    pull: int
    arm: int
    env: "simpy.Environment"
    resources: "Mapping[str, simpy.Resource]"
    stream: np.random.Generator
    """A stream for service times and the like, owned by the process delay, shared by all pulls of an arm."""
    arrivals: Sequence[tuple[float, int]]
    """When each part that is not lost arrives at this process, and its number; by time, then part."""

    def wait_until(self, time: float) -> "simpy.Event":
        """An event at exactly this time, or now if that is past."""

    def deliver(self, part: int) -> None:
        """Hand the part out now."""

    def lose(self, part: int) -> None:
        """The part never arrives, which shows now."""


class ProcessDelay(Protocol):
    """A delay that happens: a SimPy process for each pull that delivers its parts; for the SimPy engine only."""

    def run(self, context: PullContext) -> "Generator[simpy.Event, Any, None]":
        """The process of one pull; it must deliver or lose every part of `context.arrivals` once."""


class DelayKind(Protocol):
    """A delay as it is registered: the keys that it reads from a `[[delays]]` table, and how it is built."""

    settings: type[BaseModel]

    def build(self, settings: Any, context: BuildContext) -> DelayProcess | CalendarDelay | ProcessDelay:
        """The delay for these settings; raises ScenarioError with a key as in "p: ..."."""


class ArrivalProcess(Protocol):
    """Decides when decisions are due."""

    @property
    def regular(self) -> bool:
        """Whether round t is at time t, as in the paper's world."""

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions: `horizon` numbers above 0 that never fall."""


class ArrivalKind(Protocol):
    """An arrival process as it is registered: the keys of its `[arrivals]` table, and how it is built."""

    settings: type[BaseModel]

    def build(self, settings: Any, context: BuildContext) -> ArrivalProcess:
        """The process for these settings."""


class Subscriber(Protocol):
    """Hears every event, in order, a batch at a time."""

    def hear(self, events: Events) -> None:
        """Take the next events; they are not to be changed."""


class Policy(Subscriber, Protocol):
    """Hears what was delivered and decides."""

    def decide(self, round: int) -> int:
        """The arm to pull in this round, knowing all that was heard."""

    def indices(self) -> Floats:
        """The index of every arm at the last decision; NaN for a policy without indices."""
