"""The command that begins a plug-in: new."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tpstream.cli.app import app


class Kinds(StrEnum):
    """What can be begun."""

    delay = "delay"
    policy = "policy"
    reward = "reward"
    arrival = "arrival"
    sink = "sink"


@app.command(rich_help_panel="Describe", epilog="Example: tpstream new delay post-office --out plugins")
def new(
    kind: Annotated[Kinds, typer.Argument(help="What to write.", show_default=False)],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What scenarios will call it, e.g. post-office.", show_default=False)
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the two files go.")] = Path(),
) -> None:
    """Write a plug-in that works, and its test, to be changed into what you need."""
    from tpstream.study.scaffold import SECTIONS, write_plugin

    plugin, test = write_plugin(kind.value, name, out)
    typer.echo(f"plug-in: {plugin}")
    typer.echo(f"test:    {test}")
    typer.echo(f"Try it:  pytest {test}")
    typer.echo(f"Use it:  tpstream list {SECTIONS[kind.value]} --plugin {plugin}")
