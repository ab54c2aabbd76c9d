"""The command that runs a scenario: run."""

from typing import TYPE_CHECKING, Annotated

import typer

from tpstream.cli.app import app
from tpstream.cli.options import (
    AsJson,
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
    Plugins,
    PolicyNames,
    Quiet,
    Runs,
    ScenarioPath,
    Seed,
    Settings,
    Sinks,
    at_least,
    check_log_options,
    load_plugins,
)
from tpstream.cli.output import report_failures, show_progress, show_study

if TYPE_CHECKING:
    from pathlib import Path

    from tpstream.scenario.scenario import Scenario


@app.command(rich_help_panel="Simulate", epilog="Example: tpstream run setting-1 -t 2000 -p tp-ucb-fr --log logs/first")
def run(
    scenario: ScenarioPath,
    *,
    policy: PolicyNames = None,
    runs: Runs = 1,
    first: Annotated[
        int,
        typer.Option(
            "--run", metavar="K", callback=at_least(0), help="The number of the (first) run, to do one of many alone."
        ),
    ] = 0,
    sets: Settings = None,
    seed: Seed = None,
    horizon: Horizon = None,
    jobs: Jobs = None,
    engine: Engine = Engines.auto,
    log: Logs = None,
    log_format: LogFormat = LogFormats.jsonl,
    log_detail: LogDetail = LogDetails.all,
    force: Force = False,
    sink: Sinks = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario once (or --runs times) under each of its policies and print the final regrets."""
    from tpstream.experiment.compare import compare
    from tpstream.experiment.executors import default_jobs

    check_log_options(log, log_format, log_detail)
    chosen, policy = with_settings(load_scenario(scenario, horizon, plugin), policy, sets)
    with show_progress(chosen.name, show=not (quiet or as_json)) as progress:
        study = compare(
            chosen,
            policy or None,
            runs=runs,
            first=first,
            seed=seed,
            jobs=jobs or default_jobs(),
            engine=engine.value,
            logs=log,
            log_format=log_format,
            log_detail=log_detail.value,
            force=force,
            sinks=sink or (),
            progress=progress,
        )
    show_study(study, as_json=as_json, quiet=quiet)
    report_failures(study.failures)


def load_scenario(path: str, horizon: int | None, plugins: "list[Path] | None" = None) -> "Scenario":
    """The scenario, with another horizon if one is asked for; it may use what plug-in files define."""
    from tpstream.scenario.scenario import Scenario

    load_plugins(plugins)
    scenario = Scenario.load(path)
    return scenario if horizon is None else scenario.with_(horizon=horizon)


def with_settings(
    scenario: "Scenario", policies: list[str] | None, settings: list[str] | None
) -> "tuple[Scenario, list[str] | None]":
    """The scenario with other values of some keys, and the policies that are still to be named; see sweep."""
    if not settings:
        return scenario, policies
    from tpstream.experiment.plan import changed
    from tpstream.scenario.overrides import read_setting

    return changed(scenario, policies, [read_setting(text) for text in settings]), None
