"""Published numbers beyond the paper's settings: all policies on Setting 1, and the world of Impatient Bandits."""

from collections.abc import Container
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Command, tpstream
from families import FAMILIES

from tpstream.paper import impatient, policies
from tpstream.paper.policies import PUBLISHED, policy_agreement
from tpstream.policies import POLICIES
from tpstream.rewards.churn import ChurnArm

__all__ = ["tpstream"]


@pytest.fixture(scope="module")
def shows() -> list[ChurnArm]:
    """Shows of the world of Impatient Bandits."""
    drawn = impatient.draw_shows(np.random.default_rng(5), 600)
    return [ChurnArm(one["churn"], one["concentration"], np.array(one["activity"])) for one in drawn]


def test_shows_are_worth_what_was_published(shows: list[ChurnArm]) -> None:
    """Mean and variance of the shows' worth are the published ones within 3 standard errors of both.

    The published sums are of 200 shows. A variance of n values has a relative error of about sqrt(2 / n).
    """
    worth = np.array([show.mean for show in shows])
    error = worth.std() * np.sqrt(1 / 600 + 1 / 200)
    assert abs(worth.mean() - impatient.SUMS["1'mu"]) < 3 * error
    assert abs(worth.var(ddof=1) / impatient.SUMS["1'Sigma1"] - 1) < 3 * np.sqrt(2 / 600 + 2 / 200)


def test_days_are_as_the_formula_says(shows: list[ChurnArm]) -> None:
    """A listener leaves before the first day with probability 0.4, and every seventh day is one of high activity."""
    assert np.mean([show.churn for show in shows]) == pytest.approx(1 / (1 + np.exp(0.4)), abs=0.005)
    active = np.mean([show.activity for show in shows], axis=0)
    assert active[::7].min() > active[3::7].max() > 0.2
    assert active[0] == pytest.approx(1 / (1 + np.exp(0.5)), abs=0.01)


def test_the_command(tpstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three sums, eight regrets and four differences, of small worlds; with `horizon` nothing disagrees."""
    monkeypatch.setattr(impatient, "SETS", 1)
    monkeypatch.setattr(impatient, "compare", partial(impatient.compare, engine="simpy"))  # compiles less
    monkeypatch.setattr(impatient, "impatient_agreement", partial(impatient.impatient_agreement, traces=30))
    shown = tpstream("paper", "impatient", "-n", "2", "-t", "10", "-j", "1", "--quiet")
    assert shown.code == 0
    assert all(f"{policy}, 50 a round" in shown.out for policy in ("progressive", "delayed", "proxy", "oracle"))
    assert "1'Sigma1" in shown.out
    assert "progressive - oracle, 10 a round" in shown.out
    table = pd.DataFrame({"what": ["a", "b"], "ours": [1.0, 5.0], "half": [0.2, 0.2], "published": [1.1, 2.0]})
    table = table.assign(published_half=[np.nan, 0.1], errors=[-0.7, 26.3], agrees=[True, False])
    monkeypatch.setattr(impatient, "impatient_agreement", lambda **_: table)
    for name in ("found.html", "found.md"):
        assert tpstream("paper", "impatient", "--report", name, "--quiet").code == 1
    page, text = (Path(name).read_text("utf-8") for name in ("found.html", "found.md"))
    assert "| b | 5.000 ± 0.200 | 2.000 ± 0.100 | +26.3 | no |" in text
    for words in ("1 of 2 numbers agree", "b: +26.3 standard errors.", "5.000 ± 0.200", "<svg", "paper impatient"):
        assert words in page


@pytest.mark.parametrize(
    "chosen", [FAMILIES, pytest.param(tuple(POLICIES.builtin), marks=pytest.mark.verify)], ids=["families", "all"]
)
def test_too_short_runs_do_not_agree(chosen: Container[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every policy with a published regret has its row; after 300 rounds no regret is the published one."""
    published = [one for one in PUBLISHED if one.policy.partition(":")[0] in chosen]
    assert len(published) > 5
    monkeypatch.setattr(policies, "PUBLISHED", published)
    table = policy_agreement(runs=2, horizon=300)
    assert table["what"].tolist() == [one.policy for one in published]
    assert not table["agrees"].any()


def test_a_world_is_drawn_from_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds differ, and the same one is the same again."""
    monkeypatch.setattr(impatient, "SETS", 1)
    monkeypatch.setattr(impatient, "compare", partial(impatient.compare, engine="simpy"))  # compiles less
    one, again, other = (impatient.run_world(7, world, rounds=5, traces=30) for world in (0, 0, 1))
    assert one == again != other
