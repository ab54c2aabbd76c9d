"""What commands show: progress on standard error, tables on standard output."""

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tpstream.study.compare import Progress


@contextmanager
def show_progress(title: str, rounds: int, *, show: bool) -> "Iterator[Progress | None]":
    """A bar on standard error with rate and remaining time; gone when the work is done."""
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=rounds, rate="")

        def advance(done: int) -> None:
            bar.update(task, advance=done)
            speed = bar.tasks[task].speed
            bar.update(task, rate=f"{speed:,.0f} rounds/s" if speed else "")

        yield advance


def print_table(columns: list[str], rows: list[list[str]], title: str | None = None) -> None:
    """Print a table; columns of numbers are aligned to the right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for number, column in enumerate(columns):
        numeric = all(row[number].replace(",", "").replace(".", "").rstrip("%").isdigit() for row in rows)
        table.add_column(column, justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
