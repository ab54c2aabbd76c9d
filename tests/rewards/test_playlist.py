"""Playlists: nested levels, and sessions with the moments that were asked for."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from rewards_helper import build, draw, standard_errors_off

from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import Rewards

REAL_SESSIONS = [(38.59, 21.83), (52.35, 20.11), (38.44, 23.03), (43.90, 23.14), (45.15, 23.48), (36.20, 23.8)]


def playlist(mean: float, deviation: float, songs: int = 20, levels: int = 4, gradual: float | None = None) -> Rewards:
    """One arm of sessions with these moments; the share of gradual songs is the default one unless given."""
    keys = {"songs": songs, "levels": levels} | ({} if gradual is None else {"gradual": gradual})
    return build("playlist", keys, [{"mean": mean, "deviation": deviation}], songs * levels)


def limits(mean: float, songs: int, levels: int, gradual: float) -> tuple[float, float]:
    """The smallest and the largest standard deviation: songs independent, and all songs alike in full or not at all."""
    fraction = mean / (songs * levels)
    song = levels**2 * fraction * (1 - fraction)
    return math.sqrt(songs * song * (1 - gradual * (1 - 1 / levels))), math.sqrt(songs**2 * song)


@given(
    songs=st.integers(1, 6),
    levels=st.integers(1, 5),
    gradual=st.floats(0, 1),
    fraction=st.floats(0.01, 0.99),
    between=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60)
def test_levels_nest(*, songs: int, levels: int, gradual: float, fraction: float, between: float, seed: int) -> None:
    """A part is 0 or 1, and a level is reached only if the one before it was, whatever the settings."""
    mean = fraction * songs * levels
    low, high = limits(mean, songs, levels, gradual)
    rewards = playlist(mean, low + between * (high - low), songs, levels, gradual)
    parts = draw(rewards, 20, seed).reshape(20, songs, levels)
    assert np.isin(parts, [0.0, 1.0]).all()
    assert np.all(np.diff(parts, axis=2) <= 0)


@pytest.mark.parametrize(("mean", "deviation"), REAL_SESSIONS)
def test_real_sessions_are_matched(mean: float, deviation: float) -> None:
    """Mean within 5 standard errors and deviation within 1 % (over 5 standard errors) at 200,000 sessions."""
    rewards = playlist(mean, deviation)
    totals = draw(rewards, 200_000, seed=2).sum(axis=1)
    assert rewards.arms[0].mean == mean
    assert rewards.arms[0].maximum == 80
    assert standard_errors_off(totals, mean) < 5
    assert totals.std() == pytest.approx(deviation, rel=0.01)


@pytest.mark.parametrize(("mean", "deviation"), REAL_SESSIONS)
def test_songs_correlate_as_in_real_sessions(mean: float, deviation: float) -> None:
    """The sums of two songs correlate by 0.30 to 0.45, as those of the real sessions."""
    songs = draw(playlist(mean, deviation), 100_000).reshape(100_000, 20, 4).sum(axis=2)
    correlations = np.corrcoef(songs.T)[~np.eye(20, dtype=bool)]
    assert 0.30 < correlations.min() < correlations.max() < 0.45


@pytest.mark.parametrize("deviation", [5.0, 7.0])
@pytest.mark.parametrize("gradual", [0.0, 0.3, 1.0])
def test_the_deviation_does_not_depend_on_gradual(deviation: float, gradual: float) -> None:
    """Whatever the share of gradual songs, the deviation is the one asked for (within 1.5 % at 200,000 sessions)."""
    totals = draw(playlist(8.0, deviation, songs=5, levels=3, gradual=gradual), 200_000, seed=3).sum(axis=1)
    assert totals.std() == pytest.approx(deviation, rel=0.015)
    assert standard_errors_off(totals, 8.0) < 5


def test_gradual_songs_stop_halfway() -> None:
    """With no gradual songs each is heard in full or not at all; with some, others stop in between."""
    whole = draw(playlist(40, 22, gradual=0), 200).reshape(-1, 4).sum(axis=1)
    some = draw(playlist(40, 22, gradual=0.4), 200).reshape(-1, 4).sum(axis=1)
    assert set(whole) == {0, 4}
    assert set(some) == {0, 1, 2, 3, 4}


def test_smallest_deviation_means_independent_songs() -> None:
    """At the lower limit songs are independent: two songs heard in full or not, mean 1, deviation sqrt(1/2)."""
    songs = draw(playlist(1.0, math.sqrt(0.5), songs=2, levels=1), 100_000)
    assert abs(np.corrcoef(songs.T)[0, 1]) < 5 / math.sqrt(100_000)


def test_largest_deviation_means_all_or_nothing() -> None:
    """At the upper limit a session is heard to its end or not at all: mean 4 of 8, deviation 4."""
    totals = draw(playlist(4.0, 4.0, songs=4, levels=2), 1000).sum(axis=1)
    assert set(totals) == {0, 8}


def test_one_song_of_one_level_is_a_coin() -> None:
    """A single part can only be a coin: its deviation follows from its mean."""
    rewards = playlist(0.2, 0.4, songs=1, levels=1)
    assert standard_errors_off(draw(rewards, 10_000).sum(axis=1), 0.2) < 5


@given(mean=st.floats(1, 79), factor=st.floats(0.1, 12), gradual=st.floats(0, 1))
def test_the_feasible_range_is_the_limits(mean: float, factor: float, gradual: float) -> None:
    """A deviation is refused exactly outside of the limits."""
    low, high = limits(mean, 20, 4, gradual)
    deviation = low * factor
    assume(all(abs(deviation / limit - 1) > 1e-6 for limit in (low, high)))
    if low <= deviation <= high:
        playlist(mean, deviation, gradual=gradual)
    else:
        with pytest.raises(ScenarioError, match=r"^arms\[0\]\.deviation: "):
            playlist(mean, deviation, gradual=gradual)


def test_the_error_tells_a_range_that_works() -> None:
    """The limits printed for an impossible deviation are themselves possible."""
    with pytest.raises(ScenarioError, match=r"deviation: 5\.0 is impossible with mean 38\.59; use ") as caught:
        playlist(38.59, 5.0)
    low, high = (float(word) for word in str(caught.value).split("use ")[1].split(" to "))
    assert (low, high) == pytest.approx(limits(38.59, 20, 4, 0.4), abs=2e-4)
    playlist(38.59, low)
    playlist(38.59, high)


def test_what_does_not_fit_is_refused() -> None:
    """The mean stays below the maximum, and songs times levels is the span."""
    with pytest.raises(ScenarioError, match=r"^arms\[0\]\.mean: 80\.0 is not below the maximum 80; lower it$"):
        playlist(80, 5)
    with pytest.raises(ScenarioError, match=r"^rewards\.songs: 20 songs of 4 levels have 80 parts but the span is 10"):
        build("playlist", {}, [{"mean": 1, "deviation": 1}], 10)


def test_songs_are_the_nominal_groups() -> None:
    """The groups of a playlist are its songs."""
    assert playlist(40, 22).groups == 20
