"""A study's folder read again: its tables from the stored runs alone, without scenario, data files or plug-ins."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tpstream.analysis.theory import Bound, bounds_of
from tpstream.experiment.compare import stored_study
from tpstream.experiment.folder import NAME, Origin, read_description
from tpstream.experiment.result import Study
from tpstream.experiment.runs import CellSummary
from tpstream.experiment.store import NAME as STORE, Store
from tpstream.experiment.sweep import Sweep
from tpstream.model.errors import StudyError, did_you_mean
from tpstream.model.units import count_of
from tpstream.model.world import Problem
from tpstream.run.options import LogOptions
from tpstream.scenario.description import Description

WANTED = "give the folder of `compare`, `sweep`, `league` or `trial` (--out)"


@dataclass(frozen=True, eq=False)
class StoredStudy:
    """What a folder holds: the result of every cell as its last command gave it, and how it was made."""

    origin: Origin
    cells: tuple[CellSummary, ...]
    studies: tuple[Study, ...]
    runs: range
    """The runs of every policy that the last command asked for."""

    @property
    def about(self) -> Mapping[str, Any]:
        """The content of study.json: scenario, seed, versions, commands, ..."""
        return self.origin.about

    @property
    def finished(self) -> int:
        """How many of the runs that were asked for are finished, each policy's counted on its own."""
        return sum(len(records) for study in self.studies for records in study.records.values())

    @property
    def asked(self) -> int:
        """How many runs the last command asked for, counted in the same way."""
        return len(self.runs) * sum(len(study.records) for study in self.studies)

    @property
    def counted(self) -> str:
        """How many runs are finished, in words: "141 of 600 runs (3 policies x 200)"."""
        policies = {len(study.records) for study in self.studies}
        factors = [count_of(len(self.studies), "setting")] if len(self.studies) > 1 else []
        factors += [count_of(one, "policy") for one in policies]
        product = f" ({' x '.join([*factors, f'{len(self.runs):,}'])})" if len(policies) == 1 else ""
        return f"{self.finished:,} of {self.asked:,} runs{product}"

    @property
    def unfinished(self) -> str | None:
        """That runs are missing, and the command that goes on, in words; None if every run is finished or failed."""
        failed = sum(len(study.failures) for study in self.studies)
        if self.finished + failed == self.asked:
            return None
        gone = f", {failed:,} failed" if failed else ""
        return f"{self.counted} are finished{gone}; the same command goes on{onward(self.about)}"

    @property
    def code(self) -> list[str]:
        """The files and packages of users' code that the runs depend on."""
        return self.origin.code

    @property
    def kind(self) -> str:
        """What the study is: "comparison", or the name of what measured its runs, such as "trial"."""
        return str(self.about["kind"])

    def bounds(self) -> list[Bound]:
        """The bounds of the theory for the policies of a comparison."""
        (cell,) = self.cells
        if cell.maxima is None:
            raise StudyError("an older tpstream made this folder, without what bounds need; repeat the study's command")
        problem = Problem(
            names=cell.arms,
            maxima=np.array([np.nan if maximum is None else maximum for maximum in cell.maxima]),
            span=cell.span,
            horizon=cell.horizon,
            groups=cell.groups,
            means=np.array(cell.means),
        )
        return bounds_of(problem, [(label, one.kind, one.groups) for label, one in cell.policies.items()])

    @property
    def result(self) -> Study | Sweep:
        """The study of a comparison; if keys were varied, those of all cells as a sweep."""
        if not self.about["sweep"]:
            return self.studies[0]
        settings = tuple(cell.settings for cell in self.cells)
        return Sweep(str(self.about["scenario"]["name"]), int(self.about["seed"]), settings, self.studies)


def onward(about: Mapping[str, Any]) -> str:
    """How to go on with a study: its last command, if it was one."""
    command = about["commands"][-1] if about["commands"] else ""
    return f": {command}" if command.startswith("tpstream ") else " from there"


def read_folder(folder: Path) -> StoredStudy:
    """Read a study's folder; nothing in it is executed, and nothing outside of it is needed."""
    stored = read_any(folder)
    if not stored.finished:
        raise StudyError(f"{folder}: no run is finished yet; repeat the study's command")
    return stored


def count_runs(folder: Path) -> str:
    """How many runs are finished in the folder of a study or of a league, in words."""
    if (folder / NAME).is_file():
        return read_any(folder).counted
    worlds = [read_any(place.parent) for place in sorted(folder.glob(f"*/{NAME}"))]
    if not worlds:
        return "0 runs"
    finished, asked = sum(one.finished for one in worlds), sum(one.asked for one in worlds)
    return f"{finished:,} of the {asked:,} runs of {count_of(len(worlds), 'world')}"


def read_any(folder: Path) -> StoredStudy:
    """Read a study's folder, also if no run is finished yet."""
    if not folder.exists():
        near = did_you_mean(folder.name, [one.name for one in folder.parent.glob("*/")])
        raise StudyError(f"{folder}: no such folder{near}; {WANTED}")
    if not folder.is_dir():
        raise StudyError(f"{folder}: is a file; {WANTED}")
    if not (folder / NAME).is_file():
        raise StudyError(f"{folder}: holds no study; {WANTED}")
    about = read_description(folder)
    if "shown" not in about:
        raise StudyError(f"{folder}: an older tpstream made it; repeat the study's command, then read it again")
    try:
        shown, seed, rounds = about["shown"], int(about["seed"]), [int(one) for one in about["rounds"]]
        cells = msgspec.convert(shown["cells"], tuple[CellSummary, ...])
        runs, place = range(*shown["runs"]), about["logs"]
        world = msgspec.convert(shown.get("world"), Description | None)
        for cell in cells:
            cell.check()
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise StudyError(f"{folder / NAME}: is damaged ({error}); repeat the study's command") from None
    labels = tuple(dict.fromkeys(label for cell in cells for label in cell.policies))
    there = place and Path(place).is_dir()
    log = LogOptions(Path(place), about["log_format"], labels=labels) if there else None
    if not (folder / STORE).is_file():
        raise StudyError(f"{folder}: has no {STORE}, where finished runs are kept; repeat the study's command")
    with Store(folder) as store:
        studies = tuple(stored_study(store, cell, runs, seed, rounds, log) for cell in cells)
    stored = StoredStudy(Origin(about, world), cells, studies, runs)
    origin = partial(Origin, about, world, stored.unfinished)
    return replace(stored, studies=tuple(replace(study, origin=origin) for study in studies))
