"""The command that compares many policies in many worlds: league."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.analysis.printed import describe_printed, show_row
from tpstream.cli.app import command
from tpstream.cli.options import (
    Figure,
    FolderFlags,
    Jobs,
    LimitFlags,
    OutputFlags,
    Plugins,
    Report,
    Seed,
    cores,
    load_plugins,
    option,
)
from tpstream.cli.output import print_json, print_table, records, report_failures
from tpstream.cli.start import say
from tpstream.cli.study import CODES, prepared, show_places

if TYPE_CHECKING:
    from tpstream.experiment.league import League

NOTES = f"{CODES}\n\n{describe_printed('league')}"


@dataclass(frozen=True)
class LeagueFlags:
    """Which worlds and policies take part, and how many runs there are of each."""

    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SCENARIO]...",
            help="Scenario files, or names of those that ship; by default the worlds of the shipped league.",
            show_default=False,
        ),
    ] = None
    policy: Annotated[
        list[str] | None,
        option(
            "--policy -p NAME",
            "A policy, e.g. tp-ucb-ew or tp-ucb-fr:groups=50; repeat for more.",
            default="all that ship, some with several parameters, but for oracle, ucb1 and those for trials",
        ),
    ] = None
    horizon: Annotated[
        int | None, option("--horizon -t ROUNDS", "How many decisions are made in every world.", least=1)
    ] = None
    plugin: Plugins = None
    runs: Annotated[int, option("--runs -n N", "Runs of every policy in every world.", least=1)] = 20
    seed: Seed = None
    jobs: Jobs = None

    def keywords(self) -> dict[str, Any]:
        """The same as keywords of `league`."""
        from tpstream.experiment.league import default_policies, shipped_worlds
        from tpstream.scenario.scenario import Scenario

        load_plugins(self.plugin)
        worlds = [Scenario.load(one) for one in self.scenarios] if self.scenarios else shipped_worlds()
        if self.horizon is not None:
            worlds = [world.with_(horizon=self.horizon).noted({"horizon": self.horizon}) for world in worlds]
        policies = self.policy or default_policies(listed=bool(self.scenarios))
        found = {"scenarios": worlds, "policies": policies, "runs": self.runs}
        return found | {"seed": self.seed, "jobs": cores(self.jobs)}


@command("Simulate", example="league unequal-dropout -p tp-ucb-ew -p delayed-ucb1 --runs 20", more=NOTES)
def league(
    *,
    entries: LeagueFlags,
    folder: FolderFlags,
    limits: LimitFlags,
    figure: Figure = None,
    report: Report = None,
    output: OutputFlags,
) -> None:
    """Compare many policies in many worlds, and say which one to take: a table, and a heat map of regret.

    Fixed randomisation takes part in any case. With a single scenario, three sentences say what was found, how sure it
    is, and what it would cost to be wrong.
    """
    from tpstream.experiment import league as league_module

    keywords = entries.keywords()
    with prepared("league", folder, output) as more:
        result = league_module.league(**keywords, **limits.keywords(), **more)
    if figure is not None:
        result.plot(figure)
    if report is not None:
        result.report(report)
    show_league(result, output, figure=figure, report=report, out=folder.out)
    report_failures(result.failures)


def show_league(
    league: "League",
    output: OutputFlags,
    warnings: Sequence[str] = (),
    *,
    figure: Path | None,
    report: Path | None,
    out: Path | None,
) -> None:
    """Print the result of a league."""
    single = len(league.studies) == 1
    sentences = league.sentences() if single else []
    refusals = [f"{one.policy} takes no part in {one.world}: {one.reason}" for one in league.refusals]
    if output.as_json:
        tables = {name: records(table) for name, table in league.tables().items()}
        places = {"figure": figure, "report": report, "out": out}
        print_json({**tables, "sentences": sentences, "warnings": list(warnings), **places})
        return
    rows = [show_row("league", row) for row in league.table().to_dict("records")]
    runs = max(len(records) for study in league.studies.values() for records in study.records.values())
    worlds = next(iter(league.studies)) if single else f"{len(league.studies)} worlds"
    print_table(rows, title=f"league: regret as a share of that of fixed randomisation, {worlds}, {runs} runs")
    for sentence in sentences:
        say(sentence)
    output.add("note", *refusals)
    show_places(output, figure, out, report)
