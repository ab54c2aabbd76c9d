"""Run what the tables of two pages are made of, and write these tables: policies.md (league) and value.md (value).

python docs/results.py league [--runs 20] [--jobs 2]
python docs/results.py value [--runs 20] [--jobs 2]
"""

import argparse
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tpstream import League, Scenario, Study, compare, league
from tpstream.experiment.advice import FEATURES, advise, has_informed_prior
from tpstream.experiment.league import shipped_worlds

HERE = Path(__file__).parent
LOGS = HERE.parent / "logs"
PAGES = {"league": HERE / "policies.md", "value": HERE / "value.md"}
FIGURE = HERE / "images" / "league.png"
BEGIN, END = "<!-- made by `python docs/results.py {what}` -->", "<!-- end of what it made -->"
MOST_NAMED = 4
"""Policies that cannot be told apart from the best are named up to this many."""
SETTINGS = (
    "setting-1",
    "setting-2-100-10",
    "setting-2-200-100",
    "setting-2.1-100-10",
    "setting-2.3-100-10",
    "spotify-like",
)
"""Some of the settings that the paper has."""
BOUNDS = ("ucb1", "delayed-ucb1", "tp-ucb-ew", "tp-ucb-fr")
WIDTH = ("delayed-ucb1:groups={groups}", "tp-ucb-pooled")
POSTERIOR = ("progressive-thompson:hears=pull", "progressive-thompson:hears=closed", "progressive-thompson")
NO_PRIOR = ("delayed-thompson:family=gauss,prior=none,variance=empirical", "part-thompson:prior=none")
LEAGUE_TEMPLATE = """{runs} runs in each of {worlds} worlds. Regrets are shares of what fixed randomisation loses in
the same world, with 95 % intervals over runs.

| what is known of your world | take | share of regret, mean | in its worst world | cannot be told apart from it |
|---|---|---|---|---|
{rows}

A prior at half of the maximum (`prior = "half"`, Beta posteriors, the default prior of `progressive-thompson`) is
informed by the world where all means are near half of their maxima. Of these worlds that is so in {informed}.

| policy | mean share | worst share | first in | mean rank |
|---|---|---|---|---|
{standings}
"""
VALUE_TEMPLATE = """{runs} runs of each setting at the paper's horizon; brackets are 95 % intervals.

| setting | the delay costs | TP-UCB-EW recovers | TP-UCB-FR recovers |
|---|---|---|---|
{bounds}

| setting | waiting | the delay costs | parts recover |
|---|---|---|---|
{posterior}

| setting | waiting, known width | parts, known width | waiting, no prior | parts, no prior | parts save |
|---|---|---|---|---|---|
{others}
"""


def describe_league(found: League) -> str:
    """The tables, as Markdown."""
    informed = [f"`{one.name}`" for one in shipped_worlds() if one.name in found.studies and has_informed_prior(one)]
    rows = [advice_row(found, "nothing more is known (all worlds)", list(found.studies))]
    for name, worlds in FEATURES.items():
        here = [world for world in worlds if world in found.studies]
        if here:
            rows.append(advice_row(found, f"{name} ({', '.join(f'`{world}`' for world in here)})", here))
    return LEAGUE_TEMPLATE.format(
        runs=max(len(records) for study in found.studies.values() for records in study.records.values()),
        worlds=len(found.studies),
        rows="\n".join(rows),
        informed=", ".join(informed) or "none of them",
        standings="\n".join(map(standing_row, found.table().to_dict("records"))),
    )


def advice_row(found: League, known: str, worlds: list[str]) -> str:
    """A row of the decision table."""
    advice = advise(found, worlds)
    mean = f"{advice.share:.1%} ({advice.low:.1%} to {advice.high:.1%})"
    worst = f"{advice.worst:.0%}, `{advice.worst_world}`"
    return f"| {known} | `{advice.policy}` | {mean} | {worst} | {named(advice.tied)} |"


def standing_row(row: Mapping[Any, Any]) -> str:
    """A row of the table of policies."""
    worst = f"{row['worst']:.0%}, `{row['worst_world']}`"
    first = f"{row['first']} of {row['worlds']}"
    return f"| `{row['policy']}` | {row['mean']:.0%} | {worst} | {first} | {row['mean_rank']:.1f} |"


