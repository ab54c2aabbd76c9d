"""A policy that decides for real, step by step: `Decider`, whose log is its state."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Literal, Self, overload

from tpstream.engines.engine import Bus
from tpstream.log.changes import Change
from tpstream.log.jsonl import encode_lines, to_events
from tpstream.log.reader import read_log
from tpstream.log.schema import Header
from tpstream.model.errors import DeciderError
from tpstream.model.interfaces import Subscriber
from tpstream.replay.decided import written_before
from tpstream.replay.retelling import tell_history
from tpstream.replay.steering import applied
from tpstream.scenario.policy_choice import PolicyChoice, PolicySpec
from tpstream.serve.answers import Answers
from tpstream.serve.changes import another_policy, another_switch
from tpstream.serve.journal import Journal
from tpstream.serve.live_state import LiveState
from tpstream.serve.new_log import NewLog, begin, go_on, prepare
from tpstream.serve.recovery import Recovery, recover
from tpstream.serve.requests import Close, Decide, Decision, Deliver, Lost, Receipt, Refusal, Reply, Request
from tpstream.serve.sharing import SharedBatches
from tpstream.serve.snapshots import Snapshots

HORIZON = 1_000_000_000
"""Decisions that a log has at most, unless another number is named."""
SNAPSHOT_EVERY = 100_000
"""Events after which a snapshot is taken."""


class Decider:
    """A policy that decides for real: it is asked, told what decisions pay, and remembers everything in its log.

    Open one with `Decider.open`; use it as a context manager, or close it. Its methods may be called from many threads,
    and what these ask at one time is handled together and flushed to disk at once, like the requests of one `handle`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = f"{folder}/shop"
    ...     with Decider.open(path, policy="uniform", arms=["old", "new"], span=3, clock="caller") as decider:
    ...         decision = decider.decide("offer-1", at=0.0)
    ...         paid = decider.deliver(decision.token, amount=12.5, key="payment-1", at=0.5)
    ...     with Decider.open(path) as decider:
    ...         again = decider.decide("offer-1")
    >>> paid.status, paid.part, again.repeated, again.arm == decision.arm
    ('credited', 1, True, True)
    """

    def __init__(self, journal: Journal, state: LiveState, recovery: Recovery, snapshot_every: int | None) -> None:
        self._journal, self._state = journal, state
        self._answers = Answers(state, state.header)
        self._bus = Bus()
        self._lock = RLock()
        self._batches = SharedBatches(self._handle)
        self._snapshots = Snapshots(journal.path, snapshot_every, state.book.events)
        self._choice = state.first_choice
        self._broken = False
        self.recovery = recovery
        """What was found in the log when it was opened."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        policy: PolicySpec | None = None,
        arms: Sequence[str] | None = None,
        span: int | None = None,
        window: float | str | None = None,
        unit: float | str | None = None,
        groups: int | None = None,
        maxima: Sequence[float | None] | Mapping[str, float] | float | None = None,
        signed: bool = False,
        seed: int = 0,
        run: int = 0,
        clock: Literal["server", "caller"] = "server",
        silence: Literal["zero", "wait"] = "zero",
        tolerance: float = 0.0,
        minimum_probability: float = 0.0,
        random_share: float = 0.0,
        horizon: int = HORIZON,
        currency: str | None = None,
        log_detail: Sequence[Literal["indices", "probabilities"]] = ("indices", "probabilities"),
        snapshot_every: int | None = SNAPSHOT_EVERY,
    ) -> Self:
        """Open a log: a new one, or one that is there, with which the policy goes on where it was.

        Parameters
        ----------
        path
            The log, without its ending or with .jsonl.
        policy, arms, span
            The policy, the names of the arms, and how many parts a decision pays. They may be left out where the log is
            there; what is given must be what the log was opened with, or what it was changed to.
        window
            The age at which a decision is closed, in units or as a duration ("60d"); with silence = "zero", `span`
            units by default.
        unit
            What a unit of time is: a word ("day"), a duration ("60s") or seconds; by default the window divided by the
            span, where the window is a duration, else a second.
        groups, maxima, signed
            What policies are told of the rewards: in how many equal groups parts come, the most that a decision for
            each arm can pay, whether amounts may be negative.
        seed, run
            They open the same random streams as those of a simulation.
        clock
            "server": times are those at which requests come; "caller": they are in the requests.
        silence
            "zero": parts are periods of age, and one in which nothing came counts 0 when it is over; "wait": each part
            is delivered or told as lost.
        tolerance
            How long before its decision a payment may have happened, and by how much a caller's time may go back.
        minimum_probability, random_share
            The probability that every open arm has at least; the share of decisions that are made by chance alone.
        horizon, currency
            How many decisions the log may have, and what amounts are paid in.
        log_detail
            What is logged, and answered, of each decision besides the arm.
        snapshot_every
            After how many events a snapshot is taken; None: never.

        Returns
        -------
        Decider
            The decider; `recovery` says what was found in the log.

        Raises
        ------
        DeciderError
            If the log cannot be opened, is written by another process, was opened with something else, or the policy
            would not decide as it did.
        PolicyError
            If the policy does not fit what it is told.
        LogError
            If what is there is no log.
        """
        place = Path(path)
        place = place if place.suffix == ".jsonl" else place.with_name(f"{place.name}.jsonl")
        given: dict[str, Any] = {
            name: value for name, value in (("policy", policy), ("arms", arms), ("span", span)) if value is not None
        }
        new = NewLog(
            arms=[str(arm) for arm in arms or ()],
            span=span or 1,
            window=window,
            unit=unit,
            groups=groups,
            maxima=maxima,
            signed=signed,
            seed=seed,
            run=run,
            clock=clock,
            silence=silence,
            tolerance=tolerance,
            minimum_probability=minimum_probability,
            random_share=random_share,
            horizon=horizon,
            currency=currency,
            detail=list(log_detail),
        )
        fresh = None if place.exists() else prepare(place, new, given)  # what cannot be opened leaves no file
        journal = Journal(place)
        try:
            cut = journal.cut_tail()
            if journal.size:
                state, recovery = go_on(journal, new, given, cut)
            else:
                state, recovery = begin(journal, fresh or prepare(place, new, given))
            journal.sync_folder()
            decider = cls(journal, state, recovery, snapshot_every)
            decider._commit()  # a closing that a kill left out
        except BaseException:
            journal.close()
            raise
        return decider

    @property
    def path(self) -> Path:
        """The file of the log."""
        return self._journal.path

    @property
    def header(self) -> Header:
        """The header of the log."""
        return self._state.header

    def handle(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests, in order; all that they change is on disk when this returns, by one flush.

        What other threads ask meanwhile shares the next flush.

        Parameters
        ----------
        requests
            Decisions, deliveries, losses and closings.

        Returns
        -------
        list of Decision, Receipt or Refusal
            The answers, in the same order. A request that is refused changes nothing and stops no other.

        Raises
        ------
        DeciderError
            If the log cannot be written. Then nothing of the batch is decided or credited; ask again later.
        """
        return self._batches.ask(requests)

    def _handle(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests, and write what they change."""
        with self._lock:
            self._require_whole()
            self._broken = True  # until all is done, whatever comes between
            try:
                replies = [self._answers.answer(request) for request in requests]
                self._commit()
            except BaseException:
                self._rebuild()
                raise
            self._broken = False
            self._snapshots.take_if_due(self._state, self._journal)
            return replies

    def decide(self, key: str, *, at: float | None = None) -> Decision:
        """Take the decision of this key; see `Decide`.

        Raises
        ------
        DeciderError
            If the request is refused (`reason` says why) or cannot be written; so do the other methods.
        """
        reply = self._one(Decide(key=key, at=at))
        assert isinstance(reply, Decision)  # noqa: S101 (refusals are raised)
        return reply

    def deliver(
        self, token: str, *, amount: float, key: str, part: int | None = None, at: float | None = None
    ) -> Receipt:
        """Tell what a decision paid; see `Deliver`."""
        return self._receipt(Deliver(token=token, amount=amount, key=key, part=part, at=at))

    def lost(self, token: str, *, part: int, key: str | None = None, at: float | None = None) -> Receipt:
        """Tell that a part of a decision never comes; see `Lost`."""
        return self._receipt(Lost(token=token, part=part, key=key, at=at))

    @overload
    def close(self) -> None: ...
    @overload
    def close(self, token: str, *, key: str | None = None, at: float | None = None) -> Receipt: ...
    def close(self, token: str | None = None, *, key: str | None = None, at: float | None = None) -> Receipt | None:
        """Tell that a decision pays nothing any more (see `Close`); without a token, close the log.

        Before the log is closed, a snapshot is taken, if any is.
        """
        if token is not None:
            return self._receipt(Close(token=token, key=key, at=at))
        with self._lock:
            self._snapshots.wait()
            try:
                if not self._broken:
                    self._snapshots.take_last(self._state, self._journal)
            finally:
                self._broken = True
                self._journal.close()
            return None

    def change(self, *, reason: str, policy: PolicySpec | None = None, arms: Sequence[str] | None = None) -> None:
        """Let another policy decide, or only some of the arms be pulled, from now on; decisions go on paying.

        Parameters
        ----------
        reason
            Why; it is logged.
        policy
            The new policy; it is told the whole log.
        arms
            The arms that are open from now on; they must be among those with which the log was opened.

        Raises
        ------
        DeciderError
            If it cannot be, or cannot be written.
        """
        with self._lock:
            self._require_whole()
            self._apply(*another_policy(self._state, self._journal, policy, arms, reason))

    def switch(self, arm: str | None, *, reason: str) -> None:
        """Let all decisions be for one arm from now on, whatever the policy says; None: let the policy decide again."""
        with self._lock:
            self._require_whole()
            self._apply(*another_switch(self._state, arm, reason))

    def state(self) -> dict[str, Any]:
        """Facts about the log and its pulls as numbers and texts, for people and monitors."""
        with self._lock:
            return {
                "experiment": self.path.stem,
                **self._state.facts(),
                "bytes": self._journal.size,
                "counts": dict(self._answers.counts),
                "notes": list(self.recovery.notes),
            }

    def subscribe(self, name: str, subscriber: Subscriber) -> None:
        """Let a subscriber hear the events of each batch once they are on disk; `name` is for errors."""
        with self._lock:
            self._bus.subscribe(name, subscriber)

    def snapshot(self) -> str | None:
        """Take a snapshot, and wait until it is written; why that is not possible, if it is not."""
        with self._lock:
            self._require_whole()
            copied = self._snapshots.copy(self._state, self._journal)
        return copied if isinstance(copied, str) else self._snapshots.write(copied)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _one(self, request: Request) -> Decision | Receipt:
        (reply,) = self.handle([request])
        if isinstance(reply, Refusal):
            raise DeciderError(reply.message, reason=reply.reason)
        return reply

    def _receipt(self, request: Deliver | Lost | Close) -> Receipt:
        reply = self._one(request)
        assert isinstance(reply, Receipt)  # noqa: S101 (only decisions are answered otherwise)
        return reply

    def _commit(self) -> None:
        """Write the events that wait, and let subscribers hear them."""
        lines = self._state.lines
        if not lines:
            return
        self._journal.append(encode_lines(lines))
        self._state.lines = []
        if self._bus.names:
            self._bus.publish(to_events(lines, self.header))

    def _apply(self, change: Change, choice: PolicyChoice) -> None:
        """Log a change, and let decisions be made as it says."""
        self._broken = True
        try:
            time = self._state.change(change, self._answers.now(None))
            seq = self._state.book.events - 1
            self._commit()
            if applied(change, self._state.steering, self.header, choice):
                history = written_before(read_log(self.path), seq)
                tell_history(self._state.steering, self.header, history, time)
        except BaseException:
            self._rebuild()
            raise
        self._broken = False

    def _require_whole(self) -> None:
        """Raise DeciderError if the decider is closed, or its log cannot be written for now."""
        if self._broken and self._journal.closed:
            raise DeciderError(f"{self.path}: the decider is closed; open it again")
        self._journal.require_room()
        if self._broken:
            self._rebuild()

    def _rebuild(self) -> None:
        """Take the state from the log, after something that was not written."""
        self._broken = True
        state, _ = recover(self._journal, self._choice)
        state.lines = []
        self._state, self._broken = state, False
        self._answers.use(state)
