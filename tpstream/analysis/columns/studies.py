"""The columns of the tables of comparisons and sweeps, those about money included."""

from tpstream.analysis.columns.column import CUT, FAILED, POLICY, REWARD, RUNS, TIED, Column, Columns, ends


def money(name: str, meaning: str) -> tuple[Column, Column, Column]:
    """A column of the table `money`, and the two of its interval, which is not printed."""
    return Column(name, meaning, REWARD, name, "money"), *ends(name, "Student's", REWARD)


def paired_money(name: str, meaning: str) -> tuple[Column, Column, Column]:
    """A column of the table `money_contrasts`, and the two of its interval."""
    shown = Column(name, meaning, REWARD, f"difference of {name}", "money", (f"{name}_low", f"{name}_high"))
    return shown, *ends(name, "Student's", REWARD)


STUDIES: dict[str, Columns] = {
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
}
