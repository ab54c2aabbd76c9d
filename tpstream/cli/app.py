"""The application: its options, and what happens to errors."""

import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from tpstream.model.errors import TpstreamError
from tpstream.model.notes import own_version

COMMANDS = ("run", "study", "trial", "replay", "logs", "describe", "paper", "data")
"""The modules with the commands, in the order in which the help shows them."""
INTERRUPTED = 130
"""The exit code of a command that was interrupted from the keyboard, as in any shell."""
WORDS = {
    ": Value error, ": ": ",
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "must be a number",
}
"""From the words of a validator to ours."""
UsageError: Any = typer.BadParameter.__base__
"""What Typer raises when the words of a command line are wrong; it has no public name for it."""

app = typer.Typer(
    name="tpstream",
    help="Simulate, record and compare decisions whose feedback trickles in over time.",
    epilog="Start with: tpstream run setting-1 --horizon 2000",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The console script: an error is one line and exit code 2, never a traceback."""
    for name in COMMANDS:
        import_module(f"tpstream.cli.{name}")
    try:
        code: int = app(prog_name="tpstream", standalone_mode=False) or 0
    except TpstreamError as error:
        code = _complain(str(error))
    except UsageError as error:
        code = _complain(_about_usage(error))
    except OSError as error:
        code = _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        sys.stderr.write("tpstream: interrupted\n")
    sys.exit(code)


def _complain(message: str) -> int:
    sys.stderr.write(f"tpstream: {message}\n")
    return 2


def _about_usage(error: Any) -> str:
    """Typer's complaint as one line, with the place of the remedy."""
    message = " ".join(error.format_message().split()).removesuffix(".")
    for theirs, ours in WORDS.items():
        message = message.replace(theirs, ours)
    command = error.ctx.command_path if error.ctx else "tpstream"
    return f"{message[:1].lower()}{message[1:]}; see `{command} --help`"


@app.callback()
def _before(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", metavar="")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell the story of every run.", metavar="")] = False,
) -> None:
    if version:
        typer.echo(f"tpstream {own_version()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    if verbose:
        from tpstream.model.notes import VERBOSE

        os.environ[VERBOSE] = "1"
