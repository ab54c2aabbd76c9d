"""Changes of how decisions are made, as they are logged: another policy, fewer arms, an arm that all are for."""

from collections.abc import Sequence

import numpy as np

from tpstream.log.changes import Change
from tpstream.log.reader import read_log
from tpstream.model.errors import DeciderError
from tpstream.replay.decided import written_before
from tpstream.replay.retelling import tell_history
from tpstream.replay.steering import Steering, choose_policy
from tpstream.scenario.policy_choice import PolicyChoice, PolicySpec
from tpstream.serve.journal import Journal
from tpstream.serve.live_state import LiveState


def present_change(state: LiveState, reason: str) -> Change:
    """How decisions are made now, seen from the beginning of the log."""
    steering = state.steering
    fresh = steering.choice is not state.first_choice
    return _described(state, steering.choice, _open_names(state), steering.switch, reason, fresh=fresh)


def another_policy(
    state: LiveState, journal: Journal, policy: PolicySpec | None, arms: Sequence[str] | None, reason: str
) -> tuple[Change, PolicyChoice]:
    """The change to another policy, to other open arms, or both, and the policy after it; DeciderError if it cannot be.

    A new policy is told the log once to see whether it can be: what is logged has to be followed at every restart.
    """
    header, steering = state.header, state.steering
    names = _open_names(state) if arms is None else list(arms)
    unknown = [name for name in names if name not in header.arms]
    if unknown or not names:
        raise DeciderError(
            f"arms: {', '.join(map(repr, unknown)) or 'none'}; the log has {', '.join(header.arms)}: "
            f"name some of these, or open another log"
        )
    choice = steering.choice if policy is None else choose_policy(policy, header.problem())
    if policy is not None and not choice.named:
        raise DeciderError(
            f"policy: {choice.label} is known by no name, so that the log could not go on after a restart; "
            f"make it a plug-in (docs/plugins.md)"
        )
    probe = Steering(choice, header)
    probe.set_open_arms(np.isin(np.array(header.arms, dtype=object), names))
    if policy is not None:
        tell_history(probe, header, written_before(read_log(journal.path), state.book.events), state.book.time)
    return _described(state, choice, names, steering.switch, reason, fresh=policy is not None), choice


def another_switch(state: LiveState, arm: str | None, reason: str) -> tuple[Change, PolicyChoice]:
    """The change to one arm for all decisions, or back to the policy (None), and the policy after it."""
    arms, choice = state.header.arms, state.steering.choice
    if arm is not None and arm not in arms:
        raise DeciderError(f"switch: there is no arm {arm!r}; use {', '.join(arms)}, or None")
    number = None if arm is None else arms.index(arm)
    return _described(state, choice, _open_names(state), number, reason, fresh=False), choice


def _open_names(state: LiveState) -> list[str]:
    """The names of the arms that are open."""
    names: list[str] = np.array(state.header.arms, dtype=object)[state.steering.open_arms].tolist()
    return names


def _described(
    state: LiveState, choice: PolicyChoice, arms: list[str], switch: int | None, reason: str, *, fresh: bool
) -> Change:
    """How decisions are to be made, as a change says it."""
    if not isinstance(reason, str):
        raise DeciderError(f"reason: {reason!r} is no text; say why in words")
    return Change(
        reason=reason,
        policy=choice.label,
        kind=choice.form.name,
        parameters=choice.parameters.model_dump(mode="json"),
        arms=arms,
        switch=None if switch is None else state.header.arms[switch],
        fresh=fresh,
    )
