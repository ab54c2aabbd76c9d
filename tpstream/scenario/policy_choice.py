"""From what a user asks for to a policy with its parameters.

A policy is asked for by the label of a `[[policies]]` table, by a registered kind, by a text such as
"tp-ucb-fr:groups=50" or "module:Name", by a dictionary such as {"kind": "tp-ucb-fr", "groups": 50}, or by an object.
That becomes a PolicyRequest, which holds only what was given;
in a world, which fills in what is left open, it becomes a PolicyChoice.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from tpstream.model.errors import USER_RAISES, PolicyError, StudyError
from tpstream.model.limits import MOST_POLICIES
from tpstream.model.registry import load_object
from tpstream.model.whole_files import parse_toml
from tpstream.model.world import Problem
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, PolicyForm, SharedPolicy, groups_of, told_problem
from tpstream.scenario.messages import describe_error
from tpstream.scenario.tables import PolicyTable, find_policy, given_parameters, plain, policy_spec, read

PolicySpec = str | Mapping[str, Any] | PolicyForm
"""How a user asks for a policy: a text, the keys of a `[[policies]]` table, or an object."""
PAPER = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew")
"""The policies that the paper compares; a scenario that lists none means these."""


@dataclass(frozen=True)
class PolicyChoice:
    """A policy as it will run: its label, its form, and parameters in which nothing is left open."""

    label: str
    form: PolicyForm
    parameters: Parameters

    @property
    def named(self) -> bool:
        """Whether its name stands for this very form, in every process: it is built in, installed or in a plug-in."""
        name = self.form.name
        return name in POLICIES.names() and find_policy(name).for_parameters(self.parameters) is self.form


@dataclass(frozen=True)
class PolicyRequest:
    """A policy as it was asked for: its label, its form, and the parameters that were given."""

    label: str
    form: PolicyForm
    given: Mapping[str, Any]

    def choose(self, problem: Problem, folder: Path | None = None) -> PolicyChoice:
        """The policy as it runs in this world: with checked parameters, and the world's groups where none are given.

        Names of files in the parameters start in `folder`, by default the present one.
        """
        try:
            given: Parameters = read(self.form.parameters, self.given)
            parameters = given.resolved(folder or Path())
            form = self.form.for_parameters(parameters)
            told = told_problem(form, problem)
            check_needs(form, told)
            groups = assumed_groups(parameters, told)
        except ValidationError as error:
            fields = self.form.parameters.model_fields
            raise PolicyError(f"{self.label}: {describe_error(error, lambda _: fields)}") from None
        except PolicyError as error:
            raise PolicyError(f"{self.label}: {error}") from None
        if isinstance(form, SharedPolicy):
            from tpstream.policies.loader import check_users  # noqa: PLC0415 (Numba is slow to import)

            check_users(form)
        return PolicyChoice(self.label, form, parameters.model_copy(update=groups))


def assumed_groups(parameters: BaseModel, problem: Problem) -> dict[str, int]:
    """The number of groups under its key, for parameters that have one and do not leave it to the policy ("auto")."""
    if "groups" not in type(parameters).model_fields or getattr(parameters, "groups", None) == "auto":
        return {}
    return {"groups": groups_of(parameters, problem)}


def check_needs(form: PolicyForm, problem: Problem) -> None:
    """Refuse a policy that needs maxima, parts that are not negative, or parts at all, where there are none for it."""
    groups = "" if problem.groups is not None else ",groups=1"
    remedy = f"use one that needs none, as group-thompson:variance=empirical,prior=none{groups}"
    if form.needs_maxima and np.isnan(problem.maxima).any():
        arm = problem.names[int(np.isnan(problem.maxima).argmax())]
        raise PolicyError(f"the policy needs the maximum of every arm, and {arm!r} has none; give it, or {remedy}")
    if form.needs_positive and problem.signed:
        raise PolicyError(f"the policy needs parts of at least 0, and these rewards are signed; {remedy}")
    if problem.reveal == "closed" and isinstance(form, SharedPolicy) and form.needs_parts:
        raise PolicyError(
            'the policy learns from parts or groups, and reveal = "closed" shows only what closed pulls paid; use one '
            'that learns from these, such as delayed-ucb1, or reveal = "positive"'
        )


def request_policy(spec: PolicySpec, listed: Sequence[PolicyTable]) -> PolicyRequest:
    """The policy that is meant; one that is listed has the parameters of its table, another one those of the text."""
    if isinstance(spec, Mapping):
        return request_table(spec)
    if not isinstance(spec, str):
        return PolicyRequest(spec.name, spec, {})
    table = find_listed(spec, listed)
    if table is not None:
        return PolicyRequest(table.name, find_policy(table.kind), given_parameters(table))
    # Such texts come from Python code or from the command line, never from a file: a module is imported.
    names = POLICIES.names()
    found = re.fullmatch(r"(?P<path>(?P<module>[^\W\d][\w.]*):[^\W\d]\w*)(?::(?P<rest>.*))?", spec.strip())
    if found and found["module"] not in names:
        form = import_policy(found["path"])
        _, parameters = split(f"{found['path'].replace(':', '.')}:{found['rest'] or ''}")
    else:
        kind, parameters = split(spec)
        if kind not in names:
            raise POLICIES.unknown(kind, (table.name for table in listed))
        form = find_policy(kind)
    return PolicyRequest(policy_spec(form.name, parameters), form, parameters)


def request_table(table: Mapping[str, Any]) -> PolicyRequest:
    """The policy of a dictionary, which says all about it, as a `[[policies]]` table does.

    It is labelled by its `name`, else by its kind and parameters.
    """
    given = plain(table)
    kind, name = given.pop("kind", None), given.pop("name", None)
    if not isinstance(kind, str):
        raise PolicyError(f'policy {dict(table)!r} has no kind; write it as in {{"kind": "tp-ucb-fr", "groups": 50}}')
    if name is not None and not (isinstance(name, str) and name):
        raise PolicyError(f"policy {dict(table)!r}: name must be text, got {name!r}")
    form = find_policy(kind)
    return PolicyRequest(name or policy_spec(form.name, given), form, given)


def request_policies(
    listed: Sequence[PolicyTable], policies: Sequence[PolicySpec] | None = None
) -> list[PolicyRequest]:
    """The policies that are meant; by default the listed ones of a scenario, or the paper's if it lists none."""
    if isinstance(policies, str | Mapping | PolicyForm):
        raise StudyError(f"policies must be a list; write [{getattr(policies, 'name', repr(policies))}]")
    if policies is None:
        policies = [table.name for table in listed] or PAPER
    if not policies:
        raise StudyError("no policy is asked for; name at least one, or leave them out for those of the scenario")
    if len(policies) > MOST_POLICIES:
        raise StudyError(f"{len(policies):,} policies are asked for; at most {MOST_POLICIES:,} are possible")
    requests = [request_policy(policy, listed) for policy in policies]
    for label, times in Counter(request.label for request in requests).items():
        if times > 1:
            raise StudyError(f"policy {label!r} is asked for twice; give each a name or parameters of its own")
    return requests


