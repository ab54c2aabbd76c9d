"""The keys of a scenario about time: delays, arrivals, resources, window, default reward."""

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel
from strategies import arrival_tables, delay_tables

from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext
from tpstream.model.settings import Settings
from tpstream.model.world import Timing
from tpstream.scenario.catalogue import describe, json_schema
from tpstream.scenario.scenario import Scenario
from tpstream.timing import ARRIVALS, DELAYS

KEYS: dict[str, Any] = {
    "name": "small",
    "horizon": 20,
    "span": 4,
    "rewards": {"kind": "smooth-beta", "groups": 2},
    "arms": [{"name": "low", "maximum": 1.0}, {"name": "high", "maximum": 2.0}],
}
WEEKLY = {"kind": "reporting", "every": 7}
LAB = {"kind": "lab-queue", "resource": "lab", "mean": 0.5}
GEOMETRIC = {"kind": "geometric", "p": 0.5}


def with_keys(**keys: Any) -> Scenario:
    """A small scenario that says something about time."""
    return Scenario(**KEYS, **keys)


def test_the_papers_world_says_nothing_about_time() -> None:
    """Regular arrivals and no delays, written out, are the same scenario as one without a word about them."""
    written_out = with_keys(
        arrivals={"kind": "regular", "every": 1}, delays=[{"kind": "none"}, {"kind": "none"}], resources={}
    )
    assert written_out.resolved() == Scenario(**KEYS).resolved()
    assert written_out == Scenario(**KEYS)
    assert not {"arrivals", "delays", "resources", "window", "default_reward"} & set(written_out.resolved())


@pytest.mark.parametrize("keys", [{}, {"delays": [{"kind": "none"}], "arrivals": {"kind": "regular", "every": 1.0}}])
def test_the_papers_timing(keys: dict[str, Any]) -> None:
    """It has no delays, no window, and round t at time t."""
    timing = with_keys(**keys).timing()
    assert (timing.delays, timing.calendar, timing.process, timing.window, timing.default) == (
        (),
        None,
        None,
        None,
        None,
    )
    assert timing.arrivals == Timing().arrivals
    assert timing.whole


def test_the_timing_of_a_file(tmp_path: Path) -> None:
    """A file's sections make sampled delays, a calendar, a queue, resources, arrivals and a window."""
    (tmp_path / "lags.csv").write_text("lag\n1\n2\n")
    path = tmp_path / "trial.toml"
    path.write_text("""
        name = "trial"
        horizon = 20
        span = 4
        window = 40
        default_reward = 0
        arms = [{ name = "low", maximum = 1 }, { name = "high", maximum = 2 }]
        rewards = { kind = "smooth-beta", groups = 2 }
        [arrivals]
        kind = "ramp"
        end = 2.5
        duration = 10
        [resources]
        lab = 2
        [[delays]]
        kind = "empirical"
        file = "lags.csv"
        [[delays]]
        kind = "none"
        [[delays]]
        kind = "by-arm"
        [delays.arms]
        low = { kind = "geometric", p = 0.5 }
        [[delays]]
        kind = "reporting"
        every = 7
        [[delays]]
        kind = "lab-queue"
        resource = "lab"
        mean = 0.5
    """)
    scenario = Scenario.load(path)
    timing = scenario.timing()
    assert timing.names == ("delays[0] (empirical)", "delays[2] (by-arm: geometric)")
    assert [(stage.form, stage.name) for stage in timing.later] == [("queue", "delays[4] (lab-queue)")]
    assert (len(timing.delays), timing.lone_queue) == (2, True)
    assert timing.calendar is not None
    assert timing.calendar.reported(np.array([6.5, 8.0])).tolist() == [7, 14]
    assert (timing.resources, timing.window, timing.default) == ({"lab": 2}, 40, 0)
    assert timing.arrivals_name == "arrivals (ramp)"
    assert timing is scenario.timing()
    assert not timing.whole
    again = pickle.loads(pickle.dumps(scenario))  # noqa: S301 (our own bytes)
    assert again == scenario
    assert again.timing().names == timing.names


@given(delay_tables(4, ["low", "high"]), arrival_tables(), st.none() | st.floats(1, 50), st.none() | st.floats(0, 0.25))
@settings(max_examples=50)
def test_resolved_parses_to_an_equal_scenario(
    delays: list[dict[str, Any]], arrivals: dict[str, Any], window: float | None, default: float | None
) -> None:
    """Through JSON and back, what a scenario says about time is the same."""
    scenario = with_keys(delays=delays, arrivals=arrivals, window=window, default_reward=default)
    again = Scenario.parse(json.loads(json.dumps(scenario.resolved())))
    assert again == scenario
    assert again.resolved() == scenario.resolved()
    assert again.timing().whole == scenario.timing().whole


