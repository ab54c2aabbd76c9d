"""The bounds of a scenario: its policies as the theory sees them."""

from collections.abc import Iterable, Sequence

from tpstream.analysis.theory import UPPER, Bound, Known, bounds_of
from tpstream.model.errors import TpstreamError
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario


def with_all_kinds(scenario: Scenario, policies: Sequence[str] | None) -> list[str]:
    """The policies (default: the scenario's), and without any named the others that have a bound and fit the world."""
    if policies:
        return list(policies)
    own = [choice.label for choice in scenario.choices()]
    present = {choice.form.name for choice in scenario.choices()}
    return own + [kind for kind in UPPER if kind not in present and _fits(scenario, kind)]


def _fits(scenario: Scenario, kind: str) -> bool:
    try:
        scenario.policy(kind)
    except TpstreamError:
        return False
    return True


def scenario_bounds(scenario: Scenario, policies: Sequence[str] | None = None) -> list[Bound]:
    """The lower bounds, and the upper bounds of these policies (default: those of the scenario)."""
    choices = [scenario.policy(name) for name in policies] if policies else scenario.choices()
    return bounds_of(scenario.problem(), known_to_theory(choices))


def known_to_theory(choices: Iterable[PolicyChoice]) -> list[Known]:
    """Label, kind and assumed groups of every policy."""
    return [(choice.label, choice.form.name, getattr(choice.parameters, "groups", None)) for choice in choices]
