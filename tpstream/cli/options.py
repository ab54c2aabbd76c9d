"""The options of commands, each stated once; groups of them reach a command as one object.

A group is a dataclass whose fields are options; a command names it as the type of a parameter (see `command` in
app.py). An option that is handed on to `compare` needs nothing but a field of `RunFlags` here.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tpstream.cli.start import say

if TYPE_CHECKING:
    from tpstream.scenario.scenario import Scenario


def option(usage: str, help: str, *, default: str | None = None, least: int | None = None, check: Any = None) -> Any:
    """An option as its help begins, e.g. "--seed -s N": its names, and a word for its value.

    `default` is shown as its default, `least` its smallest value, and `check` a function that its value goes through.
    """
    names = [word for word in usage.split() if word.startswith("-")]
    metavar = " ".join(usage.split()[len(names) :]) or None

    def at_least(value: int | None) -> int | None:
        if value is not None and least is not None and value < least:
            raise typer.BadParameter(f"must be at least {least}, got {value}")  # Typer's own does not name the value
        return value

    callback = check if least is None else at_least
    return typer.Option(*names, metavar=metavar, help=help, show_default=default or True, callback=callback)


def flag(usage: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(*usage.split(), metavar="", help=help)


def check_figure(path: Path | None) -> Path | None:
    """The path of a figure; an error, before anything runs, if no figure can be written there."""
    if path is not None:
        from tpstream.figures.style import prepare_figure

        prepare_figure(path)
    return path


def check_page(path: Path | None) -> Path | None:
    """The path of a page; an error, before anything runs, if no page can be written there."""
    if path is not None:
        from tpstream.view.pages import prepare_page

        prepare_page(path)
    return path


ScenarioPath = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A scenario file, or the name of one that ships (see `tpstream list scenarios`)."
    ),
]
Runs = Annotated[
    int, option("--runs -n N", "Runs of every policy. Run k has the same random numbers under every policy.", least=1)
]
Seed = Annotated[
    int | None,
    option(
        "--seed -s N",
        "The seed of all random numbers; the same seed gives the same result.",
        default="the scenario's",
        least=0,
    ),
]
Jobs = Annotated[
    int | None,
    option(
        "--jobs -j N",
        "Cores that share the runs; their number changes no result.",
        default="one for each core",
        least=1,
    ),
]
Engine = Annotated[
    Literal["auto", "compiled", "simpy"],
    option(
        "--engine -e",
        "What simulates: compiled (fast), simpy (serves every scenario), or auto: compiled if it can. Same results.",
    ),
]
LogFolder = Annotated[
    Path | None, option("--log -l FOLDER", "Write a log of every event of every run to this folder.", default="none")
]
Plugins = Annotated[
    list[Path] | None,
    option(
        "--plugin FILE.py",
        "A file with policies, rewards, delays, arrivals or sinks of yours (see `tpstream new`); repeat for more.",
        default="none",
    ),
]
Debug = Annotated[
    bool,
    flag(
        "--debug",
        "Run compiled policies as ordinary Python with every index checked: slow, and an error names file and line.",
    ),
]
Force = Annotated[bool, flag("--force", "Overwrite files that are there already.")]
Figure = Annotated[
    Path | None,
    option(
        "--figure -f FILE",
        "Draw a figure to this file: PNG, SVG or PDF by its ending. A file that is there is replaced.",
        default="none",
        check=check_figure,
    ),
]
Report = Annotated[
    Path | None,
    option(
        "--report -r FILE.html",
        "Write a report to this file: findings in words, tables, figures, how to repeat it. A file that is there is "
        "replaced.",
        default="none",
        check=check_page,
    ),
]
LogX = Annotated[bool, flag("--log-x", "Draw rounds, or the values of a sweep, on a logarithmic axis.")]
LogY = Annotated[bool, flag("--log-y", "Draw the regret of a sweep on a logarithmic axis.")]
Theory = Annotated[bool, flag("--theory", "Draw the paper's bounds too (see `tpstream theory`).")]
AsJson = Annotated[bool, flag("--json", "Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, flag("--quiet -q", "Print the result only: no progress, no places of files.")]


def load_plugins(paths: list[Path] | None) -> None:
    """Load the plug-in files that were named."""
    if paths:
        from tpstream.scenario.plugins import load_plugin

        for path in paths:
            load_plugin(path)


def cores(jobs: int | None) -> int:
    """The number of cores to use: what `--jobs` says, else all that this process may use."""
    return jobs or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@dataclass(frozen=True)
class OutputFlags:
    """How the result is shown."""

    as_json: AsJson = False
    quiet: Quiet = False

    @property
    def progress(self) -> bool:
        """Whether progress may be shown."""
        return not (self.as_json or self.quiet)

    def warn(self, warnings: Sequence[str]) -> None:
        """Show the warnings of a scenario on standard error, before it runs; JSON has them as `warnings` instead."""
        for warning in () if self.as_json else warnings:
            say(f"warning: {warning}", err=True)

    def add(self, what: str, *lines: object) -> None:
        """Print lines such as "figure: ..." below the result, except lines that are None; nothing with --quiet."""
        for line in () if self.quiet else lines:
            if line is not None:
                say(f"{what}: {line}")


@dataclass(frozen=True)
class ScenarioFlags:
    """Which scenario is meant, and which policies in it."""

    scenario: ScenarioPath
    policy: Annotated[
        list[str] | None,
        option(
            "--policy -p NAME",
            "A policy, e.g. tp-ucb-fr or tp-ucb-fr:groups=50; repeat for more (see `tpstream list policies`). One that "
            "the scenario lists is taken with the scenario's parameters.",
            default="those of the scenario",
        ),
    ] = None
    horizon: Annotated[
        int | None, option("--horizon -t ROUNDS", "How many decisions are made.", default="the scenario's", least=1)
    ] = None
    plugin: Plugins = None

    @property
    def policies(self) -> list[str] | None:
        """The policies that are asked for; None: those of the scenario."""
        return self.policy or None

    def load(self) -> "Scenario":
        """The scenario, with another horizon if one is asked for; it may use what plug-in files define."""
        from tpstream.scenario.scenario import Scenario

        keys, file = self._read()
        return Scenario.parse(keys, file.parent, source=str(file))

    def _read(self) -> tuple[dict[str, Any], Path]:
        """What the scenario's file says, with another horizon if one is asked for, and the file."""
        from tpstream.scenario.files import find_file, read_toml

        load_plugins(self.plugin)
        file = find_file(self.scenario)
        keys = read_toml(file)
        if self.horizon is not None:
            keys["horizon"] = self.horizon
        return keys, file


