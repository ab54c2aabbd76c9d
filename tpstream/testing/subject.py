"""The plug-in under test, and what all checks share: reports of faults, settings, randomness, distributions."""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from pydantic import BaseModel, ValidationError

from tpstream.model.arrays import Floats
from tpstream.model.errors import USER_RAISES, TpstreamError
from tpstream.model.registry import Registry
from tpstream.scenario.messages import describe_error
from tpstream.scenario.tables import read

ERROR_RATE = 1e-6
"""The probability that a statistical check rejects a plug-in that is right; seeds are fixed, so it then always does."""


@dataclass(frozen=True)
class Subject:
    """A plug-in under test, and its name in reports of faults."""

    name: str
    definition: Any

    def fail(self, fault: str) -> NoReturn:
        """Raise the AssertionError that says what is wrong."""
        raise AssertionError(f"{self.name}: {fault}")

    def settings(self, model: type[BaseModel], given: Mapping[str, Any] | None) -> Any:
        """The settings as a scenario reads them; they must be equal after being written as JSON and read again."""
        try:
            settings = read(model, dict(given or {}))
        except ValidationError as error:
            self.fail(f"does not take these settings: {describe_error(error, lambda _: model.model_fields)}")
        if read(model, settings.model_dump(mode="json")) != settings:
            self.fail(f"settings do not survive JSON: {settings!r}; use numbers, texts, lists and tables")
        return settings


@contextmanager
def watched(registry: Registry, plugin: Any, name: str | None) -> Iterator[Subject]:
    """The plug-in that is given by its name or as an object; `name` is what reports call an object.

    Any error inside is reported as a fault of the plug-in, and so is any use of NumPy's or Python's global generators.
    """
    if isinstance(plugin, str):
        subject = Subject(plugin, registry.find(plugin))
    else:
        subject = Subject(name or str(getattr(plugin, "name", type(plugin).__name__)), plugin)
        reason = registry.obstacle(subject.name, plugin)
        if reason:
            subject.fail(reason)
    before = _global_randomness()
    try:
        yield subject
    except AssertionError as error:
        if _global_randomness() != before:
            raise AssertionError(f"{subject.name}: {GLOBAL}") from error
        raise
    except TpstreamError as error:
        text = str(error)
        raise AssertionError(text if subject.name in text else f"{subject.name}: {text}") from error
    except USER_RAISES as error:
        raise AssertionError(f"{subject.name}: raised {type(error).__name__}: {error}") from error
    if _global_randomness() != before:
        subject.fail(GLOBAL)


def check_repeatable(subject: Subject, what: str, draw: Callable[[int], Sequence[Any]]) -> None:
    """Check that `draw`, from a seed to arrays, gives equal arrays for equal seeds, whatever was drawn in between."""
    first = [array.copy() for array in draw(0)]
    draw(1)
    if not all(np.array_equal(one, other) for one, other in zip(first, draw(0), strict=True)):
        subject.fail(f"{what} twice from the same stream gives different results; keep nothing between calls")


GLOBAL = "draws from global randomness, a generator that is not the given stream; draw from the stream that it is given"
"""What is wrong with a plug-in that uses NumPy's or Python's global generator."""
KEPT = (
    "it draws from a generator that is not the given stream, or something is kept from one build to the next; keep "
    "state in what `build` returns, not in a class, kind or module"
)
"""What is wrong with a plug-in whose runs depend on the runs before them."""


def check_builds(subject: Subject, what: str, use: Callable[[int], Sequence[Any]]) -> None:
    """Check that what is built anew for each run does not depend on other runs: two of them, in both orders.

    `use`, from the number of a run to arrays, builds the model and uses it.
    """
    first = [[array.copy() for array in use(run)] for run in (0, 1)]
    for run in (1, 0):
        if not all(map(np.array_equal, first[run], use(run))):
            subject.fail(f"{what} of the same run differ if other runs came before it: {KEPT}")


def check_arms(
    subject: Subject, what: str, arms: int, start: Callable[[], Callable[[int, int], Sequence[Any]]]
) -> None:
    """Check that what an arm gives does not depend on when other arms are drawn.

    `start` builds the model and returns a function from an arm and the number of its block to arrays.
    """
    in_turn = [(arm, block) for block in range(2) for arm in range(arms)]
    one_by_one = sorted(in_turn)
    backwards = sorted(in_turn, key=lambda step: (-step[0], step[1]))
    found: dict[tuple[int, int], list[Any]] = {}
    for order in (in_turn, one_by_one, backwards):
        draw = start()
        for step in order:
            arrays = [array.copy() for array in draw(*step)]
            if not all(map(np.array_equal, found.setdefault(step, arrays), arrays)):
                subject.fail(
                    f"{what} of arm {step[0]} differ if other arms are drawn before it, so that its n-th pull depends "
                    "on the policy: arms share a state; give each arm its own, and draw from the stream that is given"
                )


def check_mean(subject: Subject, what: str, values: Floats, declared: float, largest: float) -> None:
    """Check that the mean of independent values from 0 to `largest` is the declared one, up to chance.

    Bounds by Hoeffding and by Maurer and Pontil (2009, theorem 4), each at half of the error rate: no assumption on
    the distribution.
    """
    count, log = len(values), math.log(8 / ERROR_RATE)
    plain = largest * math.sqrt(math.log(4 / ERROR_RATE) / (2 * count))
    tight = math.sqrt(2 * float(values.var(ddof=1)) * log / count) + 7 * largest * log / (3 * (count - 1))
    allowed, found = min(plain, tight) + 1e-9 * largest, float(values.mean())
    if abs(found - declared) > allowed:
        subject.fail(f"{what} declares the mean {declared:.6g}, but {count:,} pulls pay {found:.6g} on average")


def check_distribution(subject: Subject, what: str, values: Floats, distribution: Any) -> None:
    """Check that independent values have the declared distribution of SciPy, up to chance.

    The bound on the distance of distribution functions is that of Dvoretzky, Kiefer and Wolfowitz.
    """
    places, counts = np.unique(values, return_counts=True)
    after = np.cumsum(counts) / len(values)
    declared = distribution.cdf(places)
    before = declared - (distribution.pmf(places) if hasattr(distribution, "pmf") else 0.0)
    distance = max(
        float(np.max(np.abs(after - declared))), float(np.max(np.abs(after - counts / len(values) - before)))
    )
    if distance > math.sqrt(math.log(2 / ERROR_RATE) / (2 * len(values))):
        subject.fail(
            f"{what} are not of the declared distribution: their distribution function is {distance:.3f} away from it"
        )


def _global_randomness() -> tuple[Any, ...]:
    """The states of NumPy's and Python's global generators of random numbers."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002 (to see whether the plug-in uses it)
    return str(name), np.asarray(keys).tobytes(), *rest, random.getstate()
