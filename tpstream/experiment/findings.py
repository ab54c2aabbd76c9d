"""What a comparison, a sweep or a league found, in sentences that are computed from the numbers.

A difference counts as found if its 95 % interval, paired by run, does not include 0; else the policies "cannot be told
apart". No correction is made for the number of differences: of twenty that are none, about one looks like one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tpstream.analysis.intervals import is_informed, paired
from tpstream.analysis.printed import amount, interval, show_value
from tpstream.experiment.league import League
from tpstream.experiment.result import Study
from tpstream.experiment.standings import FIXED, best_policy, common_runs, conclude, final_regrets
from tpstream.experiment.sweep import Sweep
from tpstream.model.display import counted, listed

MOST_CELLS = 6
"""Cells of a sweep that are named one by one."""


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def study_findings(study: Study) -> list[str]:
    """Which policy loses least, how sure that is, what a wrong choice costs; what was earned; what failed."""
    found = [sentence(text) for text in conclude(study)]
    if study.no_best_arm is not None and sentence(study.no_best_arm) not in found:
        found.append(sentence(study.no_best_arm))
    if study.largest_regret > 0:
        found += [_about_informed(row) for row in study.rows if row["runs"] and is_informed(row["policy"])]
    return [*found, *_money_findings(study), *failure_findings(len(study.failures))]


def _about_informed(row: Mapping[str, Any]) -> str:
    around = "" if np.isnan(row["low"]) else f" (95 % interval {interval(row['low'], row['high'])})"
    return (
        f"{row['policy']} is told what no real decision maker knows and is therefore not among those compared; "
        f"it loses {amount(row['regret'])}{around}."
    )


def failure_findings(failed: int) -> list[str]:
    """That runs failed, if any did."""
    verb = "is" if failed == 1 else "are"
    return [f"{counted(failed, 'run')} failed and {verb} not in these numbers."] if failed else []


def _money_findings(study: Study) -> list[str]:
    """What the policy that earned most earned, and which others cannot be told apart from it; none without money."""
    if study.currency is None:
        return []
    last = study.money().drop_duplicates("policy", keep="last")
    rows = [row for row in last.to_dict("records") if not is_informed(str(row["policy"]))]
    if not rows:
        return []
    most = max(rows, key=lambda row: float(row["earned"]))
    policy, runs = str(most["policy"]), int(most["runs"])

    def write(column: str) -> str:
        return show_value(float(most[column]), "money", study.currency or "")

    around = "" if runs < 2 else f" (95 % interval {write('earned_low')} to {write('earned_high')})"  # noqa: PLR2004
    mean = f"{write('earned')} on average of {counted(runs, 'run')}{around}"
    found = [f"Up to the last round {policy} earned most: {mean}; {write('outstanding')} is outstanding."]
    contrasts = study.money_contrasts(policy).to_dict("records")
    others = [row for row in contrasts if not is_informed(str(row["first"]))]
    tied = [str(row["first"]) for row in others if not row["earned_high"] < 0]  # NaN is not told apart, too
    if others:
        found.append(
            f"In what was earned it cannot be told apart from {listed(tied)}."
            if tied
            else f"{_each_of(len(others))} earned less beyond chance."
        )
    return found


def _each_of(others: int) -> str:
    return "The other policy" if others == 1 else f"Each of the {others} other policies"


def sweep_findings(sweep: Sweep) -> list[str]:
    """Where which policy loses least, and what the values that were varied do to each policy."""
    found = _best_by_cell(sweep)
    policies = list(dict.fromkeys(policy for study in sweep.studies for policy in study.records))
    found += [text for policy in policies if (text := _effect(sweep, policy))]
    return [*found, *failure_findings(len(sweep.failures))]


def _cell_name(settings: Mapping[str, Any], paths: Sequence[str]) -> str:
    return ", ".join(f"{path} = {settings[path]}" for path in paths)


def _best_by_cell(sweep: Sweep) -> list[str]:
    """A sentence for each policy that loses least in some cells, and for the cells without a best arm."""
    cells: dict[str | None, list[str]] = {}
    sure: dict[str | None, int] = {}
    for settings, study in zip(sweep.settings, sweep.studies, strict=True):
        best = best_policy(study)
        cells.setdefault(best, []).append(_cell_name(settings, sweep.paths))
        sure[best] = sure.get(best, 0) + (best is not None and not _tied_with(study, best))
    found, total = [], len(sweep.studies)
    for best, names in cells.items():
        where = "; ".join(names[:MOST_CELLS]) + (
            f"; and {len(names) - MOST_CELLS} more" if len(names) > MOST_CELLS else ""
        )
        if best is None:
            found.append(f"Where no arm is best no policy can lose less than another ({where}).")
            continue
        apart = "In all of these" if sure[best] == len(names) else f"In {sure[best] or 'none'} of these"
        share = f"in all {total} cells" if len(names) == total else f"in {len(names)} of {total} cells ({where})"
        found.append(f"{best} loses least {share}. {apart} it can be told apart from every other policy.")
    return found


def _tied_with(study: Study, best: str) -> list[str]:
    """The policies that cannot be told apart from the best one."""
    finals = final_regrets(study)
    rivals = {name: other for name, other in finals.items() if name != best and not is_informed(name)}
    return [name for name, other in rivals.items() if not paired("", "", *common_runs(finals[best], other)).high < 0]


def _effect(sweep: Sweep, policy: str) -> str:
    """What the values do to a policy: where it loses least and most, and whether that is more than chance."""
    regrets = [final_regrets(study).get(policy) for study in sweep.studies]
    paths = [path for path in sweep.paths if _matters(sweep, path, regrets)]
    known = [own for own in regrets if own]
    if len(known) < 2:  # noqa: PLR2004 (two cells to compare)
        return ""
    means = [np.nan if not own else float(np.mean(list(own.values()))) for own in regrets]
    if not paths:
        return f"For {policy} the values make no difference: it loses {amount(np.nanmax(means))} in every cell."
    least, most = int(np.nanargmin(means)), int(np.nanargmax(means))
    low, high = (f"{amount(means[cell])} with {_cell_name(sweep.settings[cell], paths)}" for cell in (least, most))
    gap = paired("", "", *common_runs(regrets[most] or {}, regrets[least] or {}))
    if np.isnan(gap.low):
        return f"{policy} loses {low} and {high}; whether that is more than chance cannot be said from a single run."
    around = f"{amount(gap.difference)} (95 % interval {interval(gap.low, gap.high)}, paired by run)"
    if gap.low > 0:
        return f"{policy} loses least, {low}, and most, {high}: a difference of {around}."
    return f"{policy} loses {low} and {high}; its cells cannot be told apart: the largest difference is {around}."


def _matters(sweep: Sweep, path: str, regrets: Sequence[Mapping[int, float] | None]) -> bool:
    """Whether cells that differ in this path only have different regrets in some run."""
    groups: dict[str, list[Mapping[int, float] | None]] = {}
    for settings, own in zip(sweep.settings, regrets, strict=True):
        others = _cell_name(settings, [one for one in sweep.paths if one != path])
        groups.setdefault(others, []).append(own)
    return any(own != group[0] for group in groups.values() for own in group)


def league_findings(league: League) -> list[str]:
    """Which policy to take: in its worst world, and by how often none is better; in one world what that one says."""
    failed = failure_findings(len(league.failures))
    if len(league.studies) == 1:
        return [*(sentence(text) for text in league.sentences()), *failed]
    table = league.table()
    usable = table[~table["policy"].map(is_informed) & (table["policy"] != FIXED)].dropna(subset=["worst"])
    if usable.empty:
        return ["No policy can be judged: no world has a best arm, or no policy finished a run.", *failed]
    cells = league.cells().set_index(["policy", "world"])
    rows = usable.to_dict("records")
    found = [_worst_world(rows[0], cells.loc[(rows[0]["policy"], rows[0]["worst_world"])].to_dict(), "loses least")]
    if len(rows) > 1:
        second = rows[1]
        found.append(_worst_world(second, cells.loc[(second["policy"], second["worst_world"])].to_dict(), "is next"))
    return [*found, *_firsts(league, rows), *_left_out(league), *failed]


def _firsts(league: League, rows: Sequence[Mapping[Any, Any]]) -> list[str]:
    """Which of these policies no other one beats in most worlds, which others are told too much, and what is shared."""
    worlds, most = len(league.studies), max(int(row["first"]) for row in rows)
    found = []
    if most:
        names = [str(row["policy"]) for row in rows if row["first"] == most]
        found.append(
            f"{' and '.join(names)} {'is' if len(names) == 1 else 'are each'} first in {most} of {worlds} worlds, "
            "more than any other: no policy loses less there beyond chance."
        )
    informed = [row for row in league.table().to_dict("records") if is_informed(str(row["policy"])) and row["first"]]
    found += [
        f"{row['policy']} is told what no real decision maker knows and is therefore not among those compared; it is "
        f"first in {row['first']} of {worlds} worlds."
        for row in informed
    ]
    shared = int((league.cells().query("rank == 1").groupby("world").size() > 1).sum())
    if shared:
        found.append(
            f"In {shared} of {worlds} worlds several policies share the first rank: they cannot be told apart there."
        )
    return found


def _worst_world(row: Mapping[Any, Any], cell: Mapping[Any, Any], what: str) -> str:
    around = (
        ""
        if np.isnan(cell["of_fixed_low"])
        else f" (95 % interval {cell['of_fixed_low']:.0%} to {cell['of_fixed_high']:.0%})"
    )
    more = ", more than fixed randomisation itself" if cell["of_fixed_low"] > 1 else ""
    return (
        f"Judged by its worst world, {row['policy']} {what}: in {row['worst_world']} it loses {row['worst']:.0%}"
        f"{around} of what fixed randomisation loses{more}; {row['mean']:.0%} on average of "
        f"{counted(int(row['worlds']), 'world')}."
    )


def _left_out(league: League) -> list[str]:
    """Worlds without a best arm, and policies that took no part in a world."""
    found = [sentence(study.no_best_arm) for study in league.studies.values() if study.no_best_arm is not None]
    if league.refusals:
        names = list(dict.fromkeys(one.policy for one in league.refusals))
        found.append(f"Some policies could not take part in every world: {listed(names)}; the reasons are below.")
    return found
