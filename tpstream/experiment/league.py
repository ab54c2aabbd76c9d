"""Leagues: many policies in many worlds, on common random numbers, and which of them to take.

How policies are judged within a world is in standings.py.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from tpstream.analysis.columns import TABLES
from tpstream.analysis.intervals import INFORMED
from tpstream.experiment.compare import Expecting, compare
from tpstream.experiment.league_folder import note_league
from tpstream.experiment.result import Study
from tpstream.experiment.runs import FailedRun
from tpstream.experiment.standings import FIXED, conclude, judge
from tpstream.model.display import PolicyTables, Summary, counted
from tpstream.model.errors import PolicyError, StudyError
from tpstream.model.names import csv_text
from tpstream.model.whole_files import write_whole
from tpstream.policies import POLICIES
from tpstream.run.options import RunKeywords
from tpstream.scenario.policy_choice import PolicySpec, with_kinds
from tpstream.scenario.scenario import Scenario
from tpstream.view.pages import Page, Reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure


WORLDS = (
    "setting-1",
    "setting-2.1-100-10",
    "setting-2.3-200-20",
    "spotify-like",
    "medical-trial",
    "e-commerce",
    "e-commerce-weekly",
    "lottery-one",
    "playlist",
    "impatient",
    "lump-at-the-end",
    "rare-conversions",
    "subscriptions",
    "ten-at-a-time",
    "unequal-dropout",
    "unrelated-maxima",
)
"""The worlds of the shipped league."""
VARIANTS = (
    "delayed-ucb1:groups=auto",
    "tp-ucb-fr:groups=auto",
    "delayed-thompson:family=gauss,variance=empirical",
    "group-thompson:variance=empirical",
    "group-thompson:variance=empirical,prior=none",
    "part-thompson:prior=none",
)
"""What takes part besides the policies with their default parameters, if none are named."""
LEFT_OUT = (*INFORMED, "best-probability", "beta-ucb", "gittins", "permuted-blocks")
"""Policies that take part only if they are named: those that know too much, and those of trials, of which the first
computes for every decision the probabilities with which `delayed-thompson` draws."""
MOST_ROUNDS = 20_000
"""Worlds of the shipped league with more rounds are cut to this."""


@dataclass(frozen=True)
class Refusal:
    """A policy that cannot take part in a world, and why."""

    world: str
    policy: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class League(PolicyTables, Reported):
    """Results of a league, as `league` returns them: a study for each world, and tables over all of them."""

    studies: Mapping[str, Study]
    refusals: tuple[Refusal, ...] = ()

    @property
    def failures(self) -> tuple[FailedRun, ...]:
        """The runs that failed, of all worlds."""
        return tuple(failure for study in self.studies.values() for failure in study.failures)

    @property
    def policies(self) -> list[str]:
        """The policies that took part in some world, in the order in which they were asked for."""
        return list(dict.fromkeys(policy for study in self.studies.values() for policy in study.records))

    @cached_property
    def _cells(self) -> pd.DataFrame:
        rows = [row for world, study in self.studies.items() for row in judge(world, study)]
        return pd.DataFrame(rows, columns=[column.name for column in TABLES["league_cells"]])

    def cells(self) -> pd.DataFrame:
        """A row for each world and policy: regret, its ratios to the best and to fixed randomisation, the rank."""
        return self._cells.copy()

    def matrix(self, column: str = "of_fixed") -> pd.DataFrame:
        """One column of `cells` with a row for each policy and a column for each world."""
        return self._cells.pivot_table(column, "policy", "world", sort=False, dropna=False)

    def table(self) -> pd.DataFrame:
        """A row for each policy, over all worlds; those that lose least in their worst world come first."""
        rows = [self._row(policy, group) for policy, group in self._cells.groupby("policy", sort=False)]
        found = pd.DataFrame(rows, columns=[column.name for column in TABLES["league"]])
        return found.sort_values(["worst", "mean"], kind="stable", na_position="last").reset_index(drop=True)

    def _row(self, policy: Any, cells: pd.DataFrame) -> dict[str, object]:
        known = cells.dropna(subset=["of_fixed"])
        shares = dict(zip(known["world"], known["of_fixed"], strict=True))
        worst = max(shares, key=lambda world: shares[world], default=None)
        return {
            "policy": policy,
            "worlds": len(cells),
            "first": int((cells["rank"] == 1).sum()),
            "mean_rank": float(cells["rank"].mean()),
            "mean": float(known["of_fixed"].mean()),
            "worst": np.nan if worst is None else float(shares[worst]),
            "worst_world": worst,
            "microseconds": float(cells["microseconds"].median()),
        }

    def refused(self) -> pd.DataFrame:
        """The policies that could not take part in a world, and why."""
        return pd.DataFrame([vars(one) for one in self.refusals], columns=list(Refusal.__dataclass_fields__))

    def failed(self) -> pd.DataFrame:
        """The runs that failed, why, and how to repeat each alone."""
        return pd.concat([study.failed() for study in self.studies.values()], ignore_index=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by name."""
        return {"league": self.table(), "cells": self.cells(), "refused": self.refused(), "failures": self.failed()}

    def sentences(self, world: str | None = None) -> list[str]:
        """What was found in a world, how sure that is, and what it would cost to be wrong, in three sentences.

        Parameters
        ----------
        world : str or None
            The world; may be left out if there is only one.

        Returns
        -------
        list of str
            Three sentences; a single one where all arms are equally good.

        Raises
        ------
        StudyError
            If there are several worlds and none is named, or none of that name.
        """
        if world is None and len(self.studies) > 1:
            raise StudyError(f"name one of the worlds {', '.join(self.studies)}")
        chosen = next(iter(self.studies)) if world is None else world
        if chosen not in self.studies:
            raise StudyError(f"there is no world {chosen!r} in this league; use one of {', '.join(self.studies)}")
        return conclude(self.studies[chosen])

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the matrix of regrets as shares of that of fixed randomisation; written if there is a path.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        from tpstream.figures.league import league_figure  # noqa: PLC0415 (Matplotlib is slow to import)

        order = [policy for policy in self.table()["policy"] if policy != FIXED]
        return league_figure(path, self.matrix().loc[order], self.matrix("rank").loc[order])

    def _report(self) -> Page:
        from tpstream.experiment.report import league_report  # noqa: PLC0415 (it needs this module)

        return league_report(self)

    def _summary(self) -> Summary:
        rows = [
            {"policy": row["policy"], "first in": str(row["first"]), "worst": f"{row['worst']:.0%}"}
            for row in self.table().to_dict("records")
        ]
        return Summary(
            f"League of {len(self.policies)} policies in {counted(len(self.studies), 'world')}",
            ["regret in the worst world, as a share of that of fixed randomisation"],
            rows,
            [f"{counted(len(self.failures), 'run')} failed; see failed()"] if self.failures else [],
        )


