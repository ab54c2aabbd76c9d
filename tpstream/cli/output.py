"""How commands show their results: progress on standard error, tables and JSON on standard output, files of tables."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tpstream.analysis.printed import NUMBER, last_money, money_rows, paired_money_rows
from tpstream.cli.start import complain, open_console, rich_text, say
from tpstream.model.names import csv_text, visible

if TYPE_CHECKING:
    import pandas as pd
    from rich.progress import Progress as RichProgress

    from tpstream.analysis.log_regret import LogRegret
    from tpstream.experiment.result import Study
    from tpstream.experiment.runs import FailedRun
    from tpstream.experiment.sweep import Sweep
    from tpstream.trial.characteristics import Trial

WIDE = 120
"""The width of a table that goes to a file or another program."""
FAILED = 1
"""The exit code of a study in which runs failed; the others are in its results."""
MOST_SHOWN = 10
"""Failed runs that are shown one by one."""
INTERVAL = re.compile(r"([^()]+) \(([^()]+) to ([^()]+)\)")
"""A value and its interval in brackets."""
FRAME = 3
"""What a column needs besides its text: a line and two spaces; the table has one more line."""
TABLE_ENDINGS = (".csv", ".parquet", ".json")
NO_PROOF = "note: the bounds are proved for regular arrivals without delays or a window; here the timing differs"
"""Below bounds that are shown for a world in which they are not proved."""


class Bar:
    """A progress bar with the rate of rounds; their total is told when it is known."""

    def __init__(self, rich: "RichProgress", title: str) -> None:
        self._rich = rich
        self._task = rich.add_task(visible(title), total=None, rate="")
        self._said = ""

    def expect(self, rounds: int) -> None:
        """Set the total number of rounds."""
        self._rich.update(self._task, total=rounds)

    def __call__(self, rounds: int) -> None:
        """Add the rounds that were done since the last call."""
        self._rich.update(self._task, advance=rounds)
        speed = self._rich.tasks[0].speed
        self._rich.update(self._task, rate=self._said or (f"{speed:,.0f} rounds/s" if speed else ""))

    def say(self, text: str) -> None:
        """Show this, such as an estimate so far, instead of the rate."""
        self._said = text


@contextmanager
def show_progress(title: str, *, show: bool) -> "Iterator[Bar | None]":
    """A bar with rate and remaining time on standard error; None if it is no terminal, or without `show`.

    Without `show`, notes of the runs are left out, too.
    """
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
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as rich:
        yield Bar(rich, title)


@contextmanager
def without_notes() -> Iterator[None]:
    """Show warnings but no notes; this is set in the environment, so that worker processes do the same."""
    from tpstream.model.notes import NOTES

    before = os.environ.get(NOTES)
    os.environ[NOTES] = "0"
    try:
        yield
    finally:
        del os.environ[NOTES]
        if before is not None:
            os.environ[NOTES] = before


def print_table(rows: Sequence[Mapping[str, str]], title: str | None = None) -> None:
    """Print a table of rows, each from columns to texts; what a row lacks stays empty, numbers go to the right."""
    from rich.table import Table

    console = open_console()
    if not (console.is_terminal or "COLUMNS" in os.environ):
        console = open_console(WIDE)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    texts = {column: [visible(row.get(column, "")) for row in rows] for column in columns}
    table = Table(
        title=None if title is None else rich_text(title), title_justify="left", title_style="bold", header_style="bold"
    )
    widths = fit_columns(texts, console.width)
    for column, cells in texts.items():
        numeric, width, first = all(map(NUMBER.fullmatch, cells)), widths.get(column), column == columns[0]
        table.add_column(
            rich_text(column), justify="right" if numeric else "left", overflow="fold", no_wrap=first, width=width
        )
    for row in rows:
        table.add_row(*(rich_text(broken_cell(row.get(column, ""), widths.get(column))) for column in columns))
    console.print(table)


def fit_columns(texts: Mapping[str, Sequence[str]], width: int) -> dict[str, int]:
    """Widths of columns in which headers are broken at their words, and cells only where `interval_lines` does.

    Room that is left goes to the columns that need least to be whole. Nothing is returned if no cell need be broken, or
    if such widths do not fit.
    """
    room = width - FRAME * len(texts) - 1
    whole = {title: max(map(len, [title, *cells])) for title, cells in texts.items()}
    if sum(whole.values()) <= room:
        return {}
    for most in (2, 3):
        lines = {
            title: [line for cell in cells for line in interval_lines(cell, most)] for title, cells in texts.items()
        }
        widths = {title: max(map(len, [*title.split(), *lines[title]]), default=0) for title in texts}
        left = room - sum(widths.values())
        if left >= 0:
            for title, needed in sorted(widths.items(), key=lambda one: whole[one[0]] - one[1]):
                widths[title] = min(whole[title], needed + left)
                left -= widths[title] - needed
            return widths
    return {}


def interval_lines(cell: str, most: int) -> list[str]:
    """A value and its interval in brackets on so many lines at most, broken before the bracket and before "to"."""
    found = INTERVAL.fullmatch(cell)
    if most == 1 or found is None:
        return [cell]
    value, low, high = found.groups()
    return [value, f"({low} to {high})"] if most == 2 else [value, f"({low}", f"to {high})"]  # noqa: PLR2004 (two lines)


def broken_cell(cell: str, width: int | None) -> str:
    """The cell on as few lines as the width allows."""
    ways = (interval_lines(cell, most) for most in (1, 2, 3))
    return cell if width is None else "\n".join(next((way for way in ways if max(map(len, way)) <= width), [cell]))


def print_money(result: "Study | Sweep | Trial | LogRegret", title: str, cells: Sequence[str] = ()) -> None:
    """Print the table `money` after the last round, where rewards are money; `cells` are the paths of a sweep."""
    rows = [] if result.currency is None else money_rows(result.money(), result.currency, cells)
    if rows:
        print_table(rows, title)


def print_paired_money(study: "Study | Trial", against: str) -> None:
    """Print the table `money_contrasts` of the other policies against one, where rewards are money."""
    if study.currency is not None:
        rows = paired_money_rows(study.money_contrasts(against), study.currency)
        print_table(rows, title=f"money against {against}, run by run")


def money_json(result: "Study | Sweep | Trial | LogRegret", cells: Sequence[str] = ()) -> dict[str, Any]:
    """The currency and the tables of money after the last round, for JSON; null and no rows where there is none."""
    found = {
        "currency": result.currency,
        "money": [] if result.currency is None else records(last_money(result.money(), cells)),
    }
    contrasts = getattr(result, "money_contrasts", None)  # runs of logs are not paired
    if contrasts is None:
        return found
    return {**found, "money_contrasts": [] if result.currency is None else records(contrasts())}


def print_json(result: dict[str, Any]) -> None:
    """Print a result as JSON; paths as text."""
    say(json.dumps(result, indent=2, default=os.fspath))


def pick(result: object, *names: str) -> dict[str, Any]:
    """These attributes of a result by name, for JSON."""
    return {name: getattr(result, name) for name in names}


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows of a table as plain JSON values; null where a number is missing, since JSON has no NaN."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def write_table(path: Path, table: "pd.DataFrame") -> None:
    """Write a table as CSV, Parquet or JSON, by the ending of the file."""
    from tpstream.model.errors import LogError
    from tpstream.model.whole_files import write_whole

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".csv":
            content = csv_text(table).encode()
        elif path.suffix == ".parquet":
            content = table.to_parquet(index=False)
        else:
            content = (json.dumps(records(table), indent=2) + "\n").encode()
        write_whole(path, content)
    except OSError as error:
        raise LogError(f"{path}: cannot write the table: {error.strerror}; choose another place") from error


def report_failures(failures: "Sequence[FailedRun]") -> None:
    """Say on standard error which runs failed and how to repeat them, and exit with the code for it."""
    if not failures:
        return
    for one in failures[:MOST_SHOWN]:
        complain(f"{one}\n  repeat: {one.repeat}")
    if len(failures) > MOST_SHOWN:
        complain(f"and {len(failures) - MOST_SHOWN} more runs failed")
    raise typer.Exit(FAILED)
