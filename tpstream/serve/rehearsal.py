"""A rehearsal: the customers of a scenario ask a running service, and its decisions are compared with a simulation."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpstream.model.arrays import Arms, Floats
from tpstream.model.display import number_text
from tpstream.model.errors import ServiceError
from tpstream.model.events import CLOSED, DROPPED, PULL, Events
from tpstream.policies.base import Parameters, PythonPolicy
from tpstream.run.simulate import simulate
from tpstream.scenario.messages import together
from tpstream.scenario.policy_choice import PolicyChoice, PolicySpec
from tpstream.scenario.scenario import Scenario
from tpstream.serve.client import Client, Delivery
from tpstream.serve.requests import Close, Deliver, Lost, Refusal

AT_ONCE = 500
"""Deliveries that are sent in one request."""
SERVED = "served"
"""What the policy is called that asks the service."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What a service did with the customers of a scenario, beside the simulation.

    Attributes
    ----------
    policy
        The policy, by its label.
    arms
        The arm of every round, as the service decided.
    expected
        The same of the simulation.
    requests
        How many decisions and deliveries were acknowledged.
    seconds
        How long all of it took.
    decision_seconds
        How long every decision took.
    """

    policy: str
    arms: Arms
    expected: Arms
    requests: int
    seconds: float
    decision_seconds: Floats

    @property
    def equal(self) -> bool:
        """Whether the service decided as the simulation did, in every round."""
        return bool(np.array_equal(self.arms, self.expected))

    @property
    def first_difference(self) -> int | None:
        """The first round in which they decided differently."""
        if self.equal:
            return None
        return int(np.argmax(self.arms != self.expected)) + 1

    def lines(self) -> list[str]:
        """The result in words."""
        rounds, middle, high = len(self.arms), *np.percentile(self.decision_seconds, [50, 99]) * 1000
        pace = self.requests / self.seconds
        if self.equal:
            verdict = f"equal: all {rounds:,} decisions of {self.policy} are those of the simulation"
        else:
            first = self.first_difference or 0
            verdict = (
                f"different: in round {first:,} the service pulled arm {self.arms[first - 1]}, "
                f"and the simulation arm {self.expected[first - 1]}"
            )
        return [
            verdict,
            f"{self.requests:,} decisions and deliveries acknowledged, {pace:,.0f} per second, asked one after another",
            f"a decision took {middle:.2f} ms (p50), {high:.2f} ms (p99)",
        ]

    def as_dict(self) -> dict[str, Any]:
        """The result for other programs."""
        middle, high = np.percentile(self.decision_seconds, [50, 99]) * 1000
        return {
            "policy": self.policy,
            "equal": self.equal,
            "rounds": len(self.arms),
            "first_difference": self.first_difference,
            "requests": self.requests,
            "per_second": self.requests / self.seconds,
            "p50_ms": float(middle),
            "p99_ms": float(high),
        }


def rehearse(
    scenario: Scenario,
    policy: PolicySpec,
    client: Client,
    *,
    seed: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Rehearsal:
    """Let the customers of a scenario ask a service, and compare what it decides with the simulation.

    Parameters
    ----------
    scenario
        The world: it says when decisions are due, what they pay and when.
    policy
        The policy that the service is configured with.
    client
        Asks the service; its experiment must be new and take times from callers (`clock = "caller"`).
    seed
        Of the world; by default, and necessarily for the same decisions, the service's.
    progress
        Is called from time to time with the number of rounds done since the last call.

    Returns
    -------
    Rehearsal
        Both series of decisions, and how long the service took.

    Raises
    ------
    ServiceError
        If the scenario cannot be played against that service, with a line for each reason.
    """
    choice = scenario.policy(policy)
    state = client.state()
    settings = state["settings"]
    seed = settings["seed"] if seed is None else seed
    _check(scenario, choice, state, seed)
    asking = AskingPolicy(client, len(scenario.arms))
    form = PythonPolicy(SERVED, Parameters, lambda *_: asking)
    run, began = settings["run"], time.perf_counter()
    options: dict[str, Any] = {} if progress is None else {"progress": progress}
    served = simulate(scenario, form, seed=seed, run=run, engine="simpy", **options)
    asking.send()
    seconds = time.perf_counter() - began
    expected = simulate(scenario, choice, seed=seed, run=run, engine="simpy")  # which compiles no more than a service
    took = np.array(asking.decision_seconds)
    return Rehearsal(choice.label, served.arms, expected.arms, asking.requests, seconds, took)


class AskingPolicy:
    """A policy that asks a service for its decisions, and delivers there what it is told."""

    def __init__(self, client: Client, arms: int) -> None:
        self._client, self._arms = client, arms
        self._time = 0.0
        self._tokens: dict[int, str] = {}
        self._deliveries: list[Delivery] = []
        self.requests = 0
        self.decision_seconds: list[float] = []

    def set_clock(self, time: float) -> None:
        """Take the time of the next decision."""
        self._time = time

    def hear(self, events: Events) -> None:
        """Note what is to be delivered; closings are known to the service by itself."""
        for event in zip(events.kind, events.pull, events.part, events.value, events.time, strict=True):
            kind, pull, part, value, at = (one.item() for one in event)
            if kind in {CLOSED, PULL}:
                continue
            token, key = self._tokens[pull], f"{pull}-{part}"
            if kind == DROPPED:
                self._deliveries.append(Lost(token=token, part=part, key=key, at=at))
            else:
                self._deliveries.append(Deliver(token=token, amount=value, key=key, part=part, at=at))

    def decide(self, round: int) -> int:
        """The service's decision."""
        self.send()
        began = time.perf_counter()
        decision = self._client.decide(f"round-{round}", at=self._time)
        self.decision_seconds.append(time.perf_counter() - began)
        self.requests += 1
        self._tokens[round] = decision.token
        return decision.arm

    def indices(self) -> Floats:
        """There are none here: the service keeps them in its log."""
        return np.full(self._arms, np.nan)

    def send(self) -> None:
        """Deliver what was noted."""
        while self._deliveries:
            now, self._deliveries = self._deliveries[:AT_ONCE], self._deliveries[AT_ONCE:]
            for sent, reply in zip(now, self._client.deliver_all(now), strict=True):
                if isinstance(reply, Refusal):
                    raise ServiceError(
                        f"{self._client.url}: refused part {sent.part if not isinstance(sent, Close) else 0} of token "
                        f"{sent.token} at {sent.at}: {reply.message}"
                    )
            self.requests += len(now)


