"""The command about bounds: theory."""

import json
from typing import TYPE_CHECKING, Any

import typer

from tpstream.cli.app import app
from tpstream.cli.options import AsJson, Horizon, Plugins, PolicyNames, ScenarioPath
from tpstream.cli.output import print_table

if TYPE_CHECKING:
    from tpstream.analysis.bounds import Bound


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
    from tpstream.analysis.overtaking import fr_beats_ew_from
    from tpstream.cli.simulate import load_scenario
    from tpstream.study.theory import scenario_bounds, with_all_kinds

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
