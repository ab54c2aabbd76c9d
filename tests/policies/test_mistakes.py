"""What users get wrong in compiled policies: each mistake is told with file, line, reason and remedy."""

import re
from pathlib import Path

import pytest
from mistakes import IN_DECIDE, IN_HANDLER, IN_HELPER, line_of, policy_with
from studies import small

from tpstream import simulate
from tpstream.engines.engine import EngineName
from tpstream.model.errors import PolicyError
from tpstream.model.numba_support import JIT_IS_OFF, compiled
from tpstream.policies.base import SharedPolicy

needs_numba = pytest.mark.skipif(JIT_IS_OFF, reason="nothing is compiled")


def refusal(policy: SharedPolicy, engine: EngineName = "auto") -> str:
    """How a run with this policy fails."""
    with pytest.raises(PolicyError) as caught:
        simulate(small(), policy, engine=engine)
    return str(caught.value)


def test_the_policy_without_mistakes(tmp_path: Path) -> None:
    """The policy of these tests runs as long as nothing in it is changed."""
    assert simulate(small(), policy_with(tmp_path, "arm = helper", "arm = helper")).arms.tolist()[:3] == [1, 2, 0]


@pytest.mark.parametrize("where", [IN_DECIDE, IN_HELPER, IN_HANDLER])
@pytest.mark.parametrize(
    "drawn",
    [
        "np.random.random()",
        "npr.rand()",
        "random.random()",
        "choice((1, 2))",
        "RNG.random()",
        "np.random.default_rng()",
    ],
)
def test_other_randomness_is_refused(tmp_path: Path, where: str, drawn: str) -> None:
    """A function that draws from a generator of NumPy or Python is refused before the run, wherever it is called."""
    policy = policy_with(tmp_path, where, f"luck = {drawn}; {where}")
    expression, function = (
        drawn.partition("(")[0],
        {IN_DECIDE: "decide", IN_HELPER: "helper", IN_HANDLER: "on_pull"}[where],
    )
    expression = "RNG" if expression == "RNG.random" else expression
    assert refusal(policy) == (
        f"policy 'mistaken': {expression} draws random numbers that do not depend on the run's seed; draw in decide, "
        "from the stream that it is given, as in stream.random() "
        f"(mistaken.py, line {line_of(tmp_path, 'luck')}, in {function})"
    )


@pytest.mark.parametrize("drawn", ["np.random.random()", "random.random()", "RNG.random()", "npr.default_rng()"])
@pytest.mark.parametrize("helper", [False, True])
def test_randomness_in_init_is_refused(tmp_path: Path, drawn: str, helper: bool) -> None:  # noqa: FBT001
    """An `init` that draws is refused before the run, also if an ordinary function draws for it."""
    wanted = "return MistakeState(np.zeros(problem.arms), np"
    if helper:
        policy = policy_with(
            tmp_path, "def init(", f"def luck():\n    return {drawn}\n\ndef init(", (wanted, f"luck(); {wanted}")
        )
    else:
        policy = policy_with(tmp_path, wanted, f"{drawn}; {wanted}")
    told = refusal(policy)
    assert re.match(
        r"policy 'mistaken': [\w.]+ draws random numbers that do not depend on the run's seed; draw in", told
    )
    assert told.endswith(f"(mistaken.py, line {line_of(tmp_path, drawn)}, in {'luck' if helper else 'init'})")


def test_the_stream_is_allowed(tmp_path: Path) -> None:
    """Draws from the stream that `decide` is given are no other randomness."""
    policy = policy_with(tmp_path, IN_DECIDE, "arm = int(stream.random() * 3)")
    assert set(simulate(small(), policy).arms.tolist()) == {0, 1, 2}


def test_a_generator_in_the_state_is_refused(tmp_path: Path) -> None:
    """A policy cannot bring a generator of its own, from which handlers could draw."""
    hidden = ("RNG = np", "HIDDEN = (np.random.default_rng(1),)\nRNG = np")
    more = "np.zeros(problem.arms), more=HIDDEN[0], pulls=np"
    policy = policy_with(tmp_path, "np.zeros(problem.arms), np", more, hidden)
    assert refusal(policy) == (
        "policy 'mistaken': its state has a generator, more; draw in decide, from the stream that it is given "
        f"(mistaken.py, line {line_of(tmp_path, 'def init')}, in init)"
    )


