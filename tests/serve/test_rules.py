"""The rules by which a decider answers, each once; docs/decider.md has the table."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deciders import SHOP, shop

from tpstream import Decider, DeciderError, check_log, read_log, replay
from tpstream.model import notes
from tpstream.model.events import Kind
from tpstream.serve import book
from tpstream.serve.requests import Close, Decide, Deliver, Lost, Refusal


def reason(action: Any, *args: Any, **options: Any) -> str | None:
    """Why it is refused."""
    with pytest.raises(DeciderError) as caught:
        action(*args, **options)
    return caught.value.reason


def kinds(decider: Decider) -> list[str]:
    """The kinds of the events of its log."""
    found: list[str] = _written(decider)["kind"]
    return found


def _written(decider: Decider) -> Any:
    reader = read_log(decider.path).reader
    columns = [*(reader.written or reader).batches(["kind", "time", "part", "value", "event_time"])]
    found: dict[str, list[Any]] = {}
    for batch in columns:
        for name, rows in batch.items():
            values = [Kind(code).name.lower() for code in rows] if name == "kind" else rows.tolist()
            found.setdefault(name, []).extend(values)
    return found


def test_the_same_key_gets_the_same_answer_also_after_a_restart(tmp_path: Path) -> None:
    """A decision, a payment and a loss that are told twice are answered as the first time, and logged once."""
    with shop(tmp_path, silence="wait") as decider:
        first = decider.decide("offer", at=1.0)
        paid = decider.deliver(first.token, amount=2.0, key="p", part=1, at=1.5)
        lost = decider.lost(first.token, part=2, key="l", at=1.6)
    with Decider.open(tmp_path / "shop", snapshot_every=None) as decider:
        answers = decider.handle(
            [
                Decide(key="offer"),
                Deliver(token=first.token, amount=2.0, key="p"),
                Lost(token=first.token, part=2, key="l"),
                Lost(token=first.token, part=2),
            ]
        )
        assert kinds(decider) == ["pull", "partial", "dropped"]
    assert [answer.repeated for answer in answers] == [True] * 4  # type: ignore[union-attr]
    assert (answers[0].token, answers[0].arm) == (first.token, first.arm)  # type: ignore[union-attr]
    assert answers[0].probabilities == first.probabilities == [0.5, 0.5]  # type: ignore[union-attr]
    assert (answers[1].part, answers[1].time) == (paid.part, paid.time)  # type: ignore[union-attr]
    assert (answers[2].part, answers[2].time) == (lost.part, lost.time)  # type: ignore[union-attr]


def test_a_key_that_meant_something_else_is_a_conflict(tmp_path: Path) -> None:
    """Another amount, another decision, another part or another kind under a known key is refused."""
    with shop(tmp_path, silence="wait") as decider:
        one, other = decider.decide("one", at=1.0), decider.decide("other", at=1.0)
        decider.deliver(one.token, amount=2.0, key="p", part=1, at=1.5)
        assert reason(decider.deliver, one.token, amount=3.0, key="p") == "conflict"
        assert reason(decider.deliver, other.token, amount=2.0, key="p") == "conflict"
        assert reason(decider.deliver, one.token, amount=2.0, key="p", part=2) == "conflict"
        assert reason(decider.lost, one.token, part=1, key="p") == "conflict"
        assert decider.state()["counts"] == {"refused: conflict": 4}


@pytest.mark.parametrize("restart", [False, True])
def test_a_key_at_another_time_is_a_conflict(tmp_path: Path, *, restart: bool) -> None:
    """On a caller's clock the time is content, of decisions as of deliveries, also where it was moved by a little."""
    with shop(tmp_path, silence="wait", tolerance=0.5) as decider:
        token = decider.decide("one", at=1.0).token
        decider.deliver(token, amount=2.0, key="p", part=1, at=2.0)
        moved = decider.decide("moved", at=2.0)
        decider.decide("before", at=1.75)
        decider.lost(token, part=2, key="l", at=3.0)
        decider.close(moved.token, key="c", at=3.0)
        assert moved.time > 2.0
        if restart:
            decider.close()
            decider = Decider.open(decider.path, snapshot_every=None)  # noqa: PLW2901
        told: list[Any] = [
            (decider.decide, ("one",), {}, 1.0),
            (decider.decide, ("moved",), {}, 2.0),
            (decider.decide, ("before",), {}, 1.75),
            (decider.deliver, (token,), {"amount": 2.0, "key": "p", "part": 1}, 2.0),
            (decider.lost, (token,), {"part": 2, "key": "l"}, 3.0),
            (decider.close, (moved.token,), {"key": "c"}, 3.0),
        ]
        for action, words, options, at in told:
            assert action(*words, **options, at=at).repeated
            assert action(*words, **options).repeated
            assert reason(action, *words, **options, at=at + 1.0) == "conflict"
        assert check_log(decider.path).sound
        decider.close()


