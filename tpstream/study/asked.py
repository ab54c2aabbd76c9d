"""Policies as they were asked for: before a world fills in what is left open."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpstream.model.errors import StudyError
from tpstream.model.problem import Problem
from tpstream.policies.form import PolicyForm
from tpstream.study.choices import PAPER, PolicyChoice, complete, find_listed, find_named
from tpstream.study.scenario import Scenario
from tpstream.study.tables import PolicyTable, find_policy, written


@dataclass(frozen=True)
class Asked:
    """A policy with its label and the parameters that were given."""

    label: str
    form: PolicyForm
    given: Mapping[str, Any]

    def with_(self, parameter: str, value: Any) -> "Asked":
        """The same with another value of a parameter."""
        return replace(self, given={**self.given, parameter: value})

    def choose(self, problem: Problem) -> PolicyChoice:
        """The policy as it runs in this world."""
        return complete(self.label, self.form, self.given, problem)


def ask(scenario: Scenario, policies: Sequence[str | PolicyForm] | None) -> list[Asked]:
    """The policies that are meant; those of the scenario by default, the paper's if it lists none."""
    if isinstance(policies, str):
        raise StudyError(f"policies must be a list; write [{policies!r}]")
    if policies is None:
        policies = [table.name for table in scenario.policies] or PAPER
    if not policies:
        raise StudyError("no policy is asked for; name at least one, or leave them out for those of the scenario")
    asked = [_ask_one(policy, scenario.policies) for policy in policies]
    _refuse_repeats(one.label for one in asked)
    return asked


def with_kinds(
    scenario: Scenario, policies: Sequence[str | PolicyForm] | None, kinds: Sequence[str]
) -> list[str | PolicyForm]:
    """The policies (default: the scenario's), and before them one of each of these kinds that is not among them."""
    asked = ask(scenario, policies)
    present = {one.form.name for one in asked}
    own = [one.label for one in asked] if policies is None else policies
    return [*(kind for kind in kinds if kind not in present), *own]


def label_of(scenario: Scenario, policies: Sequence[str | PolicyForm] | None, kind: str) -> str:
    """The label of the first policy of that kind."""
    return next((one.label for one in ask(scenario, policies) if one.form.name == kind), kind)


def _ask_one(spec: str | PolicyForm, listed: Sequence[PolicyTable]) -> Asked:
    if not isinstance(spec, str):
        return Asked(spec.name, spec, {})
    table = find_listed(spec, listed)
    if table is not None:
        given = table.model_dump(mode="json", exclude_unset=True, exclude={"kind", "name"})
        return Asked(table.name, find_policy(table.kind), given)
    form, parameters = find_named(spec, listed)
    return Asked(written(form.name, parameters), form, parameters)


def _refuse_repeats(labels: Iterable[str]) -> None:
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            raise StudyError(f"policy {label!r} is asked for twice; give each a name or parameters of its own")
        seen.add(label)
