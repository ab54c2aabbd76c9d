"""The columns of the table of regrets that are read from logs."""

from tpstream.analysis.columns.column import CUT, POLICY, REWARD, TIED, Column, Columns, ends

LOGS: dict[str, Columns] = {
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