def test_no_more_decisions_than_the_horizon(tmp_path: Path) -> None:
    """The next one is refused with a reason of its own; payments are taken."""
    with shop(tmp_path, horizon=1) as decider:
        token = decider.decide("one", at=1.0).token
        assert reason(decider.decide, "two", at=1.0) == "horizon"
        assert decider.deliver(token, amount=1.0, key="p", at=1.5).status == "credited"


def test_what_is_odd_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unknown tokens, what comes again, late and early payments are messages, with their token or reason."""
    monkeypatch.delenv(notes.NOTES, raising=False)
    with shop(tmp_path, tolerance=0.5) as decider:
        token = decider.decide("offer", at=1.0).token
        decider.decide("offer")
        decider.deliver(token, amount=1.0, key="p", at=0.75)
        decider.deliver(token, amount=1.0, key="p")
        decider.deliver(token, amount=1.0, key="late", at=9.0)
        assert reason(decider.deliver, "7-none", amount=1.0, key="q") == "unknown-token"
    said = capsys.readouterr().err
    for text in (
        'a request came again" experiment=shop key=offer',
        f'a payment is from before its decision" experiment=shop token={token} at=0.75',
        f'a request came again" experiment=shop token={token} status=credited',
        f'a payment came too late to be credited" experiment=shop token={token} part=3',
        'a request was refused" experiment=shop refusal=unknown-token',
    ):
        assert text in said, text


def test_long_closed_decisions_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Late parts of the decisions that were closed last are logged, those of older ones are refused."""
    monkeypatch.setattr(book, "KEPT", 3)
    with shop(tmp_path, silence="wait", window=1.0) as decider:
        tokens = [decider.decide(f"{number}", at=2.0 * number).token for number in range(9)]
        assert decider.deliver(tokens[7], amount=1.0, key="p", part=1, at=17.0).status == "late"
        assert reason(decider.deliver, tokens[7], amount=1.0, key="q", part=1, at=17.0) == "closed"
        assert reason(decider.deliver, tokens[0], amount=1.0, key="r", part=1, at=17.0) == "closed"
        assert len(decider._state.book.missing) == 3
        assert check_log(decider.path).sound
        assert replay(decider.path).equal


def test_keys_outlive_the_closing_that_they_caused(tmp_path: Path) -> None:
    """Whoever tells the last part again is not told that the decision is closed."""
    with shop(tmp_path, silence="wait", span=1) as decider:
        token = decider.decide("offer", at=1.0).token
        first = decider.deliver(token, amount=1.0, key="p", at=1.0)
        again = decider.deliver(token, amount=1.0, key="p")
        assert (first.status, again.status, again.repeated) == ("credited", "credited", True)
        assert reason(decider.deliver, token, amount=1.0, key="q") == "closed"
        assert decider.close(token).repeated
        assert kinds(decider) == ["pull", "partial", "closed"]


@pytest.mark.parametrize("token", ["", "1", "1-", "2-0123456789abcdef", "x-1", "1-0123456789abcdef", "\uff11-a", "-1"])
def test_an_unknown_token_is_refused(token: str, tmp_path: Path) -> None:
    """A token of no decision of this log is unknown, also one that has the right number."""
    with shop(tmp_path) as decider:
        decider.decide("offer", at=1.0)
        assert reason(decider.deliver, token, amount=1.0, key="p") == "unknown-token"


