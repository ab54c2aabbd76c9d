"""Commands for many runs: compare and sweep."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tpstream.cli.app import app
from tpstream.cli.describe import NO_PROOF
from tpstream.cli.logs import write_table
from tpstream.cli.options import (
    AsJson,
    Dask,
    Engine,
    Engines,
    Force,
    Horizon,
    Jobs,
    LogDetail,
    LogDetails,
    LogFormat,
    LogFormats,
    Logs,
    LogX,
    Out,
    Plugins,
    PolicyNames,
    Quiet,
    Rounds,
    Runs,
    ScenarioPath,
    Seed,
    Sinks,
    Theory,
    check_log_options,
)
from tpstream.cli.output import report_failures, show_progress, show_study, show_sweep
from tpstream.cli.run import load_scenario

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from tpstream.run.options import Progress

CODES = "Exit codes: 0 all runs are done, 1 some failed, 2 nothing was done, 130 interrupted."


@app.command(
    rich_help_panel="Simulate", epilog=f"Example: tpstream compare setting-1 -t 20000 -n 10 -f regret.svg\n\n{CODES}"
)
def compare(
    scenario: ScenarioPath,
    *,
    policy: PolicyNames = None,
    runs: Runs = 10,
    seed: Seed = None,
    horizon: Horizon = None,
    rounds: Rounds = None,
    out: Out = None,
    jobs: Jobs = None,
    engine: Engine = Engines.auto,
    dask: Dask = None,
    log: Logs = None,
    log_format: LogFormat = LogFormats.jsonl,
    log_detail: LogDetail = LogDetails.all,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            "-f",
            metavar="FILE",
            show_default="logs/NAME.png, or regret.png in --out",
            help="Where the figure goes: PNG, SVG or PDF by its ending. One that is there already is drawn anew.",
        ),
    ] = None,
    log_x: LogX = False,
    theory: Theory = False,
    value: Annotated[
        bool,
        typer.Option(
            "--value",
            metavar="",
            help="Say which fraction of the delay's cost each policy recovers; ucb1 and delayed-ucb1 run in any case.",
        ),
    ] = False,
    force: Force = False,
    sink: Sinks = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare policies over many runs: a table with 95 % intervals, and a figure of regret over time."""
    from tpstream.analysis.intervals import CLAIRVOYANT, WAITING
    from tpstream.experiment import compare as study_module
    from tpstream.experiment.executors import default_jobs
    from tpstream.experiment.bounds import scenario_bounds
    from tpstream.figures.style import prepare_figure
    from tpstream.scenario.policy_choice import label_of

    check_log_options(log, log_format, log_detail)
    chosen = load_scenario(scenario, horizon, plugin)
    wanted = read_rounds(rounds)
    path = figure or (out / "regret.png" if out else Path("logs") / f"{chosen.name}.png")
    if figure is not None or out is None:
        prepare_figure(path)
    with equipped(chosen.name, dask, out, show=not (quiet or as_json)) as (executor, progress):
        study = study_module.compare(
            chosen,
            policy or None,
            runs=runs,
            seed=seed,
            jobs=jobs or default_jobs(),
            engine=engine.value,
            rounds=wanted,
            logs=log,
            log_format=log_format,
            log_detail=log_detail.value,
            force=force,
            sinks=sink or (),
            baselines=value,
            folder=out,
            executor=executor,
            progress=progress,
        )
    study.plot(path, log_rounds=log_x, bounds=scenario_bounds(chosen, policy) if theory else ())
    ends = [label_of(chosen, policy or None, kind) for kind in (CLAIRVOYANT, WAITING)]
    shown = study.value(*ends) if value else None
    if out is not None and shown is not None:
        write_table(out / "value.csv", shown)
    if theory and not chosen.timing().plain:
        typer.echo(NO_PROOF, err=True)
    show_study(study, as_json=as_json, quiet=quiet, figure=path, out=out, value=shown)
    report_failures(study.failures)


