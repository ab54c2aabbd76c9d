"""A user's policy in a file, in which tests make a mistake."""

import sys
from pathlib import Path
from types import ModuleType

from tpstream.policies.base import SharedPolicy

POLICY = '''\
"""The arms in turn."""
import math
import random
from random import choice
from typing import Any, NamedTuple
import numpy as np
import numpy.random as npr
from tpstream.model.numba_support import compiled
from tpstream.policies.base import Parameters, SharedPolicy
from tpstream.policies.index import largest

RNG = np.random.default_rng(1)
WEIGHTS = np.full(200, 0.1)

class MistakeState(NamedTuple):
    indices: Any
    pulls: Any
    more: Any = 0.0

def init(problem, parameters):
    return MistakeState(np.zeros(problem.arms), np.zeros(problem.arms))

@compiled
def helper(state, round):
    return round % state.indices.size

@compiled
def on_pull(state, arm, slot, total):
    state.pulls[arm] += 1

@compiled
def decide(state, round, stream):
    arm = helper(state, round)
    return arm

POLICY = SharedPolicy("mistaken", Parameters, init, decide, on_pull=on_pull)
'''
IN_DECIDE, IN_HELPER, IN_HANDLER = (
    "arm = helper(state, round)",
    "return round % state.indices.size",
    "state.pulls[arm] += 1",
)


def policy_with(folder: Path, old: str, new: str, *further: tuple[str, str]) -> SharedPolicy:
    """The policy of a file in which one text stands for another."""
    file, text = folder / "mistaken.py", POLICY
    for before, after in ((old, new), *further):
        assert text.count(before) == 1
        text = text.replace(before, after)
    file.write_text(text)
    module = ModuleType("users_mistake")  # each takes the place of the last, so that their states are not copies
    sys.modules[module.__name__] = module
    exec(compile(file.read_text(), str(file), "exec"), vars(module))  # noqa: S102
    policy: SharedPolicy = module.POLICY
    return policy


def line_of(folder: Path, text: str) -> int:
    """The line of the user's file with this text; of a function, that of its decorator."""
    lines = (folder / "mistaken.py").read_text().splitlines()
    (place,) = [place for place, line in enumerate(lines) if text in line]
    return place if lines[place - 1].startswith("@") else place + 1
