"""From the tables of a trial to its design, and everything that does not fit together, a line each."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tpstream.looks.design import Design, Looks, Rule
from tpstream.model.arrays import Floats
from tpstream.model.errors import TpstreamError, did_you_mean
from tpstream.model.interfaces import ArrivalProcess, Rewards
from tpstream.model.world import BLOCK, Endpoint, Problem, Regular
from tpstream.scenario.trial_rules import ROUNDING, RuleChecks
from tpstream.scenario.trial_tables import RuleTable, TrialTable
from tpstream.timing.pipeline import arrival_times

DRAWN = 20
"""Trials that are drawn to see when one with random arrivals ends."""
FAR = 3.0
"""A look is never held if it is so many times as late as the end of all of them; before that there is a warning."""


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
    loses: bool
    """Whether a part can be lost, or come after its pull was closed, and policies can know it."""

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
            against=self.table.against(table),
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
    def binary(self) -> bool:
        """Whether the endpoint is 0 or 1: one part that counts once, and is 0 or 1 in some drawn pulls of each arm."""
        chosen = self.weights != 0
        if self.weights[chosen].tolist() != [1.0]:
            return False
        drawn = [arm.sample(np.random.default_rng(0), BLOCK)[:, chosen] for arm in self.rewards.arms]
        return bool(np.isin(drawn, (0.0, 1.0)).all())

    @cached_property
    def information(self) -> tuple[float, ...] | None:
        """The planned fraction of the information at each analysis; None if it is not known."""
        looks = self.table.looks
        if looks is None:
            return (1.0,)
        found = looks.information
        if found is None:
            if looks.at == "time" or (looks.at == "randomised" and self._due > 0):
                return None
            found = looks.values if looks.at == "information" else tuple(v / self.problem.horizon for v in looks.values)
        return found if found[-1] == 1 else (*found, 1.0)

    @property
    def _due(self) -> float:
        """When the endpoint is due after the treatment."""
        due = [visit for visit, weight in zip(self.visits, self.weights, strict=False) if weight]
        return float(max(due, default=0.0))

    def _means(self) -> Floats:
        """The true expectation of each arm's endpoint, where the rewards know it."""
        if (self.weights == 1).all():
            return np.array([arm.mean for arm in self.rewards.arms], dtype=np.float64)
        nothing = np.full(self.problem.span, np.nan)
        return np.array([getattr(arm, "part_means", nothing) @ self.weights for arm in self.rewards.arms])

    def endpoint(self) -> Endpoint | None:
        """What policies hear; None for the rewards: all parts count alike, high values are good, nobody is excluded.

        Where low values are good, they hear by how much a part stays below its largest value, or the negative value
        where there is none.
        """
        weights, lower, means = self.weights, self.table.direction == "lower", self._means()
        complete = self.loses and self.table.dropouts == "exclude"
        if (weights == 1).all() and not lower:
            heard = Endpoint(weights, np.zeros_like(weights), self.problem.maxima, means, self.problem.signed, complete)
            return heard if complete else None
        bounded = not self.problem.signed and bool((weights >= 0).all() and np.isfinite(self.problem.maxima).all())
        shift = np.zeros_like(weights)
        if lower and bounded:
            shift = weights * self.caps.max(axis=0)
            maxima = np.full(self.problem.arms, shift.sum())
        elif bounded:
            maxima = np.minimum(self.caps @ weights, self.problem.maxima * weights.max())
        else:
            maxima = np.full(self.problem.arms, np.nan)
        sign = -1.0 if lower else 1.0
        return Endpoint(sign * weights, shift, maxima, sign * means + shift.sum(), not bounded, complete)

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
        checks = RuleChecks(
            self.table,
            self.counts,
            lambda: self.binary,
            bool((self.weights == 1).all()),
            self.survival,
            self.information,
        )
        for number, rule in enumerate(self.table.rules):
            for key, fault in checks.faults(rule):
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
        most = self._end() if looks.at == "time" else {"information": 1.0}.get(looks.at, float(horizon))
        if values[-1] > most:
            due = "when the last endpoint is due"
            if not isinstance(self.arrivals, Regular):
                due = f"{FAR:g} times the largest of when the last endpoint is due in {DRAWN} drawn trials"
            what = {"information": "all of the information", "time": due}
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
        """When the last endpoint is due; where patients come at random, later than that in any trial."""
        looks, horizon = self.table.looks, self.problem.horizon
        paused = 0.0 if looks is None or looks.recruiting else looks.cleaning * len(looks.values)
        after = float(self.visits[-1]) + paused
        if math.isfinite(self._every):
            return self._every * horizon + after
        try:
            return FAR * (max(self._last_arrival(np.random.default_rng(seed)) for seed in range(DRAWN)) + after)
        except TpstreamError:
            return math.inf  # the run itself tells of it

    def _last_arrival(self, stream: np.random.Generator) -> float:
        """When the last patient of a drawn trial comes."""
        if hasattr(self.arrivals, "at_sites"):
            return float(self.arrivals.at_sites(stream, self.problem.horizon)[0][-1])
        return float(arrival_times(self.arrivals, stream, self.problem.horizon, "arrivals")[-1])

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
        share = self._control_share()
        free, rest = self.problem.arms - (share > 0), 1.0 - share
        if free * least > rest + ROUNDING:
            yield f"{key}.minimum: {least:g} for each of {free} arms is more than {rest:g}; lower it"
        elif free * most < rest - ROUNDING:
            yield f"{key}.maximum: {most:g} for each of {free} arms is less than {rest:g}; raise it"

    def _control_share(self) -> float:
        """The share of its own that the control gets of patients; 0 if it has none that is fixed."""
        share = self.table.allocation.control_share
        if share == "sqrt" and self.problem.arms > 1:
            from tpstream.policies.best_probability import root_share  # noqa: PLC0415 (Numba is slow to import)
            from tpstream.policies.loader import plain_function  # noqa: PLC0415

            return float(plain_function(root_share)(self.problem.arms - 1))
        return share if isinstance(share, float) else 0.0

    def _ratio_faults(self) -> Iterator[str]:
        allocation, arms = self.table.allocation, self.problem.arms
        ratio = allocation.ratio or (1,) * arms
        if len(ratio) != arms:
            yield f"trial.allocation.ratio: has {len(ratio)} numbers for {arms} arms; give one for each"
        elif allocation.block is not None and allocation.block % sum(ratio):
            yield f"trial.allocation.block: {allocation.block} is not a multiple of {sum(ratio)}, the sum of ratio"
