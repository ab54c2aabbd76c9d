"""What a log is, in words: its name, its units, the facts and the notes of a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpstream.log.reader import Log
from tpstream.log.schema import Header
from tpstream.model.display import counted, number_text
from tpstream.model.events import DROPPED, LATE
from tpstream.model.names import visible
from tpstream.model.units import count_of
from tpstream.rewards.base import money_unit
from tpstream.view.aggregate import Aggregate

LONGEST = 200
"""Letters of a name that a page holds."""


def clean(name: object) -> str:
    """A text from a log as a page shows it: one line, of limited length, without characters that cannot be seen.

    Examples
    --------
    >>> clean("left\u202eright"), len(clean("x" * 10_000))
    ('leftright', 200)
    """
    text = visible(str(name)).replace("\n", "").replace("\t", "")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def is_simulated(header: Header) -> bool:
    """Whether a log is of a simulated run: then its scenario says, among other things, when parts were due."""
    return bool(header.scenario) and header.decider is None and header.imported is None


@dataclass(frozen=True)
class Units:
    """How a page names time and reward."""

    time: str | None
    """A unit of time in the singular; None if the log does not say."""
    reward: str
    """The currency, or "reward"."""

    @staticmethod
    def of(header: Header) -> "Units":
        """The units of a log."""
        regular = is_simulated(header) and "arrivals" not in header.scenario
        rewards = header.scenario.get("rewards")
        kind = rewards.get("kind", "") if isinstance(rewards, dict) else ""
        currency = money_unit(header.currency or header.scenario.get("currency"), kind)
        second = header.decider is not None and header.decider.unit_seconds == 1
        unit = header.time_unit or ("round" if regular else "second" if second else None)
        return Units(None if unit is None else clean(unit), clean(currency) if currency else "reward")


def scenario_name(header: Header) -> str:
    """The name of the scenario or of imported data, or that there is none."""
    unnamed = "a log without a scenario" if header.imported is None else "imported tables"
    return clean(header.scenario.get("name", "")) or unnamed


def header_facts(header: Header) -> list[tuple[str, str]]:
    """The header in words, as pairs of a word and what it is."""
    given = {name: value for name, value in header.parameters.items() if value is not None}
    parameters = ", ".join(f"{clean(name)} = {clean(value)}" for name, value in given.items())
    drawn = is_simulated(header) or header.decider is not None
    versions = ", ".join(f"{clean(name)} {clean(version)}" for name, version in header.versions.items())
    origin = [
        ("scenario", clean(header.scenario.get("name", "")) or "not described in the log"),
        ("policy", f"{clean(header.policy)} ({clean(header.kind)}{', ' if parameters else ''}{parameters})"),
    ]
    if header.imported is not None:
        names = [clean(table.get("name", "")) for table in header.imported.get("tables", ())]
        origin = [("data", scenario_name(header)), ("imported from", ", ".join(names) or "tables without a name")]
    return [
        *origin,
        *([("random numbers", f"seed {header.seed}, run {header.run}")] if drawn else []),
        ("unit of time", Units.of(header).time or "not named in the log"),
        ("made with", versions or "versions are not in the log"),
    ]


def facts(log: Log, aggregate: Aggregate) -> list[tuple[str, str]]:
    """What a log is and holds, as pairs of a word and what it is."""
    header = log.header
    scenario, policy, *rest = header_facts(header)
    span = f"each pays in up to {counted(header.span, 'part')}"
    end = log.truncated or "complete"
    parts = {LATE: "came too late", DROPPED: "are lost"}
    gone = [
        f"{number:,} parts {words}" for kind, words in parts.items() if (number := aggregate.counts[..., kind].sum())
    ]
    pulls = f"{counted(aggregate.pulls.count, 'decision')} among {counted(len(header.arms), 'arm')}"
    found = [
        scenario,
        policy,
        ("decisions", f"{pulls}; {span}{''.join(f'; {text}' for text in gone)}"),
        ("events", f"{aggregate.events:,}, {end}{', holds only the pulls' if header.detail == 'pulls' else ''}"),
        *rest,
        ("file", clean(log.path.name)),
    ]
    if aggregate.pulls.count and None not in header.means:
        regret = number_text(float(aggregate.regret()[-1]))
        found.insert(4, ("pseudo-regret", f"{regret}, from the means in the log's header"))
    return found


def notes(log: Log, aggregate: Aggregate, summaries: int, step: int, with_parts: int) -> list[str]:
    """What a reader should know: what was added up, what was sampled, what is missing."""
    units, pulls = Units.of(log.header), aggregate.pulls.count
    found = [] if log.truncated is None else [_ending(log, log.truncated)]
    if log.header.detail == "pulls":
        found.append("The log holds only the pulls, so what they paid is not known.")
    if log.header.reveal != "all":
        found.append(f"Parts are shown when they came; the policy did not hear all of them then ({log.header.reveal}).")
    if log.header.sparse:
        when = "their period was over" if log.header.payments else "they were due"
        found.append(f"The log is sparse: parts without an event paid nothing, and count as arrived when {when}.")
    if aggregate.events:
        width = count_of(aggregate.time.width, units.time)
        steps = counted(aggregate.time.used, "step")
        found.append(f"Events are added up in {steps} of time, of {width} each.")
    every = "all" if step <= 1 else f"every {_ordinal(step)} one, {summaries:,} in all"
    found.append(f"Of {counted(pulls, 'pull')}, {every} can be looked up; {_sample(with_parts, pulls)}.")
    return found


def _ending(log: Log, truncated: str) -> str:
    """What a reader should know of the end of a log that does not prove that it is whole."""
    if log.reader.end is not None:
        return f"{truncated[0].upper()}{truncated[1:]}."
    if log.header.decider is not None and log.reader.last is not None:
        return f"The log {truncated}."
    return f"The log is not complete: {truncated}. Everything up to there is shown."


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _sample(with_parts: int, pulls: int) -> str:
    if with_parts >= pulls:
        return "the parts of each are in this page"
    return (
        f"the parts of {with_parts:,} are in this page: those that paid most, least, longest and with most late parts, "
        f"and a random sample (--pull N adds any other)"
    )


def divergence(logs: Sequence[Aggregate]) -> list[dict[str, Any] | None]:
    """Where each log first decides otherwise than the first one; None where it never does, or has other arms."""
    first = logs[0]
    found: list[dict[str, Any] | None] = []
    for one in logs:
        alike = one.header.arms == first.header.arms
        pull = first_difference(first.pulls.decided, one.pulls.decided) if alike else None
        time = None if pull is None else float(one.pulls.time[pull - 1])
        found.append(None if pull is None else parting(first.header, pull, time))
    return found


def first_difference(first: NDArray[Any], other: NDArray[Any]) -> int | None:
    """The number of the first pull, from 1, of which the arm differs; None if there is none as far as both go."""
    common = min(len(first), len(other))
    differs = first[:common] != other[:common]
    return int(np.argmax(differs)) + 1 if differs.any() else None


def parting(first: Header, pull: int, time: float | None) -> dict[str, Any]:
    """That a run decides otherwise than the first one in this pull, at this time, as a page takes it."""
    return {"pull": pull, "time": time, "policy": clean(first.policy), "run": first.run}
