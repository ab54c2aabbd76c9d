"""What built-in delays and arrival processes share: how they are registered, and how one delay contains another.

The settings of a built-in delay or arrival process are the delay or process itself: a frozen pydantic model with the
keys of its table as fields and the methods of its protocol. Where the scenario must be known, `build` adds it.
"""

import json
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BaseModel, PlainValidator, SerializeAsAny, model_validator

from tpstream.model.errors import ScenarioError, UnknownNameError
from tpstream.model.interfaces import BuildContext, DelayProcess
from tpstream.model.settings import Settings, Table, table_model
from tpstream.timing import DELAYS


class TimingSettings(Settings):
    """The keys of a built-in delay or arrival process, which are the delay or process at the same time."""

    exactly_one: ClassVar[tuple[str, ...]] = ()
    """Optional keys of which one must be given, and not more."""

    @model_validator(mode="after")
    def _check_given(self) -> Self:
        given = [key for key in self.exactly_one if getattr(self, key) is not None]
        if self.exactly_one and len(given) != 1:
            raise ValueError(f"needs {' or '.join(self.exactly_one)}, and not both; give one of them")
        return self

    def build(self, context: BuildContext) -> Any:  # noqa: ARG002 (for those that need it)
        """The delay or process in this scenario."""
        return self


class BuiltInTiming:
    """A built-in delay or arrival process as it is registered."""

    def __init__(self, settings: type[TimingSettings]) -> None:
        self.settings: type[BaseModel] = settings

    def build(self, settings: TimingSettings, context: BuildContext) -> Any:
        """The delay or process of these settings."""
        return settings.build(context)


class DelayTable(Table):
    """One of `[[delays]]`: a kind and its settings."""

    kind: str


class ArrivalTable(Table):
    """`[arrivals]`: a kind and its settings."""

    kind: str


def read_inner(value: object) -> DelayTable:
    """A delay that is a setting of another one: a table with a kind and its settings, read as strictly as others."""
    if isinstance(value, DelayTable):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise ValueError('must be a table with a kind, as in { kind = "constant", lag = 3 }')  # noqa: TRY004 (pydantic's)
    try:
        model = table_model(DELAYS, value["kind"], DelayTable)
    except UnknownNameError as error:
        raise ValueError(str(error)) from None
    return model.model_validate_json(json.dumps(value), strict=True)


InnerDelay = Annotated[SerializeAsAny[DelayTable], PlainValidator(read_inner, json_schema_input_type=dict[str, Any])]
"""The type of a setting that is a delay itself."""


def build_inner(table: DelayTable, context: BuildContext, key: str) -> DelayProcess:
    """The inner delay of that key; only a sampled delay can be inside of another one."""
    try:
        delay = DELAYS.find(table.kind).build(table, context)
    except ScenarioError as error:
        raise ScenarioError(f"{key}.{error}") from None
    if not hasattr(delay, "apply"):
        raise ScenarioError(
            f"{key}.kind: {table.kind!r} cannot be inside of another delay; give it a [[delays]] of its own"
        )
    return cast("DelayProcess", delay)
