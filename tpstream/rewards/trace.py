"""Traces: recorded partial rewards, paid again in the order of the record or drawn from it.

The file, CSV or Parquet, is wide or long. A wide one has a row for each pull: the column `arm` (names of arms, or their
numbers from 0) and the columns x1, x2, ... up to the span. A long one has a row for each part that paid: the columns
`pull` (any label), `arm`, `part` and `value`; a part without a row paid nothing. Values may be negative, such as
refunds; then only policies that can learn from such parts run. A scenario that does not give the span
has as many parts as a wide file has columns, or the largest part of a long one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
from pydantic import Field, PositiveFloat

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import RewardError, ScenarioError, did_you_mean
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.recorded_files import file_version, read_recording, read_titles, row_fault
from tpstream.model.settings import Settings
from tpstream.rewards.base import RewardSettings, check_groups

LONGEST = 200
"""Letters of titles that an error quotes."""
TOLERANCE = 1e-9
"""How far a row may exceed the given maximum, as a share of it: sums of decimal fractions are rounded."""


class TraceArmSettings(Settings):
    """Keys of an arm: the largest possible cumulative reward, if it is more than the largest recorded one."""

    maximum: PositiveFloat | None = Field(
        None, description="largest cumulative reward; default: the largest recorded one"
    )


class TraceSettings(RewardSettings):
    """Keys of `[rewards]`: the file, how its rows are used, and the groups that its user vouches for."""

    arm_settings = TraceArmSettings

    file: Annotated[str, Field(min_length=1)] = Field(
        description="CSV or Parquet file of recorded pulls, relative to the scenario; docs/traces.md has its format"
    )
    draw: Literal["sequence", "resample"] = Field(
        "sequence", description="recorded pulls in their order, once; or drawn with replacement"
    )
    groups: Annotated[int | None, Field(ge=1)] = Field(
        None, description="groups of parts, none of which pays more than maximum / groups, as you vouch for"
    )
    left_out: tuple[str, ...] = Field(
        (),
        exclude_if=lambda names: not names,  # a log from before this key has the same header
        description="other arms of the file, whose rows are not used; `arms.count` names those that it drops",
    )

    def build(self, arms: Sequence[TraceArmSettings], context: BuildContext) -> Rewards:
        """The model; a record guarantees no groups beyond those that its user gives."""
        if self.groups is not None:
            check_groups(self.groups, context.span)
        path, model = context.folder / self.file, SequenceArm if self.draw == "sequence" else ResampleArm
        version = file_version(path, "rewards.file")
        records = read_records(path, version, self.file, context.span, tuple(context.names), self.left_out)
        maxima = [
            chosen_maximum(arm.maximum, record.largest, number, name)
            for number, (arm, record, name) in enumerate(zip(arms, records, context.names, strict=True))
        ]
        found = (
            contradiction(record, self.groups, maximum, name)
            for record, maximum, name in zip(records, maxima, context.names, strict=True)
        )
        differing = differing_maxima(maxima, [arm.maximum is None for arm in arms], context.names)
        return Rewards(
            [model(record.rows, record.mean, maximum) for record, maximum in zip(records, maxima, strict=True)],
            self.groups,
            signed=any(record.signed for record in records),
            warnings=tuple(warning for warning in (differing, *found) if warning),
        )

    @classmethod
    def implied_span(cls, table: Mapping[str, Any], folder: Path) -> int:
        """The number of parts that the file has, for a scenario that does not give the span.

        It is 1 without a file or rows: what is wrong is then told when the keys and the file are read.
        """
        file = table.get("file")
        if not isinstance(file, str) or not file:
            return 1
        path = folder / file
        file_version(path, "rewards.file")
        return max(1, largest_part(path) if is_long(path) else columns_of(path))


@dataclass(frozen=True, eq=False)
class Record:
    """The recorded pulls of one arm (pulls, span), the mean and the largest of their cumulative rewards.

    `signed` is whether a part is negative.
    """

    rows: Floats
    mean: float
    largest: float
    signed: bool


@lru_cache(maxsize=4)
def read_records(
    path: Path, _version: tuple[int, int], file: str, span: int, names: tuple[str, ...], left_out: tuple[str, ...]
) -> tuple[Record, ...]:
    """The records of all arms; a file that did not change is read once, for all models that are built from it."""
    # Arms that are left out count behind the others, so that their numbers are those of a file with numbers of arms.
    numbers, arm_of_row = (read_long if is_long(path) else read_wide)(path, file, span, (*names, *left_out))
    records = []
    for number, name in enumerate(names):
        rows = numbers[arm_of_row == number]
        if not len(rows):
            raise ScenarioError(f"rewards.file: {file} has no row of arm {name!r}; add rows or drop the arm")
        rows.flags.writeable = False
        sums = rows.sum(axis=1)
        records.append(Record(rows, float(sums.mean()), float(sums.max()), bool((rows < 0).any())))
    return tuple(records)


def read_wide(path: Path, file: str, span: int, names: tuple[str, ...]) -> tuple[Floats, Ints]:
    """What the parts of each pull paid, and its arm, from a file with a row for each pull."""
    columns = columns_of(path)
    if columns > span:
        raise _too_many(f"{file} has the columns x1 to x{columns}", columns, span, "columns")
    parts = [f"x{part}" for part in range(1, span + 1)]
    numbers, (labels,) = read_recording(path, parts, "rewards.file", ["arm"], signed=parts)
    return numbers, arm_numbers(labels, names, file)


def read_long(path: Path, file: str, span: int, names: tuple[str, ...]) -> tuple[Floats, Ints]:
    """What the parts of each pull paid, and its arm, from a file with a row for each part."""
    largest = largest_part(path)
    if largest > span:
        raise _too_many(f"{file} has parts up to {largest}", largest, span, "rows")
    numbers, (pulls, labels) = read_recording(
        path, ["part", "value"], "rewards.file", ["pull", "arm"], signed=["value"]
    )
    arms, part = arm_numbers(labels, names, file), numbers[:, 0].astype(np.int64)
    _, first, pull = np.unique(np.array(pulls, dtype=np.str_), return_index=True, return_inverse=True)
    pull = np.argsort(np.argsort(first))[pull]  # numbered in the order in which they first occur
    arm_of_pull = arms[np.sort(first)]
    places = pull * (span + 1) + part
    _, earliest = np.unique(places, return_index=True)
    repeated = np.ones(len(places), dtype=np.bool_)
    repeated[earliest] = False
    for wrong, fault in (
        (np.array([label == "" for label in pulls]), "the pull is missing; give each pull its own label"),
        (numbers[:, 0] != np.maximum(part, 1), "part {part} is not a whole number from 1 on; correct it"),
        (arms != arm_of_pull[pull], "pull {pull!r} has another arm in an earlier row; give each pull its own label"),
        (repeated, "part {part} of pull {pull!r} is in an earlier row; add up what it paid in one row"),
    ):
        if wrong.any():
            row = int(np.argmax(wrong))
            text = fault.format(part=f"{numbers[row, 0]:g}", pull=pulls[row])
            raise row_fault(f"rewards.file: {file}", row + 1, text)
    rows = np.zeros((len(first), span))
    rows[pull, part - 1] = numbers[:, 1]
    return rows, arm_of_pull


def _too_many(what: str, parts: int, span: int, where: str) -> ScenarioError:
    return ScenarioError(
        f"rewards.file: {what} but the span is {span}, so that the rest would be dropped; set span = {parts}, "
        f"leave it out, or remove the {where}"
    )


def is_long(path: Path) -> bool:
    """Whether a file has a row for each part and not for each pull; an error if it has columns for neither."""
    titles = read_titles(path, "rewards.file")
    if columns_of(path):
        return False
    if {"pull", "part", "value"} <= set(titles):
        return True
    shown = ", ".join(titles)
    raise ScenarioError(
        f"rewards.file: {path.name} has neither the columns arm, x1, x2, ... (wide) nor pull, arm, part, value (long); "
        f"its first line has {shown[:LONGEST]}{'...' if len(shown) > LONGEST else ''}, with commas, semicolons or tabs "
        "between columns"
    )


def largest_part(path: Path) -> int:
    """The largest part of a long file."""
    return int(read_recording(path, ["part"], "rewards.file")[0].max(initial=0))


def columns_of(path: Path) -> int:
    """The largest number of a column x1, x2, ...; 0 if there is none."""
    titles = read_titles(path, "rewards.file")
    return max((int(title[1:]) for title in titles if re.fullmatch(r"x[1-9]\d*", title)), default=0)


@lru_cache(maxsize=64)
def contradiction(record: Record, groups: int | None, maximum: float, name: str) -> str | None:
    """A warning if rows of an arm have a group that pays more than the groups allow, else None."""
    if groups is None:
        return None
    most, rows = maximum / groups, len(record.rows)
    largest = record.rows.reshape(rows, groups, -1).sum(axis=2).max(axis=1)
    above = int((largest > most * (1 + TOLERANCE)).sum())
    if not above:
        return None
    return (
        f"rewards.groups: in {above:,} of {rows:,} rows of arm {name!r} one of the {groups} groups pays up to "
        f"{largest.max():g}, more than maximum / groups = {most:g}; policies that rely on the groups may be misled: "
        f"use fewer groups, or raise the arm's maximum to {largest.max() * groups:g}"
    )


def differing_maxima(maxima: Sequence[float], recorded: Sequence[bool], names: Sequence[str]) -> str | None:
    """A warning if maxima differ of which some are not given but the largest recorded sums, else None."""
    if not any(recorded) or len(set(maxima)) == 1:
        return None
    low, high = (choose(range(len(maxima)), key=maxima.__getitem__) for choose in (min, max))
    missing = [name for name, is_recorded in zip(names, recorded, strict=True) if is_recorded]
    whose = f"arm {missing[0]!r}" if len(missing) == 1 else f"{len(missing):,} arms"
    return (
        f"arms.maximum: {whose} without one: the largest recorded sum is taken, which a single row decides, and maxima "
        f"go from {maxima[low]:g} (arm {names[low]!r}) to {maxima[high]:g} (arm {names[high]!r}); the larger its "
        f"maximum, the more UCB-like policies try an arm: give all arms the same, such as maximum = {maxima[high]:g}"
    )


@dataclass(frozen=True, eq=False)
class TraceArm:
    """An arm that pays recorded pulls (pulls, span); its mean is that of their cumulative rewards."""

    rows: Floats
    mean: float
    maximum: float

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; NaN with a single recorded pull."""
        pulls = len(self.rows)
        return float(self.rows.sum(axis=1).std(ddof=1) / np.sqrt(pulls)) if pulls > 1 else np.nan


