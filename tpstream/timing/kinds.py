"""What delays and arrival processes share: how built-in ones are registered, and how those of a scenario are built.

The settings of a built-in delay or arrival process are the delay or process itself: a frozen pydantic model with the
keys of its table as fields and the methods of its protocol. Where the scenario must be known, `build` adds it.

Delays and arrivals are built anew for every run, so that the state of a user-written one cannot pass from one run to
another.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Annotated, Any, ClassVar, NamedTuple, Self, cast

from pydantic import Field, PlainValidator, SerializeAsAny, model_validator

from tpstream.model.errors import ScenarioError, UnknownNameError, did_you_mean, user_code
from tpstream.model.interfaces import BuildContext, CalendarDelay, DelayProcess
from tpstream.model.registry import BuiltInSettings, table_model
from tpstream.model.settings import Table
from tpstream.model.world import Reveal, Timing
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.pipeline import Calendars, make_stages

FORMS = ("apply", "reported", "run", "service_times")
"""The methods of the forms of delays, of which a delay has one: sampled, calendar, process, queue."""


class TimingSettings(BuiltInSettings):
    """The keys of a built-in delay or arrival process, which are the delay or process at the same time."""

    exactly_one: ClassVar[tuple[str, ...]] = ()
    """Optional keys of which one must be given, and not more."""

    @property
    def absent(self) -> bool:
        """Whether these settings mean that there is no such delay, as a mean of 0 does."""
        return False

    @model_validator(mode="after")
    def _check_given(self) -> Self:
        given = [key for key in self.exactly_one if getattr(self, key) is not None]
        if self.exactly_one and len(given) != 1:
            both = "both" if len(self.exactly_one) == 2 else "several"  # noqa: PLR2004
            raise ValueError(f"needs {' or '.join(self.exactly_one)}, and not {both}; give one of them")
        return self

    def build(self, context: BuildContext) -> Any:  # noqa: ARG002 (for those that need it)
        """The delay or process in this scenario."""
        return self

    def with_built(self, **attributes: Any) -> Self:
        """A copy with these private attributes, which `build` made of what it knows of the scenario."""
        built = self.model_copy()
        for name, value in attributes.items():
            setattr(built, name, value)
        return built


class DelayTable(Table):
    """One of `[[delays]]`: a kind and its settings."""

    kind: str = Field(description="what delays or loses parts; `tpstream list delays` has the kinds")


class ArrivalTable(Table):
    """`[arrivals]`: a kind and its settings."""

    kind: str = Field(description="when decisions are due; `tpstream list arrivals` has the kinds")


def read_inner(value: object) -> DelayTable:
    """A delay that is a setting of another one: a table with a kind and its settings, read as strictly as others."""
    if isinstance(value, DelayTable):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise ValueError('must be a table with a kind, as in { kind = "constant", lag = 3 }')  # noqa: TRY004 (pydantic's)
    try:
        model: type[DelayTable] = table_model(value["kind"], DELAYS.find(value["kind"]).settings, DelayTable)
    except UnknownNameError as error:
        raise ValueError(str(error)) from None
    return model.model_validate_json(json.dumps(value), strict=True)


InnerDelay = Annotated[SerializeAsAny[DelayTable], PlainValidator(read_inner, json_schema_input_type=dict[str, Any])]
"""The type of a setting that is a delay itself."""


@contextmanager
def errors_at(key: str) -> Iterator[None]:
    """Let errors about a key of a table begin with the place of the table."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(f"{key}.{error}") from None


def build_inner(table: DelayTable, context: BuildContext, key: str) -> DelayProcess:
    """The inner delay of that key; only a sampled delay that does not depend on time can be inside of another one."""
    with errors_at(key):
        delay = DELAYS.find(table.kind).build(table, context)
    if hasattr(delay, "factor"):
        raise ScenarioError(
            f"{key}.kind: {table.kind!r} depends on the time of the pull, so it cannot be inside of another delay; put "
            f'that one inside of it, as in {{ kind = "seasonal", delay = {{ kind = "by-arm", ... }} }}'
        )
    if not hasattr(delay, "apply"):
        raise ScenarioError(
            f"{key}.kind: {table.kind!r} cannot be inside of another delay; give it a [[delays]] of its own"
        )
    return cast("DelayProcess", delay)


