"""Everything that tpstream raises on purpose.

TpstreamError
 ├─ ScenarioError      a scenario or one of its values cannot be used
 ├─ DataError          a table cannot be imported as a log
 ├─ UnknownNameError   no policy, reward model, ... of that name
 ├─ PolicyError        a policy cannot be built, or decided something impossible
 ├─ RewardError        a reward model paid something impossible, or ran out
 ├─ DelayError         a delay or arrival process gave something impossible
 ├─ SubscriberError    a subscriber of the bus raised
 ├─ EngineError        the engine asked for cannot serve the scenario
 ├─ LogError           a log cannot be written, read or trusted
 ├─ PluginError        a plug-in cannot be loaded, or is not what it says
 ├─ FigureError        a figure cannot be drawn or written
 ├─ PageError          a page cannot be written
 ├─ DeciderError       a decider cannot be opened, refuses a request, or cannot write
 ├─ ServiceError       a service cannot be started, or refused what it was asked
 └─ StudyError         runs of a study failed, or its folder holds another study

What user-written code raises goes through `user_code`, which names whose code it was and what it was doing.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class TpstreamError(Exception):
    """The root of all errors that tpstream raises on purpose.

    Its text is one line that says what is wrong, the value and the remedy. The command line prints that line and
    exits with code 2.

    Examples
    --------
    >>> from tpstream import Scenario, TpstreamError
    >>> try:
    ...     Scenario.load("no-such-scenario")
    ... except TpstreamError as error:
    ...     print(type(error).__name__)
    ScenarioError
    """

    def __init__(self, message: str = "") -> None:  # so that tools which show signatures find one
        super().__init__(message)


class ScenarioError(TpstreamError):
    """A scenario or one of its values cannot be used.

    A plug-in raises it in `build`; a text that begins with a key of its table is shown with the place in the file.

    Examples
    --------
    >>> raise ScenarioError("p: must be less than 1, got 1.5")
    Traceback (most recent call last):
        ...
    tpstream.model.errors.ScenarioError: p: must be less than 1, got 1.5
    """


class DataError(TpstreamError):
    """A table of decisions or payments cannot be imported as a log."""


class UnknownNameError(TpstreamError):
    """There is nothing of that name; `remedy` is what to do besides choosing a known one."""

    def __init__(self, what: str, name: str, known: Iterable[str], remedy: str = "") -> None:
        known = tuple(sorted(known))
        self._given = what, name, known, remedy
        text = f"unknown {what} {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}"
        super().__init__(f"{text}; {remedy}" if remedy else text)

    def __reduce__(self) -> tuple[type["UnknownNameError"], tuple[str, str, tuple[str, ...], str]]:
        """How to pickle it, for worker processes: its constructor takes more than the text."""
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


class PageError(TpstreamError):
    """A page cannot be written."""


class DeciderError(TpstreamError):
    """A decider cannot be opened, refuses a request, or cannot write what it was told.

    Parameters
    ----------
    message
        What, the value and the remedy.
    reason
        Of a refused request: the word that stands in a `Refusal`, such as "conflict"; "full" if the disk is,
        "disk" if it cannot be written for another reason.

    Examples
    --------
    >>> DeciderError("no decision has the token 'x'", reason="unknown-token").reason
    'unknown-token'
    """

    def __init__(self, message: str = "", *, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type["DeciderError"], tuple[str], dict[str, str | None]]:
        """How to pickle it, with its reason."""
        return DeciderError, (str(self),), {"reason": self.reason}


class ServiceError(TpstreamError):
    """A service cannot be started, cannot be reached, or refused a request.

    Parameters
    ----------
    message
        What, the value and the remedy.
    status
        That of HTTP, if the service answered.

    Examples
    --------
    >>> ServiceError("409: the key was used for something else", status=409).status
    409
    """

    def __init__(self, message: str = "", *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type["ServiceError"], tuple[str], dict[str, int | None]]:
        """How to pickle it, with its status."""
        return ServiceError, (str(self),), {"status": self.status}


class StudyError(TpstreamError):
    """Runs of a study failed, or its folder holds another study."""


USER_RAISES = (Exception, SystemExit)
"""What user-written code may raise and a study survives: `sys.exit()` in a plug-in must not end it."""
OURS = (KeyboardInterrupt, GeneratorExit)
"""What passes through user-written code without being raised by it."""


LONGEST_NAME = 200
"""Letters of a name for which a nearer one is looked for."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest known name as a question, or nothing; very long text is not compared, since that takes long."""
    if len(name) > LONGEST_NAME:
        return ""
    near = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


@contextmanager
def user_code(kind: type[TpstreamError], who: str, when: str = "") -> Iterator[None]:
    """Turn what user-written code raises inside into an error of tpstream: "WHO raised ValueError WHEN: ...".

    Errors of tpstream itself pass as they are.
    """
    try:
        yield
    except (TpstreamError, *OURS):
        raise
    except BaseException as error:
        raise user_error(kind, who, when, error) from error


@contextmanager
def errors_in(source: str | None) -> Iterator[None]:
    """Turn errors inside into those of a scenario that name its file."""
    try:
        yield
    except TpstreamError as error:
        raise ScenarioError(f"{source}: {error}" if source else str(error)) from error


def user_error(kind: type[TpstreamError], who: str, when: str, error: BaseException) -> TpstreamError:
    """The error that `user_code` raises; for places that are passed too often for a context manager."""
    if type(error).__module__.startswith("numba."):
        return kind(f"{who} cannot be compiled: {compiler_message(str(error))}")
    return kind(f"{who} raised {type(error).__name__}{f' {when}' if when else ''}: {error}")


def compiler_message(report: str, *, where: bool = True) -> str:
    """The line of Numba's report that says what is wrong; `where`: with the place in the source."""
    lines = [re.sub(r"\x1b\[\d*m", "", line).strip() for line in report.splitlines()]
    telling = [line for line in lines if line and not line.startswith(("Failed in", "-", "During:"))]
    place = re.findall(r'File "(?:.*/)?(.+?)", line (\d+)', report) if where else []
    shown = f" ({place[-1][0]}, line {place[-1][1]})" if place else ""
    return f"{telling[0] if telling else 'Numba does not say why'}{shown}"
