"""The paper's regret bounds of a scenario's policies."""

from collections.abc import Iterable, Sequence

from tpstream.analysis.theory import UPPER, Bound, PolicyGroups, bounds_of
from tpstream.model.errors import TpstreamError
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario


def scenario_bounds(scenario: Scenario, policies: Sequence[str] | None = None) -> list[Bound]:
    """The lower bounds, and the upper bounds of these policies (default: those of the scenario)."""
    choices = [scenario.policy(name) for name in policies] if policies else scenario.choices()
    return bounds_of(scenario.problem(), policy_groups(choices))


def policy_groups(choices: Iterable[PolicyChoice]) -> list[PolicyGroups]:
    """Label, kind and assumed number of groups of each policy."""
    return [(choice.label, choice.form.name, getattr(choice.parameters, "groups", None)) for choice in choices]


def with_all_kinds(scenario: Scenario, policies: Sequence[str] | None) -> list[str]:
    """The given policies; if none is given, those of the scenario and the other kinds that have a bound here."""
    if policies:
        return list(policies)
    own = scenario.choices()
    present = {choice.form.name for choice in own}
    return [choice.label for choice in own] + [kind for kind in UPPER if kind not in present and _fits(scenario, kind)]


def _fits(scenario: Scenario, kind: str) -> bool:
    """Whether the policy can run in the scenario: recorded rewards without groups do not fit those that need groups."""
    try:
        scenario.policy(kind)
    except TpstreamError:
        return False
    return True
