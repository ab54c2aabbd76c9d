"""Commands that describe: validate, list and schema."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from tpstream.cli.app import app
from tpstream.cli.options import Plugins, ScenarioPath, load_plugins
from tpstream.cli.output import print_table


class Listable(StrEnum):
    """What can be listed."""

    policies = "policies"
    rewards = "rewards"
    delays = "delays"
    arrivals = "arrivals"
    sinks = "sinks"
    scenarios = "scenarios"


@app.command(rich_help_panel="Describe")
def validate(
    scenario: ScenarioPath,
    *,
    plugin: Plugins = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", metavar="", help="Print the scenario as JSON instead, with all defaults filled in."),
    ] = False,
) -> None:
    """Check a scenario file and say what it describes."""
    from tpstream.study.scenario import Scenario

    load_plugins(plugin)
    chosen = Scenario.load(scenario)
    if as_json:
        typer.echo(json.dumps(chosen.resolved(), indent=2))
        return
    problem, policies = chosen.problem(), [choice.label for choice in chosen.choices()]
    assert problem.means is not None  # noqa: S101 (a scenario knows its means)
    typer.echo(
        f"{chosen.name}: valid. {problem.arms} arms, {problem.horizon:,} rounds, a pull pays over {problem.span}."
    )
    rows = [
        [name, f"{mean:.6g}", f"{maximum:.6g}"]
        for name, mean, maximum in zip(problem.names, problem.means, problem.maxima, strict=True)
    ]
    print_table(["arm", "mean", "maximum"], rows)
    typer.echo("policies: " + ", ".join(policies))


@app.command(name="list", rich_help_panel="Describe")
def list_names(
    what: Annotated[Listable, typer.Argument(help="What to list.", show_default=False)], *, plugin: Plugins = None
) -> None:
    """List the policies, reward models, delays, arrival processes, sinks or scenarios that can be used by name."""
    load_plugins(plugin)
    if what is Listable.scenarios:
        from tpstream.study.shipped import describe_shipped

        print_table(["scenario", "about"], [list(row) for row in describe_shipped().items()])
        return
    from tpstream.study.catalogue import describe

    print_table([what.value, "about", "parameters"], describe(what.value))


@app.command(rich_help_panel="Describe")
def schema(*, plugin: Plugins = None) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    load_plugins(plugin)
    from tpstream.study.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
