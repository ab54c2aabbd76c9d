"""The table [trial]: the design that it makes, and a line for each bad design."""

from typing import Any

import numpy as np
import pytest

from tpstream.model.errors import ScenarioError
from tpstream.scenario.scenario import Scenario

GOOD: dict[str, Any] = {
    "name": "responses",
    "horizon": 300,
    "visits": [2, 4, 8, 12],
    "drain": True,
    "rewards": {"kind": "binary"},
    "arms": [
        {"name": "standard", "probability": [0.1, 0.2, 0.2, 0.3]},
        {"name": "low", "probability": 0.4},
        {"name": "high", "probability": 0.5},
    ],
    "trial": {"control": "standard", "endpoint": "last"},
}
LOOKS = {"values": [100, 200]}
SUPERIOR = {"kind": "superiority", "method": "z", "alpha": 0.025}
FUTILE = {"kind": "futility", "method": "z", "beta": 0.1}
BAYES = {"kind": "superiority", "threshold": 0.98}


def changed(trial: dict[str, Any], **keys: Any) -> Scenario:
    """The good scenario with other keys, those of its trial put beside the ones that are there."""
    return Scenario(**{**GOOD, **keys, "trial": {**GOOD["trial"], **trial}})


def test_a_design_has_plain_values() -> None:
    """Names become numbers, the endpoint weights, and looks fractions of the information up to 1."""
    found = changed({"looks": LOOKS, "rules": [BAYES], "direction": "lower"}).design()
    assert found is not None
    assert (found.control, found.lower, found.due, found.counts) == (0, True, 12.0, True)
    assert found.weights.tolist() == [0, 0, 0, 1]
    assert found.information == pytest.approx((1 / 3, 2 / 3, 1))
    np.testing.assert_allclose(found.means, [0.3, 0.4, 0.5])
    assert (found.rules[0].against, found.rules[0].prior) == ("control", (1.0, 1.0))
    assert Scenario(**{**GOOD, "trial": None}).design() is None


def test_a_last_look_at_everything_is_the_final_analysis() -> None:
    """Then no further analysis has a share of the error."""
    found = changed({"looks": {"at": "information", "values": [0.5, 1.0]}}).design()
    assert found is not None
    assert found.information == (0.5, 1.0)


def test_caps_are_those_of_the_parts() -> None:
    """The largest value of a part of survival is the time between visits, also where visits are not equally far."""
    arms = [{"hazard": 0.1}, {"hazard": 0.2}]
    found = Scenario(**{**GOOD, "rewards": {"kind": "survival"}, "arms": arms, "trial": {}}).design()
    assert found is not None
    assert found.caps.tolist() == [[2, 2, 4, 4]] * 2
    assert not found.counts


@pytest.mark.parametrize(
    ("direction", "weights", "worst"),
    [
        ("higher", [0, 1, 0, 1], [0, 0, 0, 0]),
        ("lower", [0, 1, 0, 1], [1, 1, 1, 1]),
        ("higher", [-1, 0, 0, 1], [1, 0, 0, 0]),
    ],
)
def test_a_lost_part_has_the_worst_value(direction: str, weights: list[float], worst: list[float]) -> None:
    """It is the one that makes the endpoint worst; of a part that does not count it does not matter."""
    trial = {"control": "standard", "direction": direction, "weights": weights, "dropouts": "failure"}
    found = Scenario(**{**GOOD, "trial": trial}).design()
    assert found is not None
    chosen = np.array(weights) != 0
    assert found.worst[chosen].tolist() == np.array(worst)[chosen].tolist()


def test_an_allocation_is_the_policy() -> None:
    """It has the parameters of the table and the control; a scenario that is read again is equal."""
    scenario = changed({"allocation": {"kind": "best-probability", "minimum": 0.1, "control_share": 0.25}})
    (choice,) = scenario.choices()
    assert choice.label == "best-probability"
    assert (choice.parameters.minimum, choice.parameters.control) == (0.1, "standard")  # type: ignore[attr-defined]
    again = Scenario.parse(scenario.resolved())
    assert again == scenario
    assert again.choices() == scenario.choices()
    assert scenario.with_(trial=None).policies == ()


