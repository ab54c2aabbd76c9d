"""Scenarios: reading, defaults, round trips, changes, and the policies that they name."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import scenario_keys, scenarios

from tpstream.model.errors import PolicyError, ScenarioError, UnknownNameError
from tpstream.policies import POLICIES
from tpstream.policies.base import IndexParameters, PythonPolicy
from tpstream.policies.ucb1 import POLICY as UCB1
from tpstream.scenario.scenario import Scenario

TEXT = """
name = "two-prices"
horizon = 2000
span = 30
seed = 1
drain = true

[rewards]
kind = "smooth-beta"
groups = 10
a = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
b = [3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
spread = "last"

[[arms]]
name = "low"
maximum = 100.0
[[arms]]
name = "high"
maximum = 140

[[policies]]
kind = "tp-ucb-fr"
groups = 15
ties = "first"
[[policies]]
kind = "delayed-ucb1"
"""

KEYS: dict[str, Any] = {
    "name": "small",
    "horizon": 20,
    "span": 12,
    "rewards": {"kind": "smooth-beta", "groups": 6},
    "arms": [{"maximum": 1.0}, {"name": "second", "maximum": 2.0}, {"maximum": 3.0}],
}

LISTED = [
    {"kind": "tp-ucb-fr", "groups": 3},
    {"kind": "tp-ucb-fr", "groups": 4, "ties": "first"},
    {"kind": "tp-ucb-ew", "name": "equal", "groups": 2},
    {"kind": "delayed-ucb1", "start": "random"},
]


@pytest.fixture
def listing() -> Scenario:
    """A scenario that lists one policy twice, one under another name, and one alone."""
    return Scenario(**KEYS, policies=LISTED)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The file of a scenario with recorded rewards beside it."""
    (tmp_path / "sales.csv").write_text("arm,x1,x2\na,1,2\nb,0,4\na,2,1\n")
    path = tmp_path / "shop.toml"
    path.write_text("""
        name = "shop"
        horizon = 3
        span = 2
        arms = [{ name = "a" }, { name = "b", maximum = 5 }]
        rewards = { kind = "trace", file = "sales.csv" }
    """)
    return path


def test_a_file_says_what_python_says(tmp_path: Path) -> None:
    """A TOML file and the same keys in Python are equal scenarios."""
    path = tmp_path / "two-prices.toml"
    path.write_text(TEXT)
    in_code = Scenario(
        name="two-prices",
        horizon=2000,
        span=30,
        seed=1,
        drain=True,
        rewards={"kind": "smooth-beta", "groups": 10, "a": [1] * 10, "b": [3] * 10, "spread": "last"},
        arms=[{"name": "low", "maximum": 100.0}, {"name": "high", "maximum": 140}],
        policies=[{"kind": "tp-ucb-fr", "groups": 15, "ties": "first"}, {"kind": "delayed-ucb1"}],
    )
    assert Scenario.load(path) == in_code


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    """A file saved with a byte order mark reads like one without."""
    path = tmp_path / "marked.toml"
    path.write_text(TEXT, encoding="utf-8-sig")
    assert Scenario.load(str(path)).name == "two-prices"


def test_resolved_is_complete() -> None:
    """Everything that was left out is in the resolved form, by its default."""
    assert Scenario(**KEYS, policies=[{"kind": "tp-ucb-ew"}]).resolved() == {
        "name": "small",
        "horizon": 20,
        "span": 12,
        "seed": 0,
        "drain": False,
        "rewards": {"kind": "smooth-beta", "groups": 6, "a": None, "b": None, "spread": "even"},
        "arms": [
            {"name": "arm-1", "maximum": 1.0, "a": None, "b": None},
            {"name": "second", "maximum": 2.0, "a": None, "b": None},
            {"name": "arm-3", "maximum": 3.0, "a": None, "b": None},
        ],
        "policies": [{"kind": "tp-ucb-ew", "name": "tp-ucb-ew", "ties": "random", "groups": None}],
    }


@given(scenarios())
def test_resolved_parses_to_an_equal_scenario(scenario: Scenario) -> None:
    """Through JSON and back, a scenario is the same, to the last digit."""
    again = Scenario.parse(json.loads(json.dumps(scenario.resolved())))
    assert again == scenario
    assert again.resolved() == scenario.resolved()
    assert hash(again) == hash(scenario)
    np.testing.assert_array_equal(again.problem().means, scenario.problem().means)


@given(scenario_keys())
def test_what_was_given_is_kept(keys: dict[str, Any]) -> None:
    """Every value given is in the resolved form, unchanged."""
    resolved = Scenario(**keys).resolved()
    for key in keys.keys() - {"arms", "policies", "rewards"}:
        assert resolved[key] == keys[key]
    assert resolved["rewards"] | keys["rewards"] == resolved["rewards"]
    assert [arm | given for arm, given in zip(resolved["arms"], keys["arms"], strict=True)] == resolved["arms"]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 5},
        {"drain": True},
        {"name": "other"},
        {"policies": [{"kind": "ucb1"}]},
        {"rewards": {"kind": "smooth-beta", "groups": 3}},
    ],
    ids=str,
)
def test_a_difference_is_a_difference(change: dict[str, Any]) -> None:
    """Scenarios that say something else are not equal."""
    assert Scenario(**KEYS) != Scenario(**KEYS | change)
    assert Scenario(**KEYS).with_(**change) == Scenario(**KEYS | change)