def uncertain_lead(names: Sequence[str], arms: Sequence[TraceArm]) -> str | None:
    """Which arms are within two standard errors of the difference from the best one, in words; None if none is."""
    best = max(range(len(arms)), key=lambda number: arms[number].mean)
    near = []
    for number, arm in enumerate(arms):
        lead, error = arms[best].mean - arm.mean, np.hypot(arms[best].standard_error, arm.standard_error)
        if number != best and not lead > 2 * error:  # an unknown standard error is no proof of a lead
            known = "unknown: it needs 2 rows of each arm" if np.isnan(error) else f"{error:.3g}"
            near.append(f"{names[number]!r} by {lead:.3g} (standard error of the difference: {known})")
    if not near:
        return None
    return (
        f"the records do not show that arm {names[best]!r} is best: within two standard errors it leads "
        f"{', '.join(near)}; a simulation takes the recorded means for the true ones"
    )


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
    """The arm of each row; labels are numbers of arms where more of them are such numbers than names."""
    known = {name: number for number, name in enumerate(names)}
    by_number = {str(number): number for number in range(len(names))}
    used = set(labels)
    if len(used & set(by_number)) > len(used & set(known)):
        known = by_number
    for row, text in enumerate(labels, start=1):
        if text not in known:
            fault = f"{text!r} is no arm{did_you_mean(text, names)}"
            remedy = f"use one of {', '.join(names)}, or numbers 0 to {len(names) - 1}"
            raise row_fault(f"rewards.file: {file}", row, f"{fault}; {remedy}", "arm")
    return np.array([known[text] for text in labels], dtype=np.int64)


def chosen_maximum(given: float | None, largest: float, number: int, name: str) -> float:
    """The maximum of an arm: the given one, else its largest recorded cumulative reward."""
    key = f"arms[{number}].maximum"
    if given is not None and largest > given * (1 + TOLERANCE):
        raise ScenarioError(f"{key}: {given} is less than the recorded cumulative reward {largest}; raise it")
    if given is None and largest <= 0:
        paid = "is zero" if largest == 0 else "pays less than nothing"
        raise ScenarioError(f"{key}: every row of arm {name!r} {paid}, so the maximum is unknown; give it")
    return largest if given is None else given
