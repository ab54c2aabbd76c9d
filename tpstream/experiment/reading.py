"""A study's folder read again: its tables from the stored runs alone, without scenario, data files or plug-ins."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tpstream.experiment.compare import CellSummary, stored_study
from tpstream.experiment.folder import NAME, read_description
from tpstream.experiment.result import Study
from tpstream.experiment.store import NAME as STORE, Store
from tpstream.experiment.sweep import Sweep
from tpstream.model.errors import StudyError
from tpstream.run.options import LogOptions


@dataclass(frozen=True, eq=False)
class StoredStudy:
    """What a folder holds: the result of every cell as its last command gave it, and how it was made."""

    about: dict[str, Any]
    """The content of study.json: scenario, seed, versions, commands, ..."""
    cells: tuple[CellSummary, ...]
    studies: tuple[Study, ...]

    @property
    def kind(self) -> str:
        """What the study is: "comparison", or the name of what measured its runs, such as "trial"."""
        return str(self.about["kind"])

    @property
    def result(self) -> Study | Sweep:
        """The study of a comparison; if keys were varied, those of all cells as a sweep."""
        if not self.about["sweep"]:
            return self.studies[0]
        settings = tuple(cell.settings for cell in self.cells)
        return Sweep(str(self.about["scenario"]["name"]), int(self.about["seed"]), settings, self.studies)


def read_folder(folder: Path) -> StoredStudy:
    """Read a study's folder; nothing in it is executed, and nothing outside of it is needed."""
    if not (folder / NAME).is_file():
        raise StudyError(f"{folder}: holds no study; give the folder of `compare`, `sweep` or `trial` (--out)")
    about = read_description(folder)
    if "shown" not in about:
        raise StudyError(f"{folder}: an older tpstream made it; repeat the study's command, then read it again")
    try:
        shown, seed, rounds = about["shown"], int(about["seed"]), [int(one) for one in about["rounds"]]
        cells = msgspec.convert(shown["cells"], tuple[CellSummary, ...])
        runs, place = range(*shown["runs"]), about["logs"]
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise StudyError(f"{folder / NAME}: is damaged ({error}); repeat the study's command") from None
    log = LogOptions(Path(place), about["log_format"]) if place and Path(place).is_dir() else None
    if not (folder / STORE).is_file():
        raise StudyError(f"{folder}: has no {STORE}, where finished runs are kept; repeat the study's command")
    with Store(folder) as store:
        studies = tuple(stored_study(store, cell, runs, seed, rounds, log) for cell in cells)
    if not any(len(records) for study in studies for records in study.records.values()):
        raise StudyError(f"{folder}: no run is finished yet; repeat the study's command")
    return StoredStudy(about, cells, studies)