def named(policies: Iterable[str]) -> str:
    """Policies in a cell of a table."""
    several = [f"`{policy}`" for policy in policies]
    more = f" and {len(several) - MOST_NAMED} more" if len(several) > MOST_NAMED else ""
    return ", ".join(several[:MOST_NAMED]) + more or "none"


def run_setting(name: str, runs: int, jobs: int) -> tuple[Scenario, Study]:
    """All policies in one setting."""
    scenario = Scenario.load(name)
    width = tuple(policy.format(groups=scenario.problem().groups) for policy in WIDTH)
    asked = [*BOUNDS, *width, *POSTERIOR, *NO_PRIOR]
    policies = list({scenario.policy(one).label: one for one in asked}.values())
    return scenario, compare(scenario, policies, runs=runs, jobs=jobs, folder=LOGS / "value" / name)


def recovered(study: Study, policy: str, clairvoyant: str, waiting: str) -> tuple[str, str]:
    """What the delay costs, and the share of it that a policy recovers, as texts."""
    row = study.value(clairvoyant, waiting).set_index("policy").loc[policy]
    cost = f"{row['cost']:,.0f} ({row['cost_low']:,.0f} to {row['cost_high']:,.0f})"
    if row["fraction"] != row["fraction"]:  # the cost may be 0
        return cost, "undefined"
    return cost, f"{row['fraction']:,.0%} ({row['low']:,.0%} to {row['high']:,.0%})"


def mean_regret(study: Study, policy: str) -> str:
    """The mean final regret with its interval."""
    row = study.table().set_index("policy").loc[policy]
    return f"{row['regret']:,.0f} ({row['low']:,.0f} to {row['high']:,.0f})"


def describe_value(found: dict[str, tuple[Scenario, Study]], runs: int) -> str:
    """The tables, as Markdown."""
    bounds, posterior, others = [], [], []
    for name, (scenario, study) in found.items():
        clairvoyant, waiting, *parts = (scenario.policy(one).label for one in BOUNDS)
        cells = [recovered(study, one, clairvoyant, waiting) for one in parts]
        bounds.append(f"| `{name}` | {cells[0][0]} | {cells[0][1]} | {cells[1][1]} |")
        cost, share = recovered(study, POSTERIOR[2], POSTERIOR[0], POSTERIOR[1])
        posterior.append(f"| `{name}` | {mean_regret(study, POSTERIOR[1])} | {cost} | {share} |")
        wide, pooled = (scenario.policy(one.format(groups=scenario.problem().groups)).label for one in WIDTH)
        saved = study.contrast(NO_PRIOR[0], NO_PRIOR[1])
        cells_of = [mean_regret(study, one) for one in (wide, pooled, *NO_PRIOR)]
        gain = f"{saved.difference:,.0f} ({saved.low:,.0f} to {saved.high:,.0f})"
        others.append(f"| `{name}` | {' | '.join(cells_of)} | {gain} |")
    joined = {"bounds": bounds, "posterior": posterior, "others": others}
    return VALUE_TEMPLATE.format(runs=runs, **{name: "\n".join(rows) for name, rows in joined.items()})


def put_into(page: str, what: str, block: str) -> str:
    """The page with the block between its two marks."""
    begin = BEGIN.format(what=what)
    found = re.compile(f"{re.escape(begin)}.*?{re.escape(END)}", re.DOTALL)
    if not found.search(page):
        raise SystemExit(f"{PAGES[what]}: the marks {begin} and {END} are missing; put them where the tables belong")
    return found.sub(lambda _: f"{begin}\n{block}\n{END}", page)


def make_block(what: str, runs: int, jobs: int) -> str:
    """Run what is missing in the folder of logs, and describe it."""
    if what == "value":
        return describe_value({name: run_setting(name, runs, jobs) for name in SETTINGS}, runs)
    found = league(runs=runs, jobs=jobs, folder=LOGS / "league")
    found.plot(FIGURE)
    return describe_league(found)


def main() -> None:
    """Write the tables of one page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(PAGES))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    page, block = PAGES[arguments.what], make_block(arguments.what, arguments.runs, arguments.jobs)
    page.write_text(put_into(page.read_text("utf-8"), arguments.what, block), "utf-8")


if __name__ == "__main__":
    main()
