"""Traces: recorded partial rewards, paid again in the order of the record or drawn from it.

The file has one row per pull: the column `arm` (names of arms, or their numbers from 0) and x1, x2, ... up to the span.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NoReturn

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import RewardError, ScenarioError, did_you_mean
from tpstream.model.protocols import ArmRewards, Place, RewardKind, Rewards
from tpstream.model.settings import Settings
from tpstream.rewards.recording import Recording, read_recording
from tpstream.rewards.settings import check_groups

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

    def build(self, settings: TraceSettings, arms: Sequence[TraceArmSettings], place: Place) -> Rewards:
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