@given(delay_tables(4, ["low", "high"], whole=True))
@settings(max_examples=50)
def test_whole_tables_make_whole_timings(delays: list[dict[str, Any]]) -> None:
    """Delays that keep times whole, with regular arrivals, make a timing that is whole."""
    assert with_keys(delays=delays).timing().whole


@pytest.mark.parametrize(
    "keys",
    [
        {"delays": [{"kind": "constant", "lag": 0.5}]},
        {"delays": [{"kind": "reporting", "every": 0.5}]},
        {"delays": [LAB], "resources": {"lab": 1}},
        {"arrivals": {"kind": "poisson", "rate": 1}},
    ],
    ids=str,
)
def test_what_is_not_whole(keys: dict[str, Any]) -> None:
    """One delay, calendar, process or arrival process that leaves whole times is enough."""
    assert not with_keys(**keys).timing().whole


@pytest.mark.parametrize(
    "change",
    [
        {"delays": [GEOMETRIC]},
        {"arrivals": {"kind": "regular", "every": 2}},
        {"resources": {"lab": 1}},
        {"window": 3},
        {"default_reward": 0},
    ],
    ids=str,
)
def test_a_difference_is_a_difference(change: dict[str, Any]) -> None:
    """Scenarios that say something else about time are not equal, and say it in their resolved form."""
    assert with_keys(**change) != Scenario(**KEYS)
    assert change.keys() <= with_keys(**change).resolved().keys()
    assert Scenario(**KEYS).with_(**change) == with_keys(**change)


COMPLAINTS: dict[str, tuple[dict[str, Any], str]] = {
    "delays a table": ({"delays": GEOMETRIC}, "delays: must be a list of tables, got a table; write [[delays]]"),
    "no kind": ({"delays": [{"p": 0.5}]}, "delays[0].kind: missing; use one of none, constant, geometric..."),
    "unknown kind": (
        {"delays": [{"kind": "geomtric"}]},
        "delays[0].kind: unknown delay 'geomtric' (did you mean 'geometric'?)...",
    ),
    "unknown key": ({"delays": [{"kind": "constant", "lags": 1}]}, "delays[0].lags: unknown key (did you mean 'lag'?)"),
    "no key": ({"delays": [{"kind": "geometric"}]}, "delays[0].p: missing; add p (probability to arrive..."),
    "probability": ({"delays": [{**GEOMETRIC, "p": 1.5}]}, "delays[0].p: must be at most 1, got 1.5"),
    "text": ({"delays": [{**GEOMETRIC, "p": "0.5"}]}, "delays[0].p: must be a number, got '0.5'"),
    "neither": (
        {"delays": [{"kind": "dropout"}]},
        "delays[0]: needs rate or mean or probability or curve, and not several; give one of them",
    ),
    "negative dropout": (
        {"delays": [{"kind": "dropout", "rate": -1}]},
        "delays[0].rate: must be greater than 0, got -1",
    ),
    "nan lag": (
        {"delays": [{"kind": "empirical", "lags": [1, float("nan")]}]},
        "delays[0].lags[1]: must be a finite number, got nan",
    ),
    "lump too early": (
        {"delays": [{"kind": "none"}, {"kind": "lump", "at": 2}]},
        "delays[1].at: 2.0 is before the last part is due; give at least 3",
    ),
    "no file": (
        {"delays": [{"kind": "empirical", "file": "no.csv"}]},
        "delays[0].file: there is no file no.csv; give...",
    ),
    "lump not first": (
        {"delays": [WEEKLY, {"kind": "lump"}]},
        "delays[1]: 'lump' must know when all parts of a pull arrive, so it cannot come after delays[0] (reporting)...",
    ),
    "unknown resource": (
        {"delays": [LAB], "resources": {"lap": 1}},
        "delays[0].resource: there is no resource 'lab' (did you mean 'lap'?); declare it, as in [resources] lab = 1",
    ),
    "inner key": (
        {"delays": [{"kind": "by-arm", "arms": {"low": {"kind": "geometric", "q": 1}}}]},
        "2 errors\n  delays[0].arms.low.q: unknown key; known: kind, per, p\n  delays[0].arms.low.p: missing; add p...",
    ),
    "inner value": (
        {"delays": [{"kind": "by-arm", "arms": {"low": {"kind": "geometric", "p": True}}}]},
        "delays[0].arms.low.p: must be a number, got true",
    ),
    "inner kind": (
        {"delays": [{"kind": "by-arm", "arms": {"low": {"kind": "geomtric"}}}]},
        "delays[0].arms.low: unknown delay 'geomtric' (did you mean 'geometric'?)...",
    ),
    "inner no table": (
        {"delays": [{"kind": "reward-dependent", "threshold": 1, "below": 3}]},
        "delays[0].below: must be a table with a kind, as in...",
    ),
    "inner arm": (
        {"delays": [{"kind": "by-arm", "arms": {"hihg": {"kind": "none"}}}]},
        "delays[0].arms.hihg: there is no such arm (did you mean 'high'?); use names of low, high",
    ),
    "inner process": (
        {"delays": [{"kind": "by-arm", "arms": {"low": LAB}}], "resources": {"lab": 1}},
        "delays[0].arms.low.kind: 'lab-queue' cannot be inside of another delay; give it a [[delays]] of its own",
    ),
    "arrivals a list": ({"arrivals": []}, "arrivals: must be a table, got []; write [arrivals]"),
    "unknown arrivals": (
        {"arrivals": {"kind": "poison", "rate": 1}},
        "arrivals.kind: unknown arrival process 'poison' (did you mean 'poisson'?)...",
    ),
    "negative rate": ({"arrivals": {"kind": "poisson", "rate": -1}}, "arrivals.rate: must be greater than 0, got -1"),
    "mistyped rate": (
        {"arrivals": {"kind": "poisson", "rat": 1}},
        "arrivals.rat: unknown key (did you mean 'rate'?)",
    ),
    "no record": ({"arrivals": {"kind": "trace", "file": "no.csv"}}, "arrivals.file: there is no file no.csv; give..."),
    "resource 0": ({"resources": {"lab": 0}}, "resources.lab: must be at least 1, got 0"),
    "half a resource": ({"resources": {"lab": 1.5}}, "resources.lab: must be a whole number, got 1.5"),
    "resources a list": ({"resources": ["lab"]}, "resources: must be a table, got ['lab']"),
    "no window": ({"window": 0}, "window: must be greater than 0, got 0"),
    "endless window": ({"window": float("inf")}, "window: must be a finite number, got inf"),
    "window as text": ({"window": "40"}, "window: must be a number, got '40'"),
    "negative default": ({"default_reward": -1}, "default_reward: must be at least 0, got -1"),
}


