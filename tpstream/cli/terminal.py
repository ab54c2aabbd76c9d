"""What commands write to a terminal: names in it are text, whatever signs they have."""

import sys
from typing import TYPE_CHECKING

import typer

from tpstream.model.names import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def say(text: str = "", *, err: bool = False) -> None:
    """Print a line, on standard error with `err`; without characters that a terminal would obey instead of showing."""
    typer.echo(visible(text), err=err)


def complain(text: str) -> None:
    """Print a line on standard error that begins with the name of the program."""
    sys.stderr.write(f"tpstream: {visible(text)}\n")
    sys.stderr.flush()


def open_console(width: int | None = None) -> "Console":
    """A console of Rich on standard output that lets a closed pipe be told like any other error."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Terminal(width=width)


def rich_text(text: str) -> "Text":
    """A text for Rich that it shows as it is: brackets are no markup, and escape bytes are left out."""
    from rich.text import Text

    return Text(visible(text))
