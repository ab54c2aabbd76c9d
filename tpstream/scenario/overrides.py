"""Paths and values as `--set` takes them: which key of a scenario or parameter of a policy is set, and to what.

One value is a setting; several are those of a sweep.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from decimal import Decimal, DecimalException
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from tpstream.model.errors import StudyError, did_you_mean
from tpstream.model.limits import LONGEST_LIST
from tpstream.model.whole_files import parse_toml
from tpstream.policies import POLICIES
from tpstream.scenario.files import read_toml
from tpstream.scenario.messages import Location, key_path, quote
from tpstream.scenario.policy_choice import PolicyRequest, read_value, request_policies
from tpstream.scenario.scenario import fields_at
from tpstream.scenario.tables import find_policy, plain, read_policies, with_names

NUMBER = r"[+-]?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"({NUMBER}):({NUMBER})(?::({NUMBER}))?")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
ALL = "*"
WITHOUT = "none"
"""The value of a delay, or of a key of a delay, that means: without this delay."""
LABELLED = {"label", "value"}
"""The keys of a table that gives a value of a sweep its label."""


class Labelled(NamedTuple):
    """A value of a sweep, and the word for it in tables and figures."""

    label: str
    value: Any


def read_labels(path: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    """The values of a sweep as plain ones; those of a mapping, and tables with a label and a value, with labels."""
    if isinstance(values, Mapping):
        values = [{"label": label, "value": value} for label, value in values.items()]
    found = []
    for value in plain(list(values), path):
        labelled = isinstance(value, dict) and value.keys() == LABELLED
        if labelled and not (isinstance(value["label"], str) and value["label"]):
            raise StudyError(f"{path}: the label {quote(value['label'])} must be text; put it into quotes")
        found.append(Labelled(**value) if labelled else value)
    labels = [str(one.label if isinstance(one, Labelled) else one) for one in found]
    for one in found:
        if isinstance(one, Labelled) and labels.count(one.label) > 1:
            raise StudyError(f"{path}: the label {one.label!r} is given twice; give each value its own")
    return found


@dataclass(frozen=True)
class Setting:
    """A place in a scenario and the value that is put there."""

    path: str
    value: Any

    def __str__(self) -> str:
        return f"{self.path}={self.value}"


def read_set(text: str) -> tuple[str, list[Any]]:
    """The path and the values of "span=100,200" or "policies.tp-ucb-fr.groups=5:50:5"."""
    path, equals, values = (part.strip() for part in text.partition("="))
    if not (path and equals and values):
        raise StudyError(f"--set {text}: write PATH=VALUE,VALUE,..., e.g. span=100,200 or span=100:500:100")
    return path, read_values(values)


def read_setting(text: str) -> Setting:
    """The setting of "span=100"."""
    path, values = read_set(text)
    if len(values) != 1:
        raise StudyError(f"--set {text}: {len(values)} values are a sweep; give one, or use `tpstream sweep`")
    return Setting(path, values[0])


def read_values(text: str) -> list[Any]:
    """The values of a TOML list without its brackets; words need no quotes, A:B:STEP is a range with both ends."""
    if not RANGE.search(QUOTED.sub("", text)):  # in TOML, 10:30:10 is a time
        try:
            return list(parse_toml(f"values = [{text}]")["values"])
        except tomllib.TOMLDecodeError:
            pass
    words = [word.strip() for word in re.split(r",(?![^\[]*\])", text)]  # commas inside of brackets separate no values
    found = [(word, RANGE.fullmatch(word)) for word in words]
    return [one for word, match in found for one in (read_range(match) if match else [read_value(word)])]


def read_range(found: re.Match[str]) -> list[Any]:
    """The numbers of "5:50:5", both ends included; in decimal, so that 0.1:0.3:0.1 has three."""
    try:
        first, last, step = (Decimal(number) for number in found.groups("1"))
        steps = (last - first) / step if step else Decimal(-1)
    except DecimalException:
        raise StudyError(f"range {found[0]}: cannot be computed; use smaller numbers") from None
    if steps < 0:
        raise StudyError(f"range {found[0]}: its step leads away from its end; change one of them")
    if steps >= LONGEST_LIST:
        most = f"{LONGEST_LIST:,}"
        raise StudyError(
            f"range {found[0]}: has more than {most} values, the most that are possible; use a larger step"
        )
    whole = all("." not in number and "e" not in number.lower() for number in found.groups("1"))
    numbers = [first + step * number for number in range(int(steps) + 1)]
    return [int(one) if whole else float(one) for one in numbers]


def read_sweep(file: Path) -> tuple[dict[str, list[Any]], bool]:
    """The sets of a sweep file, and whether they go together instead of being multiplied."""
    table = read_toml(file, "file of a sweep")
    together = table.pop("together", False)
    sets = table.pop("set", None)
    if not isinstance(sets, dict) or not isinstance(together, bool) or table:
        unknown = f"unknown key {next(iter(table))!r}" if table else "no [set]"
        raise StudyError(
            f"{file}: {unknown}; write [set] with lines as in span = [100, 200], and together = true or not"
        )
    return dict(_flatten(sets)), together


def _flatten(table: Mapping[str, Any], above: str = "") -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = []
    for key, inner in table.items():
        # A key at the top may be a whole path in quotes; further down quotes are the step's.
        path = f"{above}{key}" if not above or re.fullmatch(r"[\w-]+", key) else f'{above}"{key}"'
        if isinstance(inner, dict):
            found += _flatten(inner, f"{path}.")
        else:
            found.append((path, inner if isinstance(inner, list) else read_values(str(inner))))
    return found


def steps_of(path: str) -> tuple[str, ...]:
    """The steps of "arms[0].maximum" or "arms.low.maximum"; one with dots or spaces goes into quotes, as in TOML."""
    bare = re.sub(r"\.\*(?=\.|$)", f'."{ALL}"', re.sub(r"\[(\d+|\*)\]", r".\1", path))
    try:
        table: Any = parse_toml(f"{bare} = 0")
    except tomllib.TOMLDecodeError:
        raise StudyError(f"{path}: is no path; write it as in span, arms.low.maximum or arms[0].maximum") from None
    steps = []
    while isinstance(table, dict):
        ((step, table),) = table.items()
        steps.append(step)
    return tuple(steps)


def set_key(keys: dict[str, Any], setting: Setting) -> None:
    """Put the value into the scenario's keys; `arms.count` and the value "none" of a delay have their own meaning."""
    steps = steps_of(setting.path)
    if steps == ("arms", "count"):
        keep_first_arms(keys, setting)
        return
    _put(keys, keys, steps, (), setting)


