"""The command that shows the operating characteristics of a trial: trial."""

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpstream.cli.app import command
from tpstream.cli.options import Figure, Force, LogFolder, OutputFlags, SettingStudyFlags
from tpstream.cli.output import print_json, print_table, records, report_failures, show_progress
from tpstream.cli.study import CODES

if TYPE_CHECKING:
    from tpstream.trial.characteristics import Trial


@command("Simulate", example="trial medical-trial --runs 20 --figure trial.png", more=CODES)
def trial(
    *,
    study: SettingStudyFlags,
    log: LogFolder = None,
    figure: Figure = None,
    force: Force = False,
    output: OutputFlags,
) -> None:
    """Judge policies as designs of a trial: operating characteristics with 95 % intervals, against fixed randomisation.

    Every run goes on to the last read-out; then the arm whose parts paid most on average is chosen.
    """
    from tpstream.trial import trial as trial_module

    scenario = study.load()
    warnings = (scenario if scenario.drain else scenario.with_(drain=True)).warnings(study.policies)
    output.warn(warnings)
    with show_progress(scenario.name, show=output.progress) as progress:
        result = trial_module.trial(
            scenario, study.policies, logs=log, force=force, progress=progress, **study.keywords()
        )
    if figure is not None:
        from tpstream.trial.figure import trial_figure

        trial_figure(figure, result)
    show_trial(result, figure, output, warnings)
    report_failures(result.failures)


def show_trial(result: "Trial", figure: Path | None, output: OutputFlags, warnings: Sequence[str] = ()) -> None:
    """Print the operating characteristics."""
    table = result.table()
    if output.as_json:
        shown = {"scenario": result.name, "patients": result.horizon, "policies": records(table)}
        print_json({**shown, "failures": records(result.failed()), "warnings": list(warnings), "figure": figure})
        return
    title = f"{result.name}: {result.horizon:,} patients (brackets: 95 % intervals)"
    print_table([_row(row) for row in table.to_dict("records")], title=title)
    output.add("figure", figure)


def _row(row: dict[Any, Any]) -> dict[str, str]:
    if not row["runs"]:
        return {"policy": row["policy"], "runs": "0", "on best arm": "all failed"}
    fixed = row["policy"] == "uniform"
    return {
        "policy": row["policy"],
        "runs": str(row["runs"]),
        "on best arm": _with_interval(row, "on_best", ",.0f"),
        "best chosen": _with_interval(row, "best_chosen", ".0%"),
        "benefit lost": _with_interval(row, "lost", ",.0f"),
        "against fixed": "" if fixed else _with_interval(row, "against_fixed", "+,.0f"),
        "last read-out": _with_interval(row, "last_readout", ",.1f"),
    }


def _with_interval(row: dict[Any, Any], name: str, form: str) -> str:
    """A number and its interval, as far as they are known."""
    mean, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if isnan(mean):
        return "unknown"
    return f"{mean:{form}}" + (f" ({low:{form}} to {high:{form}})" if row["runs"] > 1 and not isnan(low) else "")