def build_timing(
    delays: Sequence[DelayTable],
    arrivals: ArrivalTable,
    context: BuildContext,
    window: float | None,
    default: float | None,
    *,
    visit_spread: float = 0.0,
    reveal: Reveal = "all",
    opening: Mapping[str, Any] | None = None,
) -> Timing:
    """The timing of these tables, built anew, with the delays in their order."""
    stages = [
        BuiltStage(f"delays[{number}]", table, *build_delay(table, context, f"delays[{number}]"))
        for number, table in enumerate(delays)
        if not is_absent(table)
    ]
    _check_order(stages)
    process = stages.pop() if stages and stages[-1].form == "run" else None
    sampled = _leading(stages, "apply")
    calendars = _leading(stages[len(sampled) :], "reported")
    later = stages[len(sampled) + len(calendars) :]
    with errors_at("arrivals"), user_code(ScenarioError, f"kind: {arrivals.kind!r}"):
        decisions = ARRIVALS.find(arrivals.kind).build(arrivals, context)
    return Timing(
        delays=tuple(stage.delay for stage in sampled),
        names=tuple(stage.name for stage in sampled),
        calendar=Calendars(tuple(s.delay for s in calendars), tuple(s.name for s in calendars)) if calendars else None,
        later=make_stages([(stage.form, stage.delay, stage.name) for stage in later]) if later else (),
        process=None if process is None else process.delay,
        process_name="" if process is None else process.name,
        resources=context.resources,
        opening=build_opening(opening or {}, context),
        visits=tuple(context.visits),
        visit_spread=visit_spread,
        arrivals=decisions,
        arrivals_name=f"arrivals ({arrivals.kind})",
        window=window,
        default=default,
        reveal=reveal,
    )


def is_absent(table: DelayTable) -> bool:
    """Whether the table means that there is no such delay; it is left out then, and draws no random numbers."""
    return isinstance(table, TimingSettings) and table.absent


def build_opening(tables: Mapping[str, Any], context: BuildContext) -> dict[str, CalendarDelay]:
    """The opening hours of resources, by name."""
    opening = {}
    for name, table in tables.items():
        if name not in context.resources:
            near = did_you_mean(name, context.resources)
            raise ScenarioError(f"opening_hours.{name}: there is no such resource{near}; declare it in [resources]")
        with errors_at(f"opening_hours.{name}"):
            opening[name] = table.build(context)
    return opening


class BuiltStage(NamedTuple):
    """A table of `[[delays]]` with its place in the scenario, the delay that was built and its form."""

    key: str
    table: DelayTable
    delay: Any
    form: str

    @property
    def name(self) -> str:
        """What errors call the delay."""
        inner = ", ".join(kinds_in(self.table.model_dump(mode="json", exclude={"kind"})))
        return f"{self.key} ({self.table.kind}{f': {inner}' if inner else ''})"


def _leading(stages: Sequence[BuiltStage], form: str) -> list[BuiltStage]:
    """The first stages, as long as they have this form and do not depend on the time of the pull."""
    return list(takewhile(lambda stage: stage.form == form and not hasattr(stage.delay, "factor"), stages))


def _check_order(stages: Sequence[BuiltStage]) -> None:
    """Raise for a delay that cannot stand where it does."""
    leading = len(_leading(stages, "apply"))
    queue = next((stage for stage in stages if stage.form == "service_times"), None)
    for number, stage in enumerate(stages):
        if number > leading and stage.form == "apply" and not is_drawn(stage.delay):
            raise ScenarioError(
                f"{stage.key}: {stage.table.kind!r} must know when all parts of a pull arrive, so it cannot come "
                f"after {stages[leading].name}; move it before"
            )
        if stage.form == "run" and number < len(stages) - 1:
            raise ScenarioError(f"{stages[number + 1].key}: nothing can come after {stage.name}; move it before")
        if stage.form == "run" and queue is not None:
            raise ScenarioError(f"{stage.key}: {stage.table.kind!r} cannot come after {queue.name}; remove one of them")


def is_drawn(delay: Any) -> bool:
    """Whether what a sampled delay draws does not depend on when parts get there, so that it may stand anywhere."""
    return hasattr(delay, "moves") and all(is_drawn(inner) for inner in getattr(delay, "inner", ()))


def build_delay(table: DelayTable, context: BuildContext, key: str) -> tuple[Any, str]:
    """The delay of that table and its form: the one of FORMS that it has."""
    with errors_at(key), user_code(ScenarioError, f"kind: {table.kind!r}"):
        delay = DELAYS.find(table.kind).build(table, context)
    forms = [form for form in FORMS if hasattr(delay, form)]
    if len(forms) != 1:
        raise ScenarioError(
            f"{key}.kind: {table.kind!r} must build what has one of apply, reported and run, got {forms}"
        )
    if forms[0] in {"apply", "reported"} and not hasattr(delay, "whole"):
        raise ScenarioError(
            f"{key}.kind: what {table.kind!r} builds does not say whether it is whole; add the property"
        )
    return delay, forms[0]


def kinds_in(value: object) -> list[str]:
    """The kinds of all tables in a value of a scenario, each once."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return []
    own = [str(value["kind"])] if "kind" in value else []
    return list(dict.fromkeys([*own, *(kind for one in value.values() for kind in kinds_in(one))]))
