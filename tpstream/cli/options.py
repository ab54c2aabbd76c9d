"""Arguments and options that several commands share."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class LogFormats(StrEnum):
    """The forms in which a run can write its log."""

    jsonl = "jsonl"
    arrow = "arrow"


class LogDetails(StrEnum):
    """How much of a run its log holds."""

    all = "all"
    pulls = "pulls"
    indices = "indices"


class Engines(StrEnum):
    """Where time comes from."""

    auto = "auto"
    compiled = "compiled"
    simpy = "simpy"


def at_least(least: int) -> Callable[[int | None], int | None]:
    """A check of an option's value; it names the value, which Typer's own does not."""

    def check(value: int | None) -> int | None:
        if value is not None and value < least:
            raise typer.BadParameter(f"must be at least {least}, got {value}")
        return value

    return check


def check_log_options(log: Path | None, form: LogFormats, detail: LogDetails) -> None:
    """Refuse to pass over what was said about logs that nobody asked for."""
    for option, value, default in (("format", form, LogFormats.jsonl), ("detail", detail, LogDetails.all)):
        if log is None and value != default:
            raise typer.BadParameter(f"--log-{option} {value.value} is about logs; name a folder for them with --log")


def load_plugins(paths: list[Path] | None) -> None:
    """Load the plug-in files that were named."""
    if paths:
        from tpstream.scenario.plugins import load_plugin

        for path in paths:
            load_plugin(path)


ScenarioPath = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A scenario file, or the name of one that ships (see `tpstream list scenarios`)."
    ),
]
PolicyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        metavar="NAME",
        show_default="those of the scenario",
        help="A policy, e.g. tp-ucb-fr or tp-ucb-fr:groups=50; repeat for more (see `tpstream list policies`).",
    ),
]
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
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", show_default="none", help="Another value of a key; see sweep."),
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
Horizon = Annotated[
    int | None,
    typer.Option(
        "--horizon",
        "-t",
        metavar="ROUNDS",
        callback=at_least(1),
        show_default="the scenario's",
        help="How many decisions are made.",
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
    Engines,
    typer.Option(
        "--engine", "-e", help="The compiled loop, SimPy, or (auto) compiled where it can; they decide alike."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        show_default="none",
        help="Keeps every finished run, so that the same command goes on after an interruption, and gets the results.",
    ),
]
Rounds = Annotated[
    str | None,
    typer.Option(
        "--rounds",
        metavar="N,N,...",
        show_default="the last",
        help="Rounds at which results are given besides the last, e.g. 1000,10000 or 1000:5000:1000.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        show_default="none",
        help="The scheduler of a Dask cluster that does the work, e.g. tcp://host:8786.",
    ),
]
Logs = Annotated[
    Path | None,
    typer.Option(
        "--log", "-l", metavar="FOLDER", show_default="none", help="Where every run leaves a log of all its events."
    ),
]
LogFormat = Annotated[
    LogFormats,
    typer.Option(
        "--log-format", help="Lines of JSON, to be read by eye; or compressed columns, some fifty times as small."
    ),
]
LogDetail = Annotated[
    LogDetails,
    typer.Option(
        "--log-detail",
        help="Every event; only the pulls, for regret and not for a replay; or every event and the policy's indices.",
    ),
]
LogX = Annotated[bool, typer.Option("--log-x", metavar="", help="Draw rounds on a logarithmic axis.")]
Theory = Annotated[
    bool, typer.Option("--theory", metavar="", help="Draw the paper's bounds too (see `tpstream theory`).")
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
Sinks = Annotated[
    list[str] | None,
    typer.Option(
        "--sink",
        metavar="NAME",
        show_default="none",
        help="Who else hears every event, e.g. lines or mine:file=a.csv; repeat for more (see `tpstream list sinks`).",
    ),
]
Force = Annotated[bool, typer.Option("--force", metavar="", help="Overwrite logs that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar="", help="Print the result only: no progress, no places of files.")
]