def keep_first_arms(keys: dict[str, Any], setting: Setting) -> None:
    """Keep the first arms of a scenario, as many as the setting says; their random numbers are as with all of them.

    Recorded rewards are told which arms are left out: the file has rows of these.
    """
    arms, count = keys.get("arms"), setting.value
    there = len(arms) if isinstance(arms, list) else 0
    if not isinstance(arms, list) or isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= there:
        raise StudyError(
            f"{setting.path}: must be a whole number from 1 to {there}, the number of arms in the scenario, got "
            f"{quote(count)}; the first ones are kept"
        )
    keys["arms"], dropped = arms[:count], arms[count:]
    if dropped and "left_out" in fields_at(keys, ("rewards",)) and all(isinstance(one, dict) for one in arms):
        names = [str(one["name"]) for one in with_names(arms)[count:]]
        keys["rewards"] = {**keys["rewards"], "left_out": [*names, *keys["rewards"].get("left_out", ())]}


def change_keys(keys: dict[str, Any], settings: Sequence[Setting], policies: Sequence[str] | None) -> None:
    """Put the values into the keys of a scenario as its file has them, before anything of it is judged.

    If a parameter of a policy is set, the keys then list the policies that are asked for, with that parameter.
    """
    of_policies = [setting for setting in settings if sets_policies(setting)]
    for setting in settings:
        if setting not in of_policies:
            set_key(keys, setting)
    if not of_policies:
        return
    try:
        requests = request_policies(read_policies(plain(keys.get("policies", []))), policies)
    except ValidationError:  # the file lists an impossible policy, which the value may repair
        for setting in of_policies:
            set_key(keys, setting)
        return
    for setting in of_policies:
        requests = set_parameter(requests, setting)
    for one in requests:
        if one.form.name not in POLICIES.names() or find_policy(one.form.name) is not one.form:
            raise StudyError(
                f"--set {of_policies[0]}: a scenario cannot list {one.label!r}, which is asked for as module:Name; "
                f"write parameters behind the policies instead, as in -p module:Name:key=value"
            )
    keys["policies"] = [{"kind": one.form.name, "name": one.label, **one.given} for one in requests]


