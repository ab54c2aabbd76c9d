"""Tables about time: `[[delays]]`, `[arrivals]` and what they make together."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import PlainValidator

from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import ArrivalProcess, BuildContext, CalendarDelay, DelayProcess, ProcessDelay
from tpstream.model.world import Timing
from tpstream.scenario.messages import Fields, Location, blamed, quote, wrong
from tpstream.scenario.tables import kind_of, list_of_tables, read
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.kinds import ArrivalTable, DelayTable, arrival_table, delay_table, find_arrivals, find_delay
from tpstream.timing.pipeline import Calendars

REGULAR = {"kind": "regular"}
"""The arrivals of a scenario that says nothing about them."""


def read_delays(value: object) -> tuple[DelayTable, ...]:
    """The `[[delays]]` tables."""
    tables = list_of_tables(value, "delays")
    models = tuple(delay_table(kind_of(table, DELAYS, (number,))) for number, table in enumerate(tables))
    delays: tuple[DelayTable, ...] = read(tuple[models], tables) if models else ()  # type: ignore[valid-type]
    return delays


def read_arrivals(value: object) -> ArrivalTable:
    """The `[arrivals]` table."""
    if not isinstance(value, dict):
        raise wrong((), f"must be a table, got {quote(value)}; write [arrivals]", value)
    table: ArrivalTable = read(arrival_table(kind_of(value, ARRIVALS, ())), value)
    return table


GivenDelays = Annotated[tuple[DelayTable, ...], PlainValidator(read_delays)]
GivenArrivals = Annotated[ArrivalTable, PlainValidator(read_arrivals)]


def timing_fields(keys: Mapping[str, Any], location: Location) -> Fields:
    """The known keys of `[arrivals]`, of one of `[[delays]]` or of a delay inside of it."""
    table: Any = keys
    for step in location:
        table = table[step]
    if not isinstance(table, dict) or "kind" not in table:
        return {}
    return (arrival_table if location[0] == "arrivals" else delay_table)(table["kind"]).model_fields


def dump_timing(delays: Sequence[DelayTable], arrivals: ArrivalTable) -> dict[str, Any]:
    """Both as plain values, as far as they differ from the paper's world: a scenario in it says nothing of them."""
    told = [delay.model_dump(mode="json") for delay in delays if delay.kind != "none"]
    given = arrivals.model_dump(mode="json")
    usual = given == read_arrivals(REGULAR).model_dump(mode="json")
    return ({"delays": told} if told else {}) | ({} if usual else {"arrivals": given})


def build_timing(
    delays: Sequence[DelayTable],
    arrivals: ArrivalTable,
    place: BuildContext,
    window: float | None,
    default: float | None,
) -> Timing:
    """The timing that the tables describe: sampled delays, then calendars, then at most one process."""
    sampled: list[DelayProcess] = []
    names: list[str] = []
    calendars: list[CalendarDelay] = []
    calendar_names: list[str] = []
    process: ProcessDelay | None = None
    process_name = ""
    for number, table in enumerate(delays):
        if table.kind == "none":
            continue
        key, name = f"delays[{number}]", delay_name(number, table)
        delay = build_delay(table, place, key)
        if process is not None:
            raise ScenarioError(f"{key}: nothing can come after {process_name}; move it before")
        if hasattr(delay, "run"):
            process, process_name = cast("ProcessDelay", delay), name
        elif hasattr(delay, "reported"):
            calendars.append(cast("CalendarDelay", delay))
            calendar_names.append(name)
        elif calendars:
            raise ScenarioError(f"{key}: a sampled delay cannot come after {calendar_names[-1]}; move it before")
        else:
            sampled.append(cast("DelayProcess", delay))
            names.append(name)
    return Timing(
        delays=tuple(sampled),
        names=tuple(names),
        calendar=Calendars(tuple(calendars), tuple(calendar_names)) if calendars else None,
        process=process,
        process_name=process_name,
        resources=place.resources,
        arrivals=build_arrivals(arrivals, place),
        arrivals_name=f"arrivals ({arrivals.kind})",
        window=window,
        default=default,
    )


def build_delay(table: DelayTable, place: BuildContext, key: str) -> object:
    """The delay of that table, which must be in one of the three forms."""
    try:
        with blamed(f"kind: {table.kind!r}"):
            delay = find_delay(table.kind).build(table, place)
    except ScenarioError as error:
        raise ScenarioError(f"{key}.{error}") from None
    forms = [form for form in ("apply", "reported", "run") if hasattr(delay, form)]
    if len(forms) != 1:
        raise ScenarioError(
            f"{key}.kind: {table.kind!r} must build what has one of apply, reported and run, got {forms}"
        )
    if forms != ["run"] and not hasattr(delay, "whole"):
        raise ScenarioError(
            f"{key}.kind: what {table.kind!r} builds does not say whether it is whole; add the property"
        )
    return delay


def build_arrivals(table: ArrivalTable, place: BuildContext) -> ArrivalProcess:
    """The arrival process of that table."""
    try:
        with blamed(f"kind: {table.kind!r}"):
            return find_arrivals(table.kind).build(table, place)
    except ScenarioError as error:
        raise ScenarioError(f"arrivals.{error}") from None


def delay_name(number: int, table: DelayTable) -> str:
    """What errors call a delay: its place in the scenario, its kind and the kinds of those inside of it."""
    inner = ", ".join(kinds_in(table.model_dump(mode="json", exclude={"kind"})))
    return f"delays[{number}] ({table.kind}{f': {inner}' if inner else ''})"


def kinds_in(value: object) -> list[str]:
    """The kinds of all tables in a value of a scenario, each once."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return []
    own = [str(value["kind"])] if "kind" in value else []
    return list(dict.fromkeys([*own, *(kind for one in value.values() for kind in kinds_in(one))]))
