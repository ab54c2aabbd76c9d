"""Choices: a policy with its parameters, from a table of the scenario, from one word, or from an object.

Policies as they were asked for: before a world fills in what is left open.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from tpstream.model.errors import PolicyError, StudyError, UnknownNameError
from tpstream.model.registry import load_object
from tpstream.model.world import Problem
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, PolicyForm
from tpstream.scenario.messages import describe_error
from tpstream.scenario.tables import PolicyTable, find_policy, plain, policy_spec, read

if TYPE_CHECKING:
    from tpstream.scenario.scenario import Scenario

PAPER = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew")
"""The policies that the paper compares; a scenario that lists none means these."""


@dataclass(frozen=True)
class PolicyChoice:
    """A policy as it will run: its label, its form, and parameters in which nothing is left open."""

    label: str
    form: PolicyForm
    parameters: Parameters


def choose(spec: str | PolicyForm, listed: Sequence[PolicyTable], problem: Problem) -> PolicyChoice:
    """The policy that is meant; one that is listed takes its parameters from there, another one the defaults."""
    if not isinstance(spec, str):
        return complete(spec.name, spec, {}, problem)
    table = find_listed(spec, listed)
    if table is not None:
        return choose_listed(table, problem)
    form, parameters = find_named(spec, listed)
    return complete(policy_spec(form.name, parameters), form, parameters, problem)


def choose_listed(table: PolicyTable, problem: Problem) -> PolicyChoice:
    """The policy of a table of the scenario."""
    parameters = table.model_dump(mode="json", exclude={"kind", "name"})
    return complete(table.name, find_policy(table.kind), parameters, problem)


def find_listed(spec: str, listed: Sequence[PolicyTable]) -> PolicyTable | None:
    """The table with that label, else the only one of that kind, else none."""
    for table in listed:
        if table.name == spec:
            return table
    same = [table for table in listed if table.kind == spec]
    if len(same) > 1:
        labels = ", ".join(repr(table.name) for table in same)
        raise PolicyError(f"{spec!r} is listed {len(same)} times; ask for one of {labels}")
    return same[0] if same else None


def find_named(spec: str, listed: Sequence[PolicyTable]) -> tuple[PolicyForm, dict[str, Any]]:
    """The policy of a registered name, or of "module:Name", and its parameters.

    Such words come from Python code or from the command line, never from a file: a module is imported.
    """
    names = POLICIES.names()
    home = re.fullmatch(r"(?P<path>(?P<module>[^\W\d][\w.]*):[^\W\d]\w*)(?::(?P<rest>.*))?", spec.strip())
    if home and home["module"] not in names:
        return import_policy(home["path"]), split(f"{home['path'].replace(':', '.')}:{home['rest'] or ''}")[1]
    kind, parameters = split(spec)
    if kind not in names:
        raise UnknownNameError("policy", kind, {*names, *(table.name for table in listed)})
    return find_policy(kind), parameters


def import_policy(path: str) -> PolicyForm:
    """The policy at "module:Name"."""
    try:
        form = load_object(path)
    except Exception as error:
        raise PolicyError(
            f"policy {path!r} cannot be imported: {type(error).__name__}: {error}; give a policy's name, or module:Name"
        ) from error
    if not isinstance(form, PolicyForm):
        raise PolicyError(f"policy {path!r} is a {type(form).__name__}; give a SharedPolicy or a PythonPolicy")
    return form


def split(spec: str) -> tuple[str, dict[str, Any]]:
    """The kind and the parameters of "tp-ucb-fr:groups=50,ties=first"; values as in TOML, or mere words."""
    kind, _, rest = (part.strip() for part in spec.partition(":"))
    parameters: dict[str, Any] = {}
    # A comma separates parameters where another key follows: lists have commas too.
    for pair in re.split(r",(?=\s*[\w-]+\s*=)", rest) if rest else ():
        key, equals, text = (part.strip() for part in pair.partition("="))
        if not (key and equals and text):
            raise PolicyError(f"{spec!r}: {pair!r} is no parameter; write it as in {kind}:key=value")
        if key in parameters:
            raise PolicyError(f"{spec!r}: {key} is given twice; keep one")
        parameters[key] = plain(value(text))
    return kind, parameters


def value(text: str) -> Any:
    """The TOML value, or the text itself if it is none."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def complete(label: str, form: PolicyForm, given: Mapping[str, Any], problem: Problem) -> PolicyChoice:
    """The choice with validated parameters; groups that are left open become the environment's."""
    try:
        parameters: Parameters = read(form.parameters, given)
    except ValidationError as error:
        fields = form.parameters.model_fields
        raise PolicyError(f"{label}: {describe_error(error, lambda _: fields)}") from None
    try:
        return PolicyChoice(label, form, parameters.model_copy(update=assumed_groups(parameters, problem)))
    except PolicyError as error:
        raise PolicyError(f"{label}: {error}") from None


