"""The rules by which a decider answers: what it takes, what it takes twice, what it refuses.

They are listed in docs/decider.md. Whatever is refused changes nothing; a window that is over is closed all the same.
"""

import hashlib
from collections import Counter
from math import inf, isnan

from structlog.typing import FilteringBoundLogger

from tpstream.log.schema import Header
from tpstream.model.events import CLOSED, DROPPED, LATE, PARTIAL
from tpstream.model.notes import logger
from tpstream.serve.book import Delivered, PullRecord
from tpstream.serve.clock import ServerClock
from tpstream.serve.live_state import LiveState
from tpstream.serve.requests import (
    LONGEST_KEY,
    Close,
    Decide,
    Decision,
    Deliver,
    Lost,
    Receipt,
    Refusal,
    Reply,
    Request,
    Status,
)
from tpstream.serve.values import Refused, check_key, check_text, read_number, read_part

STATUS: dict[int, Status] = {PARTIAL: "credited", LATE: "late", DROPPED: "lost", CLOSED: "closed"}
ROUNDING = 1e-9
"""By how much, as a share, times and sums may be off."""
SIGNATURE = 16
"""Letters of a token after the number of its pull."""


class Answers:
    """Answers requests by what is known.

    Parameters
    ----------
    state
        What the log's events determine.
    header
        The header of the log.
    """

    def __init__(self, state: LiveState, header: Header) -> None:
        assert header.decider is not None  # noqa: S101 (callers have such a log)
        self._state, self._header, self._settings = state, header, header.decider
        self._identity = self._settings.identity.encode()
        self._clock = ServerClock(header) if self._settings.clock == "server" else None
        self.counts: Counter[str] = Counter()
        """Since the log was opened: repeated, refused and early requests, and credits above a maximum."""

    def use(self, state: LiveState) -> None:
        """Go on with another state."""
        self._state = state

    def answer(self, request: Request) -> Reply:
        """The answer to one request."""
        try:
            if isinstance(request, Decide):
                return self._decide(request)
            if isinstance(request, Deliver):
                return self._deliver(request)
            return self._lose(request) if isinstance(request, Lost) else self._close(request)
        except Refused as refused:
            self.counts[f"refused: {refused.reason}"] += 1
            self._logger().info("a request was refused", refusal=refused.reason, reason=refused.message)
            return Refusal(reason=refused.reason, message=refused.message)

    def token(self, pull: int) -> str:
        """The token of a pull: its number, and letters that only this log gives it."""
        sign = hashlib.blake2b(str(pull).encode(), key=self._identity[:64], digest_size=SIGNATURE // 2)
        return f"{pull}-{sign.hexdigest()}"

    def now(self, at: float | None) -> float:
        """When a request came."""
        at = None if at is None else read_number("at", at)
        last, tolerance = self._state.book.time, self._settings.tolerance
        if self._clock is not None:
            now = max(self._clock.now(), last)
            if at is not None and at > now + tolerance:
                raise Refused("time", f"at is {at:g}, and it is {now:g} now; nothing is told before it happens")
            return now
        if at is None:
            return last if last > -inf else 0.0
        if at < last - tolerance - ROUNDING * max(
            1.0, abs(last)
        ):  # what came at one time was moved by a rounding error
            raise Refused("time", f"at is {at:g} after time {last:g}; time never goes back by more than {tolerance:g}")
        return max(at, last)

    def _happened(self, at: float | None, time: float) -> float | None:
        """When what a request tells happened, for the log: None if nobody said, or if it is logged at that time."""
        return None if at is None or (self._clock is None and at == time) else float(at)

    def _decide(self, request: Decide) -> Decision:
        state = self._state
        check_key(request.key)
        known = state.book.decisions.get(request.key)
        if known is not None:
            if not self._is_at(request.at, known.time, known.event_time):
                raise Refused("conflict", f"the key {request.key!r} was used for a decision at another time")
            self._count_repeated(key=request.key)
            return self._decision(known, repeated=True)
        time = self.now(request.at)
        if state.book.rounds >= self._header.horizon:
            raise Refused("horizon", f"the log was opened for {self._header.horizon:,} decisions, which were made")
        time = state.close_until(time, None)
        state.decide(time, request.key, self._happened(request.at, time))
        return self._decision(state.book.open[state.book.rounds])

    def _decision(self, record: PullRecord, *, repeated: bool = False) -> Decision:
        return Decision(
            key=record.key or "",
            token=self.token(record.pull),
            arm=record.arm,
            name=self._header.arms[record.arm],
            time=record.time,
            probability=record.probability,
            probabilities=record.probabilities,
            indices=record.indices,
            repeated=repeated,
        )

    def _deliver(self, request: Deliver) -> Receipt:
        book, pull = self._state.book, self._pull(request.token)
        check_key(request.key)
        again = self._again(request, pull, (PARTIAL, LATE), request.part, request.amount)
        if again is not None:
            return again
        amount = self._amount(request.amount)
        part = None if request.part is None else read_part(request.part, self._header.span)
        time = self.now(request.at)
        record = book.record(pull)
        happened = time if request.at is None else float(request.at)
        if record is not None and happened < record.time:
            if happened < record.time - self._settings.tolerance:
                raise Refused("too-early", f"at is {happened:g}, before the decision at {record.time:g}")
            self.counts["overtook its decision"] += 1
            self._logger().info("a payment is from before its decision", token=request.token, at=happened)
        time, kind, part = self._place_payment(pull, record, time, happened, part)
        event_time = self._happened(request.at, time)
        self._state.emit(kind, time, pull, book.arms[pull - 1], part, amount, key=request.key, event_time=event_time)
        if kind == PARTIAL:
            self._after_part(pull, time)
        else:
            self._logger().info("a payment came too late to be credited", token=request.token, part=part)
        return Receipt(token=request.token, status=STATUS[kind], part=part, time=time)

    def _place_payment(
        self, pull: int, record: PullRecord | None, time: float, happened: float, part: int | None
    ) -> tuple[float, int, int]:
        """When a payment is logged, as what, and as which part."""
        state, book, payments = self._state, self._state.book, self._header.payments
        asked, kind = self._part(record, time if payments else happened, part), PARTIAL
        while True:
            settled = self._settled(pull)
            if not payments and settled >> asked & 1:
                raise Refused("closed", f"part {asked} of decision {pull} came before, is lost, or is over")
            if payments and record is not None and record.lost >> asked & 1:
                raise Refused("closed", f"part {asked} of decision {pull} is lost")
            kind = PARTIAL if self._is_open(pull, time) else LATE
            before, was_open = time, pull in book.open
            time = state.close_until(time, book.place(kind, pull, asked))
            if payments and record is not None:
                asked = book.part_at(record, time)
            if (time, pull in book.open) == (before, was_open) or (kind == LATE and pull not in book.open):
                return time, kind, asked

    def _part(self, record: PullRecord | None, time: float, part: int | None) -> int:
        """The part that is meant, from 1 to the span."""
        span = self._header.span
        found = part if record is None else self._state.book.part_at(record, time)
        if self._header.payments and part is not None and part != found:
            raise Refused("bad-value", f"part is {part}, but a payment that comes now is of part {found}; leave it out")
        if part is None and record is None:
            return span
        return part or found or span

    def _settled(self, pull: int) -> int:
        """The parts of a pull that nothing more may be said about, as bits; of one closed long ago all."""
        book = self._state.book
        record = book.open.get(pull)
        return record.settled if record is not None else book.missing.get(pull, -1)

    def _is_open(self, pull: int, time: float) -> bool:
        """Whether a payment at this time is credited; one at the very end of the window is, unless periods are told."""
        record, book = self._state.book.open.get(pull), self._state.book
        if record is None:
            return False
        return not self._header.payments or record.time + book.ends[-1] > time

    def _after_part(self, pull: int, time: float) -> None:
        """Close a pull of which nothing is missing any more, and count one that paid more than it can."""
        record = self._state.book.open[pull]
        maximum = self._header.maxima[record.arm]
        if maximum is not None and record.credited > maximum * (1 + ROUNDING):
            self.counts["credited above the maximum"] += 1
        if not self._header.payments and self._state.book.whole(record.settled):
            self._state.close(pull, time)

    def _lose(self, request: Lost) -> Receipt:
        state, book, pull = self._state, self._state.book, self._pull(request.token)
        again = self._again(request, pull, (DROPPED,), request.part)
        if again is not None:
            return again
        part = read_part(request.part, self._header.span)
        time = state.close_until(self.now(request.at), book.place(DROPPED, pull, part))
        record = book.record(pull)
        if record is not None and record.lost >> part & 1:
            return self._repeated(Receipt(token=request.token, status="lost", part=part, time=time))
        told = self._header.payments and (pull not in book.open or part < book.part_at(book.open[pull], time))
        if told or self._settled(pull) >> part & 1:
            raise Refused("closed", f"part {part} of decision {pull} came before, is lost, or is over")
        event_time = self._happened(request.at, time)
        state.emit(DROPPED, time, pull, book.arms[pull - 1], part, key=request.key, event_time=event_time)
        if pull in book.open:
            self._after_part(pull, time)
        return Receipt(token=request.token, status="lost", part=part, time=time)

    def _close(self, request: Close) -> Receipt:
        state, book, pull = self._state, self._state.book, self._pull(request.token)
        again = self._again(request, pull, (CLOSED,), 0)
        if again is not None:
            return again
        time = state.close_until(self.now(request.at), book.place(DROPPED, pull, 1))
        record = book.open.get(pull)
        if record is None:
            known = book.closed.get(pull)
            when = time if known is None or known.closed is None else known.closed
            return self._repeated(Receipt(token=request.token, status="closed", part=0, time=when))
        if not self._header.payments:
            missing = [part for part in range(1, self._header.span + 1) if not record.settled >> part & 1]
            for part in missing:
                state.emit(DROPPED, time, pull, record.arm, part)
        time = book.moved(time, book.place(CLOSED, pull, 0))
        state.close(pull, time, key=request.key, event_time=self._happened(request.at, time))
        return Receipt(token=request.token, status="closed", part=0, time=book.time)

    def _pull(self, token: str) -> int:
        """The number of the pull of a token."""
        check_text("token", token)
        number = token.partition("-")[0]
        pull = int(number) if number.isascii() and number.isdecimal() and len(number) < SIGNATURE else 0
        if not (1 <= pull <= self._state.book.rounds and self.token(pull) == token):
            raise Refused("unknown-token", f"no decision of this log has the token {token[:LONGEST_KEY]!r}")
        return pull

    def _again(
        self,
        request: Deliver | Lost | Close,
        pull: int,
        kinds: tuple[int, ...],
        part: int | None,
        value: float | None = None,
    ) -> Receipt | None:
        """The first answer to the same request; refused if its key was used for something else."""
        if request.key is None:
            return None
        check_key(request.key)
        known = self._state.book.deliveries.get(request.key)
        if known is None:
            return None
        same = _is_same(known, pull, kinds, part, value)
        if not (same and self._is_at(request.at, known.time, known.event_time)):
            raise Refused(
                "conflict",
                f"the key {request.key!r} was used for something else of decision {known.pull}; take a new one",
            )
        return self._repeated(Receipt(token=request.token, status=STATUS[known.kind], part=known.part, time=known.time))

    def _is_at(self, at: float | None, time: float, event_time: float | None) -> bool:
        """Whether a request that comes again is of the same time; one that does not say when is."""
        before = time if event_time is None and self._clock is None else event_time
        return at is None or at == before

    def _count_repeated(self, **what: str | None) -> None:
        """Count a request that came again, and say so."""
        self.counts["repeated"] += 1
        self._logger().info("a request came again", **what)

    def _logger(self) -> FilteringBoundLogger:
        return logger(experiment=self._header.scenario.get("name"))

    def _repeated(self, receipt: Receipt) -> Receipt:
        self._count_repeated(token=receipt.token, status=receipt.status)
        return Receipt(token=receipt.token, status=receipt.status, part=receipt.part, time=receipt.time, repeated=True)

    def _amount(self, value: float) -> float:
        """The amount of a payment; refused if it cannot be one."""
        amount = read_number("amount", value)
        if amount < 0 and not self._header.signed:
            raise Refused("bad-value", f"amount is {amount:g}; open the log with signed = true for refunds")
        return amount


def _is_same(known: Delivered, pull: int, kinds: tuple[int, ...], part: int | None, value: float | None) -> bool:
    """Whether a request says what was told before; what it leaves out is not compared."""
    same = known.pull == pull and known.kind in kinds and (part is None or part == known.part)
    if value is not None and not (isnan(value) and isnan(known.value)):
        same = same and value == known.value
    return same