def test_with_leaves_the_original_alone() -> None:
    """A changed copy is a copy, and is validated."""
    scenario = Scenario(**KEYS)
    assert (scenario.with_(horizon=50).horizon, scenario.horizon) == (50, 20)
    with pytest.raises(ScenarioError, match="horizon: must be at least the number of arms, 3, got 2"):
        scenario.with_(horizon=2)


def test_tables_of_another_scenario_can_be_given() -> None:
    """The tables of a scenario are values that another one takes."""
    scenario = Scenario(**KEYS)
    assert Scenario(**KEYS | {"arms": scenario.arms, "rewards": scenario.rewards}) == scenario


def test_numpy_values_are_plain_values() -> None:
    """Numbers, arrays, tuples and paths from Python code are taken as a file would hold them."""
    rewards = {"kind": "smooth-beta", "groups": np.int64(6), "a": np.ones(6), "b": (1,) * 6}
    scenario = Scenario(**KEYS | {"horizon": np.int32(20), "name": Path("small"), "rewards": rewards})
    assert scenario == Scenario(**KEYS | {"rewards": {"kind": "smooth-beta", "groups": 6, "a": [1] * 6, "b": [1] * 6}})


def test_a_scenario_cannot_be_changed() -> None:
    """Neither a key nor a key of a table can be set."""
    scenario = Scenario(**KEYS)
    for target, key in ((scenario, "horizon"), (scenario.arms[0], "name"), (scenario.rewards, "kind")):
        with pytest.raises(ValueError, match="frozen"):
            setattr(target, key, "other")


def test_a_scenario_travels_to_other_processes(recorded: Path) -> None:
    """Pickled and read again it is the same, and still finds its files."""
    scenario = Scenario.load(recorded)
    again = pickle.loads(pickle.dumps(scenario))  # noqa: S301 (our own bytes)
    assert again == scenario
    assert (again.folder, again.source) == (recorded.parent, str(recorded))
    assert again.problem().maxima.tolist() == [3, 5]


def test_the_problem() -> None:
    """Names, maxima, span, horizon, groups and means are those of the world."""
    problem = Scenario(**KEYS).problem()
    assert (problem.names, problem.span, problem.horizon, problem.groups) == (("arm-1", "second", "arm-3"), 12, 20, 6)
    assert problem.maxima.tolist() == [1, 2, 3]
    assert problem.means is not None
    assert problem.means.tolist() == [0.5, 1, 1.5]


