"""The command that writes logs again: convert."""

from pathlib import Path
from typing import Annotated

import typer

from tpstream.cli.app import app
from tpstream.cli.options import Force, Quiet


@app.command(rich_help_panel="Logs", epilog="Example: tpstream convert logs/first/tp-ucb-fr.run-000.jsonl run.parquet")
def convert(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log, in any form.", show_default=False)],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="The copy; its ending says the form: .jsonl, .arrow or .parquet.", show_default=False
        ),
    ],
    *,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a log in another form, without loss."""
    from tpstream.log.convert import convert as write_again
    from tpstream.log.reader import read_log

    source = read_log(log)
    copy = write_again(source, target, force=force)
    if quiet:
        return
    torn = f", {copy.truncated}" if copy.truncated else ""
    before, after = (path.stat().st_size / 1e6 for path in (log, target))
    typer.echo(f"{target}: {source.form} to {copy.form}, {before:,.2f} MB to {after:,.2f} MB{torn}")
