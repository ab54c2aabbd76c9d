"""What is asked of runs besides scenario, policy and seed: the engine, the log, who else listens, progress."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypedDict, Unpack, cast, get_args

from numpy.typing import NDArray
from pydantic import ValidationError

from tpstream.engines.engine import EngineName
from tpstream.log import SINKS
from tpstream.log.formats import check_streams, suffix_of
from tpstream.log.schema import Header
from tpstream.log.sinks import SinkKind
from tpstream.model.errors import LogError, PolicyError, StudyError, SubscriberError, did_you_mean
from tpstream.model.events import Detail
from tpstream.model.interfaces import Subscriber
from tpstream.model.names import file_names
from tpstream.model.world import BLOCK, World
from tpstream.scenario.messages import describe_error
from tpstream.scenario.policy_choice import split
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import read

if TYPE_CHECKING:
    from tpstream.run.turns import Turns
    from tpstream.run.watch import LiveLink  # loaded only for runs that are watched

SMALL = 10_000_000
"""Numbers that runs draw or pay, up to which nobody asks whether the machine has room and time for them."""
Progress = Callable[[int], None]
"""Is called from time to time with the number of rounds done since the last call."""
Measures = Mapping[str, NDArray[Any]]
"""The measures of one run by name; a single number is an array without dimensions."""


class Measurer(Subscriber, Protocol):
    """Hears all events of one run and reports measures at its end, besides those that every run reports.

    The class is sent to worker processes, so it must be at the top level of a module.
    """

    name: ClassVar[str]
    """What a study whose runs report these measures is called in its folder."""

    @classmethod
    def of_world(cls, world: World) -> Self:
        """A new one for a run in this world."""

    def values(self) -> Measures:
        """The measures; asked for once, after the last event."""


@dataclass(frozen=True)
class LogOptions:
    """Where runs leave their logs, in which format, how much of a run they hold, and whether old ones are replaced."""

    place: Path
    """The file of a single run, or the folder of a study's logs."""
    format: str | None = None
    """None: what the ending of the file says; a study's logs are JSON lines then."""
    detail: Detail | Collection[Detail] = "all"
    """One word, or several of them: "indices" and "probabilities" go together."""
    force: bool = False
    labels: tuple[str, ...] = ()
    """The policies of a study, so that no two of them share a file."""

    def __post_init__(self) -> None:
        known = get_args(Detail)
        for detail in self._asked:
            if detail not in known:
                near = did_you_mean(detail, known)
                raise LogError(f"unknown detail {detail!r} of a log{near}; use one of {', '.join(known)}")
        if "pulls" in self._asked and len(self.details) > 1:
            raise LogError(f"a log of only the pulls has no {self.details[1]}; leave out one of them")
        if self.format is not None:
            check_streams(self.format)

    @property
    def _asked(self) -> tuple[Detail, ...]:
        return (self.detail,) if isinstance(self.detail, str) else tuple(self.detail)

    @property
    def details(self) -> tuple[Detail, ...]:
        """What the log holds, each word once and in a fixed order; "all" only if it stands alone."""
        found = tuple(detail for detail in get_args(Detail) if detail in self._asked)
        return tuple(detail for detail in found if detail != "all") or ("all",)

    def path(self, label: str, run: int) -> Path:
        """The file of one run in a study's folder of logs."""
        names = self._names if label in self._names else file_names([label])
        return self.place / f"{names[label]}.run-{run:03d}{suffix_of(self.format or 'jsonl')}"

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return file_names(self.labels)


@dataclass(frozen=True)
class SinkChoice:
    """A kind of sink with its settings, as plain values that can be sent to other processes."""

    kind: str
    given: Mapping[str, Any]

    def open(self, header: Header) -> Any:
        """A new sink for one run; the caller enters it as a context manager."""
        kind = cast("SinkKind", SINKS.find(self.kind))
        return kind.open(read(kind.settings, self.given), header)


