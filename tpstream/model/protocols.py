"""What users implement: rewards, policies, subscribers. Protocols, not base classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel

from tpstream.model.arrays import Floats
from tpstream.model.events import Events


class ArmRewards(Protocol):
    """How the pulls of one arm pay: exact mean and maximum of the cumulative reward, and a sampler."""

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward."""
        ...

    @property
    def maximum(self) -> float:
        """The largest cumulative reward that a pull can pay."""
        ...

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        ...


@runtime_checkable
class Recorded(Protocol):
    """Rewards that are read in order from a record and can run out, instead of being drawn."""

    def recorded(self, first: int, pulls: int) -> Floats:
        """The rows of pulls first, first + 1, ... (from 0) of this arm; fewer than asked for at the end."""
        ...


@dataclass(frozen=True)
class Rewards:
    """The rewards of all arms; `groups` is the smoothness that the model guarantees, None if it promises none."""

    arms: Sequence[ArmRewards]
    groups: int | None


@dataclass(frozen=True)
class Place:
    """Where a model is built: the arms' names, the span, and the folder in which relative file names start."""

    names: Sequence[str]
    span: int
    folder: Path


class RewardKind(Protocol):
    """A reward model as it is registered: the keys that it reads from a scenario, and how it is built."""

    settings: type[BaseModel]
    """Keys of the `[rewards]` table besides `kind`."""
    arm_settings: type[BaseModel]
    """Keys of an `[[arms]]` table besides `name`."""

    def build(self, settings: Any, arms: Sequence[Any], place: "Place") -> Rewards:
        """The model for these settings; raises ScenarioError with a key as in "rewards.groups: ..."."""
        ...


class Subscriber(Protocol):
    """Hears every event, in order, a batch at a time."""

    def hear(self, events: Events) -> None:
        """Take the next events; they are not to be changed."""
        ...


class Policy(Subscriber, Protocol):
    """Hears what was delivered and decides."""

    def decide(self, round: int) -> int:
        """The arm to pull in this round, knowing all that was heard."""
        ...

    def indices(self) -> Floats:
        """The index of every arm at the last decision; NaN for a policy without indices."""
        ...
