"""The columns of the tables of leagues."""

from tpstream.analysis.columns.column import CUT, POLICY, REWARD, RUNS, Column, Columns, ends

OF_FIXED = "regret as a share of that of fixed randomisation (0: loses nothing, 1: learns nothing)"

LEAGUES: dict[str, Columns] = {
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
}
