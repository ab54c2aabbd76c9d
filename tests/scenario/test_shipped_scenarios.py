"""The scenarios that ship: all there, all valid, and the paper's as the paper says."""

from pathlib import Path

import numpy as np
import pytest

from tpstream.model.arrays import Floats
from tpstream.scenario import files as shipped_module
from tpstream.scenario.files import shipped
from tpstream.scenario.scenario import Scenario

SIZES = ((100, 10), (200, 20), (100, 50), (200, 100))
SETTING_2 = [f"setting-{number}-{span}-{groups}" for number in ("2", "2.1", "2.2", "2.3") for span, groups in SIZES]
SETTING_4 = [f"setting-4-{number}" for number in range(1, 11)]
PAPER = ["setting-1", *SETTING_2, *SETTING_4, "setting-5", "spotify-like"]
WORLDS = [
    "impatient",
    "lump-at-the-end",
    "rare-conversions",
    "subscriptions",
    "ten-at-a-time",
    "unequal-dropout",
    "unrelated-maxima",
]
APPLICATIONS = ["e-commerce", "e-commerce-weekly", "lottery-all", "lottery-one", "medical-trial", "playlist"]


def means_of(scenario: Scenario) -> Floats:
    """The true means of the arms."""
    means = scenario.problem().means
    assert means is not None
    return means


def test_all_expected_files_ship() -> None:
    """Every setting of the paper, every application and every world has its file, in its folder."""
    found = {(path.parent.name, path.stem) for path in shipped().values()}
    folders = {"paper": PAPER, "applications": APPLICATIONS, "worlds": WORLDS}
    assert found >= {(folder, name) for folder, names in folders.items() for name in names}


def test_listed_in_natural_order() -> None:
    """The paper's come first, 2.1 after 2, and 10 after 9."""
    names = [name for name in shipped() if name in {"setting-2-200-100", "setting-2.1-100-10", *SETTING_4, "playlist"}]
    assert names == ["setting-2-200-100", "setting-2.1-100-10", *SETTING_4, "playlist"]


@pytest.mark.parametrize("name", shipped())
def test_loads_by_name(name: str) -> None:
    """A shipped scenario is found by its mere name, is called by it, and its policies can be chosen."""
    scenario = Scenario.load(name)
    assert scenario.name == name
    assert len(scenario.choices()) == len(scenario.policies) >= (4 if scenario.trial is None else 1)


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_policies(name: str) -> None:
    """The paper's settings list its four policies, Delayed-UCB1 with the start behind the published numbers."""
    tables = Scenario.load(name).resolved()["policies"]
    assert [table["kind"] for table in tables] == ["ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew"]
    assert tables[1]["start"] == "random"


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_sizes(name: str) -> None:
    """Horizon, span and groups are those of the table of experiments."""
    if name.startswith("setting-2"):
        span, groups = (int(piece) for piece in name.split("-")[2:])
    else:
        span, groups = (80, 20) if name == "spotify-like" else (100, 10 if name in SETTING_4 else 20)
    problem = Scenario.load(name).problem()
    horizon = 1_000_000 if name == "setting-5" else 100_000
    assert (problem.horizon, problem.span, problem.groups) == (horizon, span, groups)


@pytest.mark.parametrize("name", [name for name in PAPER if name != "spotify-like"])
def test_the_papers_maxima(name: str) -> None:
    """Arm i pays at most 100 i in Settings 1, 4 and 5, and span * i in Setting 2 (span 100 in Setting 4)."""
    scenario = Scenario.load(name)
    np.testing.assert_array_equal(scenario.problem().maxima, scenario.span * np.arange(1.0, 11.0))


@pytest.mark.parametrize("name", ["setting-1", "setting-5", *(name for name in SETTING_2 if "2.3" not in name)])
def test_means_are_half_the_maxima(name: str) -> None:
    """Uniform groups pay half, and so do those of 2.1 and 2.2, where b is a reversed."""
    scenario = Scenario.load(name)
    np.testing.assert_allclose(means_of(scenario), scenario.problem().maxima / 2, rtol=1e-12)


@pytest.mark.parametrize(("span", "groups"), SIZES)
def test_vectors_of_setting_2_1(span: int, groups: int) -> None:
    """In 2.1 a_k = min(2k, groups) and b is a reversed; in 2.2 they are exchanged."""
    late = Scenario.load(f"setting-2.1-{span}-{groups}").resolved()["rewards"]
    early = Scenario.load(f"setting-2.2-{span}-{groups}").resolved()["rewards"]
    rising = [min(2 * group, groups) for group in range(1, groups + 1)]
    assert (late["a"], late["b"]) == (rising, rising[::-1])
    assert (early["a"], early["b"]) == (rising[::-1], rising)


@pytest.mark.parametrize(
    ("name", "sum_a", "sum_b", "mean"),
    [
        ("setting-2.3-100-10", 63, 60, 0.526975),
        ("setting-2.3-200-20", 120, 102, 0.551640),
        ("setting-2.3-100-50", 302, 241, 0.566394),
        ("setting-2.3-200-100", 548, 498, 0.524254),
        ("setting-4-1", 53, 32, 0.610714),
        ("setting-4-10", 57, 53, 0.492513),
    ],
)
def test_printed_vectors(name: str, sum_a: int, sum_b: int, mean: float) -> None:
    """The random vectors are the printed ones, by sums counted in its text and the mean of a pull in maxima."""
    scenario = Scenario.load(name)
    rewards = scenario.resolved()["rewards"]
    assert (sum(rewards["a"]), sum(rewards["b"])) == (sum_a, sum_b)
    np.testing.assert_allclose(means_of(scenario), mean * scenario.problem().maxima, rtol=2e-6)


def test_moments_of_spotify_like() -> None:
    """Six playlists of at most 80 with the means of the real sessions."""
    scenario = Scenario.load("spotify-like")
    np.testing.assert_allclose(means_of(scenario), [38.59, 52.35, 38.44, 43.90, 45.15, 36.20])
    np.testing.assert_array_equal(scenario.problem().maxima, np.full(6, 80.0))


@pytest.mark.parametrize(("name", "groups"), [("e-commerce", 1), ("lottery-one", 1), ("lottery-all", 20)])
def test_groups_of_applications(name: str, groups: int) -> None:
    """A batch may sell in a day and one card wins once: one group; independent tickets: a group each."""
    assert Scenario.load(name).problem().groups == groups


def test_means_have_nothing_to_do_with_maxima() -> None:
    """In unrelated-maxima the arm with the largest maximum has the smallest mean, and the best has a middling one."""
    scenario = Scenario.load("unrelated-maxima")
    means, maxima = means_of(scenario), scenario.problem().maxima
    assert means.argmin() == maxima.argmax()
    assert abs(np.corrcoef(means, maxima)[0, 1]) < 0.5
    assert sorted(maxima).index(maxima[means.argmax()]) == 3


def test_installed_scenarios_come_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those inside the package are found, else those beside it, else none."""
    package = tmp_path / "tpstream"
    monkeypatch.setattr(shipped_module, "PACKAGE", package)
    assert shipped() == {}
    beside = tmp_path / "scenarios" / "paper" / "one.toml"
    inside = package / "scenarios" / "paper" / "one.toml"
    for path in (beside, inside):
        path.parent.mkdir(parents=True)
        path.touch()
        assert shipped() == {"one": path}
