"""Whatever is asked, in whatever order: restarts change no answer and no byte of the log, which replays."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from deciders import shop
from hypothesis import given, settings, strategies as st

from tpstream import Decider, check_log, replay
from tpstream.model.errors import DeciderError
from tpstream.serve import book, new_log
from tpstream.serve.requests import Close, Decide, Deliver, Lost, Reply, Request

SPAN = 3
STEPS = st.sampled_from([0.0, 0.0, 0.25, 0.25, 0.5, 1.0, 2.5, -0.25, -1.0])
"""How much later the next request is: often at the same time, at the end of a period, or a little before the last."""
WHICH = st.integers(0, 5)
"""How many decisions ago the one was that is meant."""
KEYS = st.sampled_from(["", "", "", "p1", "p2", "p3"])
"""Keys that are used again; the empty one stands for a new one."""
PARTS = st.none() | st.integers(1, SPAN)
RESTARTS = ["restart", "snapshot and restart", "snapshot"]
ASKED = st.tuples(
    st.sampled_from(["decide", "decide", "deliver", "deliver", "lost", "close", "switch", *RESTARTS]),
    WHICH,
    KEYS,
    PARTS,
    st.integers(0, 2),
    STEPS,
)
HISTORIES = st.lists(ASKED, min_size=20, max_size=60)
OPTIONS = st.fixed_dictionaries(
    {
        "silence": st.sampled_from(["zero", "wait"]),
        "tolerance": st.sampled_from([0.0, 0.5]),
        "random_share": st.sampled_from([0.0, 0.3]),
        "window": st.sampled_from([2.5, 3.0]),
        "policy": st.sampled_from(["delayed-ucb1", "uniform"]),
    }
)


def request_of(kind: str, number: int, key: str, token: str, part: int | None, amount: int, at: float) -> Request:
    """A request that may be fine or not."""
    if kind == "decide":
        return Decide(key=key or f"offer-{number}", at=at)
    if kind == "deliver":
        return Deliver(token=token, amount=float(amount), key=key or f"{number}", part=part, at=at)
    if kind == "lost":
        return Lost(token=token, part=part or 1, key=key or None, at=at)
    return Close(token=token, key=key or None, at=at)


def play(folder: Path, history: list[Any], options: dict[str, Any], *, restarts: bool) -> tuple[list[Any], Decider]:
    """The answers to all requests, and the decider, which is still open."""
    decider = shop(folder, **options, maxima=9.0, groups=1)
    answers: list[Reply | str] = []
    tokens, at = ["1-none"], 0.0
    for number, (kind, which, key, part, amount, step) in enumerate(history):
        if kind in RESTARTS:
            if restarts and "snapshot" in kind:
                decider.snapshot()
            if restarts and "restart" in kind:
                decider.close()
                decider = Decider.open(decider.path, snapshot_every=None)
        elif kind == "switch":
            try:
                decider.switch([None, "old", "new"][amount], reason="a test")
            except DeciderError as error:
                answers.append(str(error))
        else:
            at = max(0.0, at + step)
            request = request_of(kind, number, key, tokens[-min(which + 1, len(tokens))], part, amount, at)
            (answer,) = decider.handle([request])
            answers.append(answer)
            if kind == "decide" and hasattr(answer, "arm"):
                tokens.append(answer.token)
    return answers, decider


def book_of(decider: Decider) -> dict[str, str]:
    """What a decider remembers of its pulls, as text, since a loss has an amount that is not equal to itself."""
    known = {**vars(decider._state.book), "closings": decider._state.book.next_closing()}
    for name in ("decisions", "deliveries"):
        known[name] = sorted(known[name].items())
    return {name: repr(value) for name, value in known.items()}


@settings(max_examples=40)
@given(HISTORIES, OPTIONS)
def test_restarts_change_nothing(history: list[Any], options: dict[str, Any]) -> None:
    """With and without restarts, from snapshots or from the log, answers, logs and what is known are the same."""
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda _: None)
        patch.setattr(os, "fsync", lambda _: None)
        patch.setattr(new_log.secrets, "token_hex", lambda _: "0123456789abcdef")
        patch.setattr(book, "KEPT", 3)
        expected, whole = play(Path(place) / "whole", history, options, restarts=False)
        found, again = play(Path(place) / "again", history, options, restarts=True)
        with whole, again:
            assert found == expected
            assert again.path.read_bytes() == whole.path.read_bytes()
            assert book_of(again) == book_of(whole)
            assert check_log(whole.path).sound
            assert not len(whole._state.book.arms) or replay(whole.path).equal
