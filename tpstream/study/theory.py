"""The bounds of a scenario: its policies as the theory sees them."""

from collections.abc import Iterable, Sequence

from tpstream.analysis.bounds import Bound, Known, bounds_of
from tpstream.study.choices import PolicyChoice
from tpstream.study.scenario import Scenario


def scenario_bounds(scenario: Scenario, policies: Sequence[str] | None = None) -> list[Bound]:
    """The lower bounds, and the upper bounds of these policies (default: those of the scenario)."""
    choices = [scenario.policy(name) for name in policies] if policies else scenario.choices()
    return bounds_of(scenario.problem(), known_to_theory(choices))


def known_to_theory(choices: Iterable[PolicyChoice]) -> list[Known]:
    """Label, kind and assumed groups of every policy."""
    return [(choice.label, choice.form.name, getattr(choice.parameters, "groups", None)) for choice in choices]
