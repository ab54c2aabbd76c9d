"""What the report of a trial holds: operating characteristics, choices, the figure, and what was found in sentences."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tpstream.analysis.intervals import is_informed, paired
from tpstream.analysis.printed import amount, interval, money_rows, paired_money_rows, show_row, trial_rows
from tpstream.analysis.regret import all_equal
from tpstream.experiment.findings import failure_findings, sentence
from tpstream.experiment.report import COLUMNS, RESULTS, findings_section, repeat_section, world_section
from tpstream.experiment.standings import common_runs
from tpstream.figures.style import policy_colours
from tpstream.model.display import counted
from tpstream.trial.characteristics import FIXED, Trial
from tpstream.view.pages import Page
from tpstream.view.report import Block, Picture, Section, Table, definitions, make_report


def trial_report(trial: Trial) -> Page:
    """The report of a trial; see `Trial.report`."""
    designs, patients = list(trial.outcomes), counted(trial.horizon, "patient")
    runs = max(len(outcomes) for outcomes in trial.outcomes.values())
    seeds = sorted({one.seed for outcomes in trial.outcomes.values() for one in outcomes})
    origin = None if trial.origin is None else trial.origin()
    facts = [("runs", f"{runs:,} of each design"), ("seed", ", ".join(map(str, seeds)))]
    call = f"trial(scenario, {designs}, runs={runs}, seed={seeds[0] if seeds else 0})"
    results = _results(trial)
    return make_report(
        f"{trial.name}: {counted(len(designs), 'design')} of a trial",
        f"How good is each of {counted(len(designs), 'design')} for a trial of {patients} on {len(trial.arms)} arms: "
        "what do the patients lose, and how often is the best arm chosen in the end? All are compared with fixed "
        f"randomisation ({FIXED}).",
        [
            findings_section([*trial_findings(trial), *failure_findings(len(trial.failures))], [origin]),
            Section(RESULTS, results),
            world_section(origin, trial.arms, trial.means.tolist()),
            repeat_section([origin], facts, call),
            Section(COLUMNS, [definitions(results, "trial", "choices", "money", "money_contrasts")]),
        ],
    )


def _results(trial: Trial) -> list[Block]:
    """Figure and tables of a trial."""
    colours, unit = policy_colours(trial.outcomes), f", benefit in {trial.currency}" if trial.currency else ""
    caption = (
        "On the left how many patients each arm got, on the right how often it was chosen in the end; the lines are "
        "95 % intervals, dashed is an equal share."
        if all_equal(trial.means)
        else "The share of patients on the best arm in the order of enrolment, and the benefit that they lost, "
        "compared with all on the best arm; bands and lines are 95 % intervals."
    )
    rows = trial_rows(trial.table(), FIXED, trial.time_unit, tied=all_equal(trial.means))
    choices = [show_row("choices", row) for row in trial.choices().to_dict("records")]
    blocks: list[Block] = [
        Table(rows, f"Operating characteristics, {counted(trial.horizon, 'patient')}{unit}", colours),
        Picture(trial.plot(), caption),
        Table(choices, "How many patients each arm got, and how often it was chosen in the end", colours),
    ]
    if trial.currency is not None:
        last = f"Money after {trial.horizon:,} decisions (later read-outs are not in it)"
        blocks.append(Table(money_rows(trial.money(), trial.currency), last, colours))
        if len(trial.outcomes.get(FIXED, ())) > 1:
            paired = paired_money_rows(trial.money_contrasts(FIXED), trial.currency)
            blocks.append(Table(paired, f"Money against {FIXED}, run by run", colours))
    return blocks


def trial_findings(trial: Trial) -> list[str]:
    """What each design costs the patients and how often it ends with the best arm, against fixed randomisation."""
    notes = [sentence(note) for note in trial.notes]
    if all_equal(trial.means):
        return [*notes, *(_without_best(trial, policy) for policy, outcomes in trial.outcomes.items() if outcomes)]
    rows = [row for row in trial.table().to_dict("records") if row["runs"]]
    judged = [f"{_loss(row)} {_choice(row)}" for row in rows if row["policy"] != FIXED]
    return [*_least(trial), *(judged or [_alone(row) for row in rows]), *notes]


def _least(trial: Trial) -> list[str]:
    """Under which design the patients lose least, and from which others it cannot be told apart."""
    lost = {
        policy: {(one.seed, one.run): value for one, value in zip(outcomes, trial.lost(policy).tolist(), strict=True)}
        for policy, outcomes in trial.outcomes.items()
        if outcomes and not is_informed(policy)
    }
    if len(lost) < 2:  # noqa: PLR2004 (two designs to compare)
        return []
    best = min(lost, key=lambda policy: np.mean(list(lost[policy].values())))
    rivals = {policy: paired("", "", *common_runs(lost[best], own)) for policy, own in lost.items() if policy != best}
    tied = [policy for policy, gap in rivals.items() if not gap.high < 0]  # NaN is not told apart, too
    sure = f"it cannot be told apart from {', '.join(tied)}" if tied else "less than under any other beyond chance"
    return [f"The patients lose least under {best}; {sure}."]


def _alone(row: Mapping[Any, Any]) -> str:
    around = "" if row["runs"] == 1 else f" (95 % interval {interval(row['lost_low'], row['lost_high'])})"
    many = counted(row["runs"], "run")
    return f"Under {row['policy']} the patients lose {amount(row['lost'])}{around} on average of {many}."


def _loss(row: Mapping[Any, Any]) -> str:
    """What the patients lose under a design, more or less than under fixed randomisation."""
    alone, gap = _alone(row).removesuffix("."), row["against_fixed"]
    if np.isnan(gap):
        return f"{alone}; there is no run of fixed randomisation to compare it with."
    if np.isnan(row["against_fixed_low"]):
        return f"{alone}; whether fixed randomisation is better cannot be said from a single run."
    ends = [row["against_fixed_low"], row["against_fixed_high"]]
    if ends[0] <= 0 <= ends[1]:
        around = f"{amount(gap)} (95 % interval {interval(*ends)})"
        return f"{alone}, which cannot be told apart from fixed randomisation: the difference is {around}."
    low, high = sorted(map(abs, ends))
    side = "less" if gap < 0 else "more"
    return f"{alone}: {amount(abs(gap))} {side} than under fixed randomisation (95 % interval {interval(low, high)})."


def _choice(row: Mapping[Any, Any]) -> str:
    """How often a design ends with the best arm, more or less often than fixed randomisation."""
    around = f"{row['best_chosen_low']:.0%} to {row['best_chosen_high']:.0%}"
    found = f"It ends with the best arm in {row['best_chosen']:.0%} of the runs (95 % interval {around})"
    gain, low, high = (row[f"best_chosen_gain{end}"] for end in ("", "_low", "_high"))
    if np.isnan(low):
        return f"{found}."
    points = f"{100 * gain:+.0f} percentage points (95 % interval {100 * low:+.0f} to {100 * high:+.0f})"
    if low <= 0 <= high:
        return f"{found}, which cannot be told apart from fixed randomisation: {points}."
    return f"{found}, {'more' if gain > 0 else 'less'} often than fixed randomisation: {points}."


def _without_best(trial: Trial, policy: str) -> str:
    """Where no arm is best: how unequal the arms were treated."""
    own = trial.choices().query("policy == @policy")
    patients = interval(own["patients"].min(), own["patients"].max())
    equal = trial.horizon / len(trial.arms)
    return (
        f"Under {policy} the arms got {patients} patients on average, and were chosen in {own['chosen'].min():.0%} to "
        f"{own['chosen'].max():.0%} of the runs; equal shares are {amount(equal)} and {1 / len(trial.arms):.0%}."
    )