@dataclass(frozen=True)
class SettingFlags(ScenarioFlags):
    """Which scenario is meant, which policies in it, and which of its keys get other values."""

    sets: Annotated[
        list[str] | None,
        option(
            "--set PATH=VALUE",
            "Another value of a key, e.g. span=50 or policies.tp-ucb-fr.groups=5; repeat for more.",
            default="none",
        ),
    ] = None

    @property
    def policies(self) -> list[str] | None:
        """None if a parameter of a policy is set: the scenario then lists the policies that are asked for."""
        from tpstream.scenario.overrides import read_setting, sets_policies

        return None if any(sets_policies(read_setting(text)) for text in self.sets or ()) else super().policies

    def load(self) -> "Scenario":
        """The scenario with these values, which are put in before anything of the file is judged."""
        if not self.sets:
            return super().load()
        from tpstream.model.errors import ScenarioError, StudyError
        from tpstream.scenario.overrides import change_keys, read_setting
        from tpstream.scenario.scenario import Scenario

        settings = [read_setting(text) for text in self.sets]
        keys, file = self._read()
        change_keys(keys, settings, super().policies)
        try:
            changed = Scenario.parse(keys, file.parent, source=str(file))
        except ScenarioError as error:
            raise StudyError(f"with {', '.join(map(str, settings))}: {error}") from None
        return changed.noted({setting.path: setting.value for setting in settings})


@dataclass(frozen=True)
class StudyFlags(ScenarioFlags):
    """How many runs a study has, with which random numbers, and on how many cores."""

    runs: Runs = 10
    seed: Seed = None
    jobs: Jobs = None

    def keywords(self) -> dict[str, Any]:
        """These flags as keywords of `compare`, `sweep` and `trial`."""
        return {"runs": self.runs, "seed": self.seed, "jobs": cores(self.jobs)}


@dataclass(frozen=True)
class SettingStudyFlags(StudyFlags, SettingFlags):
    """The flags of a study of a scenario, some keys of which may get other values."""


