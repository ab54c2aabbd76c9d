"""From the tables of a scenario to the models of a run: rewards, delays and arrivals.

Models are built anew for every run, so that the state of a user-written one cannot pass from one run to another.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from tpstream.model.errors import ScenarioError, user_code
from tpstream.model.interfaces import ArrivalProcess, BuildContext, CalendarDelay, DelayProcess, ProcessDelay, Rewards
from tpstream.model.world import Timing
from tpstream.rewards import REWARDS
from tpstream.rewards.base import check_rewards
from tpstream.scenario.tables import ArmTable, RewardTable
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.kinds import ArrivalTable, DelayTable
from tpstream.timing.pipeline import Calendars


def build_rewards(table: RewardTable, arms: Sequence[ArmTable], context: BuildContext) -> Rewards:
    """The reward model of these tables."""
    with user_code(ScenarioError, f"rewards.kind: {table.kind!r}"):
        rewards: Rewards = REWARDS.find(table.kind).build(table, arms, context)
        check_rewards(rewards, context.span)
        return replace(rewards, name=f"rewards ({table.kind})")


def build_timing(
    delays: Sequence[DelayTable],
    arrivals: ArrivalTable,
    context: BuildContext,
    window: float | None,
    default: float | None,
) -> Timing:
    """The timing of these tables; sampled delays come first, then calendars, then at most one process."""
    sampled: list[tuple[DelayProcess, str]] = []
    calendars: list[tuple[CalendarDelay, str]] = []
    process: ProcessDelay | None = None
    process_name = ""
    for number, table in enumerate(delays):
        if table.kind == "none":
            continue
        key, name = f"delays[{number}]", delay_name(number, table)
        delay = build_delay(table, context, key)
        if process is not None:
            raise ScenarioError(f"{key}: nothing can come after {process_name}; move it before")
        if hasattr(delay, "run"):
            process, process_name = delay, name
        elif hasattr(delay, "reported"):
            calendars.append((delay, name))
        elif calendars:
            raise ScenarioError(f"{key}: a sampled delay cannot come after {calendars[-1][1]}; move it before")
        else:
            sampled.append((delay, name))
    return Timing(
        delays=tuple(delay for delay, _ in sampled),
        names=tuple(name for _, name in sampled),
        calendar=Calendars(*map(tuple, zip(*calendars, strict=True))) if calendars else None,
        process=process,
        process_name=process_name,
        resources=context.resources,
        arrivals=build_arrivals(arrivals, context),
        arrivals_name=f"arrivals ({arrivals.kind})",
        window=window,
        default=default,
    )


def build_delay(table: DelayTable, context: BuildContext, key: str) -> Any:
    """The delay of that table, which must have one of the three forms of a delay."""
    with _errors_at(key), user_code(ScenarioError, f"kind: {table.kind!r}"):
        delay = DELAYS.find(table.kind).build(table, context)
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


def build_arrivals(table: ArrivalTable, context: BuildContext) -> ArrivalProcess:
    """The arrival process of that table."""
    with _errors_at("arrivals"), user_code(ScenarioError, f"kind: {table.kind!r}"):
        return cast("ArrivalProcess", ARRIVALS.find(table.kind).build(table, context))


@contextmanager
def _errors_at(key: str) -> Iterator[None]:
    """Let errors about a key of a table begin with the place of the table."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(f"{key}.{error}") from None


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
