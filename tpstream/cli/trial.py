"""The command that shows the operating characteristics of a trial: trial."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tpstream.analysis.printed import describe_printed, show_row
from tpstream.cli.app import command
from tpstream.cli.options import Debug, Figure, FolderFlags, Force, LogFolder, OutputFlags, SettingStudyFlags
from tpstream.cli.output import (
    in_currency,
    money_json,
    print_json,
    print_money,
    print_paired_money,
    print_table,
    records,
    report_failures,
)
from tpstream.cli.study import CODES, prepared, show_places

if TYPE_CHECKING:
    from tpstream.trial.characteristics import Trial

ABOUT_THE_BEST = ["on_best", "best_chosen", "lost", "against_fixed"]
"""Printed columns that compare with the best arm: without value where all arms are equally good."""
NOTES = f"{CODES}\n\n{describe_printed('trial')}"


@command(
    "Trials",
    example="trial medical-trial --runs 20 --figure trial.png",
    more=NOTES,
)
def trial(
    *,
    study: SettingStudyFlags,
    folder: FolderFlags,
    log: LogFolder = None,
    figure: Figure = None,
    force: Force = False,
    debug: Debug = False,
    output: OutputFlags,
) -> None:
    """Judge policies as designs of a trial: operating characteristics with 95 % intervals, against fixed randomisation.

    Every run goes on to the last read-out; then the arm whose parts paid most on average is chosen.
    """
    from tpstream.trial import trial as trial_module

    scenario = study.load()
    warnings = (scenario if scenario.drain else scenario.with_(drain=True)).warnings(study.policies)
    output.warn(warnings)
    with prepared(scenario.name, folder, output) as keywords:
        result = trial_module.trial(
            scenario, study.policies, logs=log, force=force, debug=debug, **study.keywords(), **keywords
        )
    if figure is not None:
        from tpstream.trial.figure import trial_figure

        trial_figure(figure, result)
    show_trial(result, figure, output, warnings, out=folder.out)
    report_failures(result.failures)


def show_trial(
    result: "Trial",
    figure: Path | None,
    output: OutputFlags,
    warnings: Sequence[str] = (),
    *,
    out: Path | None = None,
) -> None:
    """Print the operating characteristics."""
    table = result.table()
    if output.as_json:
        shown = {
            "scenario": result.name,
            "patients": result.horizon,
            "time_unit": result.time_unit,
            "policies": records(table),
            **money_json(result),
        }
        notes = {"no_best_arm": result.no_best_arm, "notes": result.notes, "arms": records(result.choices())}
        rest = {"failures": records(result.failed()), "warnings": list(warnings), "figure": figure, "out": out}
        print_json({**shown, **notes, **rest})
        return
    benefit = f", benefit{in_currency(result)}" if result.currency else ""
    title = f"{result.name}: {result.horizon:,} patients{benefit} (brackets: 95 % intervals)"
    if result.no_best_arm is not None:
        rows = [show_row("choices", row) for row in result.choices().to_dict("records")]
        arms = f"{result.name}: patients of each arm (of {result.horizon:,}), and how often it was chosen in the end"
        print_table(rows, title=arms)
    from tpstream.analysis.regret import all_equal

    if all_equal(result.means):
        table, title = table.drop(columns=ABOUT_THE_BEST), "runs of each policy"
    print_table([_row(row, result.time_unit) for row in table.to_dict("records")], title=title)
    _print_money(result, output)
    for note in result.notes:
        typer.echo(f"note: {note}")
    show_places(output, figure, out)


def _print_money(result: "Trial", output: OutputFlags) -> None:
    """Where rewards are money: what was earned by the time of the last decision, and more or less than fixed."""
    from tpstream.trial.characteristics import FIXED

    print_money(result, f"money after {result.horizon:,} decisions (later read-outs are not in it)")
    if not output.quiet and len(result.outcomes.get(FIXED, ())) > 1:
        print_paired_money(result, FIXED)


def _row(row: dict[Any, Any], time_unit: str | None) -> dict[str, str]:
    if not row["runs"]:
        return {"policy": row["policy"], "runs": "0 (all failed)"}
    cells = show_row("trial", row, time_unit=time_unit)
    return cells | {"against fixed": ""} if row["policy"] == "uniform" and "against fixed" in cells else cells
