"""From the tables of a trial to its design, and everything that does not fit together, a line each."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tpstream.looks.design import Against, Design, Looks, Rule
from tpstream.model.arrays import Floats
from tpstream.model.errors import did_you_mean
from tpstream.model.interfaces import ArrivalProcess, Rewards
from tpstream.model.world import Problem, Regular
from tpstream.scenario.trial_tables import RuleTable, TrialTable

ROUNDING = 1e-9
"""How far sums may miss a bound by rounding."""
OF_TESTS = ("alpha", "beta", "spending", "gamma", "delayed_response", "pooled")
"""Keys of a rule that posterior probabilities do not have."""
SURVIVAL = ("logrank", "rmst")


@dataclass(frozen=True, eq=False)
class TrialBuilder:
    """Makes the design of a scenario from its tables."""

    table: TrialTable
    problem: Problem
    rewards: Rewards
    arrivals: ArrivalProcess
    visits: Floats
    """When each part is due after the treatment."""
    survival: bool
    drain: bool

    def design(self) -> Design:
        """The design; the tables must have no faults."""
        table, problem = self.table, self.problem
        looks = Looks()
        if table.looks is not None:
            keys = table.looks.model_dump(exclude={"information"})
            looks = Looks(**keys)
        return Design(
            names=problem.names,
            horizon=problem.horizon,
            visits=self.visits,
            weights=self.weights,
            control=-1 if table.control is None else problem.names.index(table.control),
            lower=table.direction == "lower",
            adjust=table.adjust,
            dropouts=table.dropouts,
            looks=looks,
            information=self.information,
            rules=tuple(self._rule(rule) for rule in table.rules),
            counts=self.counts,
            survival=self.survival,
            caps=self.caps,
            means=self._means(),
            ratio=table.allocation.ratio or (),
        )

    def _rule(self, table: RuleTable) -> Rule:
        prior = table.prior or ((1.0, 1.0) if table.model == "beta" else None)
        return Rule(
            kind=table.kind,
            method=table.method,
            against=self._against(table),
            margin=table.margin,
            threshold=table.threshold,
            model=table.model,
            prior=prior,
            alpha=table.alpha,
            beta=table.beta,
            spent=table.spending or "obrien-fleming",
            gamma=-4.0 if table.gamma is None else table.gamma,
            binding=table.binding,
            delayed_response=table.delayed_response,
            pooled=table.pooled,
            end_only=table.when == "end",
        )

    def _against(self, table: RuleTable) -> Against:
        without: Against = "all" if table.kind == "equivalence" else "best"
        default: Against = "control" if self.table.control is not None else without
        return table.against or default

    @cached_property
    def weights(self) -> Floats:
        """Of the parts in the endpoint."""
        if self.table.weights is not None:
            return np.array(self.table.weights, dtype=np.float64)
        weights = np.ones(self.problem.span)
        if self.table.endpoint == "last":
            weights[:-1] = 0.0
        return weights

    @cached_property
    def caps(self) -> Floats:
        """The largest value of each part, (arms, span): that of its group, where nothing closer is known."""
        problem = self.problem
        caps = np.tile((problem.maxima / (problem.groups or 1))[:, np.newaxis], problem.span)
        return np.vstack([getattr(arm, "part_maxima", own) for arm, own in zip(self.rewards.arms, caps, strict=True)])

    @cached_property
    def counts(self) -> bool:
        """Whether the endpoint lies between 0 and 1."""
        if self.problem.signed or (self.weights < 0).any():
            return False
        most = np.minimum(self.caps @ self.weights, self.problem.maxima * self.weights.max())
        return bool((most <= 1 + ROUNDING).all())

    @cached_property
    def information(self) -> tuple[float, ...] | None:
        """The planned fraction of the information at each analysis; None if it is not known."""
        looks = self.table.looks
        if looks is None:
            return (1.0,)
        found = looks.information
        if found is None:
            if looks.at == "time":
                return None
            found = looks.values if looks.at == "information" else tuple(v / self.problem.horizon for v in looks.values)
        return found if found[-1] == 1 else (*found, 1.0)

    def _means(self) -> Floats:
        """The true expectation of each arm's endpoint, where the rewards know it."""
        if (self.weights == 1).all():
            return np.array([arm.mean for arm in self.rewards.arms], dtype=np.float64)
        nothing = np.full(self.problem.span, np.nan)
        return np.array([getattr(arm, "part_means", nothing) @ self.weights for arm in self.rewards.arms])

    def faults(self) -> Iterator[str]:
        """What does not fit together, each with its key."""
        if not self.drain:
            yield "drain: a trial runs until everything is known; set drain = true"
        if self.problem.arms == 1:
            yield "trial: compares arms, and there is 1; write another of [[arms]]"
        fatal = list(self._endpoint_faults())
        yield from fatal
        yield from self._looks_faults()
        yield from self._allocation_faults()
        if fatal:  # what follows needs the endpoint
            return
        if self.table.dropouts == "failure" and not self._has_worst():
            yield 'trial.dropouts: there is no worst value of an endpoint without bounds; use "exclude"'
        for number, rule in enumerate(self.table.rules):
            for key, fault in self._rule_faults(rule):
                yield f"trial.rules[{number}].{key}: {fault}"
        if self.table.adjust != "none" and not any(rule.alpha for rule in self.table.rules):
            yield f'trial.adjust: "{self.table.adjust}" is of alpha, and no rule has one; leave it out'

    def _endpoint_faults(self) -> Iterator[str]:
        table, names = self.table, self.problem.names
        if table.control is not None and table.control not in names:
            known = did_you_mean(table.control, names) or f"; use one of {', '.join(names)}"
            yield f"trial.control: there is no arm {table.control!r}{known}"
        if table.weights is None:
            return
        if table.endpoint is not None:
            yield "trial.weights: give either this or endpoint"
        if len(table.weights) != self.problem.span:
            yield f"trial.weights: has {len(table.weights)} values for {self.problem.span} parts; give one for each"
        elif not any(table.weights) or not np.isfinite(table.weights).all():
            yield f"trial.weights: must be finite and not all 0, got {list(table.weights)}"

    def _has_worst(self) -> bool:
        """Whether every part that counts has a worst value."""
        chosen = self.weights != 0
        return not self.problem.signed and not np.isnan(self.caps[:, chosen]).any()

    def _looks_faults(self) -> Iterator[str]:
        looks, horizon = self.table.looks, self.problem.horizon
        if looks is None:
            return
        values, key = looks.values, "trial.looks.values"
        if (np.diff(values) <= 0).any():
            yield f"{key}: must rise, got {list(values)}; sort them"
            return
        if looks.at in ("known", "randomised") and not all(value.is_integer() for value in values):
            yield f"{key}: numbers of patients must be whole, got {list(values)}"
        end = self._end()
        most = {"information": 1.0, "time": end}.get(looks.at, horizon)
        if values[-1] > most:
            what = {"information": "all of the information", "time": "when the last endpoint is due"}
            yield f"{key}: {values[-1]:g} is after the end of the trial ({what.get(looks.at, 'horizon')}: {most:g})"
        gap = self._least_gap()
        if looks.cleaning > gap:
            yield f"trial.looks.cleaning: {looks.cleaning:g} is more than the {gap:g} between looks; they would overlap"
        given = looks.information
        if given is not None and (
            len(given) != len(values) or (np.diff(given) <= 0).any() or not 0 < given[0] <= given[-1] <= 1
        ):
            yield f"trial.looks.information: give a fraction for each of {len(values)} looks, rising up to 1"

    @property
    def _every(self) -> float:
        """The time between patients, if that is always the same; else infinite."""
        return self.arrivals.every if isinstance(self.arrivals, Regular) else math.inf

    def _end(self) -> float:
        """When the last endpoint is due; infinite if that is random."""
        return self._every * self.problem.horizon + float(self.visits[-1])

    def _least_gap(self) -> float:
        """The least time between two looks; infinite if that is random."""
        looks = self.table.looks
        if looks is None or len(looks.values) == 1:
            return math.inf
        if looks.at == "time":
            return float(np.diff(looks.values).min())
        counts = np.array(looks.values)
        if looks.at == "information":
            counts = np.ceil(counts * self.problem.horizon)
        return float(np.diff(counts).min()) * self._every

    def _allocation_faults(self) -> Iterator[str]:
        allocation, key = self.table.allocation, "trial.allocation"
        kinds = {"ratio": "fixed", "block": "fixed"}
        for name, value in allocation:
            kind = kinds.get(name, "best-probability")
            if name != "kind" and value is not None and allocation.kind != kind:
                yield f'{key}.{name}: is of kind "{kind}", and this allocation is "{allocation.kind}"; leave it out'
        if allocation.kind == "fixed":
            yield from self._ratio_faults()
        if allocation.kind != "best-probability":
            return
        least, most = allocation.minimum or 0.0, 1.0 if allocation.maximum is None else allocation.maximum
        share = allocation.control_share if isinstance(allocation.control_share, float) else 0.0
        free, rest = self.problem.arms - (share > 0), 1.0 - share
        if free * least > rest + ROUNDING:
            yield f"{key}.minimum: {least:g} for each of {free} arms is more than {rest:g}; lower it"
        elif free * most < rest - ROUNDING:
            yield f"{key}.maximum: {most:g} for each of {free} arms is less than {rest:g}; raise it"

    def _ratio_faults(self) -> Iterator[str]:
        allocation, arms = self.table.allocation, self.problem.arms
        ratio = allocation.ratio or (1,) * arms
        if len(ratio) != arms:
            yield f"trial.allocation.ratio: has {len(ratio)} numbers for {arms} arms; give one for each"
        elif allocation.block is not None and allocation.block % sum(ratio):
            yield f"trial.allocation.block: {allocation.block} is not a multiple of {sum(ratio)}, the sum of ratio"

    def _rule_faults(self, rule: RuleTable) -> Iterator[tuple[str, str]]:
        """What is wrong with a rule: the key, and the fault."""
        yield from self._against_faults(rule)
        if rule.kind == "equivalence" and rule.margin <= 0:
            yield "margin", f"equivalence needs a margin above 0, got {rule.margin:g}"
        yield from (self._posterior_faults if rule.method == "posterior" else self._test_faults)(rule)

    def _against_faults(self, rule: RuleTable) -> Iterator[tuple[str, str]]:
        against = self._against(rule)
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
        if method == "fisher" and not (self.counts and analysis == "complete"):
            yield "method", 'fisher needs counts: an endpoint between 0 and 1 and analysis = "complete"'
        if method in SURVIVAL:
            if not self.survival or not (self.weights == 1).all():
                yield "method", f'{method} needs [rewards] kind = "survival" and endpoint = "sum"'
            elif self.table.looks is not None and analysis != "available":
                yield "method", f'{method} counts follow-up so far; set trial.looks.analysis = "available"'
        if method in ("fisher", "logrank"):
            if rule.kind == "equivalence":
                yield "method", f"equivalence needs posterior, z or rmst, got {method}"
            elif rule.margin:
                yield "margin", f"{method} has none; leave it out"
        if rule.pooled and method != "z":
            yield "pooled", f"is of z, and this rule is {method}; leave it out"

    def _spending_faults(self, rule: RuleTable, error: str) -> Iterator[tuple[str, str]]:
        whole = float(getattr(rule, error))
        if rule.when == "end":
            if rule.spending is not None:
                yield "spending", "a rule for the end only spends everything there; leave it out"
            return
        if self.information is None:
            yield error, "looks by time have no planned information; set trial.looks.information"
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
            yield "spending", f"ends at {amounts[-1]:g} and does not reach {error} = {whole:g}"

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
