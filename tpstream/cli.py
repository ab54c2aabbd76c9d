"""The command line: parse, call, print. Heavy imports happen inside the commands, so that help is quick."""

import json
import logging
import sys
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.model.errors import TpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tpstream.study.compare import Progress
    from tpstream.study.result import Study
    from tpstream.study.scenario import Scenario

app = typer.Typer(
    name="tpstream",
    help="Simulate, record and compare decisions whose feedback trickles in over time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ScenarioPath = Annotated[str, typer.Argument(help="A scenario file, or the name of one that ships, e.g. setting-1.")]
PolicyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        help="A policy, e.g. tp-ucb-fr or tp-ucb-fr:groups=50; repeat for more. [default: those of the scenario]",
    ),
]
Runs = Annotated[
    int, typer.Option("--runs", "-n", min=1, help="Runs of every policy, each with its own random numbers.")
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="The seed of the first random stream. [default: the scenario's]")
]
Horizon = Annotated[int | None, typer.Option("--horizon", "-t", min=1, help="Rounds. [default: the scenario's]")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Processes. [default: one for each core]")]
Logs = Annotated[Path | None, typer.Option("--log", help="A folder in which every run leaves its event log.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite logs and figures that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the result: no progress, no hints.")]


class Listable(StrEnum):
    """What can be listed."""

    policies = "policies"
    rewards = "rewards"
    scenarios = "scenarios"


def main() -> None:
    """The console script: an error of ours is one line and exit code 2, never a traceback."""
    try:
        app()
    except TpstreamError as error:
        sys.stderr.write(f"tpstream: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("tpstream: interrupted\n")
        sys.exit(130)


@app.callback()
def _before(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell the story of every run.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"tpstream {installed('tpstream')}")
        raise typer.Exit
    if verbose:
        import structlog

        structlog.configure(
            logger_factory=structlog.WriteLoggerFactory(sys.stderr),
            wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        )


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
    study = _compare(_load(scenario, horizon), policy, runs, seed, jobs, log, force=force, quiet=quiet or as_json)
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
    chosen = _load(scenario, horizon)
    path = figure or Path("logs") / f"{chosen.name}.png"
    study = _compare(chosen, policy, runs, seed, jobs, log, force=force, quiet=quiet or as_json)
    path.parent.mkdir(parents=True, exist_ok=True)
    study.plot(path, log_rounds=log_x)
    _show(study, as_json=as_json, quiet=quiet, figure=path)


@app.command()
def validate(
    scenario: ScenarioPath,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the scenario as resolved, defaults filled in.")
    ] = False,
) -> None:
    """Check a scenario file and say what it describes."""
    chosen = _load(scenario, None)
    if as_json:
        typer.echo(json.dumps(chosen.resolved(), indent=2))
        return
    problem = chosen.problem()
    assert problem.means is not None  # noqa: S101 (a scenario knows its means)
    typer.echo(f"{chosen.name}: valid. {problem.arms} arms, {problem.horizon} rounds, a pull pays over {problem.span}.")
    rows = [
        [name, f"{mean:.6g}", f"{maximum:.6g}"]
        for name, mean, maximum in zip(problem.names, problem.means, problem.maxima, strict=True)
    ]
    _print_table(["arm", "mean", "maximum"], rows)
    typer.echo("policies: " + ", ".join(choice.label for choice in chosen.choices()))


@app.command(name="list")
def list_names(what: Annotated[Listable, typer.Argument(help="What to list.")]) -> None:
    """List the policies, reward models or scenarios that can be used by name."""
    if what is Listable.scenarios:
        from tpstream.study.shipped import describe_shipped

        _print_table(["scenario", "about"], [list(row) for row in describe_shipped().items()])
        return
    from tpstream.study.catalogue import describe

    _print_table([what.value, "about", "parameters"], describe(what.value))


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from tpstream.study.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


def _load(path: str, horizon: int | None) -> "Scenario":
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
    with _progress(scenario.name, count * runs * scenario.horizon, show=not quiet) as progress:
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


@contextmanager
def _progress(title: str, rounds: int, *, show: bool) -> "Iterator[Progress | None]":
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
    _print_table(["policy", "runs", "regret", "95 % interval", "best arm", "s/run"], rows, title=title)
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


def _print_table(columns: list[str], rows: list[list[str]], title: str | None = None) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for number, column in enumerate(columns):
        numeric = all(row[number].replace(",", "").replace(".", "").rstrip("%").isdigit() for row in rows)
        table.add_column(column, justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
