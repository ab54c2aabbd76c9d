"""Commands that run scenarios: run and compare."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.cli.app import app
from tpstream.cli.options import AsJson, Force, Horizon, Jobs, Logs, PolicyNames, Quiet, Runs, ScenarioPath, Seed
from tpstream.cli.output import print_table, show_progress

if TYPE_CHECKING:
    from tpstream.study.result import Study
    from tpstream.study.scenario import Scenario


@app.command()
def run(
    scenario: ScenarioPath,
    *,
    policy: PolicyNames = None,
    runs: Runs = 1,
    seed: Seed = None,
    horizon: Horizon = None,
    jobs: Jobs = None,
    log: Logs = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario under its policies and print the final regrets."""
    study = _compare(
        load_scenario(scenario, horizon), policy, runs, seed, jobs, log, force=force, quiet=quiet or as_json
    )
    _show(study, as_json=as_json, quiet=quiet, figure=None)


@app.command()
def compare(
    scenario: ScenarioPath,
    *,
    policy: PolicyNames = None,
    runs: Runs = 10,
    seed: Seed = None,
    horizon: Horizon = None,
    jobs: Jobs = None,
    log: Logs = None,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", "-f", help="Where the figure goes (PNG, SVG, PDF). [default: logs/NAME.png]"),
    ] = None,
    log_x: Annotated[bool, typer.Option("--log-x", help="Rounds on a logarithmic axis.")] = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare policies over many runs: a table with 95 % intervals, and a figure of regret over time."""
    chosen = load_scenario(scenario, horizon)
    path = figure or Path("logs") / f"{chosen.name}.png"
    study = _compare(chosen, policy, runs, seed, jobs, log, force=force, quiet=quiet or as_json)
    path.parent.mkdir(parents=True, exist_ok=True)
    study.plot(path, log_rounds=log_x)
    _show(study, as_json=as_json, quiet=quiet, figure=path)


def load_scenario(path: str, horizon: int | None) -> "Scenario":
    """The scenario, with another horizon if one is asked for."""
    from tpstream.study.scenario import Scenario

    scenario = Scenario.load(path)
    return scenario if horizon is None else scenario.with_(horizon=horizon)


def _compare(
    scenario: "Scenario",
    policies: list[str] | None,
    runs: int,
    seed: int | None,
    jobs: int | None,
    logs: Path | None,
    *,
    force: bool,
    quiet: bool,
) -> "Study":
    from tpstream.study.compare import compare, default_jobs

    count = len(policies) if policies else len(scenario.choices())
    with show_progress(scenario.name, count * runs * scenario.horizon, show=not quiet) as progress:
        return compare(
            scenario,
            policies or None,
            runs=runs,
            seed=seed,
            jobs=jobs or default_jobs(),
            logs=logs,
            force=force,
            progress=progress,
        )


def _show(study: "Study", *, as_json: bool, quiet: bool, figure: Path | None) -> None:
    table = study.table()
    if as_json:
        typer.echo(json.dumps(_as_json(study, figure), indent=2))
        return
    rows = [
        [
            row["policy"],
            str(row["runs"]),
            f"{row['regret']:,.1f}",
            f"{row['low']:,.1f} to {row['high']:,.1f}" if row["runs"] > 1 else "needs 2 runs",
            f"{row['best_arm_share']:.1%}",
            f"{row['seconds_per_run']:.2f}",
        ]
        for row in table.to_dict("records")
    ]
    title = f"{study.name}: regret after {int(study.rounds[-1]):,} rounds (seed {study.seed})"
    print_table(["policy", "runs", "regret", "95 % interval", "best arm", "s/run"], rows, title=title)
    if quiet:
        return
    paths = [path for of_policy in study.logs.values() for path in of_policy]
    if paths:
        size = sum(path.stat().st_size for path in paths) / 1e6
        typer.echo(f"logs:   {paths[0].parent} ({len(paths)} files, {size:,.1f} MB)")
    if figure:
        typer.echo(f"figure: {figure}")


def _as_json(study: "Study", figure: Path | None) -> dict[str, Any]:
    rows = json.loads(study.table().to_json(orient="records", double_precision=15))
    return {
        "scenario": study.name,
        "seed": study.seed,
        "rounds": int(study.rounds[-1]),
        "policies": rows,
        "logs": {policy: [str(path) for path in paths] for policy, paths in study.logs.items()},
        "figure": None if figure is None else str(figure),
    }