def assumed_groups(parameters: BaseModel, problem: Problem) -> dict[str, int]:
    """The number of groups under its key, for parameters that have one."""
    if "groups" not in type(parameters).model_fields:
        return {}
    return {"groups": problem.assumed_groups(getattr(parameters, "groups"))}  # noqa: B009 (only some models have it)


@dataclass(frozen=True)
class PolicyRequest:
    """A policy with its label and the parameters that were given."""

    label: str
    form: PolicyForm
    given: Mapping[str, Any]

    def with_(self, parameter: str, value: Any) -> "PolicyRequest":
        """The same with another value of a parameter."""
        return replace(self, given={**self.given, parameter: value})

    def choose(self, problem: Problem) -> PolicyChoice:
        """The policy as it runs in this world."""
        return complete(self.label, self.form, self.given, problem)


def request_policies(scenario: "Scenario", policies: Sequence[str | PolicyForm] | None) -> list[PolicyRequest]:
    """The policies that are meant; those of the scenario by default, the paper's if it lists none."""
    if isinstance(policies, str):
        raise StudyError(f"policies must be a list; write [{policies!r}]")
    if policies is None:
        policies = [table.name for table in scenario.policies] or PAPER
    if not policies:
        raise StudyError("no policy is asked for; name at least one, or leave them out for those of the scenario")
    asked = [_request_one(policy, scenario.policies) for policy in policies]
    _refuse_repeats(one.label for one in asked)
    return asked


def with_kinds(
    scenario: "Scenario", policies: Sequence[str | PolicyForm] | None, kinds: Sequence[str]
) -> list[str | PolicyForm]:
    """The policies (default: the scenario's), and before them one of each of these kinds that is not among them."""
    asked = request_policies(scenario, policies)
    present = {one.form.name for one in asked}
    own = [one.label for one in asked] if policies is None else policies
    return [*(kind for kind in kinds if kind not in present), *own]


def label_of(scenario: "Scenario", policies: Sequence[str | PolicyForm] | None, kind: str) -> str:
    """The label of the first policy of that kind."""
    return next((one.label for one in request_policies(scenario, policies) if one.form.name == kind), kind)


def _request_one(spec: str | PolicyForm, listed: Sequence[PolicyTable]) -> PolicyRequest:
    if not isinstance(spec, str):
        return PolicyRequest(spec.name, spec, {})
    table = find_listed(spec, listed)
    if table is not None:
        given = table.model_dump(mode="json", exclude_unset=True, exclude={"kind", "name"})
        return PolicyRequest(table.name, find_policy(table.kind), given)
    form, parameters = find_named(spec, listed)
    return PolicyRequest(policy_spec(form.name, parameters), form, parameters)


def _refuse_repeats(labels: Iterable[str]) -> None:
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            raise StudyError(f"policy {label!r} is asked for twice; give each a name or parameters of its own")
        seen.add(label)
