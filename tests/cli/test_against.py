"""Which policy the others are compared with."""

import pytest
from command import Command, tpstream

__all__ = ["tpstream"]
WORDS = ("compare", "small.toml", "-n", "2", "-j", "1", "-p", "oracle", "-p", "ucb1", "-p", "uniform")


@pytest.mark.parametrize(
    ("more", "yardstick"),
    [((), "uniform"), (("-p", "tp-ucb-ew"), "tp-ucb-ew"), (("--against", "oracle"), "oracle")],
)
def test_the_yardstick(tpstream: Command, more: tuple[str, ...], yardstick: str) -> None:
    """It is the best policy that can be used in earnest, never oracle or ucb1, unless one is asked for."""
    assert f"against {yardstick}, run by run" in " ".join(tpstream(*WORDS, *more).out.split())


def test_an_unknown_yardstick(tpstream: Command) -> None:
    """It is refused before anything runs, with those that are there."""
    refused = tpstream(*WORDS, "--against", "unifrom")
    assert (refused.code, refused.out) == (2, "")
    assert "did you mean" in refused.err


def test_policies_that_are_no_yardstick(tpstream: Command) -> None:
    """Between oracle and ucb1 alone nothing is compared unless it is asked for."""
    words = WORDS[:-2]
    assert "run by run" not in tpstream(*words).out
    assert "against ucb1, run by run" in " ".join(tpstream(*words, "--against", "ucb1").out.split())