def choose_sink(spec: str) -> SinkChoice:
    """The sink of "name" or "name:key=value,key=value", with settings that fit."""
    try:
        name, given = split(spec)
    except PolicyError as error:
        raise SubscriberError(f"sink {error}") from None
    settings = cast("SinkKind", SINKS.find(name)).settings
    try:
        read(settings, given)
    except ValidationError as error:
        raise SubscriberError(f"sink {name}: {describe_error(error, lambda _: settings.model_fields)}") from None
    return SinkChoice(name, given)


@dataclass(frozen=True)
class RunOptions:
    """What is asked of runs besides scenario, policy and seed; made once, where a user calls, and handed on whole."""

    engine: EngineName = "auto"
    log: LogOptions | None = None
    sinks: tuple[SinkChoice | Subscriber, ...] = ()
    progress: Progress | None = None
    debug: bool = False
    """Run compiled policies as ordinary Python, with every index checked."""
    live: "LiveLink | None" = None
    """The way to a page that shows the runs while they go on, and may stop them."""
    measurer: type[Measurer] | None = None
    """Reports further measures of every run; None: those of `RunMeasures` alone."""
    timeout: float | None = None
    """Seconds that a policy may take for a run, compiling not counted; None: any number."""
    yes: bool = False
    """Go on although an estimate says that memory, disk or time do not suffice."""
    turns: "Turns | None" = None
    """Notes whose turn it is, in a process that is watched for its time."""

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 < self.timeout < inf:
            raise StudyError(f"timeout must be a number of seconds greater than 0, got {self.timeout}")

    def of_policies(self, labels: Iterable[str]) -> "RunOptions":
        """The same for these policies, whose logs get names of their own."""
        return self if self.log is None else replace(self, log=replace(self.log, labels=tuple(labels)))


def is_small(work: Iterable[tuple[Scenario, int]], runs: int = 1) -> bool:
    """Whether runs of these scenarios, each with so many policies, need no estimate of what they take.

    Any machine has it, and to read what this one has takes longer than a short run.
    """
    numbers = (
        max(scenario.horizon, len(scenario.arms) * BLOCK) * scenario.span * policies for scenario, policies in work
    )
    return sum(numbers) * runs <= SMALL


class RunKeywords(TypedDict, total=False):
    """The keywords with which `simulate`, `compare`, `sweep` and `trial` take these options."""

    engine: EngineName
    """Which engine serves: "compiled", "simpy", or "auto": compiled where that is possible."""
    log_format: str | None
    """The format of logs: "jsonl", or "arrow" (an Arrow stream, in files that end in `.arrows`)."""
    log_detail: Detail | Collection[Detail]
    """What a log holds: "all" events, only "pulls", or all events and at each pull also the policy's "indices" or the
    "probabilities" of the arms, or both of them as a set."""
    force: bool
    """Overwrite logs that are there already."""
    sinks: Sequence[str | Subscriber]
    """Who else hears every event: names of plug-ins as in "name:key=value", or objects with a method `hear`."""
    progress: Progress | None
    """Is called from time to time with the number of rounds done since the last call."""
    timeout: float | None
    """Seconds that a policy may take for a run; one that takes longer is ended and told of, and the others go on."""
    yes: bool
    """Go on although an estimate says that memory, disk or time do not suffice."""
    debug: bool
    """Run compiled policies as ordinary Python, with every index checked; errors name file, line and round."""
    live: "LiveLink | None"
    """The way to a page that shows the runs while they go on, and may stop them (`--live` of the commands)."""


def run_options(log: str | Path | None = None, **keywords: Unpack[RunKeywords]) -> RunOptions:
    """The options that a user's keywords stand for; `log` is the place of the logs."""
    names = {"log_format": "format", "log_detail": "detail", "force": "force"}
    of_log: dict[str, Any] = {names[key]: value for key, value in keywords.items() if key in names}
    of_run: dict[str, Any] = {key: value for key, value in keywords.items() if key not in names}
    sinks = tuple(choose_sink(sink) if isinstance(sink, str) else sink for sink in keywords.get("sinks", ()))
    place = None if log is None else LogOptions(Path(log), **of_log)
    return RunOptions(**{**of_run, "log": place, "sinks": sinks})
