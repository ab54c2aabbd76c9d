"""Measure what parts are worth in the paper's settings, with bounds and with posteriors, and write it into value.md.

python docs/value.py [--runs 20] [--jobs 2]
"""

import argparse
import os
import re
from pathlib import Path

from tpstream import Scenario, Study, compare

HERE = Path(__file__).parent
PAGE = HERE / "value.md"
BEGIN, END = "<!-- made by `python docs/value.py` -->", "<!-- end of what `python docs/value.py` makes -->"
SETTINGS = (
    "setting-1",
    "setting-2-100-10",
    "setting-2-200-100",
    "setting-2.1-100-10",
    "setting-2.2-100-10",
    "setting-2.3-100-10",
    "setting-4-5",
    "spotify-like",
)
"""A setting of each kind that the paper has."""
BOUNDS = ("ucb1", "delayed-ucb1", "tp-ucb-ew", "tp-ucb-fr")
WIDTH = ("delayed-ucb1:groups={groups}", "tp-ucb-pooled")
POSTERIOR = ("progressive-thompson:hears=pull", "progressive-thompson:hears=closed", "progressive-thompson")
NO_PRIOR = ("delayed-thompson:family=gauss,prior=none,variance=empirical", "part-thompson:prior=none")
TEMPLATE = """{runs} runs of each setting at the paper's horizon; brackets are 95 % intervals.

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


def run_setting(name: str, runs: int, jobs: int) -> tuple[Scenario, Study]:
    """All policies in one setting."""
    scenario = Scenario.load(name)
    width = tuple(policy.format(groups=scenario.problem().groups) for policy in WIDTH)
    asked = [*BOUNDS, *width, *POSTERIOR, *NO_PRIOR]
    policies = list({scenario.policy(one).label: one for one in asked}.values())
    return scenario, compare(scenario, policies, runs=runs, jobs=jobs, folder=HERE.parent / "logs" / "value" / name)


def recovered(study: Study, policy: str, clairvoyant: str, waiting: str) -> tuple[str, str]:
    """What the delay costs, and the share of it that a policy recovers, as texts."""
    row = study.value(clairvoyant, waiting).set_index("policy").loc[policy]
    cost = f"{row['cost']:,.0f} ({row['cost_low']:,.0f} to {row['cost_high']:,.0f})"
    if row["fraction"] != row["fraction"]:  # the cost may be 0
        return cost, "undefined"
    return cost, f"{row['fraction']:.0%} ({row['low']:.0%} to {row['high']:.0%})"


def mean_regret(study: Study, policy: str) -> str:
    """The mean final regret with its interval."""
    row = study.table().set_index("policy").loc[policy]
    return f"{row['regret']:,.0f} ({row['low']:,.0f} to {row['high']:,.0f})"


def describe(found: dict[str, tuple[Scenario, Study]], runs: int) -> str:
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
    return TEMPLATE.format(runs=runs, **{name: "\n".join(rows) for name, rows in joined.items()})


def put_into(page: str, block: str) -> str:
    """The page with the block between its two marks."""
    found = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    if not found.search(page):
        raise SystemExit(f"{PAGE}: the marks {BEGIN} and {END} are missing; put them where the tables belong")
    return found.sub(lambda _: f"{BEGIN}\n{block}\n{END}", page)


def main() -> None:
    """Run the settings, which go on in logs/value where they were interrupted, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    found = {name: run_setting(name, arguments.runs, arguments.jobs) for name in SETTINGS}
    PAGE.write_text(put_into(PAGE.read_text("utf-8"), describe(found, arguments.runs)), "utf-8")


if __name__ == "__main__":
    main()
