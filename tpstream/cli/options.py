"""The options of commands, each stated once; groups of them reach a command as one object.

A group is a dataclass whose fields are options; a command names it as the type of a parameter (see `command` in
app.py). An option that is handed on to `compare` needs nothing but a field of `RunFlags` here.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from tpstream.scenario.scenario import Scenario


def at_least(least: int) -> Callable[[int | None], int | None]:
    """A check of an option's value whose message names the value, which Typer's own does not."""

    def check(value: int | None) -> int | None:
        if value is not None and value < least:
            raise typer.BadParameter(f"must be at least {least}, got {value}")
        return value

    return check


def flag(*names: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(*names, metavar="", help=help)


def check_figure(path: Path | None) -> Path | None:
    """The path of a figure; an error, before anything runs, if no figure can be written there."""
    if path is not None:
        from tpstream.figures.style import prepare_figure

        prepare_figure(path)
    return path


def figure_option(default: str) -> Any:
    """The option that says where a figure goes."""
    help = "Draws a figure to this file: PNG, SVG or PDF by its ending. A file that is there is replaced."
    return typer.Option("--figure", "-f", metavar="FILE", callback=check_figure, show_default=default, help=help)


ScenarioPath = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A scenario file, or the name of one that ships (see `tpstream list scenarios`)."
    ),
]
LogPath = Annotated[Path, typer.Argument(metavar="LOG", help="A log, in any format.", show_default=False)]
Runs = Annotated[
    int,
    typer.Option(
        "--runs",
        "-n",
        metavar="N",
        callback=at_least(1),
        help="Runs of every policy. Run k has the same random numbers under every policy.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        "-s",
        metavar="N",
        callback=at_least(0),
        show_default="the scenario's",
        help="Where all random numbers come from; the same seed gives the same result.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        callback=at_least(1),
        show_default="one for each core",
        help="Cores that share the runs; their number changes no result.",
    ),
]
Engine = Annotated[
    Literal["auto", "compiled", "simpy"],
    typer.Option(
        "--engine", "-e", help="The compiled loop, SimPy, or (auto) compiled where it can; they decide alike."
    ),
]
LogFolder = Annotated[
    Path | None,
    typer.Option(
        "--log", "-l", metavar="FOLDER", show_default="none", help="Where every run leaves a log of all its events."
    ),
]
Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE.py",
        show_default="none",
        help="A file with policies, rewards, delays, arrivals or sinks of yours (see `tpstream new`); repeat for more.",
    ),
]
Force = Annotated[bool, flag("--force", help="Overwrite logs that are there already.")]
LogX = Annotated[bool, flag("--log-x", help="Draw rounds on a logarithmic axis.")]
Theory = Annotated[bool, flag("--theory", help="Draw the paper's bounds too (see `tpstream theory`).")]
AsJson = Annotated[bool, flag("--json", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, flag("--quiet", "-q", help="Print the result only: no progress, no places of files.")]


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

    def add(self, what: str, *lines: object) -> None:
        """Print lines such as "note: ..." or "figure: ..." below the result, unless it is to stand alone; no None."""
        for line in () if self.quiet else lines:
            if line is not None:
                typer.echo(f"{what}: {line}")


@dataclass(frozen=True)
class ScenarioFlags:
    """Which scenario is meant, and which policies in it."""

    scenario: ScenarioPath
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            show_default="those of the scenario",
            help="A policy, e.g. tp-ucb-fr or tp-ucb-fr:groups=50; repeat for more (see `tpstream list policies`).",
        ),
    ] = None
    horizon: Annotated[
        int | None,
        typer.Option(
            "--horizon",
            "-t",
            metavar="ROUNDS",
            callback=at_least(1),
            show_default="the scenario's",
            help="How many decisions are made.",
        ),
    ] = None
    plugin: Plugins = None

    @property
    def policies(self) -> list[str] | None:
        """The policies that are asked for; None: those of the scenario."""
        return self.policy or None

    def load(self) -> "Scenario":
        """The scenario, with another horizon if one is asked for; it may use what plug-in files define."""
        return self._parse()

    def _parse(self, *, check: bool = True) -> "Scenario":
        from tpstream.scenario.files import find_file, read_toml
        from tpstream.scenario.scenario import Scenario

        load_plugins(self.plugin)
        file = find_file(self.scenario)
        keys = read_toml(file)
        if self.horizon is not None:
            keys["horizon"] = self.horizon
        return Scenario.parse(keys, file.parent, source=str(file), check=check)


@dataclass(frozen=True)
class StudyFlags(ScenarioFlags):
    """How many runs a study has, with which random numbers, and on how many cores."""

    runs: Runs = 10
    seed: Seed = None
    jobs: Jobs = None

    def keywords(self) -> dict[str, Any]:
        """The same as keywords of `compare`, `sweep` and `trial`."""
        return {"runs": self.runs, "seed": self.seed, "jobs": cores(self.jobs)}


@dataclass(frozen=True)
class SettingFlags(StudyFlags):
    """The same for a scenario of which some keys are given other values."""

    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", show_default="none", help="Another value of a key; see sweep."),
    ] = None

    @property
    def policies(self) -> list[str] | None:
        """None if keys are changed: the scenario then lists the policies that are asked for."""
        return None if self.sets else super().policies

    def load(self) -> "Scenario":
        """The scenario with these values; files that it names are read once, after the change."""
        if not self.sets:
            return super().load()
        from tpstream.model.errors import PolicyError, ScenarioError, StudyError
        from tpstream.scenario.overrides import read_setting, set_key, set_parameter, steps_of
        from tpstream.scenario.policy_choice import request_policies
        from tpstream.scenario.scenario import Scenario

        unchanged = self._parse(check=False)
        keys, requests = unchanged.resolved(), request_policies(unchanged.policies, super().policies)
        settings = [read_setting(text) for text in self.sets]
        for setting in settings:
            if steps_of(setting.path)[0] == "policies":
                requests = set_parameter(requests, setting)
            else:
                set_key(keys, setting)
        keys["policies"] = [{"kind": one.form.name, "name": one.label, **one.given} for one in requests]
        try:
            changed = Scenario.parse(keys, unchanged.folder, source=unchanged.source)
        except (ScenarioError, PolicyError) as error:
            raise StudyError(f"with {', '.join(map(str, settings))}: {error}") from None
        return changed.noted({setting.path: setting.value for setting in settings})


@dataclass(frozen=True)
class FolderFlags:
    """Where a study keeps its results, at which rounds it gives them, and which cluster works for it."""

    rounds: Annotated[
        str | None,
        typer.Option(
            "--rounds",
            metavar="N,N,...",
            show_default="the last",
            help="Rounds at which results are given besides the last, e.g. 1000,10000 or 1000:5000:1000.",
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            show_default="none",
            help="Keeps every finished run, so that the same command goes on after an interruption, and gets the "
            "results.",
        ),
    ] = None
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            show_default="none",
            help="The scheduler of a Dask cluster that does the work, e.g. tcp://host:8786.",
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
class RunFlags:
    """What is asked of every run: the engine, its log, and who else hears it. The names are those of `RunKeywords`."""

    engine: Engine = "auto"
    logs: LogFolder = None
    log_format: Annotated[
        Literal["jsonl", "arrow"],
        typer.Option(
            "--log-format", help="Lines of JSON, to be read by eye; or compressed columns, some fifty times as small."
        ),
    ] = "jsonl"
    log_detail: Annotated[
        Literal["all", "pulls", "indices"],
        typer.Option(
            "--log-detail",
            help="Every event; only the pulls, for regret and not for a replay; or every event and the policy's "
            "indices.",
        ),
    ] = "all"
    force: Force = False
    sinks: Annotated[
        list[str] | None,
        typer.Option(
            "--sink",
            metavar="NAME",
            show_default="none",
            help="Who else hears every event, e.g. lines or mine:file=a.csv; repeat for more (see `tpstream list "
            "sinks`).",
        ),
    ] = None

    def __post_init__(self) -> None:
        for name, value, default in (("format", self.log_format, "jsonl"), ("detail", self.log_detail, "all")):
            if self.logs is None and value != default:
                raise typer.BadParameter(f"--log-{name} {value} is about logs; name a folder for them with --log")

    def keywords(self) -> dict[str, Any]:
        """The same as keywords of `compare`."""
        return {**vars(self), "sinks": self.sinks or ()}
