"""Commands that describe: validate, list and schema.

The command about bounds: theory.

The command that begins a plug-in: new.
"""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.cli.app import app
from tpstream.cli.options import AsJson, Horizon, Plugins, PolicyNames, ScenarioPath, load_plugins
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
    from tpstream.scenario.scenario import Scenario

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
        from tpstream.scenario.files import describe_shipped

        print_table(["scenario", "about"], [list(row) for row in describe_shipped().items()])
        return
    from tpstream.scenario.catalogue import describe

    print_table([what.value, "about", "parameters"], describe(what.value))


@app.command(rich_help_panel="Describe")
def schema(*, plugin: Plugins = None) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    load_plugins(plugin)
    from tpstream.scenario.catalogue import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


if TYPE_CHECKING:
    from tpstream.analysis.theory import Bound


NO_PROOF = "note: the theorems are about rounds without further delays; here arrivals, delays or a window differ"


@app.command(rich_help_panel="Describe", epilog="Example: tpstream theory setting-1 --horizon 1000000")
def theory(
    scenario: ScenarioPath,
    *,
    policy: PolicyNames = None,
    horizon: Horizon = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Print the paper's lower and upper bounds of a scenario, and from when on TP-UCB-FR's beats TP-UCB-EW's."""
    from tpstream.analysis.theory import fr_beats_ew_from
    from tpstream.cli.run import load_scenario
    from tpstream.experiment.bounds import scenario_bounds, with_all_kinds

    chosen = load_scenario(scenario, horizon, plugin)
    problem = chosen.problem()
    bounds = scenario_bounds(chosen, with_all_kinds(chosen, policy))
    overtaken = None if problem.groups is None else fr_beats_ew_from(problem, problem.groups)
    if as_json:
        rows = [_as_row(bound, chosen.horizon) for bound in bounds]
        found = {
            "scenario": chosen.name,
            "rounds": chosen.horizon,
            "bounds": rows,
            "fr_beats_ew_from": overtaken,
            "holds": chosen.timing().plain,
        }
        typer.echo(json.dumps(found, indent=2))
        return
    table = [
        [
            bound.name,
            "above" if bound.upper else "below",
            "" if bound.groups is None else str(bound.groups),
            f"{float(bound.at(chosen.horizon)):,.0f}",
            f"{bound.slope:,.0f}",
        ]
        for bound in bounds
    ]
    title = f"{chosen.name}: bounds of the regret after {chosen.horizon:,} rounds"
    print_table(["bound", "from", "groups", "regret", "per ln T, in the end"], table, title=title)
    if problem.groups is not None:
        when = "at no horizon" if overtaken is None else f"from round {overtaken:,} on"
        groups = f"{problem.groups} group{'s' if problem.groups > 1 else ''}"
        typer.echo(f"With {groups} the bound of tp-ucb-fr is below that of tp-ucb-ew {when}.")
    if not chosen.timing().plain:
        typer.echo(NO_PROOF)


def _as_row(bound: "Bound", horizon: int) -> dict[str, Any]:
    return {
        "name": bound.name,
        "side": "upper" if bound.upper else "lower",
        "groups": bound.groups,
        "value": float(bound.at(horizon)),
        "slope": bound.slope,
    }


class Kinds(StrEnum):
    """What can be begun."""

    delay = "delay"
    policy = "policy"
    reward = "reward"
    arrival = "arrival"
    sink = "sink"


@app.command(rich_help_panel="Describe", epilog="Example: tpstream new delay post-office --out plugins")
def new(
    kind: Annotated[Kinds, typer.Argument(help="What to write.", show_default=False)],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What scenarios will call it, e.g. post-office.", show_default=False)
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the two files go.")] = Path(),
) -> None:
    """Write a plug-in that works, and its test, to be changed into what you need."""
    from tpstream.templates.scaffold import SECTIONS, write_plugin

    plugin, test = write_plugin(kind.value, name, out)
    typer.echo(f"plug-in: {plugin}")
    typer.echo(f"test:    {test}")
    typer.echo(f"Try it:  pytest {test}")
    typer.echo(f"Use it:  tpstream list {SECTIONS[kind.value]} --plugin {plugin}")
