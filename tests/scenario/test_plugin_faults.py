"""A plug-in that goes wrong in a run: the error names it, the pull and the part; the log up to there is readable."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from bad_plugins import HORIZON, Kind, failure
from plugged import forgetful
from studies import small

from tpstream import load_plugin, simulate
from tpstream.engines.engine import EngineName
from tpstream.model.arrays import Floats
from tpstream.model.errors import EngineError, PluginError, PolicyError, ScenarioError
from tpstream.model.events import Events
from tpstream.model.interfaces import Rewards, Schedule
from tpstream.model.numba_support import compiled
from tpstream.policies.base import Parameters, PythonPolicy, SharedPolicy
from tpstream.scenario.plugins import REGISTRIES

__all__ = ["forgetful"]
pytestmark = pytest.mark.usefixtures("forgetful")

SPAN = 6
MODELS = {
    "delays": """
class Model:
    whole = True
    def apply(self, schedule, rewards, arm, stream):
        return Schedule(schedule.offsets + {draw}, schedule.lost)
""",
    "processes": """
class Model:
    def run(self, context):
        yield context.wait_until(context.arrivals[-1][0] + {draw})
""",
    "arrivals": """
class Model:
    regular = False
    def times(self, stream, horizon):
        return np.arange(1.0, horizon + 1) + {draw}
""",
    "rewards": """
class Arm:
    mean, maximum = 3.0, 6.0
    def sample(self, stream, pulls):
        return {draw} * stream.random((pulls, 6))
def Model():
    return Rewards([Arm(), Arm()], None)
""",
    "policies": """
class Model:
    def __init__(self, problem, parameters, stream):
        self.stream = stream
    def decide(self, round):
        return int({draw})
POLICY = PythonPolicy("new", Parameters, Model)
""",
}
"""Models and policies of which a method draws."""
MODEL_FILE = """
import random
import numpy as np
from numpy.random import default_rng
from tpstream.model.interfaces import Rewards, Schedule
from tpstream.model.settings import Settings
from tpstream.policies.base import Parameters, PythonPolicy
RNG = default_rng(3)
POLICY = None
def luck():
    return random.random()
{model}
class Kind:
    settings = arm_settings = Settings
    def build(self, settings, *given):
        return Model()
