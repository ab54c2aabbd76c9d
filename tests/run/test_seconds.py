"""How long a run takes is told without the time in which code is compiled."""

import time
from typing import Any

import moody
import numba
import numpy as np
import pytest
from studies import small

from tpstream import compare
from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.policies.base import Parameters, PythonPolicy


@pytest.mark.skipif(JIT_IS_OFF, reason="nothing is compiled")
def test_seconds_are_those_without_compilation() -> None:
    """A policy that compiles a function in its first round takes less time than the compiler alone took."""
    spent = []

    class Compiling(moody.Moody):
        """Compiles in every run."""

        def decide(self, round: int) -> int:
            """The next arm."""
            if round == 1:
                began = time.perf_counter()
                numba.njit(lambda values: np.sort(values).sum())(np.ones(3))
                spent.append(time.perf_counter() - began)
            return super().decide(round)

    def create(problem: Any, *_: Any) -> Compiling:
        return Compiling(problem.arms, gives_up=False)

    policy = PythonPolicy(name="compiling", parameters=Parameters, create=create)
    found = compare(small(), [policy], runs=1).times()["seconds"].item()
    assert 0 < found < spent[0] / 2
