"""What every column of every table means: its name in tables and files, its title where it is printed, and its unit.

Commands print by it, `--help`, `tpstream columns` and docs/columns.md quote it, and a test compares it with the tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Show = Literal["text", "count", "amount", "money", "difference", "share", "percent", "seconds", "time", "factor"]
"""How a value is written for people; see `show_value` in printed.py."""


@dataclass(frozen=True)
class Column:
    """One column: `title` is empty if commands do not print it; `interval` names the two columns of its interval."""

    name: str
    meaning: str
    unit: str = ""
    title: str = ""
    show: Show = "text"
    interval: tuple[str, str] | None = None


def ends(name: str, method: str, unit: str = "") -> tuple[Column, Column]:
    """The two columns of an interval."""
    low, high = f"{name}_low", f"{name}_high"
    meaning = f"lower end of the 95 % interval of {name} ({method})"
    return Column(low, meaning, unit), Column(high, "its upper end", unit)


def money(name: str, meaning: str) -> tuple[Column, Column, Column]:
    """A column of the table `money`, and the two of its interval, which is not printed."""
    return Column(name, meaning, REWARD, name, "money"), *ends(name, "Student's", REWARD)


def paired_money(name: str, meaning: str) -> tuple[Column, Column, Column]:
    """A column of the table `money_contrasts`, and the two of its interval."""
    shown = Column(name, meaning, REWARD, f"difference of {name}", "money", (f"{name}_low", f"{name}_high"))
    return shown, *ends(name, "Student's", REWARD)


REWARD = "reward"
POLICY = Column("policy", "the policy's label", title="policy")
RUNS = Column("runs", "runs that were finished", "runs", "runs", "count")
FAILED = Column("failed", "runs that failed", "runs")
CUT = "Student's, cut at the smallest and largest possible value"
OF_FIXED = "regret as a share of that of fixed randomisation (0: loses nothing, 1: learns nothing)"
TIED = "no value if all arms are equally good"

TABLES: Mapping[str, tuple[Column, ...]] = {
    "table": (
        POLICY,
        RUNS,
        Column(
            "regret",
            "mean over runs of the pseudo-regret after the last round: for every pull, the best arm's mean minus that "
            "of the arm pulled",
            REWARD,
            "regret",
            "amount",
        ),
        Column(
            "low",
            "lower end of the 95 % interval of regret (Student's, cut at 0 and at the largest possible regret)",
            REWARD,
            "95 % interval",
            "amount",
            ("low", "high"),
        ),
        Column("high", "its upper end", REWARD),
        Column("bootstrap_low", "lower end of the bootstrap's 95 % interval of regret", REWARD),
        Column("bootstrap_high", "its upper end", REWARD),
        Column(
            "best_arm_share", f"share of all pulls that were of the best arm; {TIED}", "share", "on best arm", "percent"
        ),
        Column(
            "best_found",
            "share of runs in which no other arm was pulled as often as the best one; it does not say that the policy "
            f"knows the best arm; {TIED}",
            "share",
            "best pulled most",
            "share",
        ),
        *ends("best_found", "Wilson's", "share"),
        FAILED,
        Column(
            "seconds_per_run",
            "mean seconds that a run took, without those of compiling the policy",
            "s",
            "s/run",
            "seconds",
        ),
    ),
    "results": (
        POLICY,
        Column("run", "the number of the run, from 0"),
        Column("round", "the round up to which the row counts"),
        Column("regret", "pseudo-regret up to this round", REWARD),
        Column("best_arm_share", "share of pulls of the best arm up to this round", "share"),
        Column("most_pulled", "the arm pulled most; of several the first"),
        Column("best_found", "whether no other arm was pulled as often as the best one"),
    ),
    "contrasts": (
        Column("first", "the policy that is compared", title="policy"),
        Column("second", "the policy that it is compared with"),
        Column("runs", "runs that both finished", "runs"),
        Column("difference", "regret of the first minus the second's, run by run", REWARD, "difference", "amount"),
        Column(
            "low",
            f"lower end of its 95 % interval ({CUT})",
            REWARD,
            "95 % interval",
            "amount",
            ("low", "high"),
        ),
        Column("high", "its upper end", REWARD),
        Column("bootstrap_low", "lower end of the bootstrap's 95 % interval", REWARD),
        Column("bootstrap_high", "its upper end", REWARD),
        Column("wins", "share of runs in which the first has less regret; equal runs count half", "share"),
        Column(
            "saving",
            "how many times more runs an unpaired comparison needs for an interval as narrow",
            "factor",
            "runs saved",
            "factor",
        ),
    ),
    "curves": (
        POLICY,
        Column("round", "the checkpoint"),
        Column("regret", "mean pseudo-regret up to this round", REWARD),
        Column("low", f"lower end of its 95 % interval ({CUT})", REWARD),
        Column("high", "its upper end", REWARD),
    ),
    "pulls": (
        POLICY,
        Column("arm", "the arm"),
        Column("mean", "its true mean", REWARD),
        Column("pulls", "mean over runs of how often it was pulled", "pulls"),
        Column("low", f"lower end of the 95 % interval of pulls ({CUT})", "pulls"),
        Column("high", "its upper end", "pulls"),
        Column("share", "share of all pulls", "share"),
    ),
    "money": (
        POLICY,
        Column("round", "the checkpoint"),
        Column("runs", "runs that were finished", "runs"),
        Column(
            "earned",
            "the sum of all parts that were credited up to and including the time of this round",
            REWARD,
            "earned",
            "money",
            ("earned_low", "earned_high"),
        ),
        *ends("earned", "Student's", REWARD),
        *money(
            "expected",
            "for every pull up to this round, the mean of its arm: what the pulls pay on average, sooner or later",
        ),
        *money(
            "outstanding",
            "what open pulls are expected to pay yet: for every pull that is open after this round, the mean of its "
            "arm minus what it was credited with so far (a part that is known to be lost is not taken off)",
        ),
        *money("late", "the sum of the parts that arrived after their pull was closed, which are never credited"),
        Column(
            "lost_parts",
            "how many parts are known never to arrive; what they would have paid is not known",
            "parts",
            "lost parts",
            "count",
        ),
        *ends("lost_parts", "Student's", "parts"),
    ),
    "money_contrasts": (
        Column("first", "the policy that is compared", title="policy"),
        Column("second", "the policy that it is compared with"),
        Column("runs", "runs that both finished", "runs"),
        *paired_money("earned", "what the first earned up to the last round minus what the second did, run by run"),
        *paired_money(
            "expected",
            "what the pulls of the first pay on average, sooner or later, minus what the second's do, run by run",
        ),
    ),
    "times": (
        POLICY,
        Column("run", "the number of the run, from 0"),
        Column("seconds", "what it took, without compiling the policy", "s"),
    ),
    "failures": (
        Column("scenario", "the scenario's name"),
        POLICY,
        Column("run", "the number of the run, from 0"),
        Column("seed", "its seed"),
        Column("reason", "why it failed"),
        Column("repeat", "the command that repeats it alone"),
    ),
    "value": (
        POLICY,
        Column("runs", "runs that were compared", "runs"),
        Column("fraction", "which part of the delay's cost the policy recovers", "share"),
        Column("low", "lower end of its 95 % interval (Fieller's)", "share"),
        Column("high", "its upper end", "share"),
        Column("cost", "regret of the waiting policy minus that of the clairvoyant one", REWARD),
        *ends("cost", CUT, REWARD),
    ),
    "league": (
        POLICY,
        Column("worlds", "worlds in which the policy took part", "worlds", "worlds", "count"),
        Column("first", "worlds in which no policy loses less beyond chance", "worlds", "first in", "count"),
        Column(
            "mean_rank",
            "mean over worlds of its rank (1 + the policies that lose less beyond chance)",
            "",
            "rank",
            "amount",
        ),
        Column("mean", f"mean over worlds of of_fixed: {OF_FIXED}", "share", "mean share", "percent"),
        Column("worst", "the largest of_fixed of all worlds", "share", "worst share", "percent"),
        Column("worst_world", "the world of the largest of_fixed", title="worst in"),
        Column("microseconds", "median over worlds of the time that a round takes", "us", "us/round", "amount"),
    ),
    "league_cells": (
        Column("world", "the scenario's name"),
        POLICY,
        RUNS,
        Column(
            "regret",
            "mean over runs of the pseudo-regret after the last round",
            REWARD,
            "regret",
            "amount",
            ("low", "high"),
        ),
        Column("low", f"lower end of its 95 % interval ({CUT})", REWARD),
        Column("high", "its upper end", REWARD),
        Column("of_best", "regret as a multiple of that of the policy with the smallest one", "factor"),
        *ends("of_best", "Fieller's", "factor"),
        Column("of_fixed", OF_FIXED, "share", "of fixed", "percent", ("of_fixed_low", "of_fixed_high")),
        *ends("of_fixed", "Fieller's", "share"),
        Column(
            "rank",
            "1 + the number of policies that lose less in this world beyond chance (paired 95 % intervals)",
            title="rank",
            show="count",
        ),
        Column("microseconds", "time that a round takes", "us"),
    ),
    "refused": (
        Column("world", "the scenario's name"),
        POLICY,
        Column("reason", "why the policy cannot take part there"),
    ),
    "trial": (
        POLICY,
        RUNS,
        Column(
            "on_best",
            f"patients on the best arm; {TIED}",
            "patients",
            "on best arm",
            "count",
            ("on_best_low", "on_best_high"),
        ),
        *ends("on_best", CUT, "patients"),
        Column(
            "best_chosen",
            "share of runs whose final choice is the best arm; a run in which nothing was delivered chooses none; "
            f"{TIED}",
            "share",
            "best chosen",
            "share",
            ("best_chosen_low", "best_chosen_high"),
        ),
        *ends("best_chosen", "Wilson's", "share"),
        Column(
            "best_chosen_gain",
            f"best_chosen minus that under fixed randomisation, run by run; positive is better; {TIED}",
            "share",
        ),
        *ends("best_chosen_gain", "Newcombe's for paired shares", "share"),
        Column(
            "lost",
            "what the patients lose in expectation, compared with all on the best arm",
            REWARD,
            "benefit lost",
            "count",
            ("lost_low", "lost_high"),
        ),
        *ends("lost", CUT, REWARD),
        Column(
            "against_fixed",
            "benefit lost minus that under fixed randomisation, run by run; negative is better",
            REWARD,
            "against fixed",
            "difference",
            ("against_fixed_low", "against_fixed_high"),
        ),
        *ends("against_fixed", CUT, REWARD),
        Column(
            "last_readout",
            "when the last part was delivered",
            "time",
            "last read-out",
            "time",
            ("last_readout_low", "last_readout_high"),
        ),
        *ends("last_readout", "Student's, cut at 0", "time"),
        Column("lost_later", "what each later patient loses in expectation by the final choice", REWARD),
        *ends("lost_later", CUT, REWARD),
        FAILED,
    ),
    "choices": (
        POLICY,
        Column("arm", "the arm", title="arm"),
        Column("mean", "its true mean", REWARD),
        Column(
            "patients",
            "patients that got this arm",
            "patients",
            "patients",
            "count",
            ("patients_low", "patients_high"),
        ),
        *ends("patients", CUT, "patients"),
        Column(
            "chosen",
            "share of runs that chose this arm in the end",
            "share",
            "chosen",
            "share",
            ("chosen_low", "chosen_high"),
        ),
        *ends("chosen", "Wilson's", "share"),
    ),
    "outcomes": (
        POLICY,
        Column("run", "the number of the run, from 0"),
        Column("on_best", f"patients on the best arm; {TIED}", "patients"),
        Column("chosen", "the arm chosen in the end; no value if none was"),
        Column("lost", "what the patients lose in expectation, compared with all on the best arm", REWARD),
        Column("last_readout", "when the last part was delivered", "time"),
    ),
    "regret": (
        POLICY,
        Column("runs", "logs that were read", "runs", "runs", "count"),
        Column("rounds", "the last round of the curves"),
        Column(
            "pseudo_regret",
            "for every pull, the best arm's mean minus that of the arm pulled",
            REWARD,
            "pseudo-regret",
            "amount",
            ("pseudo_regret_low", "pseudo_regret_high"),
        ),
        *ends("pseudo_regret", CUT, REWARD),
        Column(
            "shortfall",
            "the best arm's mean for every round minus all that was delivered",
            REWARD,
            "shortfall",
            "amount",
            ("shortfall_low", "shortfall_high"),
        ),
        *ends("shortfall", "Student's", REWARD),
        Column(
            "outstanding",
            "what open pulls are expected to pay yet",
            REWARD,
            "outstanding",
            "amount",
            ("outstanding_low", "outstanding_high"),
        ),
        *ends("outstanding", "Student's", REWARD),
        Column("open_pulls", "pulls that are open after the last round", "pulls", "open", "count"),
        Column(
            "paid_later",
            "what the open pulls paid after the last round; no value if the run was not drained",
            REWARD,
            "paid later",
            "amount",
        ),
        Column(
            "best_arm_share", f"share of all pulls that were of the best arm; {TIED}", "share", "on best arm", "percent"
        ),
    ),
}
"""The columns of every table, by its name."""