PLUGINS = {{"{section}": {{"new": POLICY or Kind()}}}}
"""


@pytest.mark.parametrize("section", MODELS)
@pytest.mark.parametrize(
    ("draw", "name"),
    [
        ("np.random.rand()", "np.random.rand"),
        ("random.choice((1, 2))", "random.choice"),
        ("RNG.random()", "RNG"),
        ("default_rng().random()", "default_rng"),
        ("np.random.default_rng().random()", "np.random.default_rng"),
        ("luck()", "random.random"),
    ],
)
def test_other_randomness_is_refused(tmp_path: Path, section: str, draw: str, name: str) -> None:
    """A model that draws from a generator which the seed does not set is refused on loading, with file and line."""
    text = MODEL_FILE.format(model=MODELS[section].format(draw=draw), section=section.replace("processes", "delays"))
    (tmp_path / "mine.py").write_text(text)
    told = (
        rf"\['new'\] would give other results each time: {name} draws random numbers .* \(mine\.py, line \d+, in \w+\)$"
    )
    with pytest.raises(PluginError, match=told):
        load_plugin(tmp_path / "mine.py")


@pytest.mark.parametrize("section", MODELS)
@pytest.mark.parametrize(
    "draw", ["self.stream.random()", "default_rng(7).random()", "np.random.default_rng([1, 2]).random()"]
)
def test_generators_with_a_seed_are_allowed(tmp_path: Path, section: str, draw: str) -> None:
    """A generator that is made from a seed inside a method gives the same results each time."""
    text = MODEL_FILE.format(model=MODELS[section].format(draw=draw), section=section.replace("processes", "delays"))
    (tmp_path / "mine.py").write_text(text)
    assert len(load_plugin(tmp_path / "mine.py").names) == 1


def later_wrong(wrong: Callable[[Floats], Any]) -> Callable[[Floats], Any]:
    """Right for the first block of an arm, wrong from then on."""
    calls = [0]

    def answer(right: Floats) -> Any:
        calls[0] += 1
        return right if calls[0] <= 3 else wrong(right)

    return answer


def _raise(_: Floats) -> Any:
    raise KeyError("lost")


def _at(value: float) -> Callable[[Floats], Floats]:
    """That value at part 4 of the second pull."""

    def change(right: Floats) -> Floats:
        right = right.copy()
        right[1, 3] = value
        return right

    return change


class Delay:
    """Whole lags, right or wrong."""

    whole = True

    def __init__(self, answer: Callable[[Floats], Any]) -> None:
        self.answer = answer

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002
        """The offsets."""
        return Schedule(self.answer(schedule.offsets + 1), schedule.lost)


class Arm:
    """Uniform parts, right or wrong."""

    mean, maximum = 3.0, 6.0

    def __init__(self, answer: Callable[[Floats], Any]) -> None:
        self.answer = answer

    def sample(self, stream: np.random.Generator, pulls: int) -> Any:
        """The parts."""
        return self.answer(stream.random((pulls, SPAN)))


PULL = r"pulls? 25[78]( to 512)? of arm '(low|middle|high)'"
DELAY_FAULTS: dict[str, tuple[Callable[[Floats], Any], str]] = {
    "raises": (_raise, rf"delays\[0\] \(bad\) raised KeyError for {PULL}: 'lost'"),
    "shape": (
        lambda right: right[:, :2],
        rf"delays\[0\] \(bad\): offsets of {PULL} must be float64 of shape \(256, 6\)",
    ),
    "not a number": (_at(np.nan), rf"delays\[0\] \(bad\): {PULL}, part 4 has an offset of nan"),
    "negative lag": (_at(1.0), rf"delays\[0\] \(bad\): {PULL}, part 4 has a lag of -2\.0"),
}
REWARD_FAULTS: dict[str, tuple[Callable[[Floats], Any], str]] = {
    "raises": (
        _raise,
        r"rewards \(bad\) of arm '\w+': drawing raised KeyError for pulls 257 to 512 of the arm: 'lost'",
    ),
    "shape": (
        lambda right: right[:9],
        r"rewards \(bad\) of arm '\w+': sample must return .* \(256, 6\), got .* \(9, 6\)",
    ),
    "not a number": (_at(np.nan), r"rewards \(bad\) of arm '\w+': pull 258 of the arm has part 4 = nan"),
    "negative": (_at(-0.5), r"rewards \(bad\) of arm '\w+': pull 258 of the arm has part 4 = -0\.5"),
    "too much": (_at(7.0), r"rewards \(bad\) of arm '\w+': pull 258 of the arm has a total of .* at most 6\.0"),
}


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("fault", DELAY_FAULTS)
def test_a_delay_goes_wrong(tmp_path: Path, fault: str, engine: EngineName) -> None:
    """The delay is named with its place in the scenario, the pull and the part."""
    wrong, message = DELAY_FAULTS[fault]
    REGISTRIES["delays"].added["bad"] = Kind(lambda *_: Delay(later_wrong(wrong)))
    told = failure(tmp_path, small(horizon=HORIZON, delays=[{"kind": "bad"}]), "uniform", engine)
    assert re.search(message, told), told


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("fault", REWARD_FAULTS)
def test_rewards_go_wrong(tmp_path: Path, fault: str, engine: EngineName) -> None:
    """The reward model is named, with the arm, the pull and the part."""
    wrong, message = REWARD_FAULTS[fault]
    answer = later_wrong(wrong)
    REGISTRIES["rewards"].added["bad"] = Kind(lambda settings, arms, context: Rewards([Arm(answer) for _ in arms], 1))  # noqa: ARG005
    names = [{"name": name} for name in ("low", "middle", "high")]
    told = failure(tmp_path, small(horizon=HORIZON, rewards={"kind": "bad"}, arms=names), "uniform", engine)
    assert re.search(message, told), told


class InTurn:
    """A policy in Python that goes wrong in round 50."""

    def __init__(self, problem: Any, fault: str) -> None:
        self.arms, self.fault = problem.arms, fault

    def hear(self, events: Events) -> None:
        """Perhaps raise."""
        if self.fault == "hear" and events.round[-1] >= 49:
            raise KeyError("lost")

    def decide(self, round: int) -> Any:
        """Perhaps raise, or answer oddly."""
        if round == 50 and self.fault == "decide":
            raise KeyError("lost")
        return {"nothing": None, "no arm": 9}.get(self.fault) if round == 50 else round % self.arms

    def indices(self) -> Floats:
        """None."""
        return np.zeros(self.arms)


POLICY_FAULTS = {
    "hear": r"^subscriber 'policy bad' raised KeyError on events \d+ to \d+ \(round 49\): 'lost'$",
    "decide": r"^policy 'bad' raised KeyError in round 50: 'lost'$",
    "nothing": r"^policy 'bad' decided for None in round 50; give an arm's number$",
    "no arm": r"^policy 'bad' decided for arm 9 in round 50; arms are 0 to 2$",
}


@pytest.mark.parametrize("fault", POLICY_FAULTS)
def test_a_policy_in_python_goes_wrong(tmp_path: Path, fault: str) -> None:
    """The policy is named, and the round."""
    policy = PythonPolicy("bad", Parameters, lambda problem, parameters, stream: InTurn(problem, fault))  # noqa: ARG005
    told = failure(tmp_path, small(), policy, "simpy")
    assert re.search(POLICY_FAULTS[fault], told), told


class BadState(NamedTuple):
    """Nothing but the indices."""

    indices: Any


@compiled
def _decide(state: BadState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    if round == 50:
        raise ValueError("fifty")
    return round % 3


@compiled
def _of_no_type(state: BadState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    return state.no_such_field  # type: ignore[attr-defined,no-any-return]


def shared(**functions: Any) -> SharedPolicy:
    """A policy in the shared form."""
    given = {"init": lambda problem, _: BadState(np.zeros(problem.arms)), "decide": _decide, **functions}
    return SharedPolicy("bad", Parameters, **given)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_compiled_policy_goes_wrong(tmp_path: Path, engine: EngineName) -> None:
    """An exception of a compiled decision is told with policy and round, too; with a log and without."""
    told = failure(tmp_path, small(), shared(), engine)
    assert told == "policy 'bad' raised ValueError in round 50: fifty"
    with pytest.raises(PolicyError, match=r"^policy 'bad' raised ValueError in round 50: fifty$"):
        simulate(small(), shared(), engine=engine)


def test_a_policy_that_cannot_be_compiled() -> None:
    """What Numba says is cut down to the line that tells, with the file and the line."""
    with pytest.raises(PolicyError) as caught:
        simulate(small(), shared(decide=_of_no_type))
    told = str(caught.value)
    assert re.search(
        r"^policy 'bad' cannot be compiled: .*no_such_field.*\(test_plugin_faults\.py, line \d+\)$", told
    ), told


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_policy_that_cannot_begin(engine: EngineName) -> None:
    """A policy that raises when it is created is named."""
    with pytest.raises(
        PolicyError, match=r"^policy 'bad' raised ZeroDivisionError when it was created: division by zero$"
    ):
        simulate(small(), shared(init=lambda problem, parameters: 1 / 0), engine=engine)  # noqa: ARG005


@pytest.mark.parametrize(
    ("section", "keys", "message"),
    [
        ("rewards", {"rewards": {"kind": "bad"}, "arms": [{}]}, "^rewards.kind: 'bad' raised ZeroDivisionError"),
        ("delays", {"delays": [{"kind": "bad"}]}, r"^delays\[0\].kind: 'bad' raised ZeroDivisionError"),
        ("arrivals", {"arrivals": {"kind": "bad"}}, "^arrivals.kind: 'bad' raised ZeroDivisionError"),
    ],
)
def test_a_model_that_cannot_be_built(section: str, keys: dict[str, Any], message: str) -> None:
    """A plug-in that raises when it is built is an error of the scenario that names it."""
    REGISTRIES[section].added["bad"] = Kind(lambda *_: 1 / 0)
    with pytest.raises(ScenarioError, match=message):
        small(**keys)


def test_a_forced_engine_says_why() -> None:
    """A plug-in that only SimPy can serve is named when the compiled engine is asked for."""
    policy = PythonPolicy("bad", Parameters, lambda problem, parameters, stream: InTurn(problem, ""))  # noqa: ARG005
    with pytest.raises(EngineError, match="policy 'bad' is an ordinary Python object"):
        simulate(small(), policy, engine="compiled")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Odd(dict):\n    def items(self):\n        raise ZeroDivisionError('x')\n", "ZeroDivisionError"),
        ("class Odd(dict):\n    def values(self):\n        raise SystemExit\n", "SystemExit"),
        ("class Odd(dict):\n    def __len__(self):\n        raise KeyError('y')\n", "KeyError|settings"),
    ],
)
def test_a_mapping_of_plugins_that_raises(tmp_path: Path, text: str, message: str) -> None:
    """What the mapping PLUGINS does is told with the file, like any other mistake in it."""
    file = tmp_path / "odd.py"
    file.write_text(f"{text}PLUGINS = Odd(delays={{'mine': Odd()}})\n")
    with pytest.raises(PluginError, match=message) as caught:
        load_plugin(file)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("section", ["delays", "rewards", "arrivals", "policies", "sinks"])
def test_a_definition_whose_attributes_raise(tmp_path: Path, section: str) -> None:
    """An object that raises whatever it is asked for is no definition, and an error names the file."""
    file = tmp_path / "odd.py"
    odd = "class Odd:\n    def __getattr__(self, name):\n        raise ZeroDivisionError(name)\n"
    file.write_text(f"{odd}PLUGINS = {{'{section}': {{'mine': Odd()}}}}\n")
    with pytest.raises(PluginError, match=r"odd\.py: PLUGINS"):
        load_plugin(file)


def test_a_module_whose_attributes_raise(tmp_path: Path) -> None:
    """The same for the module itself."""
    file = tmp_path / "odd.py"
    file.write_text("def __getattr__(name):\n    raise ZeroDivisionError(name)\n")
    with pytest.raises(PluginError, match=r"odd\.py: PLUGINS raised ZeroDivisionError when it was read"):
        load_plugin(file)


@pytest.mark.parametrize("error", ["SystemExit(0)", "Own()", "MemoryError()", "RecursionError()"])
def test_a_file_that_raises_anything(tmp_path: Path, error: str) -> None:
    """Whatever a file raises while it is loaded, also what is no `Exception`, is told with the file and the line."""
    file = tmp_path / "odd.py"
    file.write_text(f"class Own(BaseException): pass\nraise {error}\n")
    with pytest.raises(PluginError, match=rf"odd\.py: line 2: {error.partition('(')[0]}.*mend the file"):
        load_plugin(file)


def test_rewards_of_too_few_arms(tmp_path: Path) -> None:
    """A reward model must have a model for each arm."""
    file = tmp_path / "few.py"
    model = "class Arm:\n    mean, maximum = 1.0, 2.0\ndef Model():\n    return Rewards([Arm()], None)\n"
    file.write_text(MODEL_FILE.format(model=model, section="rewards"))
    load_plugin(file)
    with pytest.raises(ScenarioError, match=r"rewards.kind: 'new' built models of 1 arms, and there are 3; return one"):
        small().with_(rewards={"kind": "new"}, arms=[{"name": name} for name in "abc"])
