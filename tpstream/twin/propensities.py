"""With which probability every decision of a log was made: as logged, as known, or estimated by the arms' shares.

What cannot be known is refused with the reason: an estimate for another policy that rests on arms which were chosen for
a reason would compare those who chose, and not the arms.
"""

from dataclasses import dataclass

import numpy as np

from tpstream.analysis.age_tables import Decisions, read_decisions
from tpstream.analysis.answer_warnings import quiet_end, torn_end
from tpstream.analysis.assignment import depends_on_outcomes, said_assignment
from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import DataError, LogError
from tpstream.model.events import Kind

BLOCK, MOST_BLOCKS = 100, 20
"""Shares are taken over blocks with so many decisions for each arm, and over at most so many blocks."""
ROUNDING = 1e-9
"""How far probabilities may be off."""


@dataclass(frozen=True, eq=False)
class Propensities:
    """The decisions of a log with their probabilities."""

    decisions: Decisions
    chance: Floats
    """The probability with which each decision was made."""
    chances: Floats | None
    """The same for all arms; None if only that of the chosen one is known."""
    estimated: bool
    """Whether they are shares of the arms over time."""
    notes: tuple[str, ...]
    """What a reader should know about them."""

    @property
    def smallest(self) -> float:
        """The smallest probability above 0 with which an arm was, or could be, chosen: c."""
        known = self.chance if self.chances is None else self.chances
        return float(known[known > 0].min())

    def require_support(self, rows: Ints, arms: Ints) -> None:
        """Refuse a policy that would take these arms at these decisions if some of them had probability 0 there.

        If only the probability of the chosen arm is known, arms that were never chosen are refused.
        """
        if self.chances is None:
            wrong = np.bincount(self.decisions.arm, minlength=len(self.decisions.header.arms))[arms] == 0
        else:
            wrong = self.chances[rows, arms] <= 0
        if not wrong.any():
            return
        share = len(np.unique(rows[wrong])) / len(np.unique(rows))
        raise LogError(
            f"{self.decisions.path}: at {share:.1%} of the decisions an arm would be chosen that had probability 0 "
            f"there, such as {self.decisions.header.arms[arms[wrong][0]]!r}; what it pays is not in the log: "
            f"use a policy or an allocation that stays with what was tried"
        )


def read_propensities(log: Log, *, assume_random: bool) -> Propensities:
    """The decisions of a log and their probabilities; refused if they are not known and may not be estimated."""
    _refuse_trials(log)
    decisions = read_decisions(log, "the value of another policy")
    adaptive = depends_on_outcomes(log, decisions.by_arm())
    notes = [] if adaptive is None else [f"in this log, {adaptive.partition(';')[0]}: intervals are approximate"]
    notes += torn_end(log) + quiet_end(decisions.header, [decisions.ages], decisions.times, decisions.until)
    assignment = said_assignment(log)
    if assignment == "chosen":
        raise DataError(
            f"{log.path}: its arms were chosen by those who paid, and not by chance: arms differ in who chose them, so "
            f"that nothing can be said about another policy"
        )
    if decisions.probability is not None and not np.isnan(decisions.probability).all():
        chance, chances = _logged(log, decisions)
        if chances is None:
            notes.append(
                "only the probability of the chosen arm is logged: whether another arm had none where the policy would "
                "choose it cannot be checked"
            )
        return Propensities(decisions, chance, chances, estimated=False, notes=tuple(notes))
    arms = len(log.header.arms)
    if log.header.imported is None and log.header.kind == "uniform":
        count = decisions.ages.count
        chances = np.full((count, arms), 1 / arms)
        return Propensities(decisions, chances[:, 0], chances, estimated=False, notes=())
    if log.header.imported is None and log.header.scenario:
        raise LogError(
            f"{log.path}: has no probabilities, and {log.header.policy} did not choose by equal chances; run it again "
            f'with log_detail = "probabilities" (--log-detail probabilities)'
        )
    if not assume_random and assignment != "random":
        raise DataError(
            f"{log.path}: has no probabilities, so that nobody knows why a decision was for its arm; if chance alone "
            f"decided, say so with --assume-random, and they are estimated by the arms' shares over time; if staff or "
            f"customers chose, nothing can be said about another policy"
        )
    chances = shares_over_time(decisions.arm, arms)
    assumed = "assumed, as was said: chance alone decided which arm was taken, with the shares of the arms at the time"
    chance = chances[np.arange(len(chances)), decisions.arm]
    return Propensities(decisions, chance, chances, estimated=True, notes=(*notes, assumed))


def shares_over_time(arm: Ints, arms: int) -> Floats:
    """The share of every arm around each decision: within blocks of equally many consecutive decisions."""
    blocks = int(np.clip(len(arm) // (BLOCK * arms), 1, MOST_BLOCKS))
    block = np.arange(len(arm)) * blocks // len(arm)
    counts = np.bincount(block * arms + arm, minlength=blocks * arms).reshape(blocks, arms)
    shares: Floats = (counts / counts.sum(axis=1, keepdims=True))[block]
    return shares


def _refuse_trials(log: Log) -> None:
    """Refuse logs whose rule stopped arms, or in which something else than the sum of the parts counts."""
    endpoint = log.header.problem().endpoint
    if endpoint is not None and not endpoint.plain:
        raise LogError(
            f"{log.path}: is of a trial with an endpoint of its own; `tpstream trial` compares policies in it"
        )
    if len(log.columns(["arm"], [Kind.LOOK, Kind.STOPPED])["arm"]):
        raise LogError(
            f"{log.path}: is of a trial that was looked at and could stop arms by what it saw; `tpstream inference` "
            f"estimates its arms, and `tpstream trial` compares policies in its scenario"
        )


def _logged(log: Log, decisions: Decisions) -> tuple[Floats, Floats | None]:
    """The logged probabilities, of the chosen arm and, if they are there, of all; refused if some are missing."""
    chance, chances = decisions.probability, decisions.probabilities
    assert chance is not None  # noqa: S101 (the caller has looked)
    missing = float(np.isnan(chance).mean())
    if missing:
        raise LogError(f"{log.path}: {missing:.1%} of the decisions have no probability; give it for all of them")
    if not ((chance > 0) & (chance <= 1 + ROUNDING)).all():
        raise LogError(f"{log.path}: probabilities must be above 0 and up to 1; `tpstream check` says which are not")
    if chances is None or np.isnan(chances).any():
        return chance, None
    return chance, chances