def league(
    scenarios: Sequence[Scenario | str | Path | Mapping[str, Any]] | None = None,
    policies: Sequence[PolicySpec] | None = None,
    *,
    runs: int = 20,
    seed: int | None = None,
    jobs: int = 1,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    **options: Unpack[RunKeywords],
) -> League:
    """Compare every policy in every world, on common random numbers.

    Parameters
    ----------
    scenarios
        The worlds, as in `compare`; by default those of the shipped league, cut to 20,000 rounds.
    policies
        As in `compare`; by default all policies that ship, with the parameters that a scenario lists, else with their
        default ones, and some of them with others as well; in the shipped league no scenario's parameters count.
        `oracle` and `ucb1`, which are told what no real policy can know, and the allocation rules of trials
        (`best-probability`, `beta-ucb`, `gittins`, `permuted-blocks`) are left out. Fixed randomisation (`uniform`)
        takes part in any case. A policy that cannot serve a world is left out there, and the reason is kept.
    runs, seed, jobs, executor, **options
        As in `compare`, for each world.
    folder
        Keeps every finished run in a folder for each world, so that the same call goes on where it was interrupted,
        and gets the tables of the league. `read_study` reads it again.

    Returns
    -------
    League
        Tables, sentences and a figure.

    Raises
    ------
    StudyError
        If two worlds have the same name, all runs of a world fail, or the folder holds another study.

    Examples
    --------
    >>> from tpstream import Scenario, league
    >>> found = league([Scenario.load("unequal-dropout").with_(horizon=100)], ["tp-ucb-ew"], runs=2)
    >>> sorted(found.table()["policy"])
    ['tp-ucb-ew', 'uniform']
    >>> len(found.sentences())
    3
    """
    worlds = shipped_worlds() if scenarios is None else [Scenario.load(one) for one in scenarios]
    if policies is None:
        policies = default_policies(listed=scenarios is not None)
    names = [world.name for world in worlds]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StudyError(f"two worlds are called {twice[0]}; give one of them another name")
    entries, refusals = {}, []
    for world in worlds:
        able, unable = able_policies(world, policies)
        entries[world.name] = with_kinds(world.policies, able, [FIXED])
        refusals += unable
    progress = options.get("progress")
    if isinstance(progress, Expecting):
        progress.expect(runs * sum(world.horizon * len(entries[world.name]) for world in worlds))
        options["progress"] = partial(progress)  # each world would expect rounds of its own
    if folder is not None:
        note_league(Path(folder), names, [vars(one) for one in refusals])
    studies = {}
    for world in worlds:
        studies[world.name] = compare(
            world,
            entries[world.name],
            runs=runs,
            seed=seed,
            jobs=jobs,
            folder=None if folder is None else Path(folder) / world.name,
            executor=executor,
            **options,
        )
    result = League(studies, tuple(refusals))
    if folder is not None:
        export_tables(Path(folder), result.tables())
    return result


def shipped_worlds() -> list[Scenario]:
    """The worlds of the shipped league."""
    found = [Scenario.load(name) for name in WORLDS]
    return [one.with_(horizon=MOST_ROUNDS) if one.horizon > MOST_ROUNDS else one for one in found]


def default_policies(*, listed: bool) -> list[PolicySpec]:
    """All policies but those that are left out; unless `listed`, with parameters that no scenario changes."""
    names = [name for name in POLICIES.names() if name not in LEFT_OUT]
    return [*(name if listed else {"kind": name} for name in names), *VARIANTS]


def able_policies(world: Scenario, asked: Sequence[PolicySpec]) -> tuple[list[PolicySpec], list[Refusal]]:
    """The policies that can serve a world, and why the others cannot."""
    able, unable = [], []
    for spec in asked:
        try:
            world.policy(spec)
        except PolicyError as error:
            name = spec["kind"] if isinstance(spec, Mapping) else getattr(spec, "name", spec)
            unable.append(Refusal(world.name, str(name), str(error)))
        else:
            able.append(spec)
    return able, unable


def export_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write the tables of a league into its folder, each file in whole."""
    try:
        for name, table in tables.items():
            shown = table.drop(columns="microseconds", errors="ignore")  # no two leagues take equally long
            write_whole(folder / f"{name}.csv", csv_text(shown).encode())
    except OSError as error:
        raise StudyError(f"{folder}: cannot be written ({error.strerror}); make room, then repeat") from None
