"""The keys of a scenario file: what each may be, and what it is for.

Tables whose keys depend on a kind, such as `[rewards]`, are read with the keys of that kind.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import date, time
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.config import JsonDict

from tpstream.model.errors import ScenarioError, UnknownNameError
from tpstream.model.limits import (
    DEEPEST,
    LARGEST,
    LONGEST_LIST,
    LONGEST_SPAN,
    LONGEST_TEXT,
    MOST_ARMS,
    MOST_POLICIES,
    MOST_ROUNDS,
)
from tpstream.model.registry import Registry, table_model
from tpstream.model.settings import Table
from tpstream.model.units import check_time_unit
from tpstream.model.world import Reveal
from tpstream.policies import POLICIES
from tpstream.policies.base import PolicyForm
from tpstream.rewards import REWARDS
from tpstream.rewards.base import RewardTable
from tpstream.scenario.files import toml_text
from tpstream.scenario.messages import Fields, Location, quote, wrong
from tpstream.scenario.trial_tables import TrialTable, fields_of_trial
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.calendars import OpenHours
from tpstream.timing.kinds import REGULAR, ArrivalTable, DelayTable

MOST = {"arms": MOST_ARMS, "policies": MOST_POLICIES, "delays": 100}
"""Entries of these lists; the time that a run takes grows faster than they do."""


def without_default(schema: JsonDict) -> None:
    """Remove the default of a name from a JSON Schema: it is made from the position or from other keys."""
    schema.pop("default")


class ArmTable(Table):
    """One of `[[arms]]`: a name and the settings that the kind of rewards has for an arm."""

    name: str = Field("", min_length=1, description="default: arm-1, arm-2, ...", json_schema_extra=without_default)


class PolicyTable(Table):
    """One of `[[policies]]`: a kind, its parameters, and the label under which results are shown."""

    kind: str = Field(description="the policy; `tpstream list policies` has the kinds")
    name: str = Field(
        "",
        min_length=1,
        description="label; default: the kind, with its parameters where it is not alone",
        json_schema_extra=without_default,
    )


class Section(NamedTuple):
    """A key of a scenario whose tables name a kind: where kinds are registered, and what is common to its tables."""

    registry: Registry
    table: type[BaseModel]
    attribute: str = "settings"
    """The attribute of a registered definition that holds the keys of its table."""

    def model(self, kind: str) -> Any:
        """The pydantic model of a table of that kind."""
        return table_model(kind, getattr(self.registry.find(kind), self.attribute), self.table)


SECTIONS = {
    "rewards": Section(REWARDS, RewardTable),
    "arms": Section(REWARDS, ArmTable, "arm_settings"),
    "policies": Section(POLICIES, PolicyTable, "parameters"),
    "delays": Section(DELAYS, DelayTable),
    "arrivals": Section(ARRIVALS, ArrivalTable),
}


def read_table(key: str, value: object) -> Any:
    """The table of that key, as in [rewards]."""
    if not isinstance(value, dict):
        raise wrong((), f"must be a table, got {quote(value)}; write [{key}]", value)
    return read(_model_of(value, SECTIONS[key]), value)


def read_tables(key: str, value: object) -> tuple[Any, ...]:
    """The tables of that key, as in [[delays]]."""
    section, tables = SECTIONS[key], _list_of_tables(value, key)
    return _read_each([_model_of(table, section) for table in tables], tables)


def read_arms(value: object, kind: str) -> tuple[ArmTable, ...]:
    """The `[[arms]]` tables for that kind of rewards; an arm without a name is called arm-1, arm-2, ..."""
    tables = _list_of_tables(value, "arms")
    if not tables:
        raise wrong((), "at least 1 arm is needed; write [[arms]]", value)
    named = with_names(tables)
    arms = _read_each([SECTIONS["arms"].model(kind)] * len(named), named)
    _check_unique((arm.name for arm in arms), "arms", "names")
    return arms


def with_names(arms: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The `[[arms]]` tables, those without a name called arm-1, arm-2, ..."""
    return [{"name": f"arm-{number}", **table} for number, table in enumerate(arms, start=1)]


def read_policies(value: object) -> tuple[PolicyTable, ...]:
    """The `[[policies]]` tables; one without a name is labelled by its kind, and by its parameters if need be."""
    policies: tuple[PolicyTable, ...] = read_tables("policies", value)
    kinds = [policy.kind for policy in policies]
    labelled = []
    for policy in policies:
        label = policy.kind if kinds.count(policy.kind) == 1 else policy_spec(policy.kind, given_parameters(policy))
        labelled.append(policy.model_copy(update={"name": policy.name or label}))
    _check_unique((policy.name for policy in labelled), "policies", "labels")
    return tuple(labelled)


