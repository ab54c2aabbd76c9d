"""What the reports of comparisons, sweeps and leagues hold.

`world_section` and `repeat_section` are part of the reports of all studies.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tpstream.analysis.columns import TABLES
from tpstream.analysis.printed import (
    LOSES_MORE,
    amount,
    arm_rows,
    contrast_rows,
    interval,
    money_rows,
    paired_money_rows,
    regret_rows,
    round_rows,
    show_row,
    value_rows,
)
from tpstream.analysis.theory import Bound
from tpstream.experiment.findings import league_findings, study_findings, sweep_findings
from tpstream.experiment.folder import Origin
from tpstream.experiment.league import League
from tpstream.experiment.result import Study
from tpstream.experiment.standings import FIXED
from tpstream.experiment.sweep import Sweep
from tpstream.figures.style import policy_colours
from tpstream.model.display import counted, listed, number_text
from tpstream.model.notes import package_versions, typed_command
from tpstream.model.units import count_of
from tpstream.scenario.description import WORDS, Description
from tpstream.view.pages import Page
from tpstream.view.report import Block, Code, Facts, Picture, Section, Sentences, Table, definitions, make_report

if TYPE_CHECKING:
    import pandas as pd  # slow to load

FOUND, RESULTS, WORLD = "What was found", "Results", "The world"
REPEAT, COLUMNS = "How to repeat it", "What the columns mean"
"""The headings of every report."""
TIMES = ("seconds_per_run", "microseconds")
"""Columns that are left out: no two studies take equally long, and equal studies have equal reports."""
MOST_ARMS = 12
"""Up to so many arms the pulls of each are shown."""
INTERVALS = (
    "Intervals are 95 % intervals over the runs, and differences are paired by run. No correction is made for the "
    "number of comparisons: of twenty differences that are none, about one looks like one."
)
"""How findings are to be read."""
REGRET = (
    next(column.meaning for column in TABLES["table"] if column.name == "regret") + "; in brackets its 95 % interval"
)
ABOUT_LOSING = (
    LOSES_MORE,
    "share of runs in which the policy loses more than the one that it is compared with",
)


def world_section(
    origin: Origin | None, arms: Sequence[str], means: Sequence[float], title: str = WORLD, *, words: bool = True
) -> Section:
    """The world in words, as `tpstream validate` says it; without an origin its arms and their means."""
    world = None if origin is None else origin.world
    if world is None:
        found = [{"arm": arm, "mean": number_text(mean)} for arm, mean in zip(arms, means, strict=True)]
        return Section(title, [Table(found, "The arms, and the true mean of what a pull of each pays")])
    return described_section(world, title, words=words)


def described_section(world: Description, title: str = WORLD, *, words: bool = True) -> Section:
    """A world that was described."""
    blocks: list[Block] = [
        Sentences([f"{world.size}. {world.duration} {world.kinds}"]),
        Sentences([WORDS] if words else [], quiet=True),
        Table(world.arms, "The arms: the true mean, and the maximum, of what a pull of each pays"),
        Sentences([*(f"Note: {text}." for text in world.notes), *(f"Warning: {text}." for text in world.warnings)]),
    ]
    return Section(title, blocks)


def findings_section(found: Sequence[str], origins: Sequence[Origin | None]) -> Section:
    """What was found, how its intervals are to be read, and first of all whether runs are missing."""
    missing = [f"Not finished: {one.unfinished}." for one in origins if one is not None and one.unfinished is not None]
    return Section(FOUND, [Sentences([*missing, *found], points=True), Sentences([INTERVALS], quiet=True)])


def command_section(facts: Sequence[tuple[str, str]], call: str = "") -> Section:
    """The command that was typed, or in Python the call, if it is given, and what its numbers depend on."""
    versions = ", ".join(f"{name} {version}" for name, version in package_versions().items())
    typed = typed_command()
    asked = call if call and not typed.startswith("tpstream ") else typed
    return Section(REPEAT, [Code(asked), Facts([*facts, ("versions", versions)])])


def repeat_section(
    origins: Sequence[Origin | None], facts: Sequence[tuple[str, str]], call: str, *, scenarios: bool = True
) -> Section:
    """The command, or the call in Python, and what the numbers depend on: versions, users' code, the scenarios."""
    known = [one for one in origins if one is not None]
    if not known:
        return Section(REPEAT, [Code(call), Facts(facts)])
    about = known[0].about
    typed = bool(about["commands"]) and about["commands"][-1].startswith("tpstream ")
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    code = ", ".join(sorted({file for one in known for file in one.code}))
    remark = "In Python; what each scenario says is below." if scenarios and not typed else ""
    return Section(
        REPEAT,
        [
            Code("\n".join(about["commands"]) if typed else call),
            Sentences([remark] if remark else [], quiet=True),
            Facts([*facts, ("versions", versions), ("plug-ins", code or "none: all code is that of tpstream")]),
            *(
                Code(_resolved(one), folded=f"{one.about['scenario']['name']} and its policies as run")
                for one in (known if scenarios else ())
            ),
        ],
    )


