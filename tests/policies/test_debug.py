"""Debug mode: compiled policies as ordinary Python with checked indices, which decide the same."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import Command, tpstream
from mistakes import IN_DECIDE, IN_HANDLER, IN_HELPER, line_of, policy_with
from plugged import forgetful, write_greedy
from studies import ASYNCHRONOUS, PAPER, small

from tpstream import simulate
from tpstream.log.sinks import MemorySink
from tpstream.model.errors import EngineError, PolicyError
from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.policies.base import SharedPolicy
from tpstream.testing import check_policy

__all__ = ["forgetful", "tpstream"]

OUT_OF_BOUNDS = {
    "too large": (IN_HANDLER, "state.pulls[arm + 2] += 1", "index 3 is out of bounds: axis 0 has 3 elements", 1),
    "negative": (
        IN_HANDLER,
        "state.pulls[arm - 2] += 1",
        "index -1 is out of bounds: axis 0 has 3 elements; write size - 1 for the last element",
        1,
    ),
    "in a helper, later": (
        IN_HELPER,
        "return int(state.pulls[round - 1]) % 3",
        "index 3 is out of bounds: axis 0 has 3 elements",
        4,
    ),
    "in an array of the module": (
        IN_DECIDE,
        "arm = int(WEIGHTS[199 + round])",
        "index 200 is out of bounds: axis 0 has 200 elements",
        1,
    ),
    "in decide": (
        IN_DECIDE,
        "state.indices[round] = 0.0; arm = 0",
        "index 3 is out of bounds: axis 0 has 3 elements",
        3,
    ),
}
"""What was written, what instead, what is said, and the round."""


@pytest.mark.parametrize("fault", OUT_OF_BOUNDS)
def test_an_index_out_of_bounds(tmp_path: Path, fault: str) -> None:
    """In debug mode an index out of bounds is an error that names the round, the expression, the file and the line."""
    old, new, reason, round = OUT_OF_BOUNDS[fault]
    expression = re.search(r"[\w.]+\[.*?\]", new)
    assert expression is not None
    with pytest.raises(PolicyError) as caught:
        simulate(small(), policy_with(tmp_path, old, new), debug=True)
    told = str(caught.value)
    assert told.startswith(f"policy 'mistaken' raised IndexError in round {round}: {reason}, in {expression[0]}")
    assert f"(mistaken.py, line {line_of(tmp_path, new)}, in " in told


@pytest.mark.parametrize("fault", OUT_OF_BOUNDS)
def test_the_kit_finds_an_index_out_of_bounds(tmp_path: Path, fault: str) -> None:
    """The conformance kit runs a policy in debug mode before it runs it compiled."""
    old, new, reason, _ = OUT_OF_BOUNDS[fault]
    with pytest.raises(AssertionError, match=re.escape(reason)):
        check_policy(policy_with(tmp_path, old, new))


def _events(policy: str | SharedPolicy, changes: dict[str, Any], *, debug: bool) -> pd.DataFrame:
    sink = MemorySink()
    simulate(small().with_(**changes), policy, sinks=[sink], debug=debug)
    return sink.frame()


@pytest.mark.parametrize("world", ["plain", "geometric", "missing"])
@pytest.mark.parametrize("policy", [*PAPER, "uniform", "oracle"])
def test_debug_mode_decides_the_same(policy: str, world: str) -> None:
    """Every event of a run in debug mode is that of the compiled run."""
    changes = ASYNCHRONOUS.get(world, {})
    pd.testing.assert_frame_equal(_events(policy, changes, debug=True), _events(policy, changes, debug=False))


@pytest.mark.skipif(JIT_IS_OFF, reason="nothing is compiled, so NumPy adds")
def test_sums_of_arrays_are_the_same(tmp_path: Path) -> None:
    """A sum in debug mode adds the elements in their order, as compiled code does and NumPy does not."""
    policy = policy_with(tmp_path, IN_DECIDE, "arm = int(WEIGHTS.sum() * 1e14) % 3")
    pd.testing.assert_frame_equal(_events(policy, {}, debug=True), _events(policy, {}, debug=False))


def test_debug_mode_is_not_for_the_compiled_engine() -> None:
    """Asking for debug mode and for the compiled engine is a contradiction, and said to be one."""
    with pytest.raises(EngineError, match='leave out engine "compiled"'):
        simulate(small(), "ucb1", engine="compiled", debug=True)


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("command", ["run", "compare", "trial"])
def test_the_flag(tpstream: Command, tmp_path: Path, command: str) -> None:
    """With --debug a command names the line of an index out of bounds, instead of running into undefined memory."""
    plugin = write_greedy(tmp_path)
    plugin.write_text(plugin.read_text().replace("state.pulls[arm] += 1", "state.pulls[arm + 9] += 1"))
    result = tpstream(command, "small.toml", "--plugin", plugin, "--policy", "greedy", "--runs", 1, "--debug")
    told = " ".join((result.out + result.err).split())
    assert "raised IndexError in round 1: index 9 is out of bounds" in told
    assert "state.pulls[arm + 9]" in told
    assert plugin.name in told


NAN = "state.indices[1] = math.nan if round == 5 else 0.0; arm = int(np.argmax(state.indices))"
ALL_NAN = "state.indices[:] = math.nan if round >= 5 else 0.0; arm = 0"


@pytest.mark.parametrize(("change", "arm"), [(NAN, 1), (ALL_NAN, 0)])
def test_an_index_that_is_nan_unnoticed(tmp_path: Path, change: str, arm: int) -> None:
    """A NaN among the indices is told in debug mode and by `check_policy`, whatever the policy decides by."""
    policy = policy_with(tmp_path, IN_DECIDE, change)
    told = f"in round 5 the index of arm {arm} is NaN, so that no index is the largest"
    with pytest.raises(PolicyError, match=told):
        simulate(small(), policy, debug=True)
    with pytest.raises(AssertionError, match=told):
        check_policy(policy)


def test_a_policy_without_indices(tmp_path: Path) -> None:
    """A policy whose indices are NaN all the time has none, and nothing is wrong with it."""
    policy = policy_with(tmp_path, "MistakeState(np.zeros(problem.arms)", "MistakeState(np.full(problem.arms, np.nan)")
    assert len(simulate(small(), policy, debug=True).arms)
    check_policy(policy)


def test_a_mistyped_field(tmp_path: Path) -> None:
    """A field that the state does not have is told with the nearest one, and with its place."""
    policy = policy_with(tmp_path, IN_HELPER, "return round % state.indixes.size")
    told = r"'mistaken': its state has no field 'indixes' \(did you mean 'indices'\?\); it has indices, pulls, more"
    with pytest.raises(
        PolicyError, match=rf"{told}, in state\.indixes \(mistaken\.py, line {line_of(tmp_path, 'indixes')}"
    ):
        simulate(small(), policy, debug=True)
