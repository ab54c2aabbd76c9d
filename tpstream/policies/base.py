"""The two forms in which a policy can be written, and the parameters that many policies share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tpstream.model.interfaces import Policy
from tpstream.model.world import Problem


class Parameters(BaseModel):
    """Parameters of a policy; a policy without any uses this as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class IndexParameters(Parameters):
    """Parameters of a policy that pulls an arm of the largest index."""

    ties: Literal["random", "first"] = Field("random", description="among equal indices: a random arm, or the first")


class GroupParameters(IndexParameters):
    """Parameters of a policy that assumes independent groups of parts."""

    groups: int | None = Field(None, ge=1, description="groups the policy assumes; default: the environment's")


@dataclass(frozen=True)
class SharedPolicy:
    """A policy in the shared form: arrays as state and compiled scalar functions, for every engine.

    State is a NamedTuple (with a name of its own: Numba tells states apart by it) that has a field `indices`, one
    float for each arm, which `decide` fills. Handlers left out are never called, and hearing less is faster: a policy
    that needs only sums asks for `on_received` or `on_group` instead of `on_partial`. `slot` is the place of an open
    pull in the state fields named by `per_pull`: arrays with a row per slot, which engines enlarge as more are open.
    """

    name: str
    parameters: type[Parameters]
    init: Callable[[Problem, Any], Any]
    """(problem, parameters) -> state, with one row in every `per_pull` field."""
    decide: Callable[[Any, int, np.random.Generator], int]
    """(state, round, stream) -> arm, compiled."""
    on_pull: Callable[[Any, int, int, float], None] | None = None
    """(state, arm, slot, total), compiled; total is NaN unless the policy is clairvoyant."""
    on_partial: Callable[[Any, int, int, int, float], None] | None = None
    """(state, arm, slot, part, value), compiled."""
    on_received: Callable[[Any, int, float], None] | None = None
    """(state, arm, amount), compiled; amount is what the arm's pulls paid at one instant, added by pull, then part."""
    on_group: Callable[[Any, int, int, float], None] | None = None
    """(state, arm, group, amount), compiled; a group of parts of one pull is complete and paid this amount. The
    groups, from 0, are those of the policy's parameter `groups`."""
    on_closed: Callable[[Any, int, int, float], None] | None = None
    """(state, arm, slot, value), compiled; value is all that the pull was credited with."""
    per_pull: tuple[str, ...] = ()
    clairvoyant: bool = False
    """Is shown a pull's cumulative reward at the pull."""
    knows_means: bool = False
    """Is told the arms' true means."""


@dataclass(frozen=True)
class PythonPolicy:
    """A policy as an ordinary Python object, for the SimPy engine and replay only."""

    name: str
    parameters: type[Parameters]
    create: Callable[[Problem, Any, np.random.Generator], Policy]
    """(problem, parameters, stream) -> policy."""
    clairvoyant: bool = False
    knows_means: bool = False


PolicyForm = SharedPolicy | PythonPolicy