def _resolved(origin: Origin) -> str:
    """The scenario and the policies as JSON, with defaults filled in."""
    policies = {label: {"kind": one["kind"], **one["given"]} for label, one in origin.about["policies"].items()}
    return json.dumps({**origin.about["scenario"], "policies": policies}, indent=2, ensure_ascii=False)


def study_report(
    study: Study,
    *,
    against: str | None = None,
    value: "pd.DataFrame | None" = None,
    log_rounds: bool = False,
    bounds: Sequence[Bound] = (),
) -> Page:
    """The report of a comparison; see `Study.report`."""
    policies, last = list(study.records), int(study.rounds[-1])
    runs = max(len(records) for records in study.records.values())
    unit = f", in {study.currency}" if study.currency else ""
    over = f"over {counted(last, 'round')}"
    question = (
        f"How much does each of {count_of(len(policies), 'policy')} lose in {study.name} {over}, compared with pulling "
        "the best arm in every round? Which of them loses least, and how sure is that?"
    )
    origin = None if study.origin is None else study.origin()
    results = _study_results(study, unit, against, value, {"log_rounds": log_rounds, "bounds": bounds})
    call = f"compare(scenario, {policies}, runs={runs}, seed={study.seed})"
    return make_report(
        f"{study.name}: {count_of(len(policies), 'policy')} compared",
        question,
        [
            findings_section(study_findings(study), [origin]),
            Section(RESULTS, results),
            world_section(origin, study.arms, study.means.tolist()),
            repeat_section([origin], [("runs", f"{runs:,} of each policy"), ("seed", str(study.seed))], call),
            Section(COLUMNS, [_study_definitions(results)]),
        ],
    )


def _study_results(
    study: Study, unit: str, against: str | None, value: "pd.DataFrame | None", drawn: Mapping[str, Any]
) -> list[Block]:
    """Figure and tables of a comparison."""
    colours, last = policy_colours(study.records), int(study.rounds[-1])
    yardstick = against or study.yardstick
    contrasts = contrast_rows(study.contrasts_with(yardstick))
    caption = (
        f"Pseudo-regret up to each round{unit}: the lower a line, the less its policy lost. Bands are 95 % intervals."
    )
    if study.currency is not None:
        caption += " On the right what was earned; dotted: what the best arm alone pays on average, at once."
    blocks: list[Block] = [
        Table(regret_rows(study.rows, TIMES), f"Regret after {counted(last, 'round')}{unit}", colours),
        Picture(study.plot(**drawn), caption),
        Table(contrasts, f"Against {yardstick}, run by run on the same random numbers{unit}", colours),
    ]
    if study.currency is not None:
        money = money_rows(study.money(), study.currency)
        blocks.append(Table(money, f"Money after {counted(last, 'round')}", colours))
        if contrasts and yardstick is not None:
            paired = paired_money_rows(study.money_contrasts(yardstick), study.currency)
            blocks.append(Table(paired, f"Money against {yardstick}, run by run", colours))
    if len(study.chosen) > 1:
        blocks.append(Table(round_rows(study.curves(study.chosen)), f"Regret on the way{unit}", colours))
    if len(study.arms) <= MOST_ARMS:
        blocks.append(Table(arm_rows(study.pulls()), "Share of the pulls that each arm got", colours))
    if value is not None:
        title, found = value_rows(value)
        blocks.append(Table(found, f"{title[0].upper()}{title[1:]}", colours))
    return blocks


def _study_definitions(results: Sequence[Block]) -> Facts:
    """What the columns of a comparison's tables mean."""
    pairs = definitions(results, "table", "contrasts", "money", "money_contrasts").pairs
    contrasts = any(isinstance(block, Table) and LOSES_MORE in block.columns for block in results)
    return Facts([*pairs, ABOUT_LOSING] if contrasts else pairs)


def sweep_report(sweep: Sweep, *, log_values: bool | None = None, log_y: bool = False) -> Page:
    """The report of a sweep; see `Sweep.report`."""
    policies = list(dict.fromkeys(policy for study in sweep.studies for policy in study.records))
    first = sweep.studies[0]
    runs = max(len(records) for study in sweep.studies for records in study.records.values())
    unit = f", in {sweep.currency}" if sweep.currency else ""
    varied = " and ".join(sweep.paths)
    origin = None if first.origin is None else first.origin()
    sets = {path: list(dict.fromkeys(settings[path] for settings in sweep.settings)) for path in sweep.paths}
    call = f"sweep(scenario, {sets}, {policies}, runs={runs}, seed={sweep.seed})"
    money = [] if sweep.currency is None else money_rows(sweep.money(), sweep.currency, sweep.paths)
    caption = f"Final pseudo-regret over the values of {sweep.paths[0]}{unit}; bands or bars are 95 % intervals."
    return make_report(
        f"{sweep.name}: sweep over {varied}",
        f"How does what {listed(policies)} lose in {sweep.name} depend on {varied}? Which policy loses least where?",
        [
            findings_section(sweep_findings(sweep), [origin]),
            Section(
                RESULTS,
                [
                    Picture(sweep.plot(log_values=log_values, log_y=log_y), caption),
                    Table(_cell_rows(sweep), f"Final regret{unit}, a row for each cell and a column for each policy"),
                    Table(money, "Money after the last round"),
                ],
            ),
            world_section(origin, first.arms, first.means.tolist(), "The world, before a value was varied"),
            repeat_section(
                [origin], [("runs", f"{runs:,} of each policy in each cell"), ("seed", str(sweep.seed))], call
            ),
            Section(COLUMNS, [Facts([("each policy", REGRET), *definitions([Table(money)], "money").pairs])]),
        ],
    )


