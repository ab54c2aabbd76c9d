"""What commands show: progress on standard error, tables on standard output.

What a study found, as tables for people and as JSON for machines.
"""

import json
import math
import os
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

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
    from tpstream.model.notes import NOTES

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


if TYPE_CHECKING:
    import pandas as pd

    from tpstream.experiment.result import FailedRun, Study
    from tpstream.experiment.sweep import Sweep

FAILED = 1
"""The exit code of a study in which runs failed; the others are in its results."""
MOST_SHOWN = 10
"""Failed runs that are shown one by one."""
LARGE = 10_000
COLUMNS = ["policy", "runs", "regret", "95 % interval", "best arm", "best found", "s/run"]


def show_study(
    study: "Study",
    *,
    as_json: bool,
    quiet: bool,
    figure: Path | None = None,
    out: Path | None = None,
    value: "pd.DataFrame | None" = None,
) -> None:
    """Print the result of a comparison, and the value of partial information if it was asked for."""
    table = study.table()
    if as_json:
        found = _study_as_json(study, table, figure, out)
        typer.echo(json.dumps(found if value is None else {**found, "value": as_records(value)}, indent=2))
        return
    title = f"{study.name}: regret after {int(study.rounds[-1]):,} rounds (seed {study.seed})"
    print_table(COLUMNS, [_row(row) for row in table.to_dict("records")], title=title)
    if len(study.chosen) > 1:
        _show_rounds(study)
    if value is not None:
        _show_value(value)
    if quiet:
        return
    _show_contrasts(study)
    paths = [path for of_policy in study.logs.values() for path in of_policy]
    if paths:
        size = sum(path.stat().st_size for path in paths) / 1e6
        typer.echo(f"logs:   {paths[0].parent} ({len(paths)} files, {size:,.1f} MB)")
    _show_places(figure, out)


def show_sweep(sweep: "Sweep", *, as_json: bool, quiet: bool, figure: Path | None, out: Path | None) -> None:
    """Print the result of a sweep."""
    table = sweep.table()
    if as_json:
        found = {
            "scenario": sweep.name,
            "seed": sweep.seed,
            "cells": as_records(table),
            "contrasts": as_records(sweep.contrasts()),
            "failures": as_records(sweep.failed()),
            "figure": None if figure is None else str(figure),
            "out": None if out is None else str(out),
        }
        typer.echo(json.dumps(found, indent=2))
        return
    rows = [[*(str(row[path]) for path in sweep.paths), *_row(row)] for row in table.to_dict("records")]
    print_table([*sweep.paths, *COLUMNS], rows, title=f"{sweep.name}: final regret (seed {sweep.seed})")
    if not quiet:
        _show_places(figure, out)


def _row(row: dict[Any, Any]) -> list[str]:
    if not row["runs"]:
        return [row["policy"], "0", "all failed", "", "", "", ""]
    return [
        row["policy"],
        str(row["runs"]),
        _spell(row["regret"]),
        f"{_spell(row['low'])} to {_spell(row['high'])}" if row["runs"] > 1 else "needs 2 runs",
        f"{row['best_arm_share']:.1%}",
        f"{row['best_found']:.0%}",
        f"{row['seconds_per_run']:.2f}",
    ]


def _spell(number: float) -> str:
    """A regret, with a decimal where that is not drowned by the other digits."""
    return f"{number:,.0f}" if abs(number) >= LARGE else f"{number:,.1f}"


def _show_rounds(study: "Study") -> None:
    """The regrets at the rounds that were asked for, a column for each."""
    cells: dict[str, list[str]] = {}
    for row in study.curves(study.chosen).to_dict("records"):
        interval = f" ({_spell(row['low'])} to {_spell(row['high'])})" if row["low"] == row["low"] else ""
        cells.setdefault(row["policy"], []).append(_spell(row["regret"]) + interval)
    columns = ["policy", *(f"round {round:,}" for round in study.chosen.tolist())]
    print_table(columns, [[policy, *of_policy] for policy, of_policy in cells.items()], title="regret on the way")


def _show_contrasts(study: "Study") -> None:
    """The others against the policy that lost least, paired by run."""
    table = study.table()
    if len(table) < 2 or table["runs"].min() < 2:  # noqa: PLR2004 (two policies, and two runs for an interval)
        return
    best = str(table["policy"].iloc[int(table["regret"].argmin())])
    rows = []
    for policy in table["policy"]:
        if policy != best:
            one = study.contrast(policy, best)
            interval = f"{_spell(one.low)} to {_spell(one.high)}"
            saved = f"{one.saving:,.1f}x" if math.isfinite(one.saving) else ""
            rows.append([policy, _spell(one.difference), interval, f"{1 - one.wins:.0%}", saved])
    title = f"against {best}, run by run on the same random numbers"
    print_table(["policy", "difference", "95 % interval", "loses more in", "runs saved"], rows, title=title)


def _show_value(value: "pd.DataFrame") -> None:
    """Which fraction of the delay's cost each policy recovers."""
    rows = []
    for row in value.to_dict("records"):
        known = row["fraction"] == row["fraction"]  # else it is NaN: undefined
        interval = f"{row['low']:.1%} to {row['high']:.1%}" if known else ""
        rows.append([row["policy"], f"{row['fraction']:.1%}" if known else "undefined", interval])
    cost = value.iloc[0]
    sure = f"{_spell(cost['cost_low'])} to {_spell(cost['cost_high'])}" if cost["runs"] > 1 else "needs 2 runs"
    title = f"the delay costs {_spell(cost['cost'])} ({sure}); of that each policy recovers"
    print_table(["policy", "recovered", "95 % interval (Fieller)"], rows, title=title)


def _show_places(figure: Path | None, out: Path | None) -> None:
    if out:
        typer.echo(f"out:    {out} (results.parquet, results.csv, table.csv, ...)")
    if figure:
        typer.echo(f"figure: {figure}")


def _study_as_json(study: "Study", table: "pd.DataFrame", figure: Path | None, out: Path | None) -> dict[str, Any]:
    return {
        "scenario": study.name,
        "seed": study.seed,
        "rounds": int(study.rounds[-1]),
        "policies": as_records(table),
        "curves": as_records(study.curves(study.chosen)),
        "contrasts": as_records(study.contrasts()),
        "pulls": as_records(study.pulls()),
        "failures": as_records(study.failed()),
        "logs": {policy: [str(path) for path in paths] for policy, paths in study.logs.items()},
        "figure": None if figure is None else str(figure),
        "out": None if out is None else str(out),
    }


def as_records(table: "pd.DataFrame") -> Any:
    """The rows for JSON, which knows no NaN: what is not known is null."""
    return json.loads(table.to_json(orient="records", double_precision=15))


def report_failures(failures: "Sequence[FailedRun]") -> None:
    """Say on standard error which runs failed and how to repeat them, and leave with the exit code for it."""
    if not failures:
        return
    for one in failures[:MOST_SHOWN]:
        sys.stderr.write(f"tpstream: {one}\n  repeat: {one.repeat}\n")
    if len(failures) > MOST_SHOWN:
        sys.stderr.write(f"tpstream: and {len(failures) - MOST_SHOWN} more runs failed\n")
    raise typer.Exit(FAILED)
