"""What all checks share: how a fault is told, settings are read, and randomness is watched."""

import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from tpstream.model.arrays import Floats
from tpstream.model.errors import TpstreamError
from tpstream.model.registry import Registry
from tpstream.scenario.messages import describe_error
from tpstream.scenario.tables import read

ERROR_RATE = 1e-6
"""With which probability a statistical check fails though all is well; as its seeds are fixed, it then always does."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class Subject:
    """A plug-in under test, and what faults call it."""

    name: str
    definition: Any

    def fail(self, fault: str) -> NoReturn:
        """Say what is wrong."""
        raise AssertionError(f"{self.name}: {fault}")

    def settings(self, model: type[BaseModel], given: Mapping[str, Any] | None) -> Any:
        """The settings as a scenario would read them; they must survive being written to a log's header."""
        try:
            settings = read(model, dict(given or {}))
        except ValidationError as error:
            self.fail(f"does not take these settings: {describe_error(error, lambda _: model.model_fields)}")
        if read(model, settings.model_dump(mode="json")) != settings:
            self.fail(f"settings do not survive JSON: {settings!r}; use numbers, texts, lists and tables")
        return settings

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Nothing that happens inside may raise, or use randomness that is not from its stream."""
        before = _global_randomness()
        try:
            yield
        except (AssertionError, KeyboardInterrupt):
            raise
        except TpstreamError as error:
            text = str(error)
            raise AssertionError(text if self.name in text else f"{self.name}: {text}") from error
        except Exception as error:
            raise AssertionError(f"{self.name}: raised {type(error).__name__}: {error}") from error
        if _global_randomness() != before:
            self.fail("draws from global randomness; draw from the stream that it is given")


def subject_of(registry: Registry, plugin: Any, name: str | None) -> Subject:
    """The plug-in, by its name or as an object."""
    if isinstance(plugin, str):
        return Subject(plugin, registry.find(plugin))
    told = name or str(getattr(plugin, "name", type(plugin).__name__))
    reason = registry.obstacle(told, plugin)
    if reason:
        Subject(told, plugin).fail(reason)
    return Subject(told, plugin)


def check_repeatable(subject: Subject, what: str, draw: Callable[[int], Result], show: Callable[[Result], Any]) -> None:
    """The same seed gives the same result, whatever was drawn before; another one may give another."""
    first = show(draw(0))
    draw(1)
    if not _same(first, show(draw(0))):
        subject.fail(f"{what} twice from the same stream gives different results; keep nothing between calls")


def check_mean(subject: Subject, what: str, values: Floats, declared: float, largest: float) -> None:
    """The mean of independent values from 0 to `largest` is the declared one, up to chance.

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
    """Independent values are of the declared distribution of SciPy, up to chance (Dvoretzky, Kiefer, Wolfowitz)."""
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


def _same(one: Any, other: Any) -> bool:
    return all(np.array_equal(left, right) for left, right in zip(one, other, strict=True))


def _global_randomness() -> tuple[Any, ...]:
    """The states of NumPy's and Python's global generators."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002 (to see that nobody else uses it)
    return str(name), np.asarray(keys).tobytes(), *rest, random.getstate()
