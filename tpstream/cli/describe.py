"""Commands that describe what there is (validate, list, columns, schema, theory) and that begin a plug-in (new)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer

from tpstream.cli.app import command
from tpstream.cli.options import AsJson, OutputFlags, Plugins, ScenarioFlags, SettingFlags, flag, load_plugins, option
from tpstream.cli.output import NO_PROOF, pick, print_json, print_table
from tpstream.cli.start import say


@command("Simulate", example="validate setting-1 --set span=200")
def validate(
    *,
    flags: SettingFlags,
    as_json: Annotated[
        bool, flag("--json", "Print the scenario as JSON instead, with all defaults filled in.")
    ] = False,
) -> None:
    """Check a scenario file and say what it describes."""
    from tpstream.scenario.description import WORDS, describe_scenario

    chosen = flags.load()
    choices = [chosen.policy(name) for name in flags.policies] if flags.policies else chosen.choices()
    found = describe_scenario(chosen, choices)
    OutputFlags().warn(found.warnings)
    if as_json:
        print_json(chosen.resolved())
        return
    say(f"{chosen.name}: valid. {found.size}.")
    say(found.duration)
    say(found.kinds)
    say(f"({WORDS})")
    print_table(found.arms)
    for note in found.notes:
        say(f"note: {note}")
    say("policies: " + ", ".join(choice.label for choice in choices))
    design = chosen.design()
    if design is not None:
        from tpstream.looks.words import design_sentences

        say(
            "\n".join(["the design of the trial:", *(f"- {one}" for one in design_sentences(design, chosen.time_unit))])
        )


@command("Simulate", name="list")
def list_names(
    what: Annotated[
        Literal["policies", "rewards", "delays", "arrivals", "sinks", "scenarios"], typer.Argument(help="What to list.")
    ],
    *,
    plugin: Plugins = None,
) -> None:
    """List the policies, reward models, delays, arrival processes, sinks or scenarios that can be used by name."""
    load_plugins(plugin)
    if what == "scenarios":
        from tpstream.scenario.files import describe_shipped

        print_table([{"scenario": name, "about": about} for name, about in describe_shipped().items()])
        return
    from tpstream.scenario.catalogue import describe

    print_table([dict(zip((what, "about", "parameters"), row, strict=True)) for row in describe(what)])


@command("Look at it", example="columns trial")
def columns(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="The table, e.g. table, trial or regret; all if left out.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Say what each column of each table means, in files and where commands print it."""
    from tpstream.analysis.columns import TABLES
    from tpstream.model.errors import UnknownNameError

    if table is not None and table not in TABLES:
        raise UnknownNameError("table", table, TABLES)
    chosen = {name: TABLES[name] for name in ([table] if table else TABLES)}
    if as_json:
        keys = ("name", "title", "unit", "meaning")
        print_json({name: [pick(column, *keys) for column in columns] for name, columns in chosen.items()})
        return
    for name, columns in chosen.items():
        rows = [
            {"column": one.name, "printed as": one.title, "unit": one.unit, "meaning": one.meaning} for one in columns
        ]
        print_table(rows, title=name)


@command("Simulate")
def schema(*, plugin: Plugins = None) -> None:
    """Print the JSON Schema of scenario files, by which editors complete and check them."""
    load_plugins(plugin)
    from tpstream.scenario.catalogue import json_schema

    print_json(json_schema())


@command("Reproduce", example="theory setting-1 --horizon 1000000")
def theory(*, flags: ScenarioFlags, as_json: AsJson = False) -> None:
    """Print the paper's bounds on the regret in a scenario, and from which round TP-UCB-FR's is below TP-UCB-EW's."""
    from tpstream.analysis.theory import fr_beats_ew_from
    from tpstream.scenario.bounds import scenario_bounds, with_all_kinds

    scenario = flags.load()
    problem, horizon, proved = scenario.problem(), scenario.horizon, scenario.timing().plain
    bounds = scenario_bounds(scenario, with_all_kinds(scenario, flags.policies))
    overtaken = None if problem.groups is None else fr_beats_ew_from(problem, problem.groups)
    if as_json:
        rows = [
            {
                "name": bound.name,
                "side": "upper" if bound.upper else "lower",
                "groups": bound.groups,
                "value": float(bound.at(horizon)),
                "slope": bound.slope,
            }
            for bound in bounds
        ]
        shown = {"scenario": scenario.name, "rounds": horizon, "bounds": rows}
        print_json({**shown, "fr_beats_ew_from": overtaken, "holds": proved})
        return
    table = [
        {
            "bound": bound.name,
            "from": "above" if bound.upper else "below",
            "groups": "" if bound.groups is None else str(bound.groups),
            "regret": f"{float(bound.at(horizon)):,.0f}",
            "growth per ln T, for large T": f"{bound.slope:,.0f}",
        }
        for bound in bounds
    ]
    print_table(table, title=f"{scenario.name}: bounds of the regret after {horizon:,} rounds")
    if problem.groups is not None:
        when = "at no horizon" if overtaken is None else f"from round {overtaken:,} on"
        groups = f"{problem.groups} group{'s' if problem.groups > 1 else ''}"
        say(f"With {groups} the bound of tp-ucb-fr is below that of tp-ucb-ew {when}.")
    if not proved:
        say(NO_PROOF)


@command("Extend", example="new delay post-office --out plugins")
def new(
    kind: Annotated[Literal["delay", "policy", "reward", "arrival", "sink"], typer.Argument(help="What to write.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="What scenarios will call it, e.g. post-office.")],
    *,
    out: Annotated[Path, option("--out -o FOLDER", "Where the two files go.")] = Path(),
) -> None:
    """Write a working plug-in and its test, which you then change into what you need."""
    from tpstream.templates.scaffold import SECTIONS, write_plugin

    plugin, test = write_plugin(kind, name, out)
    say(f"plug-in: {plugin}")
    say(f"test:    {test}")
    say(f"Try it:  pytest {test}" + ("" if find_spec("pytest") else "  (pip install 'tpstream[test]' has pytest)"))
    say(f"Use it:  tpstream list {SECTIONS[kind]} --plugin {plugin}")
