"""What epsilon-greedy and explore-then-commit share: an estimate of each arm's mean from parts, groups or whole pulls.

The estimate is the sum over the groups of the mean of the completed ones; "parts" makes a group of every part, "closed"
hears closed pulls and nothing else. It is infinite until every group was seen once.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import GroupParameters, SharedPolicy
from tpstream.policies.group_means import count_group
from tpstream.policies.index import TIE, total


class EstimateParameters(GroupParameters):
    """Parameters: what the estimates are made of."""

    hears: Literal["parts", "groups", "closed"] = Field(
        "parts", description="what the estimates are made of: single parts, groups of parts, or closed pulls"
    )
    groups: int | None = Field(None, ge=1, description='for hears = "groups"; default: the environment\'s')

    def assumed_groups(self, problem: Problem) -> int:
        """The number of groups in this world."""
        given = {"parts": problem.span, "groups": self.groups, "closed": 1}[self.hears]
        return problem.assumed_groups(given)


@compiled
def on_group(state: Any, arm: int, slot: int, group: int, amount: float) -> None:  # noqa: ARG001
    """Count a part or a group; one of which a part is lost does not count."""
    count_group(state, arm, group, amount)


@compiled
def on_closed(state: Any, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count a pull; a part that was lost counts as zero."""
    count_group(state, arm, 0, credited)


@compiled
def estimate(state: Any, arm: int) -> float:
    """sum_k mean(Z_k) over completed groups; infinite if one was never seen."""
    return math.inf if state.unknown[arm] > 0 else total(state.means, arm)


@compiled
def fill_largest(state: Any, share: float) -> None:
    """Add this share to the probabilities of the arms of the largest index, as `largest` chooses among them."""
    best = -math.inf
    for arm in range(state.indices.size):
        best = max(best, state.indices[arm])
    enough = best if math.isinf(best) else best - TIE * abs(best)
    equals = 0
    for arm in range(state.indices.size):
        equals += 1 if state.indices[arm] >= enough else 0
    for arm in range(state.indices.size):
        if state.indices[arm] >= enough:
            state.probabilities[arm] += share / equals if state.random_ties else share
            if not state.random_ties:
                break


def greedy_policy(
    name: str, parameters: type[EstimateParameters], init: Callable[..., Any], decide: Callable[..., int]
) -> SharedPolicy:
    """A policy that hears what `hears` says: groups, of which a part may be one, or closed pulls."""
    groups = SharedPolicy(name=name, parameters=parameters, init=init, decide=decide, on_group=on_group)
    closed = replace(groups, on_group=None, on_closed=on_closed, lost_as_zero=True)
    return replace(groups, variant=lambda chosen: closed if chosen.hears == "closed" else groups)