def test_models_are_built_anew_and_the_problem_once() -> None:
    """Every world has rewards and timing of its own; the problem, which never changes, is shared."""
    scenario = Scenario(**KEYS)
    one, other = (scenario.build_world(7, run) for run in (0, 1))
    assert one.rewards is not other.rewards
    assert one.timing is not other.timing
    assert one.problem is other.problem is scenario.problem()


def test_files_are_relative_to_the_scenario(recorded: Path) -> None:
    """A recorded scenario finds its file from any working directory; means and maxima are the record's."""
    problem = Scenario.load(recorded).problem()
    assert problem.means is not None
    assert (problem.means.tolist(), problem.maxima.tolist(), problem.groups) == ([3, 4], [3, 5], None)


def test_parsing_without_check_needs_no_record(recorded: Path) -> None:
    """What a log says about its scenario can be read where the recorded rewards are not."""
    resolved = Scenario.load(recorded).resolved()
    elsewhere = Scenario.parse(resolved, recorded.parent / "elsewhere", check=False)
    assert elsewhere.resolved() == resolved
    with pytest.raises(ScenarioError, match="there is no file"):
        elsewhere.build_rewards()


def test_labels(listing: Scenario) -> None:
    """A label is the given name, else the kind, with the given parameters where the kind is not alone."""
    labels = [choice.label for choice in listing.choices()]
    assert labels == ["tp-ucb-fr:groups=3", "tp-ucb-fr:groups=4,ties=first", "equal", "delayed-ucb1"]


@pytest.mark.parametrize(
    ("spec", "label", "parameters"),
    [
        ("tp-ucb-fr:groups=3", "tp-ucb-fr:groups=3", {"groups": 3, "ties": "random", "caps": None}),
        (
            "tp-ucb-fr:groups=4,ties=first",
            "tp-ucb-fr:groups=4,ties=first",
            {"groups": 4, "ties": "first", "caps": None},
        ),
        (
            "tp-ucb-fr:caps={a=1,b=2},groups=4",
            "tp-ucb-fr:caps={ a = 1, b = 2 },groups=4",
            {"groups": 4, "ties": "random", "caps": {"a": 1.0, "b": 2.0}},
        ),
        ("tp-ucb-fr:groups=auto", "tp-ucb-fr:groups=auto", {"groups": "auto", "ties": "random", "caps": None}),
        ("equal", "equal", {"groups": 2, "ties": "random"}),
        ("tp-ucb-ew", "equal", {"groups": 2, "ties": "random"}),
        ("delayed-ucb1", "delayed-ucb1", {"start": "random", "ties": "random", "groups": 1}),
        ("ucb1", "ucb1", {"ties": "random"}),
        ("uniform", "uniform", {}),
        ("tp-ucb-ew:ties=first", "tp-ucb-ew:ties=first", {"groups": 6, "ties": "first"}),
        (
            ' tp-ucb-ew : ties = "first" , groups = 12',
            "tp-ucb-ew:groups=12,ties=first",
            {"groups": 12, "ties": "first"},
        ),
        ("delayed-ucb1:ties=first", "delayed-ucb1:ties=first", {"start": "round-robin", "ties": "first", "groups": 1}),
    ],
)
def test_a_policy_by_name(listing: Scenario, spec: str, label: str, parameters: dict[str, Any]) -> None:
    """Listed ones take their parameters from the scenario, others the defaults and what is written behind the name."""
    choice = listing.policy(spec)
    kind = spec.partition(":")[0].strip().replace("equal", "tp-ucb-ew")
    form = POLICIES.find(kind).for_parameters(choice.parameters)
    assert (choice.label, choice.form, choice.parameters.model_dump()) == (label, form, parameters)


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (
            "tp-ucb-fr",
            PolicyError,
            "'tp-ucb-fr' is listed 2 times; ask for one of 'tp-ucb-fr:groups=3', 'tp-ucb-fr:gro",
        ),
        (
            "tp-ucb-rf",
            UnknownNameError,
            "unknown policy 'tp-ucb-rf' (did you mean 'tp-ucb-fr'?); known: ",
        ),
        ("tp-ucb-rf:groups=3", UnknownNameError, "unknown policy 'tp-ucb-rf' (did you mean 'tp-ucb-fr'?)"),
        ("equals", UnknownNameError, "unknown policy 'equals' (did you mean 'equal'?)"),
        ("", UnknownNameError, "unknown policy ''"),
        (
            "tp-ucb-fr:groups=5",
            PolicyError,
            "tp-ucb-fr:groups=5: groups = 5 does not divide the span 12; use one of 1, 2",
        ),
        ("tp-ucb-fr:groups=0", PolicyError, "tp-ucb-fr:groups=0: groups: must be at least 1, got 0"),
        ("tp-ucb-fr:groups=three", PolicyError, "groups: must be a whole number, got 'three'"),
        ("tp-ucb-fr:groups=1979-05-27", PolicyError, "groups: must be a whole number, got '1979-05-27'"),
        ("ucb1:tie=first", PolicyError, "ucb1:tie=first: tie: unknown key (did you mean 'ties'?)"),
        ("ucb1:groups=3", PolicyError, "ucb1:groups=3: groups: unknown key; known: ties"),
        ("uniform:ties=first", PolicyError, "uniform:ties=first: ties: unknown key; remove it"),
        ("ucb1:ties=frist", PolicyError, "ties: must be 'random' or 'first', got 'frist' (did you mean 'first'?)"),
        ("ucb1:first", PolicyError, "'ucb1:first': 'first' is no parameter; write it as in ucb1:key=value"),
        ("ucb1:ties=", PolicyError, "'ties=' is no parameter"),
        ("ucb1:ties=first,ties=random", PolicyError, "'ucb1:ties=first,ties=random': ties is given twice; keep one"),
    ],
)
def test_a_wrong_policy(listing: Scenario, spec: str, error: type[Exception], message: str) -> None:
    """A policy that cannot be meant is refused in one line that says why."""
    with pytest.raises(error) as caught:
        listing.policy(spec)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_as_an_object(listing: Scenario) -> None:
    """An object in either form is taken as it is, with its default parameters."""
    own = PythonPolicy(name="own", parameters=IndexParameters, create=lambda *_: None)  # type: ignore[arg-type]
    for form in (UCB1, own):
        choice = listing.policy(form)
        assert (choice.label, choice.form, choice.parameters) == (form.name, form, IndexParameters())


