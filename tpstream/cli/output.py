"""What commands show: progress on standard error, tables on standard output."""

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as Rich


WIDE = 120
"""Columns of a table that goes to a file or another program, where nobody knows how many there are."""


class Bar:
    """A bar with the rate of rounds; it can be told late how many there are."""

    def __init__(self, rich: "Rich", title: str, rounds: int | None) -> None:
        self._rich = rich
        self._task = rich.add_task(title, total=rounds, rate="")

    def expect(self, rounds: int) -> None:
        """So many rounds are going to be done."""
        self._rich.update(self._task, total=rounds)

    def __call__(self, rounds: int) -> None:
        """So many rounds were done since the last call."""
        self._rich.update(self._task, advance=rounds)
        speed = self._rich.tasks[0].speed
        self._rich.update(self._task, rate=f"{speed:,.0f} rounds/s" if speed else "")


@contextmanager
def show_progress(title: str, rounds: int | None = None, *, show: bool) -> "Iterator[Bar | None]":
    """A bar on standard error with rate and remaining time; gone when the work is done, absent where nobody looks."""
    from rich.console import Console

    console = Console(stderr=True)
    if not show:
        with without_notes():
            yield None
        return
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as rich:
        yield Bar(rich, title, rounds)


@contextmanager
def without_notes() -> "Iterator[None]":
    """Nothing but warnings is told inside: by a variable, so that the processes of a study hear of it, too."""
    from tpstream.model.story import NOTES

    before = os.environ.get(NOTES)
    os.environ[NOTES] = "0"
    try:
        yield
    finally:
        del os.environ[NOTES]
        if before is not None:
            os.environ[NOTES] = before


def print_table(columns: list[str], rows: list[list[str]], title: str | None = None) -> None:
    """Print a table; columns of numbers are aligned to the right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for number, column in enumerate(columns):
        numeric = all(row[number].replace(",", "").replace(".", "").rstrip("%").isdigit() for row in rows)
        table.add_column(column, justify="right" if numeric and rows else "left", overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not (console.is_terminal or "COLUMNS" in os.environ):
        console = Console(width=WIDE)
    console.print(table)