def sets_policies(setting: Setting) -> bool:
    """Whether the setting is a parameter of a policy."""
    return steps_of(setting.path)[0] == "policies"


def _put(
    keys: dict[str, Any],
    table: Any,
    steps: Sequence[str],
    above: Location,
    setting: Setting,
    delay: tuple[Any, Any] | None = None,
) -> None:
    """Go down one step, or put the value there if it is the last one.

    `delay` is where the innermost delay on the way is: the value "none" takes its place.
    """
    for step in _find(keys, table, steps[0], above, setting):
        inner = table.get(step) if isinstance(table, dict) else table[step]
        is_delay = above[:1] == ("delays",) and isinstance(inner, dict) and "kind" in inner
        innermost = (table, step) if is_delay else delay
        if len(steps) > 1:
            _put(keys, inner, steps[1:], (*above, step), setting, innermost)
        elif innermost is not None and setting.value == WITHOUT:
            innermost[0][innermost[1]] = {"kind": "none"}
        else:
            table[step] = deepcopy(setting.value)  # another setting may go into it, and other cells share the value


def _find(keys: dict[str, Any], table: Any, step: str, above: Location, setting: Setting) -> list[Any]:
    """The keys or places that a step means in a table or list."""
    where = key_path(above) or "a scenario"
    if isinstance(table, dict):
        known = [*table, *(key for key in fields_at(keys, above) if key not in table)]
        if step in known:
            return [step]
        raise _unknown(setting, f"{where} has no key {step!r}", step, known)
    if isinstance(table, list):
        if step == ALL:
            return list(range(len(table)))
        named = with_names(table) if above == ("arms",) and all(isinstance(one, dict) for one in table) else table
        names = [str(one.get("name", one.get("kind"))) if isinstance(one, dict) else "" for one in named]
        found = [number for number, name in enumerate(names) if name and name == step]
        if len(found) == 1:
            return found
        if step.isdecimal() and int(step) < len(table):
            return [int(step)]
        raise _unknown(setting, f"{where} has {len(found) or 'no'} {step!r}", step, [name for name in names if name])
    if table is None:
        raise StudyError(
            f"{setting.path}: the scenario has no {where}; give all of it first, as in --set '{where}=...'"
        )
    raise StudyError(f"{setting.path}: {where} is {quote(table)} and has no keys")


def set_parameter(asked: Sequence[PolicyRequest], setting: Setting) -> list[PolicyRequest]:
    """The policies, with the value as a parameter of the one that is named by label, kind or number, or of all."""
    try:
        _, name, parameter = steps_of(setting.path)
    except ValueError:
        raise StudyError(f"{setting.path}: write policies.NAME.PARAMETER") from None
    if name == ALL:
        chosen = [one for one in asked if parameter in one.form.parameters.model_fields]
    else:
        chosen = [one for one in asked if one.label == name] or [one for one in asked if one.form.name == name]
        chosen = chosen or ([asked[int(name)]] if name.isdecimal() and int(name) < len(asked) else [])
        if len(chosen) != 1:
            labels = [one.label for one in asked]
            raise _unknown(setting, f"the study has {len(chosen) or 'no'} policies {name!r}", name, labels)
    known = [key for one in (chosen or asked) for key in one.form.parameters.model_fields]
    if parameter not in known:
        raise _unknown(setting, f"{name} has no parameter {parameter!r}", parameter, list(dict.fromkeys(known)))
    changed = {parameter: setting.value}
    return [replace(one, given={**one.given, **changed}) if one in chosen else one for one in asked]


def _unknown(setting: Setting, what: str, name: str, known: Sequence[str]) -> StudyError:
    rest = f"; known: {', '.join(known)}" if known else ""
    return StudyError(f"{setting.path}: {what}{did_you_mean(name, known)}{rest}")
