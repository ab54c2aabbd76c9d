"""What a decider's log is opened with: a new one gets a header, an old one is compared with what is asked."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from tpstream.log.jsonl import encode_lines
from tpstream.log.reader import read_log
from tpstream.log.schema import DeciderSettings, Header
from tpstream.model.errors import DeciderError, PolicyError
from tpstream.model.notes import package_versions
from tpstream.replay.steering import choose_policy
from tpstream.scenario.policy_choice import PolicyChoice, PolicySpec
from tpstream.serve.clock import find_lengths, origin_now
from tpstream.serve.journal import Journal
from tpstream.serve.live_state import LiveState
from tpstream.serve.recovery import Recovery, recover

NEEDED = ("policy", "arms", "span")
"""What has to be named for a new log."""
NEEDS_NOTHING = "group-thompson:groups=1,variance=empirical,prior=none"
"""A policy that learns from parts, and need not be told what they can pay."""


@dataclass(frozen=True)
class NewLog:
    """What a new log is opened with."""

    arms: list[str]
    span: int
    window: float | str | None
    unit: float | str | None
    groups: int | None
    maxima: Sequence[float | None] | Mapping[str, float] | float | None
    signed: bool
    seed: int
    run: int
    clock: Literal["server", "caller"]
    silence: Literal["zero", "wait"]
    tolerance: float
    minimum_probability: float
    random_share: float
    horizon: int
    currency: str | None
    detail: list[Any]

    def header(self, name: str, policy: PolicySpec) -> tuple[Header, PolicyChoice]:
        """The header, and the policy that it names."""
        self._check()
        lengths = find_lengths(self.span, self.window, self.unit, silence=self.silence)
        payments = self.silence == "zero"
        header = Header(
            scenario={"name": name},
            policy="",
            kind="",
            parameters={},
            seed=self.seed,
            run=self.run,
            arms=self.arms,
            means=[None] * len(self.arms),
            maxima=self._maxima(),
            span=self.span,
            horizon=self.horizon,
            groups=self.groups,
            clairvoyant=False,
            signed=self.signed,
            detail=self.detail or "all",
            sparse=payments,
            payments=payments,
            window=lengths.window,
            origin=origin_now() if self.clock == "server" else None,
            time_unit=lengths.unit or ("second" if self.clock == "server" else None),
            currency=self.currency,
            decider=DeciderSettings(
                identity=secrets.token_hex(16),
                clock=self.clock,
                silence=self.silence,
                unit_seconds=lengths.unit_seconds or (1.0 if self.clock == "server" else None),
                tolerance=self.tolerance,
                minimum_probability=self.minimum_probability,
                random_share=self.random_share,
            ),
            versions=package_versions(),
        )
        try:
            header = msgspec.convert(msgspec.to_builtins(header), type=Header)
        except msgspec.ValidationError as error:
            raise DeciderError(f"{error}; correct it") from None
        choice = self._choose(policy, header)
        named = {"policy": choice.label, "kind": choice.form.name}
        return msgspec.structs.replace(header, **named, parameters=choice.parameters.model_dump(mode="json")), choice

    def _choose(self, policy: PolicySpec, header: Header) -> PolicyChoice:
        """The policy; the error for one that needs what was left out says what to write."""
        try:
            return choose_policy(policy, header.problem())
        except PolicyError:
            maxima = [maximum or 1.0 for maximum in header.maxima]
            known: dict[str, Any] = {"maxima": maxima, "groups": header.groups or 1}
            words = {"maxima": f"maxima={maxima} (the most that a decision for each arm can pay)", "groups": "groups=1"}
            for names in (("maxima",), ("groups",), ("maxima", "groups")):
                told = msgspec.structs.replace(header, **{name: known[name] for name in names})
                try:
                    label = choose_policy(policy, told.problem()).label
                except PolicyError:
                    continue
                lacking = " and ".join(words[name] for name in names)
                raise PolicyError(
                    f"{label}: the policy needs to know more of the rewards: write {lacking}, or "
                    f'policy="{NEEDS_NOTHING}", which needs to know nothing'
                ) from None
            raise

    def _check(self) -> None:
        if len(set(self.arms)) < len(self.arms) or not self.arms:
            raise DeciderError(f"arms: {self.arms}; give each arm a name of its own")
        for name, word, words in (
            ("clock", self.clock, ("server", "caller")),
            ("silence", self.silence, ("zero", "wait")),
        ):
            if word not in words:
                raise DeciderError(f"{name}: {word!r}; use {' or '.join(words)}")
        if self.minimum_probability * len(self.arms) > 1:
            raise DeciderError(
                f"minimum_probability: {self.minimum_probability:g} each for {len(self.arms)} arms is over 1; use "
                f"at most {1 / len(self.arms):g}"
            )

    def _maxima(self) -> list[float | None]:
        """The maximum of every arm."""
        maxima = self.maxima
        if isinstance(maxima, Mapping):
            unknown = [name for name in maxima if name not in self.arms]
            if unknown:
                raise DeciderError(f"maxima: there is no arm {unknown[0]!r}; use {', '.join(self.arms)}")
            return [maxima.get(name) for name in self.arms]
        if maxima is None or isinstance(maxima, int | float):
            return [maxima] * len(self.arms)
        if len(maxima) != len(self.arms):
            raise DeciderError(f"maxima: {len(maxima)} for {len(self.arms)} arms; give one for each")
        return [None if maximum is None or isnan(maximum) else float(maximum) for maximum in maxima]


FREE = {"scenario", "policy", "kind", "parameters", "origin", "decider", "detail", "versions", "time_unit"}
"""What of a header is not compared with what is asked, or in another way."""


def prepare(path: Path, new: NewLog, given: Mapping[str, Any]) -> LiveState:
    """The state before the first event of a new log."""
    lacking = [name for name in NEEDED if name not in given]
    if lacking:
        raise DeciderError(f"{path}: there is no log yet; name its {', '.join(lacking)}")
    return LiveState(*new.header(path.stem, given["policy"]))


def begin(journal: Journal, state: LiveState) -> tuple[LiveState, Recovery]:
    """Write the header of a new log."""
    journal.append(encode_lines([state.header]))
    return state, Recovery(0, 0, 0)


def go_on(journal: Journal, new: NewLog, given: Mapping[str, Any], cut: int) -> tuple[LiveState, Recovery]:
    """The state after a log that is there."""
    header = read_log(journal.path).header
    spec = {"kind": header.kind, **header.parameters}
    if isinstance(given.get("policy"), str | Mapping) or "policy" not in given:
        choice = choose_policy(spec, header.problem())
    else:
        choice = choose_policy(given["policy"], header.problem())
    choice = PolicyChoice(header.policy, choice.form, choice.parameters)
    state, recovery = recover(journal, choice)
    for name, there in (("arms", header.arms), ("span", header.span)):
        if name in given and given[name] != there and list(np.atleast_1d(given[name])) != list(np.atleast_1d(there)):
            raise DeciderError(
                f"{journal.path}: {name} is {there}, got {given[name]}; leave it out, or open another log"
            )
    if len(given) == len(NEEDED):
        _require_same(journal, new, given["policy"], header)
    if "policy" in given:
        asked = choose_policy(given["policy"], header.problem())
        now = [(one.form.name, one.parameters) for one in (choice, state.steering.choice)]
        if (asked.form.name, asked.parameters) not in now:
            raise DeciderError(
                f"{journal.path}: {state.steering.choice.label} decides, got {asked.label}; open it without a "
                f"policy, and use change(policy=..., reason=...)"
            )
    if cut:
        torn = f"the last write was torn: {cut} bytes were cut off, of which nobody was told"
        recovery = Recovery(recovery.events, recovery.rounds, recovery.from_snapshot, (*recovery.notes, torn))
    return state, recovery


def _require_same(journal: Journal, new: NewLog, policy: PolicySpec, header: Header) -> None:
    """Raise DeciderError if a log like this one would be opened in another way now."""
    asked, _ = new.header(journal.path.stem, policy)
    for one, there, free in (
        (asked, header, FREE),
        (asked.decider, header.decider, {"identity"}),
    ):
        for name in [name for name in one.__struct_fields__ if name not in free]:  # type: ignore[union-attr]
            if getattr(one, name) != getattr(there, name):
                raise DeciderError(
                    f"{journal.path}: {name} is {getattr(there, name)}, got {getattr(one, name)}; name what the log "
                    f"was opened with, or open another log"
                )
