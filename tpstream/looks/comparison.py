"""What a design compares and what is true of it: which claims would be false, and which arm is best."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tpstream.looks.design import Design
from tpstream.model.arrays import Bools, Floats

NEAR, ROUNDING = 1e-9, 1e-12
"""Truths whose difference is smaller than this, relative or absolute, are equal."""


@dataclass(frozen=True)
class Comparison:
    """The arms of a trial, which of them is the control, and the true expectation of the endpoint of each."""

    arms: tuple[str, ...]
    truths: tuple[float, ...]
    """NaN where it is not known."""
    control: int | None = None
    higher: bool = True
    """Whether a larger endpoint is better."""
    against_all: bool = False
    """Whether an arm is superior only if it is better than all others, though there is a control."""

    @classmethod
    def of_design(cls, design: Design) -> Self:
        """That of a design, with the arms as they are in its scenario."""
        rules = [rule.against for rule in design.rules if rule.kind == "superiority"]
        return cls(
            arms=design.names,
            truths=tuple(design.means.tolist()),
            control=None if design.control < 0 else design.control,
            higher=not design.lower,
            against_all=bool(rules) and "control" not in rules,
        )

    @property
    def benefits(self) -> Floats:
        """How good each arm is: larger is better."""
        return np.array(self.truths) * (1.0 if self.higher else -1.0)

    @property
    def known(self) -> bool:
        """Whether the truth of every arm is known."""
        return bool(np.isfinite(self.benefits).all())

    @property
    def best(self) -> Bools:
        """Whether no arm is better than this one."""
        return np.asarray(np.isclose(self.benefits, self.benefits.max(), rtol=NEAR, atol=ROUNDING))

    @property
    def differ(self) -> bool:
        """Whether it is known that some arm is better than another; if not, there is no best arm."""
        return self.known and not bool(self.best.all())

    @property
    def claimable(self) -> Bools:
        """Whether an arm can be claimed to be superior: all but the control with which the others are compared."""
        if self.control is None or self.against_all:
            return np.ones(len(self.arms), dtype=bool)
        return np.asarray(np.arange(len(self.arms)) != self.control)

    @property
    def true(self) -> Bools:
        """Whether it is true that an arm is superior: better than the control, or than all others without one."""
        if not self.known:
            return np.zeros(len(self.arms), dtype=bool)
        if self.control is None or self.against_all:
            return self.best if self.best.sum() == 1 else np.zeros(len(self.arms), dtype=bool)
        gain = self.benefits - self.benefits[self.control]
        return np.asarray(self.claimable & (gain > ROUNDING + NEAR * np.abs(self.benefits)))

    @property
    def false(self) -> Bools:
        """Whether the claim that an arm is superior is false."""
        return self.claimable & ~self.true & self.known