def read_key(key: str, value: object, others: Mapping[str, Any]) -> Any:
    """The tables of a key of SECTIONS; `others` are the keys of the scenario that were read before."""
    match key:
        case "arms":  # without rewards the keys of an arm are not known, and there is an error about them already
            return read_arms(value, others["rewards"].kind) if "rewards" in others else ()
        case "policies":
            return read_policies(_with_allocation(value, others.get("trial")))
        case "delays":
            return read_tables(key, value)
        case _:
            return read_table(key, value)


def _with_allocation(policies: object, trial: TrialTable | None) -> object:
    """The tables of the policies: the one that a trial's allocation brings, or those that are listed."""
    decider = None if trial is None else trial.decider()
    if decider is None:
        return list(policies) if isinstance(policies, tuple) else policies
    if policies:
        remedy = 'leave them out, or set trial.allocation.kind = "policy"'
        raise wrong((), f"[trial.allocation] says already how patients are given arms; {remedy}", policies)
    return [decider]


def find_policy(kind: str) -> PolicyForm:
    """The policy of that name."""
    return cast("PolicyForm", POLICIES.find(kind))


def given_parameters(policy: PolicyTable) -> dict[str, Any]:
    """The parameters that a `[[policies]]` table gives, without those that it leaves open."""
    return policy.model_dump(mode="json", exclude_unset=True, exclude={"kind", "name"})


def policy_spec(kind: str, parameters: Mapping[str, Any]) -> str:
    """A policy in one word: "tp-ucb-fr:groups=50,ties=first", keys in alphabetical order."""
    pairs = [f"{key}={toml_text(value)}" for key, value in sorted(parameters.items())]
    return f"{kind}:{','.join(pairs)}" if pairs else kind


def read(model: Any, value: object) -> Any:
    """The value as that pydantic model, without coercion: true is no number, and "1" is none either."""
    # As JSON: there a strict model takes a list for a tuple.
    return TypeAdapter(model).validate_json(json.dumps(value), strict=True)


def _read_each(models: list[Any], tables: list[dict[str, Any]]) -> tuple[Any, ...]:
    """Each table as its model; all errors are raised together."""
    return read(tuple[tuple(models)], tables) if models else ()  # type: ignore[misc]


def _model_of(table: Mapping[str, Any], section: Section) -> Any:
    """The model of the kind that a table names; where the kind is at fault, one that raises this fault.

    So the faults of other tables are found as well, and all are raised together.
    """
    kind = table.get("kind")
    if "kind" not in table:
        return _refusal(wrong(("kind",), f"missing; use one of {', '.join(section.registry.names())}", table))
    if not isinstance(kind, str):
        return _refusal(wrong(("kind",), f"must be text in quotes, got {quote(kind)}", kind))
    try:
        return section.model(kind)
    except UnknownNameError as error:
        return _refusal(wrong(("kind",), str(error), kind))


def _refusal(fault: ValidationError) -> Any:
    """A type that no value has: reading one raises this fault."""

    def refuse(_: object) -> NoReturn:
        raise fault

    return Annotated[Any, PlainValidator(refuse)]


def _list_of_tables(value: object, key: str) -> list[dict[str, Any]]:
    """The value, if it is what [[key]] makes of it."""
    if not isinstance(value, list):
        raise wrong((), f"must be a list of tables, got {quote(value)}; write [[{key}]]", value)
    for number, table in enumerate(value):
        if not isinstance(table, dict):
            raise wrong((number,), f"must be a table, got {quote(table)}; write [[{key}]]", table)
    return value