def test_no_listed_policies_means_the_papers() -> None:
    """A scenario that lists none is for the four of the paper, with the environment's groups."""
    choices = Scenario(**KEYS).choices()
    assert [choice.label for choice in choices] == ["ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew"]
    assert [choice.parameters.model_dump().get("groups") for choice in choices] == [None, 1, 6, 6]


def test_recorded_rewards_ask_for_groups(recorded: Path) -> None:
    """Where the environment promises no groups, a policy that assumes some must be told."""
    scenario = Scenario.load(recorded)
    with pytest.raises(PolicyError, match="tp-ucb-fr: groups are not known for these rewards; write groups = 1"):
        scenario.policy("tp-ucb-fr")
    assert scenario.policy("tp-ucb-fr:groups=2").parameters.model_dump()["groups"] == 2


@given(st.data())
def test_a_label_written_out_names_the_same_policy(data: st.DataObject) -> None:
    """Parameters written behind the kind are read back as they were."""
    parameters = data.draw(
        st.fixed_dictionaries(
            {}, optional={"groups": st.sampled_from([1, 2, 3]), "ties": st.sampled_from(["random", "first"])}
        )
    )
    tables = [{"kind": "tp-ucb-fr", **parameters}, {"kind": "tp-ucb-fr", "name": "other"}]
    choice = Scenario(**KEYS, policies=tables).choices()[0]
    assert Scenario(**KEYS).policy(choice.label) == choice


def test_importing_is_light() -> None:
    """Reading about scenarios imports none of the heavy libraries; they come with the kinds that need them."""
    heavy = {"numba", "pandas", "scipy", "matplotlib", "pyarrow", "simpy"}
    code = f"import sys, tpstream.scenario.scenario; print(sorted({heavy!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