@pytest.mark.parametrize("case", COMPLAINTS)
def test_bad_keys(case: str) -> None:
    """One thing is wrong, and the complaint says where and what."""
    change, expected = COMPLAINTS[case]
    with pytest.raises(ScenarioError) as caught:
        with_keys(**change)
    message = str(caught.value)
    assert message == expected if not expected.endswith("...") else message.startswith(expected[:-3])


@dataclass(frozen=True)
class Strange:
    """A plug-in that builds whatever it is told to."""

    built: object
    settings: type[BaseModel] = Settings

    def build(self, settings: object, context: BuildContext) -> object:  # noqa: ARG002
        """What was given."""
        return self.built


class Applies:
    """A delay that does not say whether it is whole."""

    def apply(self) -> None:
        """Nothing."""


class Both(Applies):
    """A delay in two forms."""

    def run(self) -> None:
        """Nothing."""


STRANGE_NOTHING, STRANGE_BOTH, STRANGE_UNSAID = Strange(None), Strange(Both()), Strange(Applies())


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nothing", "'nothing' must build what has one of apply, reported and run, got []"),
        ("both", "'both' must build what has one of apply, reported and run, got ['apply', 'run']"),
        ("unsaid", "what 'unsaid' builds does not say whether it is whole; add the property"),
    ],
)
def test_a_plug_in_in_no_known_form(kind: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a plug-in builds must be in one of the three forms of a delay."""
    monkeypatch.setitem(DELAYS.builtin, kind, f"{__name__}:STRANGE_{kind.upper()}")  # type: ignore[arg-type]
    with pytest.raises(ScenarioError) as caught:
        with_keys(delays=[{"kind": kind}])
    assert str(caught.value) == f"delays[0].kind: {message}"


@pytest.mark.parametrize(("key", "registry"), [("delays", DELAYS), ("arrivals", ARRIVALS)])
def test_the_schema_knows_every_kind(key: str, registry: Any) -> None:
    """For each delay and arrival process the schema has a table with its keys and no others."""
    schema = json_schema()
    described = schema["properties"][key]
    for kind, reference in zip(registry.names(), described.get("items", described)["oneOf"], strict=True):
        table = schema["$defs"][reference["$ref"].removeprefix("#/$defs/")]
        assert table["properties"]["kind"]["const"] == kind
        assert set(table["properties"]) == {"kind", *registry.find(kind).settings.model_fields}
        assert table["additionalProperties"] is False


@pytest.mark.parametrize(("what", "registry"), [("delays", DELAYS), ("arrivals", ARRIVALS)])
def test_everything_is_in_the_catalogue(what: str, registry: Any) -> None:
    """Every delay and arrival process is listed with a sentence about it."""
    rows = describe(what)
    assert [name for name, _, _ in rows] == registry.names()
    assert all(about.endswith(".") for _, about, _ in rows)


def test_the_catalogue_tells_the_keys() -> None:
    """Keys that must be given come first, then those with defaults."""
    keys = {name: keys for name, _, keys in describe("delays")}
    assert keys["geometric"] == 'p, per = "part"'
    assert keys["lognormal"].startswith("sigma, per = ")