def test_wrong_values_are_refused_and_change_nothing(tmp_path: Path) -> None:
    """Amounts that are no numbers, or negative without refunds; parts and keys that cannot be; times that are none."""
    with shop(tmp_path, silence="wait") as decider:
        token = decider.decide("offer", at=1.0).token
        for amount in (float("nan"), float("inf"), -1.0):
            assert reason(decider.deliver, token, amount=amount, key="p") == "bad-value"
        for part in (0, 4, -1):
            assert reason(decider.deliver, token, amount=1.0, key="p", part=part) == "bad-value"
        assert reason(decider.decide, "") == "bad-value"
        assert reason(decider.decide, "k" * 201) == "bad-value"
        assert reason(decider.decide, "k", at=float("nan")) == "bad-value"
        assert reason(decider.decide, "k", at=0.5) == "time"
        assert kinds(decider) == ["pull"]


def test_values_of_other_types_are_refused_and_numpys_are_taken(tmp_path: Path) -> None:
    """What a program hands over is in the log as a number or a text that can be read again, or not at all."""
    with shop(tmp_path, silence="wait") as decider:
        token = decider.decide("offer", at=1).token
        for amount in ("1", True, None, 10**400, [1.0]):
            assert reason(decider.deliver, token, amount=amount, key="p", part=1) == "bad-value"
        for part in (True, 1.0, "1"):
            assert reason(decider.deliver, token, amount=1.0, key="p", part=part) == "bad-value"
            assert reason(decider.lost, token, part=part) == "bad-value"
        for key in (1, b"p", None, "\ud800"):
            assert reason(decider.deliver, token, amount=1.0, key=key) == "bad-value"
            assert reason(decider.decide, key) == "bad-value"
        for at in (True, "1", [1.0], 10**400):
            assert reason(decider.decide, "next", at=at) == "bad-value"
        assert reason(decider.lost, 1, part=1) == "bad-value"
        decider.deliver(token, amount=np.float32(0.5), key="p", part=np.int64(1), at=np.float64(2.0))
        with pytest.raises(DeciderError, match="reason: 5 is no text"):
            decider.switch("old", reason=5)  # type: ignore[arg-type]
    with Decider.open(decider.path, snapshot_every=None) as again:
        assert kinds(again) == ["pull", "partial"]
        assert _written(again)["value"][1] == 0.5


def test_a_payment_may_overtake_its_decision_by_the_tolerance(tmp_path: Path) -> None:
    """Within the tolerance it counts as of the decision's time, and its own is kept; before that it is too early."""
    with shop(tmp_path, tolerance=0.5) as decider:
        token = decider.decide("offer", at=1.0).token
        paid = decider.deliver(token, amount=1.0, key="p", at=0.75)
        assert (paid.time, paid.part) == (1.0, 1)
        assert _written(decider)["event_time"][1] == 0.75
        assert decider.state()["counts"] == {"overtook its decision": 1}
        decider.decide("later", at=2.0)
        assert reason(decider.deliver, token, amount=1.0, key="q", at=0.25) == "time"


def test_a_period_without_payment_is_told_as_zero_before_the_next_decision(tmp_path: Path) -> None:
    """Reading the log puts it in; a pull is closed when its window is over, and what comes then is late."""
    with shop(tmp_path) as decider:
        token = decider.decide("offer", at=0.0).token
        assert [decider.deliver(token, amount=2.0, key=f"{at}", at=at).part for at in (0.5, 0.75, 1.0)] == [1, 1, 2]
        assert reason(decider.deliver, token, amount=2.0, key="x", part=1, at=1.5) == "bad-value"
        assert reason(decider.lost, token, part=1, at=1.5) == "closed"
        assert decider.deliver(token, amount=5.0, key="late", at=3.0).status == "late"
        decider.decide("next", at=3.5)
        assert kinds(decider) == ["pull", "partial", "partial", "partial", "closed", "late", "pull"]
        assert _written(decider)["value"][4] == 6.0
        read = read_log(decider.path)
        assert [(event.part, event.value) for event in read.events([Kind.PARTIAL])] == [
            (1, 2.0),
            (1, 2.0),
            (2, 2.0),
            (3, 0.0),
        ]
        assert replay(decider.path).equal
        assert check_log(decider.path).sound


