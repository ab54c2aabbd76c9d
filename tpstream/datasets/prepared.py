"""What preparing a data set writes: a trace with a row for each recorded pull, and a scenario that replays it."""

from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from tpstream.model.arrays import Bools, Ints
from tpstream.model.errors import DataError, ScenarioError

ENDINGS = (".csv", ".parquet")


def check_output(trace: Path, scenario: Path, *, force: bool) -> None:
    """Raise, before any data are read, if the trace or the scenario could not be written."""
    if trace.suffix.lower() not in ENDINGS:
        raise ScenarioError(f"{trace}: a trace ends in {' or '.join(ENDINGS)}, got {trace.suffix or 'no ending'!r}")
    for path in (trace, scenario):
        if path.exists() and not force:
            raise ScenarioError(f"{path}: is there already; choose another --out, or overwrite with --force")


def write_trace(path: Path, names: Sequence[str], arm: Ints, parts: Bools) -> None:
    """Write a row for each pull: the name of its arm, and its parts (pull, part) as 0 or 1 in columns x1, x2, ..."""
    table = pd.DataFrame(parts.astype(np.uint8), columns=[f"x{number + 1}" for number in range(parts.shape[1])])
    table.insert(0, "arm", np.array(names)[arm])
    path.parent.mkdir(parents=True, exist_ok=True)
    write = table.to_parquet if path.suffix.lower() == ".parquet" else table.to_csv
    write(path, index=False)


def write_scenario(path: Path, template: str, names: Sequence[str], maximum: int, **values: object) -> None:
    """Write the scenario: a template of this folder with these values filled in, and a table for each arm."""
    text = files(__package__).joinpath(template).read_text(encoding="utf-8")
    arms = "".join(f'\n[[arms]]\nname = "{name}"\nmaximum = {maximum}\n' for name in names)
    path.write_text(text.format(arms=arms, **values), encoding="utf-8")


def installed_file(package: str, name: str, version: str) -> Path:
    """A file of data in an installed package, found without importing it; `version` is one that has the data."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise DataError(f"the data are in the package {package}, which is missing; pip install 'tpstream[data]'")
    file = Path(found.origin).parent / "datasets" / name
    if not file.is_file():
        raise DataError(f"{file}: this {package} is without the data; install {package} {version}")
    return file