@dataclass(frozen=True)
class FolderFlags:
    """Where a study keeps its results, and which cluster works for it."""

    out: Annotated[
        Path | None,
        option(
            "--out -o FOLDER",
            "Keep finished runs and results in this folder; after an interruption, the same command continues.",
            default="none",
        ),
    ] = None
    dask: Annotated[
        str | None,
        option(
            "--dask ADDRESS",
            "The scheduler of a Dask cluster that does the work, e.g. tcp://host:8786.",
            default="none",
        ),
    ] = None


@dataclass(frozen=True)
class RoundFlags(FolderFlags):
    """The same for a study that gives results at several rounds."""

    rounds: Annotated[
        str | None,
        option(
            "--rounds N,N,...",
            "Rounds at which results are given besides the last, e.g. 1000,10000 or 1000:5000:1000.",
            default="the last",
        ),
    ] = None

    def chosen_rounds(self) -> list[int]:
        """The rounds of "1000,5000" or "1000:5000:1000"."""
        from tpstream.model.errors import StudyError
        from tpstream.scenario.overrides import read_values

        found = read_values(self.rounds) if self.rounds else []
        for one in found:
            if not isinstance(one, int):
                raise StudyError(f"--rounds {self.rounds}: {one!r} is not a whole number; write them as in 1000,5000")
        return found


@dataclass(frozen=True)
class LiveFlags:
    """Whether the work is shown on a page while it goes on, and where."""

    live: Annotated[
        bool,
        flag("--live", "Show the runs while they go on, on a page of this machine whose address is printed first."),
    ] = False
    port: Annotated[
        int | None, option("--port N", "The port of the page (--live).", default="any free one", least=1)
    ] = None

    def __post_init__(self) -> None:
        if self.port is not None and not self.live:
            raise typer.BadParameter(f"--port {self.port} is about the live page; ask for it with --live")


@dataclass(frozen=True)
class LimitFlags:
    """What a study may take. The names are those of `RunKeywords`."""

    timeout: Annotated[
        float | None,
        option(
            "--timeout SECONDS",
            "End a run in which a policy takes longer, say which, and go on with the others.",
            default="none",
        ),
    ] = None
    yes: Annotated[
        bool, flag("--yes -y", "Go on although an estimate says that memory, disk or time do not suffice.")
    ] = False

    def keywords(self) -> dict[str, Any]:
        """These flags as keywords of `compare`, `sweep`, `league`, `trial` and `calibrate`."""
        return vars(self)


@dataclass(frozen=True)
class RunFlags:
    """What is asked of every run: the engine, its log, and its sinks. The names are those of `RunKeywords`."""

    engine: Engine = "auto"
    logs: LogFolder = None
    log_format: Annotated[
        Literal["jsonl", "arrow"],
        option(
            "--log-format", "Lines of JSON, to be read by eye; or an Arrow stream (.arrows), some fifty times as small."
        ),
    ] = "jsonl"
    log_detail: Annotated[
        list[str] | None,
        option(
            "--log-detail WHAT",
            "What a log holds: all events; pulls only (for regret, not for a replay); or all events and the indices or "
            "probabilities; repeat for both.",
            default="all",
        ),
    ] = None
    force: Force = False
    sinks: Annotated[
        list[str] | None,
        option(
            "--sink NAME",
            "A sink that is told every event, e.g. mine:file=a.csv; repeat for more (see `tpstream list sinks`).",
            default="none",
        ),
    ] = None

    debug: Debug = False

    def __post_init__(self) -> None:
        details = ", ".join(self.log_detail or ["all"])
        for name, value, default in (("format", self.log_format, "jsonl"), ("detail", details, "all")):
            if self.logs is None and value != default:
                raise typer.BadParameter(f"--log-{name} {value} is about logs; name a folder for them with --log")

    def keywords(self) -> dict[str, Any]:
        """These flags as keywords of `compare`."""
        return {**vars(self), "sinks": self.sinks or (), "log_detail": self.log_detail or "all"}


@dataclass(frozen=True)
class ServiceFlags:
    """Which running service decides instead of the simulation, and by which token it lets us in."""

    against: Annotated[
        str | None,
        option(
            "--against URL",
            "Let a running service decide, and compare its decisions with the simulation, e.g. "
            "http://127.0.0.1:8787/shop (see docs/serve.md).",
            default="none",
        ),
    ] = None
    token_file: Annotated[
        Path | None,
        option("--token-file FILE", "The file that holds the token of that service (--against).", default="none"),
    ] = None

    def __post_init__(self) -> None:
        if self.token_file is not None and self.against is None:
            raise typer.BadParameter(f"--token-file {self.token_file} is about a service; name it with --against")
