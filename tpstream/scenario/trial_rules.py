"""What does not fit together in the rules of a trial, each with its key."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tpstream.scenario.trial_tables import RuleTable, TrialTable

ROUNDING = 1e-9
"""How far sums may miss a bound by rounding."""
OF_TESTS = ("alpha", "beta", "spending", "gamma", "delayed_response", "pooled")
"""Keys of a rule that posterior probabilities do not have."""
SURVIVAL = ("logrank", "rmst")


@dataclass(frozen=True)
class RuleChecks:
    """What rules have to fit to."""

    table: TrialTable
    counts: bool
    """Whether the endpoint lies between 0 and 1."""
    binary: Callable[[], bool]
    """Whether it is 0 or 1; asked only where a rule needs to know."""
    is_sum: bool
    """Whether it is the sum of all parts."""
    survival: bool
    information: tuple[float, ...] | None
    """The planned fraction of the information at each analysis; None if it is not known."""

    def faults(self, rule: RuleTable) -> Iterator[tuple[str, str]]:
        """What is wrong with a rule: the key, and the fault."""
        yield from self._against_faults(rule)
        if not rule.binding and rule.beta is None:
            yield "binding", "is of futility with beta; leave it out"
        if rule.prior is not None and rule.method != "posterior":
            yield "prior", f"is of posterior probabilities, and this rule is {rule.method}; leave it out"
        if rule.kind == "equivalence" and rule.margin <= 0:
            yield "margin", f"equivalence needs a margin above 0, got {rule.margin:g}"
        yield from (self._posterior_faults if rule.method == "posterior" else self._test_faults)(rule)

    def _against_faults(self, rule: RuleTable) -> Iterator[tuple[str, str]]:
        against = self.table.against(rule)
        if against == "control":
            if self.table.control is None:
                yield "against", "there is no control; set trial.control"
            return
        if rule.method != "posterior":
            yield "against", f'tests are against the control; use "control" instead of "{against}"'
        if rule.kind == "futility" or (rule.kind == "equivalence") != (against == "all"):
            fit = {"futility": '"control"', "equivalence": '"control" or "all"'}.get(rule.kind, '"control" or "best"')
            yield "against", f'"{against}" does not go with {rule.kind}; use {fit}'
        elif rule.margin and against == "best":
            yield "margin", "the probability of being best has no margin; leave it out"

    def _posterior_faults(self, rule: RuleTable) -> Iterator[tuple[str, str]]:
        for key in OF_TESTS:
            if getattr(rule, key) not in (None, False):
                yield key, "belongs to tests, and this rule is a posterior probability; leave it out"
        if rule.threshold is None or not 0 < rule.threshold < 1:
            yield "threshold", f"must be a probability between 0 and 1, got {rule.threshold}"
        if rule.model == "normal":
            return
        if rule.prior is not None and rule.prior[0] <= 0:
            yield "prior", f"a and b of a Beta prior must be above 0, got {list(rule.prior)}"
        if not self.counts:
            yield "model", 'beta needs an endpoint between 0 and 1, such as a binary last visit; use "normal"'
        if self._analysis != "complete":
            yield "model", f'beta needs analysis = "complete", and this is "{self._analysis}"; use "normal"'

    @property
    def _analysis(self) -> str:
        return "complete" if self.table.looks is None else self.table.looks.analysis

    def _test_faults(self, rule: RuleTable) -> Iterator[tuple[str, str]]:
        yield from self._method_faults(rule)
        error = "beta" if rule.kind == "futility" else "alpha"
        other = "alpha" if error == "beta" else "beta"
        if getattr(rule, other) is not None:
            yield other, f"{rule.kind} spends {error}; leave it out"
        if (rule.threshold is None) == (getattr(rule, error) is None):
            yield error, "give either this or threshold"
            return
        if rule.threshold is not None:
            for key in ("spending", "gamma", "delayed_response"):
                if getattr(rule, key) not in (None, False):
                    yield key, f"belongs to {error}, and this rule has a threshold; leave it out"
            if rule.method == "fisher" and not 0 < rule.threshold < 1:
                yield "threshold", f"must be a p value between 0 and 1, got {rule.threshold}"
            return
        yield from self._spending_faults(rule, error)

    def _method_faults(self, rule: RuleTable) -> Iterator[tuple[str, str]]:
        method, analysis = rule.method, self._analysis
        if method == "fisher" and not (self.counts and analysis == "complete" and self.binary()):
            yield "method", 'fisher needs counts: an endpoint that is 0 or 1 and analysis = "complete"'
        if method in SURVIVAL:
            if not self.survival or not self.is_sum:
                yield "method", f'{method} needs [rewards] kind = "survival" and endpoint = "sum"'
            elif self.table.looks is not None and analysis != "available":
                yield "method", f'{method} counts follow-up so far; set trial.looks.analysis = "available"'
        if method in ("fisher", "logrank"):
            if rule.kind == "equivalence":
                yield "method", f"equivalence needs posterior, z or rmst, got {method}"
            elif rule.margin:
                yield "margin", f"{method} has none; leave it out"
        if rule.pooled and (method != "z" or rule.margin or analysis != "complete"):
            yield "pooled", 'is of z without a margin and with analysis = "complete"; leave it out'
        elif rule.pooled and self.counts and not self.binary():
            yield (
                "pooled",
                "takes an endpoint between 0 and 1 for a proportion, and this one is not 0 or 1; leave it out",
            )

    def _spending_faults(self, rule: RuleTable, error: str) -> Iterator[tuple[str, str]]:
        whole = float(getattr(rule, error))
        if rule.when == "end":
            if rule.spending is not None:
                yield "spending", "a rule for the end only spends everything there; leave it out"
            return
        if self.information is None:
            yield error, "looks by time or patients randomised have no planned information; set trial.looks.information"
            return
        if isinstance(rule.spending, tuple):
            yield from self._amount_faults(rule.spending, error, whole, len(self.information))
        if rule.gamma is not None and rule.spending != "hwang-shih-decani":
            yield "gamma", "is of hwang-shih-decani spending; leave it out"
        if error == "beta" and self._partner(rule, "superiority", "alpha") is None:
            yield "beta", f"needs a rule of superiority by {rule.method} with alpha, without an own `when`"
        if rule.delayed_response:
            partner = self._partner(rule, "futility", "beta")
            if rule.kind != "superiority" or partner is None or not partner.binding:
                yield (
                    "delayed_response",
                    f"needs superiority, and a binding rule of futility by {rule.method} with beta",
                )

    @staticmethod
    def _amount_faults(
        amounts: tuple[float, ...], error: str, whole: float, analyses: int
    ) -> Iterator[tuple[str, str]]:
        """What is wrong with the amounts that are spent up to each analysis."""
        if len(amounts) != analyses or (np.diff(amounts, prepend=0.0) < 0).any():
            yield "spending", f"give what is spent up to each of {analyses} analyses, never falling"
        elif abs(amounts[-1] - whole) > ROUNDING:
            misses = "does not reach" if amounts[-1] < whole else "goes beyond"
            yield "spending", f"ends at {amounts[-1]:g} and {misses} {error} = {whole:g}"

    def _partner(self, rule: RuleTable, kind: str, error: str) -> RuleTable | None:
        """The rule of the other side, with which boundaries are computed together."""
        return next(
            (
                one
                for one in self.table.rules
                if one.kind == kind
                and getattr(one, error)
                and (one.method, one.margin, one.when) == (rule.method, rule.margin, rule.when)
            ),
            None,
        )