def _check_unique(names: Iterable[str], key: str, what: str) -> None:
    """Raise at the first name that was there before."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names):
        if name in seen:
            message = f"{name!r} is also the name of {key}[{seen[name]}]; give them different {what}"
            raise wrong((number, "name"), message, name)
        seen[name] = number


class ScenarioKeys(BaseModel):
    """Every key with its type, default and description; what does not depend on other keys is checked here."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(min_length=1, pattern=r"^[^/\\]+$", description="what the scenario is called in results")
    horizon: int = Field(ge=1, le=MOST_ROUNDS, description="rounds, i.e. decisions")
    span: int = Field(ge=1, le=LONGEST_SPAN, description="rounds over which a pull pays; a trace implies it")
    seed: int = Field(0, ge=0, description="of all random streams")
    drain: bool = Field(default=False, description="let open pulls pay to their end after the horizon")
    currency: str | None = Field(
        None, pattern=r"^\S{1,8}$", description='what rewards are paid in, e.g. "EUR": tables then show what was earned'
    )
    rewards: RewardTable = Field(description="how a pull pays: a kind and its settings")
    arms: tuple[ArmTable, ...] = Field(description="the options, each with the settings of the rewards' kind")
    trial: TrialTable | None = Field(None, description="the design of a trial: endpoint, looks, allocation and rules")
    policies: tuple[PolicyTable, ...] = Field(
        (), validate_default=True, description="who decides; none listed: the four of the paper"
    )
    delays: tuple[DelayTable, ...] = Field((), description="when parts arrive, applied in order; none: when due")
    arrivals: ArrivalTable = Field(
        cast("ArrivalTable", REGULAR),
        validate_default=True,
        description="when decisions are due: a kind and its settings",
    )
    resources: dict[str, Annotated[int, Field(ge=1)]] = Field({}, description="capacities of what delays share")
    opening_hours: dict[str, OpenHours] = Field({}, description="when resources serve; those not named always do")
    time_unit: str | None = Field(None, description="what one unit of time is, in the singular, such as day or week")
    start: date | None = Field(None, strict=False, description="the day that begins at time 0, for calendars")
    visits: list[float] | None = Field(
        None, min_length=1, description="when the parts are due after the pull; none: 0, 1, ..., span - 1"
    )
    visit_spread: float = Field(0.0, ge=0, description="by how much a part is due earlier or later, at random")
    window: float | None = Field(None, gt=0, allow_inf_nan=False, description="how long a pull is waited for")
    default_reward: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="what a part counts as that is missing when its pull is closed"
    )
    reveal: Reveal = Field(
        "all",
        description="what of the feedback is shown: all; positive parts at once, others at the closing; closed pulls",
    )

    @field_validator("time_unit")
    @classmethod
    def _check_time_unit(cls, value: str | None) -> str | None:
        return None if value is None else check_time_unit(value)

    @field_validator(*SECTIONS, mode="plain")
    @classmethod
    def _read_key(cls, value: object, info: ValidationInfo) -> Any:
        return read_key(str(info.field_name), value, info.data)

    @field_validator("opening_hours", mode="before")
    @classmethod
    def _read_opening_hours(cls, value: object) -> Any:
        return read(dict[str, OpenHours], value)

    @field_validator("trial", mode="before")
    @classmethod
    def _read_trial(cls, value: object) -> Any:
        return read(TrialTable | None, value)


def fields_of_table(keys: Mapping[str, Any], location: Location) -> Fields:
    """The known keys of the table at that place of a scenario, such as ("delays", 0); none if they are not known."""
    table: Any = keys
    match location:
        case ("rewards",) | ("arrivals",) | ("policies", int()) | ("delays", int(), *_):
            for step in location:
                table = table[step]
        case ("arms", int()):
            table = keys.get("rewards")
        case ("trial", *_):
            return fields_of_trial(location)
        case _:
            return {}
    section, kind = SECTIONS[str(location[0])], table.get("kind") if isinstance(table, dict) else None
    return section.model(kind).model_fields if kind in section.registry.names() else {}


def plain(value: object, path: str = "", depth: int = 0) -> Any:
    """The value as a TOML file would hold it, from what Python code gives: tuples, NumPy numbers, paths, models.

    Whatever a scenario says passes here first, so what no scenario needs is refused here: numbers too large to be added
    up, endless texts, lists and nesting.
    """
    match value:
        case None | bool() | int() | float() | str():
            _check_value(value, path)
            return value
        case Mapping() | list() | tuple():
            return _plain_container(value, path, depth)
        case date() | time() | Path():
            return str(value)
        case BaseModel():
            return plain(value.model_dump(mode="json"), path, depth)
        case _ if hasattr(value, "tolist"):
            return plain(value.tolist(), path, depth)
        case _:
            raise ScenarioError(f"{path}: must be a number, text, true, false, a list or a table, got {quote(value)}")


def _plain_container(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], path: str, depth: int) -> Any:
    if depth > DEEPEST:
        raise ScenarioError(f"{path[:80]}...: is nested more than {DEEPEST} deep; no key of a scenario is")
    most = MOST.get(path, LONGEST_LIST)
    if len(value) > most:
        raise ScenarioError(f"{path or 'scenario'}: has {len(value):,} entries; at most {most:,} are allowed")
    if isinstance(value, Mapping):
        longest = max((len(str(key)) for key in value), default=0)
        if longest > LONGEST_TEXT:
            raise ScenarioError(
                f"{path or 'scenario'}: has a key of {longest:,} letters; at most {LONGEST_TEXT:,} are allowed"
            )
        return {str(key): plain(one, f"{path}.{key}".removeprefix("."), depth + 1) for key, one in value.items()}
    return [plain(one, f"{path}[{number}]", depth + 1) for number, one in enumerate(value)]


def _check_value(value: float | str | None, path: str) -> None:
    """Raise unless a number is finite and not too large, and a text not too long; seeds are no amounts."""
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise ScenarioError(f"{path}: is a text of {len(value):,} letters; at most {LONGEST_TEXT:,} are allowed")
    elif isinstance(value, float) and not isfinite(value):
        raise ScenarioError(f"{path}: must be a finite number, got {value}")
    elif value is not None and abs(value) > LARGEST and path != "seed":
        shown = f"{value:g}" if isinstance(value, float) else f"a number of {value.bit_length() * 0.30103:.0f} digits"
        raise ScenarioError(
            f"{path}: {shown} is beyond {LARGEST:g}, up to which times and sums are exact; give a smaller number"
        )