def with_kinds(
    listed: Sequence[PolicyTable], policies: Sequence[PolicySpec] | None, kinds: Sequence[str]
) -> list[PolicySpec]:
    """The policies (default: the listed ones), and before them one of each of these kinds that is not among them.

    Instead of a kind there may be a text with parameters, such as "delayed-ucb1:groups=5".
    """
    requests = request_policies(listed, policies)
    labels = [request.label for request in requests]
    own = labels if policies is None else policies
    return [*(kind for kind in kinds if label_of(listed, policies, kind) not in labels), *own]


def label_of(listed: Sequence[PolicyTable], policies: Sequence[PolicySpec] | None, kind: str) -> str:
    """The label of the first policy of that kind, or of the policy that this text means."""
    requests = request_policies(listed, policies)
    first = next((request.label for request in requests if request.form.name == kind), None)
    return request_policy(kind, listed).label if first is None else first


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


def import_policy(path: str) -> PolicyForm:
    """The policy at "module:Name"."""
    try:
        form = load_object(path)
    except USER_RAISES as error:
        raise PolicyError(
            f"policy {path!r} cannot be imported: {type(error).__name__}: {error}; give a policy's name, or module:Name"
        ) from error
    if not isinstance(form, PolicyForm):
        raise PolicyError(f"policy {path!r} is a {type(form).__name__}; give a SharedPolicy or a PythonPolicy")
    return form


def split(spec: str) -> tuple[str, dict[str, Any]]:
    """The kind and the parameters of "tp-ucb-fr:groups=50,ties=first"; values as in TOML, or words without quotes."""
    kind, _, rest = (part.strip() for part in spec.partition(":"))
    parameters: dict[str, Any] = {}
    # A comma separates parameters where another key follows, outside of braces: lists and tables have commas too.
    for pair in re.split(r",(?![^{]*\})(?=\s*[\w-]+\s*=)", rest) if rest else ():
        key, equals, text = (part.strip() for part in pair.partition("="))
        if not (key and equals and text):
            raise PolicyError(f"{spec!r}: {pair!r} is no parameter; write it as in {kind}:key=value")
        if key in parameters:
            raise PolicyError(f"{spec!r}: {key} is given twice; keep one")
        parameters[key] = plain(read_value(text))
    return kind, parameters


def read_value(text: str) -> Any:
    """The value of a text as in TOML, or the text itself if it is none."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
