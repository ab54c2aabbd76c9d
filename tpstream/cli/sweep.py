"""The command that compares policies for many values of keys: sweep."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tpstream.analysis.printed import in_currency, regret_rows
from tpstream.cli.app import command
from tpstream.cli.options import (
    Engine,
    Figure,
    LimitFlags,
    LogX,
    LogY,
    OutputFlags,
    Report,
    RoundFlags,
    StudyFlags,
    flag,
    option,
)
from tpstream.cli.output import money_json, print_json, print_money, print_table, records, report_failures
from tpstream.cli.start import say
from tpstream.cli.study import NOTES, prepared, show_places

if TYPE_CHECKING:
    from tpstream.experiment.sweep import Sweep


@command(
    "Simulate",
    example="sweep setting-1 -t 20000 --set policies.tp-ucb-fr.groups=5,10,20,25,50",
    more=NOTES,
)
def sweep(
    *,
    study: StudyFlags,
    sets: Annotated[
        list[str] | None,
        option(
            "--set PATH=V,V,...",
            "A key of the scenario and its values, as in TOML or as a range, e.g. span=100,200, "
            "arms.low.maximum=50:90:20, arms.count=2,4, delays.poisson.mean=none,5 or policies.tp-ucb-fr.groups=5,10; "
            "repeat for more: all combinations are run.",
            default="those of the file",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        option("--file SWEEP.toml", "A TOML file of keys and values, e.g. span = [100, 200].", default="none"),
    ] = None,
    together: Annotated[
        bool, flag("--together", "No combinations: all first values together, then all second ones, ...")
    ] = False,
    folder: RoundFlags,
    engine: Engine = "auto",
    limits: LimitFlags,
    figure: Figure = None,
    log_x: LogX = False,
    log_y: LogY = False,
    report: Report = None,
    output: OutputFlags,
) -> None:
    """Compare policies for every combination of values of some keys: a table, and a figure of final regret."""
    from tpstream.experiment import sweep as study_module
    from tpstream.scenario.overrides import read_set, read_sweep

    scenario = study.load()
    varied, in_file = read_sweep(file) if file else ({}, False)
    varied |= dict(map(read_set, sets or []))
    rounds = folder.chosen_rounds()
    with prepared(scenario.name, folder, output) as keywords:
        result = study_module.sweep(
            scenario,
            varied,
            study.policies,
            together=together or in_file,
            rounds=rounds,
            engine=engine,
            **study.keywords(),
            **limits.keywords(),
            **keywords,
        )
    if figure is not None:
        result.plot(figure, log_values=log_x or None, log_y=log_y)
    if report is not None:
        result.report(report, log_values=log_x or None, log_y=log_y)
    show_sweep(result, output, figure=figure, report=report, out=folder.out)
    report_failures(result.failures)


def show_sweep(
    sweep: "Sweep",
    output: OutputFlags,
    warnings: Sequence[str] = (),
    *,
    figure: Path | None,
    report: Path | None,
    out: Path | None,
) -> None:
    """Print the result of a sweep."""
    table, notes = sweep.table(), _tied_cells(sweep)
    if output.as_json:
        shown = {"scenario": sweep.name, "seed": sweep.seed, "cells": records(table), "notes": notes}
        rest = {"contrasts": records(sweep.contrasts()), "failures": records(sweep.failed())}
        print_json(
            {
                **shown,
                **money_json(sweep, sweep.paths),
                **rest,
                "warnings": list(warnings),
                "figure": figure,
                "report": report,
                "out": out,
            }
        )
        return
    shown_rows = [row for study in sweep.studies for row in regret_rows(study.rows)]
    cells = [{path: str(row[path]) for path in sweep.paths} for row in table.to_dict("records")]
    rows = [cell | row for cell, row in zip(cells, shown_rows, strict=True)]
    print_table(rows, title=f"{sweep.name}: final regret{in_currency(sweep.currency)} (seed {sweep.seed})")
    print_money(sweep, "money after the last round", sweep.paths)
    for note in notes:
        say(f"note: {note}")
    show_places(output, figure, out, report)


def _tied_cells(sweep: "Sweep") -> list[str]:
    """Which cells of a sweep have no best arm, and why."""
    return [
        f"{', '.join(f'{path} = {value}' for path, value in settings.items())}: {study.no_best_arm}"
        for settings, study in zip(sweep.settings, sweep.studies, strict=True)
        if study.no_best_arm is not None
    ]