MISTAKES = {
    "undefined name": (IN_DECIDE, "arm = helpr(state, round)", "helpr", "'helpr' is not defined; define or import it"),
    "undefined attribute": (
        IN_DECIDE,
        "arm = math.flor(round)",
        "flor",
        "'math.flor' is not defined; define or import it",
    ),
    "undefined name in a helper": (
        IN_HELPER,
        "return round % ARMS",
        "ARMS",
        "'ARMS' is not defined; define or import it",
    ),
    "assignment to a field": (
        IN_HANDLER,
        "state.more = 1.0",
        "state.more",
        "the field 'more' is assigned to, but the fields of a state stay what init made them; make it an array in init",
    ),
    "addition to a field": (IN_HANDLER, "state.more += 1.0", "state.more", "write to state.more[0]"),
    "parameters of a handler": (
        "def on_pull(state, arm, slot, total)",
        "def on_pull(state, arm)",
        "def on_pull",
        "on_pull takes (state, arm), but is given (state, arm, slot, total); write def on_pull(state, arm, slot",
    ),
    "parameters of decide": (
        "def decide(state, round, stream)",
        "def decide(state, round, stream, arms)",
        "def decide",
        "decide takes (state, round, stream, arms), but is given (state, round, stream)",
    ),
    "a list of lists": (
        "np.zeros(problem.arms), np",
        "np.zeros(problem.arms), more=[[0.0], [0.0]], pulls=np",
        "def init",
        "its state has a list as the field 'more'; make it an array of numbers, as in np.zeros((3, 4))",
    ),
    "a state without indices": (
        "    indices: Any\n    pulls: Any",
        "    index: Any\n    pulls: Any",
        "def init",
        "its state needs a field indices: an array with a float for each arm, as in np.zeros(problem.arms) (",
    ),
    "indices that are no floats": (
        "MistakeState(np.zeros(problem.arms), np",
        "MistakeState(np.zeros(problem.arms, dtype=int), np",
        "def init",
        "a float for each arm, as in np.zeros(problem.arms), not int64 of shape (3,)",
    ),
    "too few indices": (
        "MistakeState(np.zeros(problem.arms), np",
        "MistakeState(np.zeros(2), np",
        "def init",
        "of shape (2,)",
    ),
    "a state that is no named tuple": (
        "return MistakeState(np.zeros(problem.arms), np.zeros(problem.arms))",
        "return {}",
        "def init",
        "its state is a dict; make it a NamedTuple of arrays",
    ),
}
"""What was written, what instead, the line that is named, and what is said."""
COMPILER_MISTAKES = {
    "a float": (IN_DECIDE, "arm = helper(state, round) * 1.0", "return arm", "decide returns a number of type float"),
    "a mistyped field": (
        IN_HANDLER,
        "state.pull[arm] += 1",
        "state.pull[",
        "its state has no field 'pull' (did you mean 'pulls'?); it has indices, pulls, more",
    ),
    "a mistyped field in a helper": (
        IN_HELPER,
        "return round % state.indixes.size",
        "indixes",
        "its state has no field 'indixes' (did you mean 'indices'?); it has indices, pulls, more",
    ),
    "a helper that is not compiled": (
        "@compiled\ndef helper",
        "def helper",
        "arm = helper",
        "helper is an ordinary Python function; put @compiled above it",
    ),
    "a handler that is not compiled": (
        "@compiled\ndef on_pull",
        "def on_pull",
        "def on_pull",
        "on_pull is an ordinary Python function; put @compiled above it",
    ),
    "a new array": (
        IN_DECIDE,
        "arm = int(np.zeros(3)[0])",
        "np.zeros(3)",
        "it creates an array, which a function with @compiled cannot; create the array in init as a field of the state",
    ),
    "a new array by arithmetic": (IN_HANDLER, "state.pulls[:] = state.pulls + 1", "pulls + 1", "it creates an array"),
    "a float as an index of an array": (
        IN_HANDLER,
        "state.pulls[arm / 2] += 1",
        "arm / 2",
        "indices are whole numbers, as int(...) gives them",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_that_is_found_before_the_run(tmp_path: Path, mistake: str) -> None:
    """What can be seen in the functions and in the state is told before anything is compiled."""
    old, new, line, reason = MISTAKES[mistake]
    told = refusal(policy_with(tmp_path, old, new))
    assert reason in told
    assert re.search(rf"\(mistaken.py, line {line_of(tmp_path, line)}, in \w+\)$", told), told


@needs_numba
@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("mistake", COMPILER_MISTAKES)
def test_a_mistake_that_numba_finds(tmp_path: Path, mistake: str, engine: EngineName) -> None:
    """What only Numba can find is told with the line of the user's file, not that of the loop around it."""
    old, new, line, reason = COMPILER_MISTAKES[mistake]
    told = refusal(policy_with(tmp_path, old, new), engine)
    assert told.startswith("policy 'mistaken'")
    assert reason in told
    assert f"(mistaken.py, line {line_of(tmp_path, line)}" in told
    assert "\n" not in told


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("arm", [0, 1, 2])
def test_an_index_that_is_nan(tmp_path: Path, arm: int, engine: EngineName) -> None:
    """An index that is NaN, of whatever arm, ends the run; the error names arm, round and `decide`."""
    change = f"state.indices[{arm}] = math.nan if round == 5 else 0.0; arm = largest(state.indices, True, stream)"
    policy = policy_with(tmp_path, IN_DECIDE, change)
    assert refusal(policy, engine) == (
        f"policy 'mistaken': in round 5 the index of arm {arm} is NaN, so that no index is the largest; give an arm "
        f"without pulls the index math.inf (mistaken.py, line {line_of(tmp_path, 'def decide')}, in decide)"
    )


def test_brackets_after_compiled() -> None:
    """`@compiled()` is told as what it is."""
    with pytest.raises(TypeError, match="write @compiled without brackets"):
        compiled()
