"""Everything that tpstream raises on purpose.

TpstreamError
 ├─ ScenarioError      a scenario or one of its values cannot be used
 ├─ UnknownNameError   no policy, reward model, ... of that name
 ├─ PolicyError        a policy cannot be built, or decided something impossible
 ├─ RewardError        a reward model paid something impossible, or ran out
 ├─ DelayError         a delay or arrival process gave something impossible
 ├─ SubscriberError    a subscriber of the bus raised
 ├─ EngineError        the engine asked for cannot serve the scenario
 ├─ LogError           a log cannot be written, read or trusted
 ├─ PluginError        a plug-in cannot be loaded, or is not what it says
 ├─ FigureError        a figure cannot be drawn or written
 └─ StudyError         runs of a study failed, or its folder holds another study
"""

from collections.abc import Iterable
from difflib import get_close_matches


class TpstreamError(Exception):
    """The root of the tree; its text is one line that says what, the value and the remedy."""


class ScenarioError(TpstreamError):
    """A scenario or one of its values cannot be used."""


class UnknownNameError(TpstreamError):
    """There is nothing of that name."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        known = tuple(sorted(known))
        self._given = what, name, known
        super().__init__(f"unknown {what} {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")

    def __reduce__(self) -> tuple[type["UnknownNameError"], tuple[str, str, tuple[str, ...]]]:
        """Errors travel between processes; this one is made of more than its text."""
        return UnknownNameError, self._given


class PolicyError(TpstreamError):
    """A policy cannot be built, or decided something impossible."""


class RewardError(TpstreamError):
    """A reward model paid something impossible, or its records ran out."""


class DelayError(TpstreamError):
    """A delay or arrival process gave something impossible."""


class SubscriberError(TpstreamError):
    """A subscriber of the bus raised; the text names it."""


class EngineError(TpstreamError):
    """The engine asked for cannot serve the scenario."""


class LogError(TpstreamError):
    """A log cannot be written, read or trusted."""


class PluginError(TpstreamError):
    """A plug-in cannot be loaded, or is not what it says."""


class FigureError(TpstreamError):
    """A figure cannot be drawn or written."""


class StudyError(TpstreamError):
    """Runs of a study failed, or its folder holds another study."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest known name as a question, or nothing."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""
