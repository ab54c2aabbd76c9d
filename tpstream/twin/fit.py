"""Twins of logs: a world that can be run, made from a log, and how much it is like the log."""

import shutil
import tempfile
import weakref
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pandas as pd

from tpstream.analysis.assignment import FIXED_POLICIES
from tpstream.log.reader import Log, read_log
from tpstream.model.display import Displayed, Summary, counted, number_text
from tpstream.model.errors import DataError
from tpstream.scenario.scenario import Scenario
from tpstream.twin.goodness import APART, AS_CHANCE, Comparison, compare_later, compare_with
from tpstream.twin.recorded import Recorded, read_recorded
from tpstream.twin.worlds import FittedWorld, Method, fit_world
from tpstream.view.pages import Page, Reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ALL, HELD_OUT = "all", "held out"
"""The parts of a log that are compared with simulated ones."""


class _Folder:
    """A temporary folder that is removed with the object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="tpstream-twin-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, eq=False, repr=False)
class Twin(Displayed, Reported):
    """A world that was fitted to a log.

    Get one from `fit`, which has an example. The comparison with the log is made when it is first asked for.

    Parameters
    ----------
    log
        The log's file.
    method
        How payments were fitted: "resampled" or "parametric".
    seed
        Of the random numbers by which donors are drawn and the twin is simulated.
    recorded
        The decisions of the log and their payments.
    world
        The text of the scenario, and its traces.
    notes
        What the twin assumes or leaves out.
    """

    log: str
    method: Method
    seed: int
    recorded: Recorded
    world: FittedWorld
    notes: tuple[str, ...]
    _folder: _Folder = field(default_factory=_Folder)

    @cached_property
    def scenario(self) -> Scenario:
        """The world as a scenario that runs; its files are in a temporary folder that is kept as long as the twin."""
        return self.world.load(self._folder.path / "twin.toml")

    def write(self, path: str | Path, *, force: bool = False) -> list[Path]:
        """Write the scenario, and its traces beside it.

        Parameters
        ----------
        path
            The scenario file, which ends in .toml.
        force
            Whether files that are there are overwritten.

        Returns
        -------
        list of Path
            The files that were written.

        Raises
        ------
        DataError
            If a file is there already, or cannot be written.
        """
        return self.world.write(Path(path), force=force)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The log beside simulated ones: all of it, and a later part of which the twin knew nothing."""
        whole = compare_with(self.recorded, self.scenario, self.world.begin, ALL, self.seed)
        split = self.recorded.split()
        if split is None:
            return (whole,)
        earlier, later = self.recorded.known_at(split), self.recorded.made_after(split)
        world = fit_world(earlier, self.log, self.method, self.seed)
        scenario = world.load(self._folder.path / "earlier.toml")
        return whole, compare_later(earlier, later, scenario, world.begin, HELD_OUT, self.seed)

    @cached_property
    def check(self) -> pd.DataFrame:
        """The table of distances between the log and simulated ones, with a verdict for each."""
        return pd.DataFrame([row for one in self.comparisons for row in one.rows()])

    @property
    def verdict(self) -> str:
        """How good the twin is, in a sentence."""
        table = self.check
        apart = table[table["verdict"] == APART]
        tested = len(self.comparisons) > 1
        held = (
            "" if tested else "; no part was held out: too few decisions came after others were observed for a window"
        )
        if len(apart):
            names = dict.fromkeys(f"{row.measure} ({row.arm}, {row.part})" for row in apart.itertuples())
            return f"not like the log in {len(names)} of {len(table)} respects: {', '.join(names)}{held}"
        near = int((table["verdict"] != AS_CHANCE).sum())
        if near:
            return f"close to the log; {near} of {len(table)} distances are larger than chance allows{held}"
        return f"like the log: all {len(table)} distances are as chance allows{held}"

    def frame(self) -> pd.DataFrame:
        """The table of distances, `check`."""
        return self.check

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw recorded and simulated curves: what is paid by age and over time, decisions without payment, open ones.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        from tpstream.twin.figure import twin_figure  # noqa: PLC0415 (needs Matplotlib)

        return twin_figure(path, self)

    def _report(self) -> Page:
        """What was fitted, how good it is, and the scenario itself."""
        from tpstream.twin.report import twin_report  # noqa: PLC0415 (needs Matplotlib)

        return twin_report(self)

    def _summary(self) -> Summary:
        rows = [
            {"arm": name, "decisions": f"{arm.count:,}", "pays": number_text(mean)}
            for name, arm, mean in zip(
                self.recorded.names, self.recorded.table.arms, self.scenario.means.tolist(), strict=True
            )
        ]
        facts = [f"method {self.method}", f"seed {self.seed}", f"window {self.recorded.window}"]
        return Summary(
            f"Twin of {self.log}: {counted(len(self.recorded.sequence), 'decision')}", facts, rows, self.notes
        )


def fit(log: Log | str | Path, *, method: Method = "resampled", seed: int = 0) -> Twin:
    """Fit a world to a log: a scenario that can be run, compared and changed.

    Parameters
    ----------
    log
        A log, imported or of a run: a file, or a log that is open already.
    method
        "resampled": decisions pay what recorded ones paid, and what is still to come of open ones is taken from
        similar decisions of which all is known. "parametric": a decision pays with some probability, once, a lognormal
        amount, after a Weibull or lognormal delay.
    seed
        Of the random numbers by which donors are drawn.

    Returns
    -------
    Twin
        The scenario (`scenario`, `write`), the table of distances to the log (`check`), a figure and a report.

    Raises
    ------
    LogError
        If the log cannot be read, or it is not known how long its pulls pay.
    DataError
        If it has one arm or no payment, if no decision of an arm was observed for the whole window, or if the method
        cannot describe its payments.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import fit, import_log
    >>> random = np.random.default_rng(1)
    >>> made, arm = np.arange(2000) // 20, random.choice(["low", "high"], 2000)
    >>> offers = pd.DataFrame({"id": np.arange(2000), "day": made, "arm": arm})
    >>> days, amounts = made + random.integers(0, 30, 2000), 1.0 + (arm == "high")
    >>> paid = pd.DataFrame({"id": offers["id"], "day": days, "amount": amounts})[days <= 100]
    >>> with TemporaryDirectory() as folder:
    ...     twin = fit(import_log(offers, paid, out=Path(folder) / "a.arrows", window=30, until=100))
    >>> twin.scenario.horizon, twin.scenario.means.round(1).tolist()
    (2000, [2.0, 1.0])
    """
    if method not in get_args(Method):
        raise DataError(f"method: must be one of {', '.join(get_args(Method))}, got {method!r}")
    log = log if isinstance(log, Log) else read_log(log)
    recorded = read_recorded(log)
    world = fit_world(recorded, log.path.name, method, seed)
    return Twin(str(log.path), method, seed, recorded, world, (*_assumed(log), *world.notes))


def _assumed(log: Log) -> list[str]:
    """What is assumed about how arms were assigned."""
    header = log.header
    if header.imported is not None:
        return ["the twin assumes that what an arm pays does not depend on who got it: that arms were given at random"]
    if header.kind in FIXED_POLICIES:
        return []
    learned = f"{header.policy} learned from outcomes, and arms that it left early are known from few decisions"
    return [f"{learned}; the twin assumes that what an arm pays does not depend on when and why it was chosen"]
