"""Traces: recorded partial rewards, paid again in the order of the record or drawn from it.

The file has one row per pull: the column `arm` (names of arms, or their numbers from 0) and x1, x2, ... up to the span.

Recordings: the file of a trace, read and checked value by value.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet
from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import RewardError, ScenarioError, did_you_mean
from tpstream.model.interfaces import ArmRewards, BuildContext, RewardKind, Rewards
from tpstream.model.settings import Settings
from tpstream.rewards.base import check_groups


@dataclass(frozen=True, eq=False)
class Recording:
    """The rows of a file: the label of each row's arm, as a place in `labels`, and the parts that it paid."""

    labels: Sequence[str]
    label: Ints
    parts: Floats


def read_recording(path: Path, span: int) -> Recording:
    """The recording in a Parquet file (named .parquet) or else a CSV file; other columns are not read."""
    if not path.is_file():
        raise ScenarioError(f"rewards.file: there is no file {path}; give a path relative to the scenario")
    wanted = [f"x{part}" for part in range(1, span + 1)]
    try:
        check_columns(path.name, column_names(path), ["arm", *wanted])
        table = read_columns(path, wanted)
        parts = np.column_stack([numbers(path.name, table[column], column) for column in wanted])
        arms = pc.fill_null(table["arm"].combine_chunks().cast(pa.string()), "").dictionary_encode()
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ScenarioError(f"rewards.file: {path.name} cannot be read ({reason}); give CSV or .parquet") from error
    check_parts(path.name, parts)
    return Recording(arms.dictionary.to_pylist(), arms.indices.to_numpy().astype(np.int64), parts)


def column_names(path: Path) -> list[str]:
    """The names of all columns of the file."""
    if is_parquet(path):
        return list(parquet.read_schema(path).names)
    with csv.open_csv(path) as reader:
        return list(reader.schema.names)


def is_parquet(path: Path) -> bool:
    """Whether the file's name says Parquet; all others are CSV."""
    return path.suffix.lower() == ".parquet"


def check_columns(name: str, present: Sequence[str], needed: Sequence[str]) -> None:
    """Raise unless every needed column is there once."""
    times = Counter(present)
    for column in needed:
        if times[column] == 0:
            near = did_you_mean(column, times.keys() - set(needed))
            raise ScenarioError(
                f"rewards.file: {name} has no column {column!r}{near}; it needs arm and {needed[1]} to {needed[-1]}"
            )
        if times[column] > 1:
            raise ScenarioError(f"rewards.file: {name} has {times[column]} columns {column!r}; keep one")


def read_columns(path: Path, wanted: Sequence[str]) -> Any:
    """The table of the arm column and the wanted columns."""
    if is_parquet(path):
        with parquet.ParquetFile(path) as file:
            return file.read(["arm", *wanted])
    try:
        return read_csv(path, wanted, pa.float64())
    except pa.ArrowInvalid:
        # Something is not a number, and the reader does not say in which row: as text it can be looked for.
        return read_csv(path, wanted, pa.string())


def read_csv(path: Path, wanted: Sequence[str], kind: Any) -> Any:
    """The table of a CSV file, with the wanted columns as that type."""
    types = {"arm": pa.string(), **dict.fromkeys(wanted, kind)}
    return csv.read_csv(path, convert_options=csv.ConvertOptions(include_columns=list(types), column_types=types))