@app.command(
    rich_help_panel="Simulate",
    epilog=f"Example: tpstream sweep setting-1 -t 20000 --set policies.tp-ucb-fr.groups=5,10,20,25,50\n\n{CODES}",
)
def sweep(
    scenario: ScenarioPath,
    *,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=V,V,...",
            show_default="those of the file",
            help="A key of the scenario and its values, as in TOML or as a range, e.g. span=100,200, "
            "arms.low.maximum=50:90:20 or policies.tp-ucb-fr.groups=5,10; repeat for more: all combinations are run.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", metavar="SWEEP.toml", show_default="none", help="A file with sets, e.g. span = [100, 200]."
        ),
    ] = None,
    together: Annotated[
        bool,
        typer.Option(
            "--together", metavar="", help="The first values of all sets together, the second ones together, ..."
        ),
    ] = False,
    policy: PolicyNames = None,
    runs: Runs = 10,
    seed: Seed = None,
    horizon: Horizon = None,
    rounds: Rounds = None,
    out: Out = None,
    jobs: Jobs = None,
    engine: Engine = Engines.auto,
    dask: Dask = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            "-f",
            metavar="FILE",
            show_default="logs/NAME-sweep.png, or sweep.png in --out",
            help="Where the figure goes: PNG, SVG or PDF by its ending.",
        ),
    ] = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare policies for every combination of values of some keys: a table, and a figure of final regret."""
    from tpstream.experiment import sweep as study_module
    from tpstream.experiment.executors import default_jobs
    from tpstream.figures.style import prepare_figure
    from tpstream.scenario.overrides import read_set, read_sweep

    chosen = load_scenario(scenario, horizon, plugin)
    varied, in_file = read_sweep(file) if file else ({}, False)
    varied |= dict(map(read_set, sets or []))
    wanted = read_rounds(rounds)
    path = figure or (out / "sweep.png" if out else Path("logs") / f"{chosen.name}-sweep.png")
    if figure is not None or out is None:
        prepare_figure(path)
    with equipped(chosen.name, dask, out, show=not (quiet or as_json)) as (executor, progress):
        found = study_module.sweep(
            chosen,
            varied,
            policy or None,
            together=together or in_file,
            runs=runs,
            seed=seed,
            jobs=jobs or default_jobs(),
            engine=engine.value,
            rounds=wanted,
            folder=out,
            executor=executor,
            progress=progress,
        )
    found.plot(path)
    show_sweep(found, as_json=as_json, quiet=quiet, figure=path, out=out)
    report_failures(found.failures)


def read_rounds(text: str | None) -> list[int]:
    """The rounds of "1000,5000" or "1000:5000:1000"."""
    from tpstream.model.errors import StudyError
    from tpstream.scenario.overrides import read_values

    found = read_values(text) if text else []
    for one in found:
        if not isinstance(one, int):
            raise StudyError(f"--rounds {text}: {one!r} is not a whole number; write them as in 1000,5000")
    return found


@contextmanager
def equipped(
    title: str, dask: str | None, out: Path | None, *, show: bool
) -> "Iterator[tuple[Executor | None, Progress | None]]":
    """What a study works with: a cluster if one is named, a bar if someone looks, a last word if it is interrupted."""
    try:
        with ExitStack() as stack:
            executor = None
            if dask is not None:
                from tpstream.experiment.executors import dask_executor

                executor = stack.enter_context(dask_executor(dask))
            yield executor, stack.enter_context(show_progress(title, show=show))
    except KeyboardInterrupt:
        if out is not None:
            _tell_how_to_go_on(out)
        raise


def _tell_how_to_go_on(out: Path) -> None:
    from tpstream.experiment.store import kept_runs

    sys.stderr.write(
        f"tpstream: {kept_runs(out)} finished runs are kept in {out}; the same command goes on from there\n"
    )
