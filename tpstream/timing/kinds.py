"""Tables: the models of `[[delays]]` and `[arrivals]` tables, and of delays inside of delays."""

import json
from typing import Annotated, Any, cast

from pydantic import PlainValidator, SerializeAsAny

from tpstream.model.errors import ScenarioError, UnknownNameError
from tpstream.model.interfaces import ArrivalKind, BuildContext, DelayKind, DelayProcess
from tpstream.model.settings import Table, kind_table
from tpstream.timing import ARRIVALS, DELAYS


class DelayTable(Table):
    """One of `[[delays]]`: a kind and its settings."""

    kind: str


class ArrivalTable(Table):
    """`[arrivals]`: a kind and its settings."""

    kind: str


def find_delay(kind: str) -> DelayKind:
    """The delay of that name."""
    return cast("DelayKind", DELAYS.find(kind))


def find_arrivals(kind: str) -> ArrivalKind:
    """The arrival process of that name."""
    return cast("ArrivalKind", ARRIVALS.find(kind))


def delay_table(kind: str) -> type[DelayTable]:
    """The model of a `[[delays]]` table for that kind."""
    return cast("type[DelayTable]", kind_table(kind, "Delay", find_delay(kind).settings, DelayTable))


def arrival_table(kind: str) -> type[ArrivalTable]:
    """The model of `[arrivals]` for that kind."""
    return cast("type[ArrivalTable]", kind_table(kind, "Arrivals", find_arrivals(kind).settings, ArrivalTable))


def read_inner(value: object) -> DelayTable:
    """A delay inside of another one: a table with a kind and its settings, read as strictly as outer ones."""
    if isinstance(value, DelayTable):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise ValueError('must be a table with a kind, as in { kind = "constant", lag = 3 }')  # noqa: TRY004 (pydantic's)
    try:
        model = delay_table(value["kind"])
    except UnknownNameError as error:
        raise ValueError(str(error)) from None
    return model.model_validate_json(json.dumps(value), strict=True)


InnerDelay = Annotated[SerializeAsAny[DelayTable], PlainValidator(read_inner, json_schema_input_type=dict[str, Any])]
"""The type of a setting that is a delay itself."""


def build_inner(table: DelayTable, place: BuildContext, key: str) -> DelayProcess:
    """The inner delay of that key; only a sampled one can be inside of another."""
    kind = table.kind
    try:
        delay = find_delay(kind).build(table, place)
    except ScenarioError as error:
        raise ScenarioError(f"{key}.{error}") from None
    if not hasattr(delay, "apply"):
        raise ScenarioError(f"{key}.kind: {kind!r} cannot be inside of another delay; give it a [[delays]] of its own")
    return cast("DelayProcess", delay)
