"""The application: its options, and what happens to errors."""

import logging
import sys
from typing import Annotated

import typer

from tpstream.model.errors import TpstreamError

app = typer.Typer(
    name="tpstream",
    help="Simulate, record and compare decisions whose feedback trickles in over time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The console script: an error of ours is one line and exit code 2, never a traceback."""
    from tpstream.cli import describe, simulate  # noqa: F401 (they add their commands)

    try:
        app()
    except TpstreamError as error:
        sys.stderr.write(f"tpstream: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("tpstream: interrupted\n")
        sys.exit(130)


@app.callback()
def _before(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell the story of every run.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"tpstream {installed('tpstream')}")
        raise typer.Exit
    if verbose:
        import structlog

        structlog.configure(
            logger_factory=structlog.WriteLoggerFactory(sys.stderr),
            wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        )
