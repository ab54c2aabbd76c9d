"""One policy for each family of handlers, for tests that compile all loops of a policy, which takes half a minute.

Loops differ by the handlers and fields that a policy has. As plain Python, and in `make verify`, such tests run all
policies; the functions of every policy are compiled and compared with its formulas in tests/policies anyway.
"""

import os
from collections.abc import Sequence
from typing import Any

import pytest

from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.policies import POLICIES
from tpstream.policies.base import SharedPolicy

SIMPLE = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew", "uniform", "oracle")
"""Policies with one handler or two: those of the paper, and those that learn nothing."""
FAMILIES = (*SIMPLE, "tp-ucb-fr-exact", "delayed-thompson", "completion-ucb")
"""Besides, policies with many handlers and rows for open pulls, with draws that wait, and with a clock."""
REPLAYED = ("uniform", "tp-ucb-ew", "delayed-thompson")
"""Those of which logs of every kind are made and replayed: each needs all loops, and one more for the replay."""
SOME = sorted(POLICIES.builtin) if JIT_IS_OFF or os.environ.get("HYPOTHESIS_PROFILE") == "search" else sorted(REPLAYED)
"""What a search among such logs draws policies from."""


def form_of(name: str, **keys: Any) -> SharedPolicy:
    """The functions that a policy has with these parameters."""
    form = POLICIES.find(name)
    chosen = form.for_parameters(form.parameters(**keys))
    assert isinstance(chosen, SharedPolicy)
    return chosen


COMPILED = [form_of(name) for name in FAMILIES]
"""What is compiled for them."""


def every(names: Sequence[str], compiled: Sequence[str] = FAMILIES) -> list[Any]:
    """Names of policies as parameters of a test; where they are compiled, the others are for `make verify`."""
    return [pytest.param(name, marks=() if JIT_IS_OFF or name in compiled else pytest.mark.verify) for name in names]


def up_to(examples: int) -> int:
    """How many examples a search has: a fifth as plain Python, which only has to see that no index is out of bounds."""
    return max(examples // 5, 5) if JIT_IS_OFF else examples
