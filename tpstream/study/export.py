"""Result files: tables of a study, the same to the last byte however the study was done."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from tpstream.model.errors import StudyError
from tpstream.study.folder import write_whole


class Tables(Protocol):
    """What has tables: the result of a comparison or of a sweep."""

    def table(self) -> pd.DataFrame:
        """A row for each policy."""
        ...

    def results(self) -> pd.DataFrame:
        """A row for each policy and run."""
        ...

    def contrasts(self) -> pd.DataFrame:
        """A row for each two policies."""
        ...

    def curves(self) -> pd.DataFrame:
        """A row for each policy and checkpoint."""
        ...

    def pulls(self) -> pd.DataFrame:
        """A row for each policy and arm."""
        ...

    def times(self) -> pd.DataFrame:
        """A row for each policy and run."""
        ...

    def failed(self) -> pd.DataFrame:
        """A row for each run that failed."""
        ...


def export(folder: Path, found: Tables) -> list[Path]:
    """Write the tables into the folder, each in whole; times are apart, since no two studies take equally long."""
    results = found.results()
    files = {
        "results.parquet": _parquet(results),
        "results.csv": _csv(results),
        "results.json": _json(results),
        "table.csv": _csv(found.table().drop(columns="seconds_per_run")),
        "contrasts.csv": _csv(found.contrasts()),
        "curves.csv": _csv(found.curves()),
        "pulls.csv": _csv(found.pulls()),
        "failures.csv": _csv(found.failed()),
        "times.csv": _csv(found.times()),
    }
    try:
        for name, content in files.items():
            write_whole(folder / name, content)
    except OSError as error:
        raise StudyError(
            f"{folder}: the results cannot be written ({error.strerror}); make room, then repeat"
        ) from None
    return [folder / name for name in files]


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False, lineterminator="\n").encode()


def _json(frame: pd.DataFrame) -> bytes:
    return (frame.to_json(orient="records", lines=False, double_precision=15) + "\n").encode()


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def spelled(values: Sequence[Any]) -> list[Any]:
    """The values of a sweep as a column of one type: numbers as they are, else text as in TOML."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return list(values)
    if all(isinstance(value, bool) for value in values):
        return list(values)
    return [value if isinstance(value, str) else json.dumps(value) for value in values]
