"""The protocols of rewards: how the pulls of an arm pay, and how a plug-in defines a model of that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel

from tpstream.model.arrays import Floats
from tpstream.model.interfaces.context import BuildContext


class ArmRewards(Protocol):
    """How the pulls of one arm pay: exact mean and maximum of the cumulative reward, and a sampler."""

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward."""

    @property
    def maximum(self) -> float | None:
        """The largest cumulative reward that a pull can pay; None if there is none."""

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""


class FilledRewards(ArmRewards, Protocol):
    """Rewards of an arm that compiled code can also write to memory, which is faster and leaves Python's lock."""

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample(stream, len(out))` would return, from the same draws; `held` is `hold_stream(stream)`."""


@runtime_checkable
class Recorded(Protocol):
    """Rewards of an arm that are read in order from a record, which can run out, instead of being drawn."""

    def recorded(self, first: int, pulls: int) -> Floats:
        """The rows of pulls first, first + 1, ... (from 0) of this arm; fewer than asked for at the end."""


@dataclass(frozen=True)
class Rewards:
    """The rewards of all arms.

    Parameters
    ----------
    arms : sequence of ArmRewards
        The model of each arm.
    groups : int or None
        The smoothness that the model promises: a pull's parts form this many equal groups, none of which pays more
        than maximum / groups; None if it promises nothing.
    name : str
        What errors call the model; a scenario gives its own.
    signed : bool
        Whether parts may be negative, such as refunds; only policies that can learn from such parts are allowed then.
    warnings : tuple of str
        What a user should know about the settings although they are possible, with figures and the remedy.

    Examples
    --------
    >>> class Coin:
    ...     mean, maximum = 0.5, 1.0
    ...     def sample(self, stream, pulls):
    ...         return stream.integers(0, 2, (pulls, 1)).astype(float)
    >>> Rewards([Coin(), Coin()], groups=1).name
    'rewards'
    """

    arms: Sequence[ArmRewards]
    groups: int | None
    name: str = "rewards"
    warnings: tuple[str, ...] = ()
    signed: bool = False


class RewardKind(Protocol):
    """A reward model as a plug-in defines it: the keys that it reads from a scenario, and how it is built from them.

    Examples
    --------
    >>> from tpstream.model.settings import Settings
    >>> class CoinSettings(Settings):
    ...     "A coin that pays 1 or nothing."
    >>> class CoinArmSettings(Settings):
    ...     chance: float
    >>> class CoinArm:
    ...     maximum = 1.0
    ...     def __init__(self, chance):
    ...         self.mean = chance
    ...     def sample(self, stream, pulls):
    ...         return (stream.random((pulls, 1)) < self.mean).astype(float)
    >>> class Coin:
    ...     settings, arm_settings = CoinSettings, CoinArmSettings
    ...     def build(self, settings, arms, context):
    ...         return Rewards([CoinArm(arm.chance) for arm in arms], groups=1)
    >>> from tpstream.testing import check_rewards
    >>> check_rewards(Coin(), {}, [{"chance": 0.2}, {"chance": 0.6}], span=1)
    """

    settings: type[BaseModel]
    """Keys of the `[rewards]` table besides `kind`."""
    arm_settings: type[BaseModel]
    """Keys of an `[[arms]]` table besides `name`."""

    def build(self, settings: Any, arms: Sequence[Any], context: BuildContext) -> Rewards:
        """The model for these settings; raises ScenarioError with a key as in "rewards.groups: ..."."""
