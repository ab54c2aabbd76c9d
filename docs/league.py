"""Run the shipped league and write what it found into policies.md: a decision table, a table of policies, a heat map.

python docs/league.py [--runs 20] [--jobs 2]
"""

import argparse
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tpstream import League, league
from tpstream.experiment.advice import FEATURES, advise, has_informed_prior
from tpstream.experiment.league import shipped_worlds

HERE = Path(__file__).parent
PAGE, FIGURE = HERE / "policies.md", HERE / "images" / "league.png"
BEGIN, END = "<!-- made by `make league` -->", "<!-- end of what `make league` makes -->"
TEMPLATE = """{runs} runs in each of {worlds} worlds. Regrets are shares of what fixed randomisation loses in the same
world, with 95 % intervals over runs.

| what is known of your world | take | share of regret, mean | in its worst world | cannot be told apart from it |
|---|---|---|---|---|
{rows}

A prior at half of the maximum (`prior = "half"`, Beta posteriors, the default prior of `progressive-thompson`) is
informed by the world where all means are near half of their maxima. Of these worlds that is so in {informed}.

| policy | mean share | worst share | first in | mean rank |
|---|---|---|---|---|
{standings}
"""
MOST_NAMED = 4
"""Policies that cannot be told apart from the best are named up to this many."""


def describe(found: League) -> str:
    """The tables, as Markdown."""
    informed = [f"`{one.name}`" for one in shipped_worlds() if one.name in found.studies and has_informed_prior(one)]
    rows = [advice_row(found, "nothing more is known (all worlds)", list(found.studies))]
    for name, worlds in FEATURES.items():
        here = [world for world in worlds if world in found.studies]
        if here:
            rows.append(advice_row(found, f"{name} ({', '.join(f'`{world}`' for world in here)})", here))
    return TEMPLATE.format(
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


def put_into(page: str, block: str) -> str:
    """The page with the block between its two marks."""
    found = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    if not found.search(page):
        raise SystemExit(f"{PAGE}: the marks {BEGIN} and {END} are missing; put them where the tables belong")
    return found.sub(lambda _: f"{BEGIN}\n{block}\n{END}", page)


def main() -> None:
    """Run the league, which goes on in logs/league where it was interrupted, and write page and figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    found = league(runs=arguments.runs, jobs=arguments.jobs, folder=HERE.parent / "logs" / "league")
    found.plot(FIGURE)
    PAGE.write_text(put_into(PAGE.read_text("utf-8"), describe(found)), "utf-8")


if __name__ == "__main__":
    main()
