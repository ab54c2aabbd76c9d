"""The experiment of Rossi, Berk and Lenihan (1980), from the data in the package lifelines, as a table to import.

432 prisoners were released in Maryland; half of them, chosen at random, got financial aid. Every one was observed for
52 weeks. A row is the visit at the end of a week, as in ADaM's BDS tables: its value is 1 if there was no arrest up to
then, so that the parts of a person add up to the weeks without arrest. Nobody left early, so the truth is known. The
dates of the releases are not in the data: persons are numbered in the order of the file.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tpstream.datasets.prepared import installed_file
from tpstream.model.errors import DataError

VISITS, MAP = "rossi.csv", "rossi.map.toml"
ARMS = ("no aid", "aid")
"""The arms in the order of the data's column `fin`."""
WEEKS = 52
NEEDED = ("week", "arrest", "fin")
"""The columns of the data: the week of the arrest or 52, 1 if there was one, and 1 for financial aid."""
MAP_TEXT = """# The columns of rossi.csv, for: tpstream import rossi.csv --map rossi.map.toml
layout = "long"

[decisions]
id = "person"
arm = "aid"

[payments]
part = "week"
amount = "free"

[options]
unit = "week"
window = "52w"
name = "Rossi"
assignment = "random"       # financial aid was given by chance alone
"""


@dataclass(frozen=True, eq=False)
class Prepared:
    """The files that were written, and the table of visits."""

    visits_file: Path
    map_file: Path
    visits: pd.DataFrame


def prepare(folder: Path, *, force: bool = False) -> Prepared:
    """Write the table of visits and its map into a folder, from the data of the installed lifelines."""
    visits_file, map_file = folder / VISITS, folder / MAP
    for path in (visits_file, map_file):
        if path.exists() and not force:
            raise DataError(f"{path}: is there already; choose another --out, or overwrite with --force")
    visits = read_visits(data_file())
    folder.mkdir(parents=True, exist_ok=True)
    visits.to_csv(visits_file, index=False)
    map_file.write_text(MAP_TEXT, encoding="utf-8")
    return Prepared(visits_file, map_file, visits)


def data_file() -> Path:
    """The file of the experiment in the installed lifelines, found without importing that package."""
    return installed_file("lifelines", "rossi.csv", "0.30 or newer")


def read_visits(file: Path) -> pd.DataFrame:
    """A row for every person and week."""
    frame = pd.read_csv(file)
    for column in NEEDED:
        if column not in frame:
            raise DataError(f"{file}: has no column {column!r}; install lifelines 0.30 or newer")
    week, arrest, aid = (frame[column].to_numpy(dtype=np.int64) for column in NEEDED)
    weeks = np.tile(np.arange(1, WEEKS + 1), len(frame))
    return pd.DataFrame(
        {
            "person": np.repeat(np.arange(1, len(frame) + 1), WEEKS),
            "aid": np.repeat(np.array(ARMS)[aid], WEEKS),
            "week": weeks,
            "free": (weeks <= np.repeat(week - arrest, WEEKS)).astype(np.int64),
        }
    )
