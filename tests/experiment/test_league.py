"""Leagues: every policy in every world, judged against the best and against fixed randomisation."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import Command, tpstream
from studies import small

from tpstream import League, Study, TpstreamError, league
from tpstream.experiment.findings import league_findings
from tpstream.experiment.league import WORLDS, default_policies, shipped_worlds
from tpstream.experiment.standings import best_policy, conclude, final_regrets, judge

__all__ = ["tpstream"]
POLICIES = ["tp-ucb-ew", "tp-ucb-fr", "delayed-ucb1"]


@pytest.fixture(scope="module")
def found() -> League:
    """Three policies in two worlds."""
    return league([small(name="one", horizon=200), small(name="two", horizon=150, span=6)], POLICIES, runs=6)


def test_worlds_have_their_folders_in_that_of_the_league(tmp_path: Path, tpstream: Command) -> None:
    """Neither the name of a scenario nor what league.json says leads to another folder."""
    with pytest.raises(TpstreamError, match=r"no folder in it can be named after the world '\.\.'"):
        league([small(name="..")], ["ucb1"], runs=1, folder=tmp_path / "league")
    league([small(name="outside")], ["ucb1"], runs=1, folder=tmp_path)
    (tmp_path / "league").mkdir()
    about = json.loads((tmp_path / "league.json").read_text()) | {"worlds": ["../outside"]}
    for text, said in (
        (json.dumps(about), "no folder in it"),
        ("[" * 5000, "cannot be read"),
        ("{}", "cannot be read"),
    ):
        (tmp_path / "league/league.json").write_text(text)
        shown = tpstream("show", tmp_path / "league")
        assert (shown.code, shown.out, said in shown.err) == (2, "", True)


def test_every_policy_in_every_world(found: League) -> None:
    """There is a cell for each world and policy, fixed randomisation among them."""
    cells = found.cells()
    assert set(cells["policy"]) == {*POLICIES, "uniform"}
    assert cells.groupby("world").size().to_dict() == {"one": 4, "two": 4}
    assert found.matrix().shape == (4, 2)
    assert found.matrix().loc["uniform"].tolist() == [1.0, 1.0]


def test_numbers_are_those_of_the_studies(found: League) -> None:
    """Shares are ratios of mean regrets, computed here once more from the regrets of the runs."""
    for world, study in found.studies.items():
        means = {policy: study.regret(policy)[:, -1].mean() for policy in study.records}
        cells = found.cells().set_index(["world", "policy"]).loc[world]
        for policy, mean in means.items():
            assert cells.loc[policy, "regret"] == pytest.approx(mean)
            assert cells.loc[policy, "of_fixed"] == pytest.approx(mean / means["uniform"])
            assert cells.loc[policy, "of_best"] == pytest.approx(mean / min(means.values()))
            assert cells.loc[policy, "of_best_low"] <= cells.loc[policy, "of_best"] <= cells.loc[policy, "of_best_high"]


def test_ranks_count_who_is_better_beyond_chance(found: League) -> None:
    """1 + the number of policies for which the t interval of the paired difference is above 0, worked out here."""
    for world, study in found.studies.items():
        finals = {policy: study.regret(policy)[:, -1] for policy in study.records}
        for policy, own in finals.items():
            better = 0
            for other in finals.values():
                gap = own - other
                half = 2.570582 * gap.std(ddof=1) / np.sqrt(6)  # Student's quantile at 5 degrees of freedom
                better += bool(gap.mean() - half > 0)
            assert found.matrix("rank").loc[policy, world] == 1 + better


def test_the_table_has_the_worst_world(found: League) -> None:
    """A row for each policy; the one that loses least in its worst world comes first."""
    table = found.table().set_index("policy")
    matrix = found.matrix()
    assert table["worst"].is_monotonic_increasing
    for policy, row in table.iterrows():
        assert row["worst"] == matrix.loc[policy].max()
        assert row["worst_world"] == matrix.loc[policy].idxmax()


def test_informed_policies_are_never_the_best() -> None:
    """Oracle loses nothing, and is not what the others are measured by."""
    study = league([small()], ["oracle", "tp-ucb-ew"], runs=3).studies["small"]
    assert best_policy(study) in {"tp-ucb-ew", "uniform"}


def test_three_sentences(found: League) -> None:
    """What was found, how sure it is, and what it would cost to be wrong."""
    said = found.sentences("one")
    assert len(said) == 3
    best = best_policy(found.studies["one"])
    assert said[0].startswith(f"In one {best} loses least: ")
    with pytest.raises(TpstreamError, match="name one of the worlds one, two"):
        found.sentences()


def test_policies_that_cannot_be_told_apart() -> None:
    """Two copies of one policy have the same rank, and the second sentence names the other one."""
    twins = [{"kind": "tp-ucb-fr", "name": "a"}, {"kind": "tp-ucb-fr", "name": "b"}]
    study = league([small(policies=[*twins, {"kind": "uniform"}])], ["a", "b"], runs=4).studies["small"]
    rows = {row["policy"]: row for row in judge("small", study)}
    assert rows["a"]["rank"] == rows["b"]["rank"]
    if best_policy(study) == "a":
        assert "cannot be told apart from b" in conclude(study)[1]
    assert final_regrets(study)["a"] == final_regrets(study)["b"]


def test_equal_arms_have_no_ranks() -> None:
    """Where all arms are equally good nothing can be lost: one sentence says so, and shares have no value."""
    equal = small(arms=[{"name": "a", "maximum": 10.0}, {"name": "b", "maximum": 10.0}])
    found = league([equal], ["tp-ucb-ew"], runs=2)
    assert found.cells()[["of_fixed", "of_best", "rank"]].isna().all(axis=None)
    assert found.sentences() == ["arms a, b are equally good: no best arm, and regret is 0 whatever is pulled"]


def test_a_policy_that_cannot_serve_is_left_out() -> None:
    """Its reason is kept, and the others take part."""
    found = league([small()], ["tp-ucb-ew", "tp-ucb-fr:groups=7"], runs=2)
    (refusal,) = found.refusals
    assert refusal.policy == "tp-ucb-fr:groups=7"
    assert "does not divide" in refusal.reason
    assert "tp-ucb-ew" in found.policies


def test_it_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    """Finished runs are kept for each world, and the tables are equal to the last byte."""
    first = league([small()], ["tp-ucb-ew"], runs=2, folder=tmp_path / "league")
    files = {path.name: path.read_bytes() for path in (tmp_path / "league").glob("*.csv")}
    assert set(files) == {"league.csv", "cells.csv", "refused.csv", "failures.csv"}
    again = league([small()], ["tp-ucb-ew"], runs=2, folder=tmp_path / "league")
    assert {path.name: path.read_bytes() for path in (tmp_path / "league").glob("*.csv")} == files
    assert again.cells()["regret"].tolist() == first.cells()["regret"].tolist()


def test_two_worlds_of_one_name() -> None:
    """They could not be told apart in the tables."""
    with pytest.raises(TpstreamError, match="two worlds are called small"):
        league([small(), small()], ["tp-ucb-ew"], runs=1)


def test_the_shipped_worlds() -> None:
    """All of them load, and none has more than 20,000 rounds."""
    worlds = shipped_worlds()
    assert [world.name for world in worlds] == list(WORLDS)
    assert max(world.horizon for world in worlds) <= 20_000


def test_the_figure(found: League, tmp_path: Path) -> None:
    """The heat map is written, with a row for each policy besides fixed randomisation."""
    figure = found.plot(tmp_path / "league.png")
    assert (tmp_path / "league.png").stat().st_size > 5000
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        policy for policy in found.table()["policy"] if policy != "uniform"
    ]


def test_the_command(tpstream: Command) -> None:
    """A table, and three sentences for a single world; JSON has all tables."""
    words = ("league", "unequal-dropout", "-p", "tp-ucb-ew", "-t", "60", "-n", "2")
    shown = tpstream(*words)
    assert shown.code == 0
    assert "In unequal-dropout " in shown.out
    told = json.loads(tpstream(*words, "--json").out)
    assert set(told) == {"league", "cells", "refused", "failures", "sentences", "warnings", "figure", "report", "out"}
    assert isinstance(told["sentences"], list)
    wrong = tpstream("league", "unequal-dropouts")
    assert (wrong.code, "did you mean" in wrong.err) == (2, True)


def test_a_study_is_what_a_world_has(found: League) -> None:
    """Each world's study is an ordinary one."""
    assert all(isinstance(study, Study) for study in found.studies.values())


def test_parameters_of_a_scenario_count_in_a_league_of_ones_own() -> None:
    """A policy that a scenario lists has the parameters of its table; in the shipped league it has the default ones."""
    scenario = small(policies=[{"kind": "tp-ucb-fr", "groups": 1}])
    for listed, groups in ((True, 1), (False, scenario.problem().groups)):
        (spec,) = [one for one in default_policies(listed=listed) if one in ("tp-ucb-fr", {"kind": "tp-ucb-fr"})]
        chosen = scenario.policy(spec)
        assert (chosen.label, chosen.parameters.model_dump()["groups"]) == ("tp-ucb-fr", groups)


def test_what_is_said_of_who_is_first() -> None:
    """One that is told too much is not taken for a winner, and nobody is called first who is first nowhere."""
    found = league([small(), small(seed=2, name="other")], ["oracle", "tp-ucb-ew", "delayed-ucb1"], runs=3)
    said = " ".join(league_findings(found))
    assert "oracle is told what no real decision maker knows" in said
    assert "it is first in 2 of 2 worlds" in said
    assert "first in 0" not in said
    assert "In 0 of" not in said
