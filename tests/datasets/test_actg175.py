"""The builder of ACTG 175: event-free blocks, and the completion of those who left early."""

import sys
from pathlib import Path

import numpy as np
import pytest
from delays_helper import RATE
from scipy import stats

from tpstream import Scenario, simulate
from tpstream.cli.app import main
from tpstream.datasets import actg175, prepared
from tpstream.datasets.actg175 import complete, data_file, free_blocks, left_early, prepare
from tpstream.model.errors import DataError, ScenarioError

ARM = np.zeros(4, dtype=np.int64)
DAYS = np.array([30.0, 40.0, 100.0, 700.0])
EVENT = np.array([True, False, True, False])
"""An event, one who left early, an event, and one who stayed."""
FAKE = "id,arms,days,cens\n" + "".join(
    f"{number},{number % 4},{30 + 17 * number % 900},{int(number % 3 == 0)}\n" for number in range(80)
)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eighty patients who never were."""
    file = tmp_path / "fake.csv"
    file.write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(actg175, "data_file", lambda: file)
    return file


def test_blocks_by_hand() -> None:
    """An event on the last day of a block belongs to it; none at all leaves all 24 blocks free."""
    days = np.array([1.0, 27.0, 28.0, 29.0, 56.0, 57.0, 672.0, 673.0, np.inf])
    np.testing.assert_array_equal(free_blocks(days), [0, 0, 0, 1, 1, 2, 23, 24, 24])


def test_only_those_who_left_early_are_completed() -> None:
    """Observed events and those who stayed to the end are as they were."""
    np.testing.assert_array_equal(left_early(DAYS, EVENT), [False, True, False, False])
    moments = complete(ARM, DAYS, EVENT, np.random.default_rng(0))
    np.testing.assert_array_equal(moments[[0, 2, 3]], [30, 100, np.inf])


def test_who_left_goes_on_like_one_at_risk() -> None:
    """Half go on like each of the two who were observed for longer (false alarm: 1 in a million)."""
    ends = [complete(ARM, DAYS, EVENT, np.random.default_rng(seed))[1] for seed in range(400)]
    assert set(ends) == {100.0, np.inf}
    assert stats.binomtest(ends.count(100.0), 400, 0.5).pvalue > RATE


def test_completion_is_within_the_arm() -> None:
    """With the others on another arm nobody is at risk, and nothing more happens."""
    moments = complete(np.array([1, 0, 1, 1]), DAYS, EVENT, np.random.default_rng(0))
    assert moments[1] == np.inf


def test_completion_is_kaplan_and_meiers_in_expectation() -> None:
    """The mean share without an event at day 100 is 3/4 * 1/2 (false alarm: 1 in a million).

    By Kaplan and Meier: of four at risk at day 30 one has an event; of two at risk at day 100, one.
    """
    shares = np.array([(complete(ARM, DAYS, EVENT, np.random.default_rng(s)) > 100).mean() for s in range(2000)])
    off = abs(shares.mean() - 3 / 8) / (shares.std(ddof=1) / np.sqrt(len(shares)))
    assert off < stats.norm.isf(RATE / 2)


@pytest.mark.usefixtures("fake")
def test_the_files_make_a_trial(tmp_path: Path) -> None:
    """The trace has a row for each patient, nested parts, and the scenario runs."""
    done = prepare(tmp_path / "out")
    scenario = Scenario.load(done.scenario)
    problem = scenario.problem()
    assert (problem.horizon, problem.span, problem.groups, problem.arms) == (80, 24, 24, 4)
    assert problem.means is not None
    by_arm = [done.blocks[done.arm == arm].mean() for arm in range(4)]
    np.testing.assert_allclose(problem.means, by_arm)
    assert len(simulate(scenario, "tp-ucb-ew").arms) == 80


@pytest.mark.usefixtures("fake")
def test_building_is_repeatable_and_overwrites_nothing(tmp_path: Path) -> None:
    """The same bytes each time; files that are there are kept unless force is used."""
    one, other = prepare(tmp_path / "one"), prepare(tmp_path / "other")
    assert one.trace.read_bytes() == other.trace.read_bytes()
    with pytest.raises(ScenarioError, match="is there already"):
        prepare(tmp_path / "one")
    assert prepare(tmp_path / "one", force=True).trace.read_bytes() == other.trace.read_bytes()


def test_a_file_without_the_columns_is_refused(fake: Path, tmp_path: Path) -> None:
    """The missing column is named."""
    fake.write_text(FAKE.replace("days", "weeks"), encoding="utf-8")
    with pytest.raises(ScenarioError, match="has no column 'days'"):
        prepare(tmp_path / "out")


def test_without_lifelines_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setattr(prepared, "find_spec", lambda _: None)
    with pytest.raises(DataError, match=r"pip install 'tpstream\[data\]'"):
        data_file()


@pytest.mark.usefixtures("fake")
def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`tpstream data actg175` says how many patients each arm has, and where the files are."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "argv", ["tpstream", "data", "actg175", "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as left:
        main()
    printed = capsys.readouterr().out
    assert not left.value.code
    assert "zidovudine-didanosine" in printed
    assert (tmp_path / "out" / "actg175.toml").is_file()


def test_the_real_trial(tmp_path: Path) -> None:
    """2,139 patients, 183 of whom are completed; the combination with didanosine is best and zidovudine alone worst."""
    done = prepare(tmp_path)
    assert (len(done.arm), int(done.completed.sum())) == (2139, 183)
    np.testing.assert_array_equal(np.bincount(done.arm), [532, 522, 524, 561])
    means = Scenario.load(done.scenario).problem().means
    assert means is not None
    assert (int(means.argmax()), int(means.argmin())) == (1, 0)