def numbers(name: str, column: Any, title: str) -> Floats:
    """The column as numbers, NaN where there is nothing."""
    if pa.types.is_string(column.type):
        column = pc.utf8_trim_whitespace(column)
    try:
        return as_floats(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for row, value in enumerate(column, start=1):
            try:
                as_floats(pa.array([value]))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise wrong(name, row, title, f"{value.as_py()!r} is not a number") from None
        raise


def as_floats(column: Any) -> Floats:
    """The column converted by Arrow."""
    # Not safe: an integer beyond 2^53 may be rounded.
    converted: Floats = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return converted


def check_parts(name: str, parts: Floats) -> None:
    """Raise at the first part that is missing, negative or infinite."""
    bad = ~((parts >= 0) & (parts < np.inf))
    if bad.any():
        row, part = (int(place) for place in np.argwhere(bad)[0])
        value = float(parts[row, part])
        fault = "the value is missing" if np.isnan(value) else f"{value} is {'negative' if value < 0 else 'infinite'}"
        raise wrong(name, row + 1, f"x{part + 1}", fault)


def wrong(name: str, row: int, column: str, fault: str) -> ScenarioError:
    """The error about one value; rows count from 1 without the header."""
    return ScenarioError(f"rewards.file: {name} row {row}, column {column}: {fault}; give a finite number >= 0")


TOLERANCE = 1e-9
"""A row may pass the given maximum by this much, relatively: sums of decimal fractions are rounded."""


class TraceSettings(Settings):
    """Keys of `[rewards]`: the file, how its rows are used, and the groups that its user vouches for."""

    file: Annotated[str, Field(min_length=1)]
    draw: Literal["sequence", "resample"] = "sequence"
    groups: Annotated[int | None, Field(ge=1)] = None


class TraceArmSettings(Settings):
    """Keys of an arm: the largest possible cumulative reward, if it is more than the largest recorded one."""

    maximum: PositiveFloat | None = None


@dataclass(frozen=True, eq=False)
class SequenceArm:
    """An arm that pays its recorded pulls in order, once."""

    rows: Floats
    mean: float
    maximum: float

    def recorded(self, first: int, pulls: int) -> Floats:
        """The rows of pulls first, first + 1, ... (from 0); fewer than asked for at the end."""
        return self.rows[first : first + pulls].copy()

    def sample(self, stream: np.random.Generator, pulls: int) -> NoReturn:  # noqa: ARG002 (the protocol's)
        """Refuse: a record in sequence is not drawn."""
        raise RewardError('rows in sequence cannot be sampled; read them with recorded, or use draw = "resample"')


@dataclass(frozen=True, eq=False)
class ResampleArm:
    """An arm that pays recorded pulls drawn with replacement."""

    rows: Floats
    mean: float
    maximum: float

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        chosen: Floats = self.rows[stream.integers(len(self.rows), size=pulls)]
        return chosen


class Trace:
    """The reward model "trace"."""

    settings: type[BaseModel] = TraceSettings
    arm_settings: type[BaseModel] = TraceArmSettings

    def build(self, settings: TraceSettings, arms: Sequence[TraceArmSettings], place: BuildContext) -> Rewards:
        """The model for these settings; a record guarantees no groups beyond those that its user gives."""
        if settings.groups is not None:
            check_groups(settings.groups, place.span)
        recording = read_recording(place.folder / settings.file, place.span)
        arm_of_row = arm_numbers(recording, place.names, settings.file)
        model = SequenceArm if settings.draw == "sequence" else ResampleArm
        built: list[ArmRewards] = []
        for number, (arm, name) in enumerate(zip(arms, place.names, strict=True)):
            rows = recording.parts[arm_of_row == number]
            if not len(rows):
                raise ScenarioError(
                    f"rewards.file: {settings.file} has no row of arm {name!r}; add rows or drop the arm"
                )
            sums = rows.sum(axis=1)
            maximum = chosen_maximum(arm.maximum, float(sums.max()), f"arms[{number}].maximum", name)
            built.append(model(rows, float(sums.mean()), maximum))
        return Rewards(built, settings.groups)


def arm_numbers(recording: Recording, names: Sequence[str], file: str) -> Ints:
    """The arm of each row; labels are numbers only where not all of them are names."""
    known = {name: number for number, name in enumerate(names)}
    if not set(recording.labels) <= set(known):
        by_number = {str(number): number for number in range(len(names))}
        if set(recording.labels) <= set(by_number):
            known = by_number
    for place, label in enumerate(recording.labels):
        if label not in known:
            row = int(np.argmax(recording.label == place)) + 1
            raise ScenarioError(
                f"rewards.file: {file} row {row}, column arm: {label!r} is no arm{did_you_mean(label, names)}; "
                f"use one of {', '.join(names)}, or numbers 0 to {len(names) - 1}"
            )
    return np.array([known[label] for label in recording.labels], dtype=np.int64)[recording.label]


def chosen_maximum(given: float | None, largest: float, key: str, name: str) -> float:
    """The maximum of an arm: the given one, else its largest recorded cumulative reward."""
    if given is not None and largest > given * (1 + TOLERANCE):
        raise ScenarioError(f"{key}: {given} is less than the recorded cumulative reward {largest}; raise it")
    if given is None and largest == 0:
        raise ScenarioError(f"{key}: every row of arm {name!r} is zero, so the maximum is unknown; give it")
    return largest if given is None else given


KIND: RewardKind = Trace()