def test_a_pull_can_be_closed_early(tmp_path: Path) -> None:
    """What is outstanding is lost where parts are waited for, and paid nothing where they are periods."""
    for silence, expected in (("wait", ["dropped", "dropped", "closed"]), ("zero", ["closed"])):
        with shop(tmp_path / silence, silence=silence) as decider:
            token = decider.decide("offer", at=0.0).token
            decider.deliver(token, amount=1.0, key="p", at=0.25)
            decider.close(token, at=0.5)
            assert kinds(decider) == ["pull", "partial", *expected]
            assert decider.close(token).repeated
            if silence == "zero":
                assert decider.deliver(token, amount=1.0, key="late", at=0.75).status == "late"
            assert check_log(decider.path).sound
            assert replay(decider.path).equal


def test_what_came_at_one_time_is_logged_in_the_order_in_which_it_came(tmp_path: Path) -> None:
    """A decision that comes after a delivery of the same time knows of it: it gets the next time that there is."""
    with shop(tmp_path, silence="wait") as decider:
        one, other = decider.decide("one", at=1.0), decider.decide("other", at=1.0)
        decider.deliver(other.token, amount=1.0, key="p", part=1, at=2.0)
        decider.deliver(one.token, amount=1.0, key="q", part=1, at=2.0)
        third = decider.decide("third", at=2.0)
        times = _written(decider)["time"]
        assert times[:3] == [1.0, 1.0, 2.0]
        assert 2.0 < times[3] < third.time < 2.0 + 1e-9
        assert check_log(decider.path).sound


def test_a_batch_is_answered_in_order_and_a_refusal_stops_nothing(tmp_path: Path) -> None:
    """What is refused in a batch leaves the others as they are."""
    with shop(tmp_path) as decider:
        token = decider.decide("offer", at=0.0).token
        replies = decider.handle(
            [Deliver(token=f"{token}x", amount=1.0, key="a"), Close(token=token, at=1.0), Decide(key="next", at=1.0)]
        )
        assert isinstance(replies[0], Refusal)
        assert kinds(decider) == ["pull", "closed", "pull"]


@pytest.mark.parametrize(
    ("options", "word", "seconds"),
    [
        ({"clock": "server"}, "second", 1.0),
        ({"unit": "60s"}, "minute", 60.0),
        ({"unit": 86_400}, "day", 86_400.0),
        ({"unit": "30d"}, "period", 2_592_000.0),
        ({"window": "90d"}, "period", 2_592_000.0),
        ({}, None, None),
    ],
)
def test_a_unit_has_a_name(tmp_path: Path, options: Any, word: str | None, seconds: float | None) -> None:
    """By which pages and answers call it: a common one, or that of a period; on a caller's clock none may be said."""
    with shop(tmp_path, **options) as decider:
        assert decider.header.decider is not None
        assert (decider.header.time_unit, decider.header.decider.unit_seconds) == (word, seconds)


def test_the_servers_clock_never_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are those of arrival since the log was opened; the caller's own time is kept beside, and none is ahead."""
    from tpstream.serve import clock  # noqa: PLC0415

    now = [1_700_000_000.0]
    monkeypatch.setattr(clock.time, "time", lambda: now[0])
    options = SHOP | {"clock": "server", "span": 60, "window": "60d"}
    monkeypatch.setattr("tpstream.serve.new_log.origin_now", lambda: "2023-11-14T22:13:20Z")
    with Decider.open(tmp_path / "shop", **options) as decider:
        assert (decider.header.time_unit, decider.header.window) == ("day", 60.0)
        first = decider.decide("one")
        now[0] -= 3600
        assert decider.decide("two").time == first.time == 0.0
        now[0] += 86400 * 2 + 3600
        paid = decider.deliver(first.token, amount=1.0, key="p", at=1.5)
        assert (paid.part, paid.time) == (3, 2.0)
        assert reason(decider.deliver, first.token, amount=1.0, key="q", at=5.0) == "time"
