"""Truths under which a design is judged, made from its scenario: the null, effects on one arm, rates of the control.

An arm is moved to another expectation of its endpoint by the change that is usual for its kind of rewards:

- binary: all visits on the probit scale by the same amount, p_j -> Phi(Phi^-1(p_j) + s), as if the latent normal
  variables of every patient were shifted;
- normal: the means of all visits by the same amount;
- survival: the hazard by one factor (a hazard ratio), at all times.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpstream.looks.design import Design
from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError, UnknownNameError
from tpstream.rewards.survival import SurvivalArm, SurvivalArmSettings, read_deaths
from tpstream.scenario.scenario import Scenario

GIVEN, NULL = "as given", "null"
KINDS = ("binary", "normal", "survival")
"""Kinds of rewards whose arms can be moved to another endpoint."""
FAR = 30.0
"""Shifts of a normal quantile, or logarithms of a hazard ratio, are looked for up to this."""
Arms = list[dict[str, Any]]


@dataclass(frozen=True)
class Truths:
    """Under which truths designs are judged.

    Parameters
    ----------
    null : bool
        Also under the null: all arms as the control.
    effects : sequence of float
        For each of them a truth in which one arm is better than the control by so much, in the endpoint's expectation
        and in the direction of benefit, and all others are as the control.
    on : str or None
        The arm with the effect; by default the last one that is not the control.
    others : float
        By how much the other arms are better than the control in those truths: with the largest difference that is of
        no interest, the least favourable truth.
    control_rates : sequence of float
        Expectations of the control's endpoint; every truth is made with each of them. Without `null` and `effects` the
        arms keep their differences to the control.
    given : bool or None
        Whether the truth that the scenario gives is among them; by default it is, unless effects are asked for, or
        the null with other rates of the control.

    Examples
    --------
    >>> from tpstream import Scenario
    >>> scenario = Scenario(
    ...     name="responses", horizon=60, span=1, drain=True, rewards={"kind": "binary"},
    ...     arms=[{"name": "standard", "probability": 0.3}, {"name": "new", "probability": 0.5}],
    ...     trial={"control": "standard"},
    ... )
    >>> found = Truths(null=True, effects=[0.2], control_rates=[0.2]).of(scenario)
    >>> {truth: [round(arm["probability"], 3) for arm in arms] for truth, arms in found.items()}
    {'standard 0.2, null': [0.2, 0.2], 'standard 0.2, new +0.2': [0.2, 0.4]}
    """

    null: bool = False
    effects: Sequence[float] = ()
    on: str | None = None
    others: float = 0.0
    control_rates: Sequence[float] = ()
    given: bool | None = None

    @property
    def plain(self) -> bool:
        """Whether nothing but what the scenario says is asked for."""
        return not (self.null or self.effects or self.control_rates)

    def of(self, scenario: Scenario) -> dict[str, Arms]:
        """The arms of a scenario under each truth, by its name.

        Raises
        ------
        ScenarioError
            The scenario has no design, or its arms cannot be changed as asked for.
        """
        design = scenario.design()
        if design is None:
            raise ScenarioError(f"{scenario.name}: truths are about a design; add a table [trial]")
        given: Arms = scenario.resolved()["arms"]
        if self.plain:
            return {GIVEN: given}
        found: dict[str, Arms] = {}
        for rate in self.control_rates or (None,):
            found |= self._at(scenario, design, given, rate)
        return found

    def _at(self, scenario: Scenario, design: Design, given: Arms, rate: float | None) -> dict[str, Arms]:
        """The truths with this rate of the control; None: as the scenario says."""
        control = max(design.control, 0)
        arm = self._arm(design, control)
        base = float(design.means[control]) if rate is None else rate
        before = "" if rate is None else f"{design.names[control]} {rate:g}, "
        standard = given[control] if rate is None else moved(scenario, given[control], rate)
        sign = -1.0 if design.lower else 1.0
        found: dict[str, Arms] = {}
        asked = not self.effects and (rate is None or not self.null)
        if asked if self.given is None else self.given:
            shifted = given if rate is None else self._shifted(scenario, design, given, rate - design.means[control])
            found[f"{before}{GIVEN if rate is None else 'differences as given'}"] = shifted
        if self.null:
            if set(standard) == {"name"}:
                raise ScenarioError(
                    f"arms of rewards of kind {scenario.rewards.kind!r} have nothing but names, so that no null can be "
                    "made; describe it in a scenario file of its own"
                )
            found[f"{before}{NULL}"] = [{**standard, "name": name} for name in design.names]
        for effect in self.effects:
            gains = dict.fromkeys(range(design.arms), self.others) | {control: 0.0, arm: effect}
            rest = f", others {sign * self.others:+g}" if self.others and design.arms > 2 else ""  # noqa: PLR2004
            arms = [
                moved(scenario, standard, base + sign * gain) if gain else dict(standard)
                for _, gain in sorted(gains.items())
            ]
            named = [{**one, "name": name} for one, name in zip(arms, design.names, strict=True)]
            found[f"{before}{design.names[arm]} {sign * effect:+g}{rest}"] = named
        return found

    def _arm(self, design: Design, control: int) -> int:
        """The number of the arm with the effect."""
        if self.on is None:
            return max(number for number in range(design.arms) if number != control)
        if self.on not in design.names:
            raise UnknownNameError("arm of this trial", self.on, design.names)
        arm = design.names.index(self.on)
        if arm == control:
            raise ScenarioError(f"{self.on}: is the control, from which effects are counted; name another arm")
        return arm

    def _shifted(self, scenario: Scenario, design: Design, given: Arms, by: float) -> Arms:
        return [moved(scenario, arm, float(mean) + by) for arm, mean in zip(given, design.means, strict=True)]


def moved(scenario: Scenario, arm: Mapping[str, Any], endpoint: float) -> dict[str, Any]:
    """The keys of an arm, changed so that the expectation of its endpoint is this."""
    kind, design = scenario.rewards.kind, scenario.design()
    assert design is not None  # noqa: S101 (asked before)
    movers: dict[str, Callable[[Mapping[str, Any], Design, float], dict[str, Any]]] = {
        "binary": _moved_binary,
        "normal": _moved_normal,
        "survival": _moved_survival,
    }
    if kind not in movers:
        raise ScenarioError(
            f"effects and control rates can be made for rewards of kind {', '.join(KINDS)}, not {kind!r}; describe "
            "each truth in a scenario file of its own"
        )
    return {**arm, **movers[kind](arm, design, endpoint)}


def _moved_binary(arm: Mapping[str, Any], design: Design, endpoint: float) -> dict[str, Any]:
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 (slow to import)

    if arm.get("probability") is None:
        raise ScenarioError(f"{arm['name']}: patterns cannot be moved to another endpoint; give `probability` instead")
    probability, total = arm["probability"], float(design.weights.sum())
    if not isinstance(probability, list):
        _refuse_no_weight(arm, total)
        single = endpoint / total
        _refuse_outside(arm, endpoint, inside=0 <= single <= 1)
        return {"probability": single}
    quantiles: Floats = ndtri(np.array(probability))
    shift = _solve(lambda by: float(design.weights @ ndtr(quantiles + by)), endpoint, arm)
    return {"probability": ndtr(quantiles + shift).tolist()}


def _moved_normal(arm: Mapping[str, Any], design: Design, endpoint: float) -> dict[str, Any]:
    means, total = np.broadcast_to(arm["mean"], design.weights.shape), float(design.weights.sum())
    _refuse_no_weight(arm, total)
    by = (endpoint - float(design.weights @ means)) / total
    return {"mean": (means + by).tolist() if isinstance(arm["mean"], list) else float(arm["mean"]) + by}


def _moved_survival(arm: Mapping[str, Any], design: Design, endpoint: float) -> dict[str, Any]:
    def changed(ratio: float) -> dict[str, Any]:
        if arm.get("hazard") is None:
            return {"scale": float(arm["scale"]) * ratio ** (-1 / float(arm.get("shape") or 1.0))}
        hazards = arm["hazard"]
        return {"hazard": [ratio * one for one in hazards] if isinstance(hazards, list) else ratio * hazards}

    def expected(logarithm: float) -> float:
        keys = {**arm, **changed(float(np.exp(-logarithm)))}
        settings = SurvivalArmSettings(**{key: value for key, value in keys.items() if key != "name"})
        return float(design.weights @ SurvivalArm(read_deaths(settings, str(arm["name"])), design.visits).part_means)

    return changed(float(np.exp(-_solve(expected, endpoint, arm))))


def _solve(expected: Callable[[float], float], endpoint: float, arm: Mapping[str, Any]) -> float:
    """Where a rising function of the endpoint has this value."""
    from scipy.optimize import brentq  # noqa: PLC0415 (slow to import)

    low, high = expected(-FAR), expected(FAR)
    _refuse_outside(arm, endpoint, inside=min(low, high) < endpoint < max(low, high))
    return float(brentq(lambda by: expected(by) - endpoint, -FAR, FAR, xtol=1e-14, rtol=1e-14))


def _refuse_no_weight(arm: Mapping[str, Any], total: float) -> None:
    if total == 0:
        raise ScenarioError(
            f"{arm['name']}: the weights of the endpoint add up to 0, so that the same change of all visits changes "
            "nothing; describe each truth in a scenario file of its own"
        )


def _refuse_outside(arm: Mapping[str, Any], endpoint: float, *, inside: bool) -> None:
    if not inside:
        raise ScenarioError(
            f"{arm['name']}: its endpoint cannot have the expectation {endpoint:g}; give a smaller effect"
        )