def _check(scenario: Scenario, choice: PolicyChoice, state: Mapping[str, Any], seed: int) -> None:
    """Raise unless the service is new, and was told of this world what the policy is told in a simulation."""
    faults = []
    if scenario.trial is not None:
        faults.append("the scenario is a trial with looks, which a service does not hold")
    if scenario.reveal != "all" or scenario.default_reward is not None:
        faults.append("the scenario hides or replaces feedback (reveal, default_reward), which a service does not")
    if choice.form.clairvoyant or choice.form.knows_means:
        faults.append(f"{choice.label} knows the future or the means; nobody does who serves")
    if state["decisions"]:
        faults.append(f"the experiment has {state['decisions']:,} decisions; begin with an empty log")
    problem, settings = scenario.problem(), state["settings"]
    expected = {
        "policy": choice.form.name,
        "parameters": choice.parameters.model_dump(mode="json"),
        "arms": len(problem.names),
        "span": problem.span,
        "window": scenario.window,
        "groups": problem.groups,
        "maxima": [None if np.isnan(one) else one for one in problem.maxima.tolist()],
        "signed": problem.signed,
        "horizon": problem.horizon,
        "seed": seed,
        "clock": "caller",
        "silence": "wait",
        "minimum_probability": 0.0,
        "random_share": 0.0,
        "switch": None,
    }
    found = {**settings, "policy": settings["kind"], "arms": len(settings["arms"]), "switch": state["switch"]}
    for name, value in expected.items():
        if found[name] != value:
            faults.append(f"{name}: the service has {_shown(found[name])}, and the rehearsal needs {_shown(value)}")
    if faults:
        raise ServiceError(f"the scenario cannot be played against this service: {together(faults)}")


def _shown(value: object) -> str:
    """A value in one line."""
    return number_text(value) if isinstance(value, float) else repr(value)