def test_a_rule_is_set_by_its_kind() -> None:
    """A threshold can be set as `--set` does it, by the kind of the rule."""
    from tpstream.scenario.overrides import Setting, set_key  # noqa: PLC0415

    keys = changed({"rules": [BAYES]}).resolved()
    set_key(keys, Setting("trial.rules.superiority.threshold", 0.99))
    found = Scenario.parse(keys).design()
    assert found is not None
    assert found.rules[0].threshold == 0.99


NORMAL = {
    "rewards": {"kind": "normal"},
    "arms": [{"name": "standard", "mean": 0.0, "deviation": 1.0}, {"mean": 1.0, "deviation": 1.0}],
}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "control": ({"control": "standart"}, "trial.control: there is no arm 'standart' (did you mean 'standard'?)"),
    "weights": ({"endpoint": None, "weights": [0, 1]}, "trial.weights: has 2 values for 4 parts; give one for each"),
    "weights 0": ({"endpoint": None, "weights": [0, 0, 0, 0]}, "trial.weights: must be finite and not all 0"),
    "both": ({"weights": [0, 0, 0, 1]}, "trial.weights: give either this or endpoint"),
    "late look": (
        {"looks": {"values": [100, 301]}},
        "trial.looks.values: 301 is after the end of the trial (horizon: 300)",
    ),
    "late time": (
        {"looks": {"at": "time", "values": [313]}},
        "trial.looks.values: 313 is after the end of the trial (when the last endpoint is due: 312)",
    ),
    "late information": ({"looks": {"at": "information", "values": [1.1]}}, "trial.looks.values: 1.1 is after the end"),
    "late random time": (
        {"looks": {"at": "time", "values": [100000]}, "arrivals": {"kind": "poisson", "rate": 5.0}},
        "trial.looks.values: 100000 is after the end of the trial (3 times the largest of when the last endpoint",
    ),
    "fisher of halves": (
        {"endpoint": None, "weights": [0, 0, 0.5, 0.5], "rules": [SUPERIOR | {"method": "fisher"}]},
        "trial.rules[0].method: fisher needs counts: an endpoint that is 0 or 1",
    ),
    "pooled halves": (
        {"endpoint": None, "weights": [0, 0, 0.5, 0.5], "rules": [SUPERIOR | {"pooled": True}]},
        "trial.rules[0].pooled: takes an endpoint between 0 and 1 for a proportion, and this one is not 0 or 1",
    ),
    "minima and the root": (
        {"allocation": {"kind": "best-probability", "minimum": 0.3, "control_share": "sqrt"}},
        "trial.allocation.minimum: 0.3 for each of 2 arms is more than 0.585786; lower it",
    ),
    "falling looks": (
        {"looks": {"values": [200, 100]}},
        "trial.looks.values: must rise, got [200.0, 100.0]; sort them",
    ),
    "half a patient": (
        {"looks": {"values": [1.5]}},
        "trial.looks.values: numbers of patients must be whole, got [1.5]",
    ),
    "overlap": ({"looks": LOOKS | {"cleaning": 101}}, "trial.looks.cleaning: 101 is more than the 100 between looks"),
    "fractions": (
        {"looks": LOOKS | {"information": [0.5]}},
        "trial.looks.information: give a fraction for each of 2 looks",
    ),
    "minima": (
        {"allocation": {"kind": "best-probability", "minimum": 0.4}},
        "trial.allocation.minimum: 0.4 for each of 3 arms is more than 1; lower it",
    ),
    "minima and control": (
        {"allocation": {"kind": "best-probability", "minimum": 0.3, "control_share": 0.5}},
        "trial.allocation.minimum: 0.3 for each of 2 arms is more than 0.5; lower it",
    ),
    "maxima": (
        {"allocation": {"kind": "best-probability", "maximum": 0.3}},
        "trial.allocation.maximum: 0.3 for each of 3 arms is less than 1; raise it",
    ),
    "limits": (
        {"allocation": {"kind": "best-probability", "minimum": 0.3, "maximum": 0.2}},
        "trial.allocation.minimum: 0.3 is above the maximum 0.2",
    ),
    "share of none": (
        {"control": None, "allocation": {"kind": "best-probability", "control_share": "match"}},
        "trial.allocation.control_share: there is no control; set trial.control",
    ),
    "key of another kind": (
        {"allocation": {"power": 1.0}},
        'trial.allocation.power: is of kind "best-probability", and this allocation is "policy"',
    ),
    "no control": (
        {"control": None, "rules": [SUPERIOR | {"against": "control"}]},
        "trial.rules[0].against: there is no control; set trial.control",
    ),
    "test against best": (
        {"rules": [SUPERIOR | {"against": "best"}]},
        "trial.rules[0].against: tests are against the control",
    ),
    "futility of all": (
        {"rules": [BAYES | {"kind": "futility", "against": "all"}]},
        'trial.rules[0].against: "all" does not go with futility; use "control"',
    ),
    "superior to all": (
        {"rules": [BAYES | {"against": "all"}]},
        'trial.rules[0].against: "all" does not go with superiority; use "control" or "best"',
    ),
    "no threshold": (
        {"rules": [{"kind": "superiority"}]},
        "trial.rules[0].threshold: must be a probability between 0 and 1, got None",
    ),
    "alpha of a posterior": ({"rules": [BAYES | {"alpha": 0.05}]}, "trial.rules[0].alpha: belongs to tests"),
    "beta and imputed": (
        {"looks": LOOKS | {"analysis": "imputed"}, "rules": [BAYES]},
        'trial.rules[0].model: beta needs analysis = "complete", and this is "imputed"; use "normal"',
    ),
    "beta and a sum": (
        {"endpoint": "sum", "rules": [BAYES]},
        "trial.rules[0].model: beta needs an endpoint between 0 and 1",
    ),
    "prior": ({"rules": [BAYES | {"prior": [0, 1]}]}, "trial.rules[0].prior: a and b of a Beta prior must be above 0"),
    "fisher of a sum": (
        {"endpoint": "sum", "rules": [SUPERIOR | {"method": "fisher"}]},
        "trial.rules[0].method: fisher needs counts",
    ),
    "p value": (
        {"rules": [{"kind": "superiority", "method": "fisher", "threshold": 1.5}]},
        "trial.rules[0].threshold: must be a p value",
    ),
    "logrank of responses": (
        {"rules": [SUPERIOR | {"method": "logrank"}]},
        'trial.rules[0].method: logrank needs [rewards] kind = "survival"',
    ),
    "margin": (
        {"rules": [{"kind": "equivalence", "method": "z", "alpha": 0.05}]},
        "trial.rules[0].margin: equivalence needs a margin above 0, got 0",
    ),
    "margin of fisher": (
        {"rules": [SUPERIOR | {"method": "fisher", "margin": 0.1}]},
        "trial.rules[0].margin: fisher has none; leave it out",
    ),
    "equivalence by fisher": (
        {"rules": [{"kind": "equivalence", "method": "fisher", "alpha": 0.05, "margin": 0.1}]},
        "trial.rules[0].method: equivalence needs posterior, z or rmst, got fisher",
    ),
    "pooled fisher": (
        {"rules": [SUPERIOR | {"method": "fisher", "pooled": True}]},
        "trial.rules[0].pooled: is of z without a margin",
    ),
    "neither": (
        {"rules": [{"kind": "superiority", "method": "z"}]},
        "trial.rules[0].alpha: give either this or threshold",
    ),
    "alpha of futility": (
        {"rules": [SUPERIOR, FUTILE | {"alpha": 0.1}]},
        "trial.rules[1].alpha: futility spends beta; leave it out",
    ),
    "spending too little": (
        {"looks": LOOKS, "rules": [SUPERIOR | {"spending": [0.001, 0.01, 0.02]}]},
        "trial.rules[0].spending: ends at 0.02 and does not reach alpha = 0.025",
    ),
    "spending of two": (
        {"looks": LOOKS, "rules": [SUPERIOR | {"spending": [0.001, 0.025]}]},
        "trial.rules[0].spending: give what is spent up to each of 3 analyses, never falling",
    ),
    "gamma": (
        {"rules": [SUPERIOR | {"gamma": 1.0}]},
        "trial.rules[0].gamma: is of hwang-shih-decani spending; leave it out",
    ),
    "threshold and spending": (
        {"rules": [{"kind": "superiority", "method": "z", "threshold": 2.0, "spending": "pocock"}]},
        "trial.rules[0].spending: belongs to alpha, and this rule has a threshold; leave it out",
    ),
    "time without information": (
        {"looks": {"at": "time", "values": [50]}, "rules": [SUPERIOR]},
        "trial.rules[0].alpha: looks by time or patients randomised have no planned information",
    ),
    "randomised without information": (
        {"looks": LOOKS | {"at": "randomised"}, "rules": [SUPERIOR]},
        "trial.rules[0].alpha: looks by time or patients randomised have no planned information",
    ),
    "binding": ({"rules": [SUPERIOR | {"binding": False}]}, "trial.rules[0].binding: is of futility with beta"),
    "prior of z": ({"rules": [SUPERIOR | {"prior": [1, 1]}]}, "trial.rules[0].prior: is of posterior probabilities"),
    "beta alone": (
        {"looks": LOOKS, "rules": [FUTILE]},
        "trial.rules[0].beta: needs a rule of superiority by z with alpha",
    ),
    "delayed response alone": (
        {"looks": LOOKS, "rules": [SUPERIOR | {"delayed_response": True}]},
        "trial.rules[0].delayed_response: needs superiority, and a binding",
    ),
    "adjust": (
        {"adjust": "dunnett", "rules": [BAYES]},
        'trial.adjust: "dunnett" is of alpha, and no rule has one; leave it out',
    ),
    "end and spending": (
        {"rules": [SUPERIOR | {"when": "end", "spending": "pocock"}]},
        "trial.rules[0].spending: a rule for the end only spends everything there",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_design_gets_a_line(case: str) -> None:
    """The line begins with the key, and there is no other."""
    trial, complaint = CASES[case]
    arrivals = {"arrivals": trial["arrivals"]} if "arrivals" in trial else {}
    trial = {key: value for key, value in trial.items() if key != "arrivals"}
    with pytest.raises(ScenarioError) as caught:
        changed(trial, **arrivals)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_a_look_that_is_hardly_ever_held_is_warned_of() -> None:
    """It comes after the last endpoint of a drawn trial, though not long after."""
    poisson = {"kind": "poisson", "rate": 5.0}
    (warning,) = changed({"looks": {"at": "time", "values": [50, 100, 120]}}, arrivals=poisson).warnings(["uniform"])
    assert warning.startswith("looks at 100, 120 are not held in a trial that is over by then")
    assert changed({"looks": {"at": "time", "values": [50]}}, arrivals=poisson).warnings(["uniform"]) == []


def test_designs_that_are_just_possible() -> None:
    """A look before the end of random arrivals, counts of one visit, and minima that leave the control its root."""
    changed({"looks": {"at": "time", "values": [50]}}, arrivals={"kind": "poisson", "rate": 5.0})
    changed({"rules": [SUPERIOR | {"method": "fisher"}, SUPERIOR | {"pooled": True}]})
    changed({"allocation": {"kind": "best-probability", "minimum": 0.29, "control_share": "sqrt"}})
    paused = {"at": "time", "values": [100, 320], "cleaning": 10, "recruiting": False}
    changed({"looks": paused})  # 300 patients, 12 units to the last endpoint, and 20 without recruiting


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"drain": False}, "drain: a trial runs until everything is known; set drain = true"),
        ({"arms": GOOD["arms"][:1]}, "trial: compares arms, and there is 1; write another of [[arms]]"),
        (
            {"policies": [{"kind": "uniform"}], "trial": {"allocation": {"kind": "best-probability"}}},
            "policies: [trial.allocation] says already how patients are given arms; leave them out",
        ),
        (
            {**NORMAL, "trial": {"dropouts": "failure"}},
            "trial.dropouts: there is no worst value of an endpoint without bounds",
        ),
        (
            {"window": 5.0, "default_reward": 0.0},
            "default_reward: trial.dropouts says what a missing part counts; leave it out",
        ),
        ({"trial": {"rulez": []}}, "trial.rulez: unknown key (did you mean 'rules'?)"),
        (
            {"trial": {"looks": {"values": [1], "analysys": "x"}}},
            "trial.looks.analysys: unknown key (did you mean 'analysis'?)",
        ),
    ],
)
def test_a_scenario_that_does_not_fit_gets_a_line(keys: dict[str, Any], complaint: str) -> None:
    """So does what is outside of the table, or unknown in it."""
    with pytest.raises(ScenarioError) as caught:
        Scenario(**{**GOOD, **keys})
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)
