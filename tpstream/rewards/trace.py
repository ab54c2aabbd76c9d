"""Traces: recorded partial rewards, paid again in the order of the record or drawn from it.

The file, CSV or Parquet, has one row per pull: the column `arm` (names of arms, or their numbers from 0) and the
columns x1, x2, ... up to the span.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import numpy as np
from pydantic import Field, PositiveFloat

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import RewardError, ScenarioError, did_you_mean
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.recorded_files import file_version, read_recording
from tpstream.model.settings import Settings
from tpstream.rewards.base import RewardSettings, check_groups

TOLERANCE = 1e-9
"""How far a row may exceed the given maximum, as a share of it: sums of decimal fractions are rounded."""


class TraceArmSettings(Settings):
    """Keys of an arm: the largest possible cumulative reward, if it is more than the largest recorded one."""

    maximum: PositiveFloat | None = None


class TraceSettings(RewardSettings):
    """Keys of `[rewards]`: the file, how its rows are used, and the groups that its user vouches for."""

    arm_settings = TraceArmSettings

    file: Annotated[str, Field(min_length=1)]
    draw: Literal["sequence", "resample"] = "sequence"
    groups: Annotated[int | None, Field(ge=1)] = None

    def build(self, arms: Sequence[TraceArmSettings], context: BuildContext) -> Rewards:
        """The model; a record guarantees no groups beyond those that its user gives."""
        if self.groups is not None:
            check_groups(self.groups, context.span)
        path, model = context.folder / self.file, SequenceArm if self.draw == "sequence" else ResampleArm
        version = file_version(path, "rewards.file")
        records = read_records(path, version, self.file, context.span, tuple(context.names))
        return Rewards(
            [
                model(record.rows, record.mean, chosen_maximum(arm.maximum, record.largest, number, name))
                for number, (arm, record, name) in enumerate(zip(arms, records, context.names, strict=True))
            ],
            self.groups,
        )


@dataclass(frozen=True, eq=False)
class Record:
    """The recorded pulls of one arm (pulls, span), the mean and the largest of their cumulative rewards."""

    rows: Floats
    mean: float
    largest: float


@lru_cache(maxsize=4)
def read_records(
    path: Path, _version: tuple[int, int], file: str, span: int, names: tuple[str, ...]
) -> tuple[Record, ...]:
    """The records of all arms; a file that did not change is read once, for all models that are built from it."""
    numbers, labels = read_recording(path, [f"x{part}" for part in range(1, span + 1)], "rewards.file", label="arm")
    arm_of_row = arm_numbers(labels, names, file)
    records = []
    for number, name in enumerate(names):
        rows = numbers[arm_of_row == number]
        if not len(rows):
            raise ScenarioError(f"rewards.file: {file} has no row of arm {name!r}; add rows or drop the arm")
        rows.flags.writeable = False
        sums = rows.sum(axis=1)
        records.append(Record(rows, float(sums.mean()), float(sums.max())))
    return tuple(records)


@dataclass(frozen=True, eq=False)
class TraceArm:
    """An arm that pays recorded pulls (pulls, span); its mean is that of their cumulative rewards."""

    rows: Floats
    mean: float
    maximum: float


class SequenceArm(TraceArm):
    """An arm that pays its recorded pulls in order, once."""

    def recorded(self, first: int, pulls: int) -> Floats:
        """The rows of pulls first, first + 1, ... (from 0); fewer than asked for at the end."""
        return self.rows[first : first + pulls].copy()

    def sample(self, stream: np.random.Generator, pulls: int) -> NoReturn:  # noqa: ARG002 (the protocol's)
        """Refuse: a record in sequence is not drawn."""
        raise RewardError('rows in sequence cannot be sampled; read them with recorded, or use draw = "resample"')


class ResampleArm(TraceArm):
    """An arm that pays recorded pulls drawn with replacement."""

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        chosen: Floats = self.rows[stream.integers(len(self.rows), size=pulls)]
        return chosen


def arm_numbers(labels: Sequence[str], names: Sequence[str], file: str) -> Ints:
    """The arm of each row; labels are numbers of arms only where not all of them are names."""
    known = {name: number for number, name in enumerate(names)}
    by_number = {str(number): number for number in range(len(names))}
    if not set(labels) <= set(known) and set(labels) <= set(by_number):
        known = by_number
    for row, text in enumerate(labels, start=1):
        if text not in known:
            raise ScenarioError(
                f"rewards.file: {file} row {row}, column arm: {text!r} is no arm{did_you_mean(text, names)}; "
                f"use one of {', '.join(names)}, or numbers 0 to {len(names) - 1}"
            )
    return np.array([known[text] for text in labels], dtype=np.int64)


def chosen_maximum(given: float | None, largest: float, number: int, name: str) -> float:
    """The maximum of an arm: the given one, else its largest recorded cumulative reward."""
    key = f"arms[{number}].maximum"
    if given is not None and largest > given * (1 + TOLERANCE):
        raise ScenarioError(f"{key}: {given} is less than the recorded cumulative reward {largest}; raise it")
    if given is None and largest == 0:
        raise ScenarioError(f"{key}: every row of arm {name!r} is zero, so the maximum is unknown; give it")
    return largest if given is None else given
