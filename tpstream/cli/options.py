"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ScenarioPath = Annotated[str, typer.Argument(help="A scenario file, or the name of one that ships, e.g. setting-1.")]
PolicyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        help="A policy, e.g. tp-ucb-fr or tp-ucb-fr:groups=50; repeat for more. [default: those of the scenario]",
    ),
]
Runs = Annotated[
    int, typer.Option("--runs", "-n", min=1, help="Runs of every policy, each with its own random numbers.")
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="The seed of the first random stream. [default: the scenario's]")
]
Horizon = Annotated[int | None, typer.Option("--horizon", "-t", min=1, help="Rounds. [default: the scenario's]")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Processes. [default: one for each core]")]
Logs = Annotated[Path | None, typer.Option("--log", help="A folder in which every run leaves its event log.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite logs and figures that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the result: no progress, no hints.")]
