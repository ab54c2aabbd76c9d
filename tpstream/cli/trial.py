"""The command that shows the operating characteristics of a trial: trial."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tpstream.analysis.printed import describe_printed
from tpstream.cli.app import command
from tpstream.cli.options import (
    Debug,
    Figure,
    FolderFlags,
    Force,
    LiveFlags,
    LogFolder,
    OutputFlags,
    Report,
    SettingStudyFlags,
)
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
    report: Report = None,
    live: LiveFlags,
    output: OutputFlags,
) -> None:
    """Judge policies as designs of a trial: operating characteristics with 95 % intervals, against fixed randomisation.

    Every run goes on to the last read-out; then the arm whose parts paid most on average is chosen.
    """
    from tpstream.trial import trial as trial_module

    scenario = study.load()
    with prepared(scenario.name, folder, output, live) as keywords:
        warnings = (scenario if scenario.drain else scenario.with_(drain=True)).warnings(study.policies)
        output.warn(warnings)
        result = trial_module.trial(
            scenario, study.policies, logs=log, force=force, debug=debug, **study.keywords(), **keywords
        )
    if figure is not None:
        from tpstream.trial.figure import trial_figure

        trial_figure(figure, result)
    if report is not None:
        result.report(report)
    show_trial(result, output, warnings, figure=figure, report=report, out=folder.out)
    report_failures(result.failures)


def show_trial(
    result: "Trial",
    output: OutputFlags,
    warnings: Sequence[str] = (),
    *,
    figure: Path | None = None,
    report: Path | None = None,
    out: Path | None = None,
) -> None:
    """Print the operating characteristics."""
    from tpstream.analysis.regret import all_equal
    from tpstream.trial.rows import choice_rows, trial_rows

    if output.as_json:
        shown = {
            "scenario": result.name,
            "patients": result.horizon,
            "time_unit": result.time_unit,
            "policies": records(result.table()),
            **money_json(result),
        }
        notes = {"no_best_arm": result.no_best_arm, "notes": result.notes, "arms": records(result.choices())}
        places = {"figure": figure, "report": report, "out": out}
        print_json({**shown, **notes, "failures": records(result.failed()), "warnings": list(warnings), **places})
        return
    benefit = f", benefit{in_currency(result)}" if result.currency else ""
    title = f"{result.name}: {result.horizon:,} patients{benefit} (brackets: 95 % intervals)"
    if result.no_best_arm is not None:
        arms = f"{result.name}: patients of each arm (of {result.horizon:,}), and how often it was chosen in the end"
        print_table(choice_rows(result), title=arms)
    title = "runs of each policy" if all_equal(result.means) else title
    print_table(trial_rows(result), title=title)
    _print_money(result, output)
    for note in result.notes:
        typer.echo(f"note: {note}")
    show_places(output, figure, out, report)


def _print_money(result: "Trial", output: OutputFlags) -> None:
    """Where rewards are money: what was earned by the time of the last decision, and more or less than fixed."""
    from tpstream.trial.characteristics import FIXED

    print_money(result, f"money after {result.horizon:,} decisions (later read-outs are not in it)")
    if not output.quiet and len(result.outcomes.get(FIXED, ())) > 1:
        print_paired_money(result, FIXED)
