"""What is asked of runs besides scenario, policy and seed: the engine, the log, who else listens, progress."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack, get_args

from tpstream.engines.engine import EngineName
from tpstream.log.schema import Detail
from tpstream.model.errors import LogError
from tpstream.model.interfaces import Subscriber
from tpstream.run.sinks import SinkChoice, choose_sink

DEFAULT_FORMAT = "jsonl"
"""Of a study's logs."""
Progress = Callable[[int], None]
"""Is called from time to time with the number of rounds done since the last call."""


@dataclass(frozen=True)
class LogOptions:
    """Where runs leave their logs, in which format, how much of a run they hold, and whether old ones are replaced."""

    place: Path
    """The file of a single run, or the folder of a study's logs."""
    format: str | None = None
    """None: what the ending of the file says; a study's logs are JSON lines then."""
    detail: Detail = "all"
    force: bool = False

    def __post_init__(self) -> None:
        if self.detail not in get_args(Detail):
            raise LogError(f"unknown detail {self.detail!r} of a log; use one of {', '.join(get_args(Detail))}")

    def path(self, label: str, run: int) -> Path:
        """The file of one run in a study's folder of logs."""
        plain = "".join(letter if letter.isalnum() or letter in "-.=" else "-" for letter in label)
        return self.place / f"{plain}.run-{run:03d}.{self.format or DEFAULT_FORMAT}"


@dataclass(frozen=True)
class RunOptions:
    """All of it; made once, where a user calls, and handed on whole."""

    engine: EngineName = "auto"
    log: LogOptions | None = None
    sinks: tuple[SinkChoice | Subscriber, ...] = ()
    progress: Progress | None = None


class RunKeywords(TypedDict, total=False):
    """The keywords with which `simulate`, `compare`, `sweep` and `trial` take these options."""

    engine: EngineName
    """Which engine serves: "compiled", "simpy", or "auto": compiled where that is possible."""
    log_format: str | None
    """The format of logs: "jsonl" or "arrow"."""
    log_detail: Detail
    """What a log holds: "all" events, "indices" (and the policy's index of every arm at each pull), only "pulls"."""
    force: bool
    """Overwrite logs that are there already."""
    sinks: Sequence[str | Subscriber]
    """Who else hears every event: names of plug-ins as in "name:key=value", or objects with a method `hear`."""
    progress: Progress | None
    """Is called from time to time with the number of rounds done since the last call."""


def run_options(log: str | Path | None = None, **keywords: Unpack[RunKeywords]) -> RunOptions:
    """The options that a user's keywords stand for; `log` is the place of the logs."""
    place = None
    if log is not None:
        place = LogOptions(
            Path(log),
            keywords.get("log_format"),
            keywords.get("log_detail", "all"),
            keywords.get("force", False),
        )
    return RunOptions(
        engine=keywords.get("engine", "auto"),
        log=place,
        sinks=tuple(choose_sink(sink) if isinstance(sink, str) else sink for sink in keywords.get("sinks", ())),
        progress=keywords.get("progress"),
    )
