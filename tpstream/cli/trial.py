"""The command that shows the operating characteristics of a trial: trial."""

import json
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.cli.app import app
from tpstream.cli.options import (
    AsJson,
    Force,
    Horizon,
    Jobs,
    Logs,
    Plugins,
    PolicyNames,
    Quiet,
    Runs,
    ScenarioPath,
    Seed,
    Settings,
)
from tpstream.cli.output import as_records, print_table, report_failures, show_progress
from tpstream.cli.run import load_scenario, with_settings
from tpstream.cli.study import CODES

if TYPE_CHECKING:
    from tpstream.trial.characteristics import Trial


@app.command(
    rich_help_panel="Simulate",
    epilog=f"Example: tpstream trial medical-trial --runs 20 --figure trial.png\n\n{CODES}",
)
def trial(
    scenario: ScenarioPath,
    *,
    policy: PolicyNames = None,
    runs: Runs = 10,
    sets: Settings = None,
    seed: Seed = None,
    horizon: Horizon = None,
    jobs: Jobs = None,
    plugin: Plugins = None,
    log: Logs = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure", "-f", metavar="FILE", show_default="none", help="Draw a figure: PNG, SVG or PDF by its ending."
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Judge policies as designs of a trial: operating characteristics with 95 % intervals, against fixed randomisation.

    Every run goes on to the last read-out; then the arm whose parts paid most on average is chosen.
    """
    from tpstream.experiment.executors import default_jobs
    from tpstream.trial import trial as trial_module

    chosen, policy = with_settings(load_scenario(scenario, horizon, plugin), policy, sets)
    if figure is not None:
        from tpstream.figures.style import prepare_figure

        prepare_figure(figure)
    with show_progress(chosen.name, show=not (quiet or as_json)) as progress:
        found = trial_module.trial(
            chosen,
            policy or None,
            runs=runs,
            seed=seed,
            jobs=jobs or default_jobs(),
            logs=log,
            force=force,
            progress=progress,
        )
    if figure is not None:
        from tpstream.trial.figure import trial_figure

        trial_figure(figure, found)
    show_trial(found, figure, as_json=as_json, quiet=quiet)
    report_failures(found.failures)


def show_trial(found: "Trial", figure: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Print the operating characteristics."""
    table = found.table()
    if as_json:
        shown = {
            "scenario": found.name,
            "patients": found.horizon,
            "policies": as_records(table),
            "failures": as_records(found.failed()),
            "figure": None if figure is None else str(figure),
        }
        typer.echo(json.dumps(shown))
        return
    columns = ["policy", "runs", "on best arm", "best chosen", "benefit lost", "against fixed", "last read-out"]
    title = f"{found.name}: {found.horizon:,} patients (brackets: 95 % intervals)"
    print_table(columns, [_row(row) for row in table.to_dict("records")], title=title)
    if figure is not None and not quiet:
        typer.echo(f"figure: {figure}")


def _row(row: dict[Any, Any]) -> list[str]:
    if not row["runs"]:
        return [row["policy"], "0", "all failed", "", "", "", ""]
    own = row["policy"] == "uniform"
    return [
        row["policy"],
        str(row["runs"]),
        _spell(row, "on_best", ",.0f"),
        _spell(row, "best_chosen", ".0%"),
        _spell(row, "lost", ",.0f"),
        "" if own else _spell(row, "against_fixed", "+,.0f"),
        _spell(row, "last_readout", ",.1f"),
    ]


def _spell(row: dict[Any, Any], name: str, form: str) -> str:
    """A number and its interval, as far as they are known."""
    mean, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if isnan(mean):
        return "unknown"
    return f"{mean:{form}}" + (f" ({low:{form}} to {high:{form}})" if row["runs"] > 1 and not isnan(low) else "")
