"""Truths that the tool makes have the endpoints that were asked for, whatever the kind of rewards."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import ndtri

from tpstream import Scenario, Truths
from tpstream.model.errors import ScenarioError, UnknownNameError

NAMES = ("standard", "low", "high")
ARMS: dict[str, list[dict[str, Any]]] = {
    "binary": [{"probability": 0.3}, {"probability": [0.1, 0.2, 0.35]}, {"probability": 0.5}],
    "normal": [
        {"mean": 1.0, "deviation": 2.0},
        {"mean": [1.0, 2.0, 3.0], "deviation": 1.0},
        {"mean": 0, "deviation": 1},
    ],
    "survival": [{"hazard": 0.1}, {"hazard": [0.1, 0.05], "changes": [3.0]}, {"scale": 10.0, "shape": 1.5}],
}


def design(kind: str, control: int = 0, **trial: Any) -> Scenario:
    """A design of three arms with three visits, the control of which is one of them."""
    arms = [{"name": name, **keys} for name, keys in zip(NAMES, ARMS[kind], strict=True)]
    table = {"control": NAMES[control], **trial}
    world = {"name": kind, "horizon": 60, "visits": [2, 4, 12], "drain": True, "rewards": {"kind": kind}}
    return Scenario(**world, arms=arms, trial=table)


def endpoints(scenario: Scenario, arms: list[dict[str, Any]]) -> list[float]:
    """The true endpoint of each of these arms."""
    found = scenario.with_(arms=arms).design()
    assert found is not None
    return found.means.tolist()


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(sorted(ARMS)),
    st.integers(0, 2),
    st.floats(0.01, 0.3),
    st.sampled_from(["last", "sum"]),
    st.sampled_from(["higher", "lower"]),
)
def test_an_effect_is_the_difference_of_endpoints(
    kind: str, control: int, effect: float, endpoint: str, direction: str
) -> None:
    """The arm is better than the control by the effect, the others by what was asked for; all else is as it was."""
    scenario = design(kind, control, endpoint=endpoint, direction=direction)
    arm = NAMES[(control + 1) % 3]
    (arms,) = Truths(effects=[effect], on=arm, others=effect / 2).of(scenario).values()
    sign = 1 if direction == "higher" else -1
    base = endpoints(scenario, scenario.resolved()["arms"])[control]
    expected = [
        base + sign * (0 if name == NAMES[control] else effect if name == arm else effect / 2) for name in NAMES
    ]
    np.testing.assert_allclose(endpoints(scenario, arms), expected, rtol=1e-9)
    assert [one["name"] for one in arms] == list(NAMES)


@pytest.mark.parametrize("kind", ARMS)
def test_under_the_null_arms_are_the_control(kind: str) -> None:
    """All arms have the keys of the control, and nobody is better."""
    scenario = design(kind, 1)
    found = Truths(null=True).of(scenario)
    assert list(found) == ["as given", "null"]
    assert found["as given"] == scenario.resolved()["arms"]
    assert found["null"] == [{**scenario.resolved()["arms"][1], "name": name} for name in NAMES]


def test_a_grid_of_rates() -> None:
    """Each truth is made with each rate of the control; without others, arms keep their differences."""
    scenario = design("binary", endpoint="last")
    found = Truths(null=True, effects=[0.1, 0.2], control_rates=[0.2, 0.4]).of(scenario)
    assert list(found)[:3] == ["standard 0.2, null", "standard 0.2, high +0.1", "standard 0.2, high +0.2"]
    assert len(found) == 6
    np.testing.assert_allclose(endpoints(scenario, found["standard 0.4, high +0.2"]), [0.4, 0.4, 0.6])
    (kept,) = Truths(control_rates=[0.2]).of(scenario).values()
    np.testing.assert_allclose(endpoints(scenario, kept), [0.2, 0.25, 0.4])


def test_visits_of_a_patient_move_together() -> None:
    """With a probability for each visit, the latent normal variables are shifted by one amount."""
    scenario = design("binary", 1, endpoint="last")
    (arms,) = Truths(effects=[0.1]).of(scenario).values()
    shift = ndtri(arms[2]["probability"]) - ndtri([0.1, 0.2, 0.35])
    np.testing.assert_allclose(shift, ndtri(0.45) - ndtri(0.35))


@pytest.mark.parametrize(
    ("truths", "error", "told"),
    [
        (Truths(effects=[0.9]), ScenarioError, "cannot have the expectation 1.2"),
        (Truths(effects=[0.1], on="hihg"), UnknownNameError, "did you mean"),
        (Truths(effects=[0.1], on="standard"), ScenarioError, "is the control"),
    ],
)
def test_impossible_truths_are_refused(truths: Truths, error: type[Exception], told: str) -> None:
    """One line says what is wrong."""
    with pytest.raises(error, match=told):
        truths.of(design("binary", endpoint="last"))


@pytest.mark.parametrize("kind", ["binary", "normal"])
def test_a_change_from_visit_to_visit_has_no_effect_at_equal_visits(kind: str) -> None:
    """Where the weights add up to 0, one value for all visits makes the endpoint 0 whatever it is: a line says so."""
    scenario = design(kind, 2, weights=[-1, 0, 1])
    with pytest.raises(ScenarioError, match="add up to 0, so that the same change of all visits changes nothing"):
        Truths(effects=[0.1]).of(scenario)


def test_other_rewards_have_a_null_but_no_effects() -> None:
    """The null copies the control's keys, whatever they are; effects are refused with the kinds that have them."""
    arms = [{"name": "a", "maximum": 4.0}, {"name": "b", "maximum": 2.0}]
    scenario = Scenario(
        name="other", horizon=20, span=2, drain=True, rewards={"kind": "smooth-beta", "groups": 2}, arms=arms,
        trial={"control": "a"},
    )  # fmt: skip
    assert [one["maximum"] for one in Truths(null=True).of(scenario)["null"]] == [4.0, 4.0]
    with pytest.raises(ScenarioError, match="binary, normal, survival, not 'smooth-beta'"):
        Truths(effects=[0.1]).of(scenario)
    with pytest.raises(ScenarioError, match="add a table"):
        Truths(null=True).of(scenario.with_(trial=None))
