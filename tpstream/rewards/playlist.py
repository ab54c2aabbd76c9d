"""Playlists: sessions of songs, each listened to up to a level, with a mood that all songs of a session share.

A session draws a mood p ~ Beta(A, B). Given p, its songs are independent: a share g of them (`gradual`) is heard
level by level, Binomial(levels, p) levels deep, the others in full with probability p or not at all. So the fraction
F of its levels that a song reaches has

    E[F | p] = p,    Var[F | p] = k p (1 - p),    k = 1 - g (1 - 1/levels).

With q = A / (A + B) and r = 1 / (A + B + 1), so that Var[p] = r q (1 - q), the cumulative reward R of a session has

    E[R] = songs levels q,    Var[R] = levels^2 songs q (1 - q) (k + (songs - k) r),

and the sums of two songs correlate with r / (k + (1 - k) r). An arm's `mean` gives q and its `deviation` gives r.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PositiveFloat

from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.numba_support import compiled_loop, held_stream
from tpstream.model.settings import Settings
from tpstream.rewards.base import RewardSettings

TOLERANCE = 1e-9
"""How far, as a share of it, a deviation may be outside of a limit of the feasible range: limits are rounded, too."""


class PlaylistArmSettings(Settings):
    """Keys of an arm: mean and standard deviation of a session's cumulative reward."""

    mean: PositiveFloat = Field(description="expected cumulative reward")
    deviation: Annotated[float, Field(ge=0)] = Field(description="standard deviation of the cumulative reward")


class PlaylistSettings(RewardSettings):
    """Keys of `[rewards]`: the songs of a session, the levels of a song, and the share of songs heard level by level.

    The default share gives the real sessions of the paper the correlations between songs that they show.
    """

    arm_settings = PlaylistArmSettings

    songs: Annotated[int, Field(ge=1)] = Field(20, description="songs of a session; songs times levels is the span")
    levels: Annotated[int, Field(ge=1)] = Field(4, description="levels of a song, each of which is a part")
    gradual: Annotated[float, Field(ge=0, le=1)] = Field(
        0.4, description="share of songs that are heard level by level"
    )

    def build(self, arms: Sequence[PlaylistArmSettings], context: BuildContext) -> Rewards:
        """The model, with the songs as its groups.

        A song pays at most maximum / songs, as smoothness asks for, but songs of one session share a mood and are not
        independent.
        """
        parts = self.songs * self.levels
        if parts != context.span:
            raise ScenarioError(
                f"rewards.songs: {self.songs} songs of {self.levels} levels have {parts} parts but the span is "
                f"{context.span}; make them equal"
            )
        return Rewards([calibrate(self, arm, f"arms[{number}]") for number, arm in enumerate(arms)], self.songs)


@dataclass(frozen=True)
class PlaylistArm:
    """An arm whose pulls are listening sessions; `coherence` is r, from 0 (one mood for all) to 1 (all or nothing)."""

    songs: int
    levels: int
    gradual: float
    mean: float
    coherence: float

    @property
    def maximum(self) -> float:
        """The largest cumulative reward: every level of every song."""
        return float(self.songs * self.levels)

    def moods(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The moods of the next sessions: the probability that a level is reached."""
        average = self.mean / self.maximum
        # At its two limits the Beta distribution degenerates: to its mean, and to a coin.
        if self.coherence == 0:
            return np.full(pulls, average)
        if self.coherence == 1:
            return (stream.random(pulls) < average).astype(np.float64)
        total = 1 / self.coherence - 1
        return stream.beta(average * total, (1 - average) * total, pulls)

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span): the levels of song 1, of song 2, ..."""
        moods = self.moods(stream, pulls)
        gradual = stream.random((pulls, self.songs)) < self.gradual
        passed = stream.random((pulls, self.songs, self.levels)) < moods[:, np.newaxis, np.newaxis]
        heard = np.where(gradual, passed.sum(axis=2), self.levels * passed[:, :, 0])
        # Only the number of levels counts: the first ones are reached, so that levels nest.
        reached = heard[:, :, np.newaxis] > np.arange(self.levels)
        return reached.reshape(pulls, -1).astype(np.float64)

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample` would return, from the same draws."""
        average = self.mean / self.maximum
        total = 1 / self.coherence - 1 if self.coherence > 0 else math.inf
        moods, by_level = np.empty(len(out)), np.empty((len(out), self.songs), np.bool_)
        fill_sessions(held, out, moods, by_level, self.levels, self.gradual, average, total)


@compiled_loop
def fill_sessions(
    held: Any,
    out: Floats,
    moods: Floats,
    by_level: Bools,
    levels: int,
    gradual: float,
    average: float,
    total: float,
) -> None:
    """Draw the moods of all sessions, then which songs are gradual, then the levels; `total` is A + B of the moods."""
    stream, (pulls, songs) = held_stream(held), by_level.shape
    for pull in range(pulls):
        if total == math.inf:
            moods[pull] = average
        elif total == 0:
            moods[pull] = 1.0 if stream.random() < average else 0.0
        else:
            moods[pull] = stream.beta(average * total, (1 - average) * total)
    for pull in range(pulls):
        for song in range(songs):
            by_level[pull, song] = stream.random() < gradual
    for pull in range(pulls):
        for song in range(songs):
            passed, whole = 0, False
            for level in range(levels):
                reached = stream.random() < moods[pull]
                passed += reached
                whole = reached if level == 0 else whole
            heard = passed if by_level[pull, song] else levels * whole
            for level in range(levels):
                out[pull, song * levels + level] = 1.0 if heard > level else 0.0


def calibrate(settings: PlaylistSettings, arm: PlaylistArmSettings, key: str) -> PlaylistArm:
    """The arm with that mean and standard deviation."""
    songs, levels = settings.songs, settings.levels
    if arm.mean >= songs * levels:
        raise ScenarioError(f"{key}.mean: {arm.mean} is not below the maximum {songs * levels}; lower it")
    average = arm.mean / (songs * levels)
    noise = 1 - settings.gradual * (1 - 1 / levels)  # k
    scale = levels**2 * songs * average * (1 - average)
    lowest, highest = math.sqrt(scale * noise), math.sqrt(scale * songs)  # r = 0 and r = 1
    if not lowest * (1 - TOLERANCE) <= arm.deviation <= highest * (1 + TOLERANCE):
        # Rounded inwards, so that the printed limits can be used.
        low, high = math.ceil(lowest * 1e4) / 1e4, math.floor(highest * 1e4) / 1e4
        raise ScenarioError(f"{key}.deviation: {arm.deviation} is impossible with mean {arm.mean}; use {low} to {high}")
    coherence = 0.0
    if songs > noise:  # else it is one song, all or nothing, and the mean alone decides
        coherence = min(max((arm.deviation**2 / scale - noise) / (songs - noise), 0.0), 1.0)
    return PlaylistArm(songs, levels, settings.gradual, arm.mean, coherence)
