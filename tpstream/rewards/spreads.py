"""Spreads: how the sum of a group of consecutive parts is divided among them."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from tpstream.model.arrays import Floats

SpreadName = Literal["even", "first", "last", "single", "random"]
Spread = Callable[[np.random.Generator, Floats, int], Floats]
"""From a stream, the sums of the groups (pulls, groups) and the width of a group to the parts (pulls, span)."""


def spread_even(stream: np.random.Generator, sums: Floats, width: int) -> Floats:  # noqa: ARG001 (nothing is drawn)
    """Every part of the group pays the same."""
    return np.repeat(sums / width, width, axis=1)


def spread_first(stream: np.random.Generator, sums: Floats, width: int) -> Floats:  # noqa: ARG001 (nothing is drawn)
    """The first part of the group pays all."""
    parts = np.zeros((sums.shape[0], sums.shape[1] * width))
    parts[:, ::width] = sums
    return parts


def spread_last(stream: np.random.Generator, sums: Floats, width: int) -> Floats:  # noqa: ARG001 (nothing is drawn)
    """The last part of the group pays all."""
    parts = np.zeros((sums.shape[0], sums.shape[1] * width))
    parts[:, width - 1 :: width] = sums
    return parts


def spread_single(stream: np.random.Generator, sums: Floats, width: int) -> Floats:
    """One part of the group, each as likely as the others, pays all."""
    parts = np.zeros(sums.size * width)
    places = stream.integers(width, size=sums.size)
    parts[np.arange(0, parts.size, width) + places] = sums.ravel()
    return parts.reshape(sums.shape[0], -1)


def spread_random(stream: np.random.Generator, sums: Floats, width: int) -> Floats:
    """Every part of the group pays a random proportion, uniform over all ways to divide (flat Dirichlet)."""
    if width == 1:
        return sums  # the only proportion is 1, and an exponential of exactly 0 could not be scaled to it
    # Independent exponentials divided by their sum are a flat Dirichlet.
    parts = stream.standard_exponential((*sums.shape, width))
    parts *= (sums / parts.sum(axis=2))[:, :, np.newaxis]
    return parts.reshape(sums.shape[0], -1)


SPREADS: Mapping[SpreadName, Spread] = {
    "even": spread_even,
    "first": spread_first,
    "last": spread_last,
    "single": spread_single,
    "random": spread_random,
}