def _cell_rows(sweep: Sweep) -> list[dict[str, str]]:
    """A row for each cell: its values, then the regret of each policy with its interval."""
    found = []
    for settings, study in zip(sweep.settings, sweep.studies, strict=True):
        row = {path: str(settings[path]) for path in sweep.paths}
        for one in study.rows:
            around = "" if np.isnan(one["low"]) else f" ({interval(one['low'], one['high'])})"
            row[one["policy"]] = f"{amount(one['regret'])}{around}" if one["runs"] else "all failed"
        found.append(row)
    return found


def league_report(league: League) -> Page:
    """The report of a league; see `League.report`."""
    studies = list(league.studies.values())
    policies = [policy for policy in league.policies if policy != FIXED]
    runs = max(len(records) for study in studies for records in study.records.values())
    where = count_of(len(studies), "world") if len(studies) > 1 else studies[0].name
    origins = [None if study.origin is None else study.origin() for study in studies]
    call = f"league({list(league.studies)}, {policies}, runs={runs}, seed={studies[0].seed})"
    worlds = [world_section(origins[0], studies[0].arms, studies[0].means.tolist())]
    if len(studies) > 1:
        worlds = [Section("The worlds", [Sentences([WORDS], quiet=True), Table(_world_rows(league, origins))])]
    results = _league_results(league)
    facts = [
        ("runs", f"{runs:,} of each policy in each world"),
        ("seed", listed(sorted({one.seed for one in studies}))),
    ]
    return make_report(
        f"League of {count_of(len(policies), 'policy')} in {where}",
        f"Which of {count_of(len(policies), 'policy')} should be taken in {where}? Fixed randomisation ({FIXED}), "
        "which learns nothing, serves for comparison.",
        [
            findings_section(league_findings(league), origins),
            Section(RESULTS, results),
            *worlds,
            repeat_section(origins, facts, call),
            Section(COLUMNS, [definitions(results, "league", "league_cells")]),
        ],
    )


def _league_results(league: League) -> list[Block]:
    """Figure and tables of a league; that of a single world has a row for each policy in it."""
    colours = policy_colours(league.policies)
    refused = [{"policy": one.policy, "world": one.world, "why": one.reason} for one in league.refusals]
    if len(league.studies) == 1:
        (study,) = league.studies.values()
        cells = league.cells().sort_values("regret", kind="stable").to_dict("records")
        found = [show_row("league_cells", _timeless(row)) for row in cells]
        return [
            Table(found, "The smallest regret comes first", colours),
            Picture(study.plot(), "Pseudo-regret up to each round; bands are 95 % intervals."),
            Table(refused, "Policies that could not take part"),
        ]
    table = [show_row("league", _timeless(row)) for row in league.table().to_dict("records")]
    caption = (
        "What each policy loses in each world: 0 % is nothing, 100 % is what fixed randomisation loses, which learns "
        "nothing."
    )
    return [
        Picture(league.plot(), caption),
        Table(table, "All worlds; the policy that loses least in its worst world comes first"),
        Table(_first_by_world(league), "World by world: first are the policies that no other one beats beyond chance"),
        Table(refused, "Policies that could not take part"),
    ]


def _timeless(row: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: value for name, value in row.items() if name not in TIMES}


def _world_rows(league: League, origins: Sequence[Origin | None]) -> list[dict[str, str]]:
    """A row for each world of a league, in words."""
    return [
        {"world": world}
        | ({} if origin is None or origin.world is None else _world_row(origin.world))
        | {"best arm": study.no_best_arm or study.arms[int(study.means.argmax())]}
        for (world, study), origin in zip(league.studies.items(), origins, strict=True)
    ]


def _world_row(world: Description) -> dict[str, str]:
    return {"size": world.size, "kinds": world.kinds, "how long a pull pays": world.duration}


def _first_by_world(league: League) -> list[dict[str, str]]:
    """A row for each world: the policies of rank 1, and what the one with the smallest regret loses."""
    found = []
    for world, cells in league.cells().groupby("world", sort=False):
        first = cells[cells["rank"] == 1].sort_values("regret", kind="stable")
        row = {} if first.empty else show_row("league_cells", first.iloc[0].to_dict())
        names = ", ".join(first["policy"]) or "none: all arms are equally good"
        found.append(
            {"world": str(world), "first": names}
            | {title: row[title] for title in ("regret", "of fixed") if title in row}
        )
    return found
