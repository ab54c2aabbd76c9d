"""What a run reports is open: a measure added in one place reaches the store, `Study.measure` and the tables."""

from pathlib import Path

import numpy as np
import pytest
from studies import small

from tpstream import Study, compare, sweep
from tpstream.analysis.intervals import t_interval
from tpstream.run.loop import Measures, RunMeasures


@pytest.fixture
def last_pulls(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more measure, a number: pulls of the last arm; and another one, an array."""
    values = RunMeasures.values

    def more(self: RunMeasures) -> Measures:
        pulls = values(self)["pulls"]
        return {"pulls": pulls, "last_pulls": np.array(pulls[-1, -1]), "doubled": pulls[-1] * 2.0}

    monkeypatch.setattr(RunMeasures, "values", more)


@pytest.mark.usefixtures("last_pulls")
@pytest.mark.parametrize(("runs", "keep"), [(1, False), (4, False), (4, True)])
def test_a_new_measure_reaches_the_tables(tmp_path: Path, runs: int, keep: bool) -> None:  # noqa: FBT001
    """By the short way of one run, in memory and through a folder: every run has it, tables have mean and interval."""
    study = compare(small(), ["uniform", "ucb1"], runs=runs, folder=tmp_path if keep else None)
    for row in study.table().to_dict("records"):
        expected = study.counts[row["policy"]][:, -1, -1]
        assert study.measure(row["policy"], "last_pulls").tolist() == expected.tolist()
        assert study.measure(row["policy"], "doubled").tolist() == (2.0 * study.counts[row["policy"]][:, -1]).tolist()
        spread = t_interval(expected.astype(np.float64))
        shown = [row[name] for name in ("last_pulls", "last_pulls_low", "last_pulls_high")]
        np.testing.assert_equal(shown, [float(spread.mean), float(spread.low), float(spread.high)])
    assert study.results()["last_pulls"].tolist() == of_every_run(study)
    if keep:
        assert "last_pulls_low" in (tmp_path / "table.csv").read_text().splitlines()[0]


@pytest.mark.usefixtures("last_pulls")
def test_a_new_measure_reaches_a_sweep() -> None:
    """The table of a sweep has it, too."""
    assert "last_pulls" in sweep(small(), {"span": [6, 12]}, ["uniform"], runs=2).table()


def of_every_run(study: Study) -> list[float]:
    """The measure of all policies and runs, in the order of the results."""
    return [value for policy in study.records for value in study.measure(policy, "last_pulls").tolist()]
