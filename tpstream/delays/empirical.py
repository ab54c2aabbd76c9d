"""Empirical lags: drawn with replacement from lags that were observed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, Field, model_validator

from tpstream.delays.column import read_column
from tpstream.delays.lag_delay import LagDelay, LagSettings, discrete
from tpstream.model.arrays import Floats
from tpstream.model.protocols import DelayKind, Place


class EmpiricalSettings(LagSettings):
    """Lags drawn from observed ones: a CSV file with a column `lag`, or a list; `whole` rounds them up."""

    file: Annotated[str | None, Field(min_length=1)] = None
    lags: Annotated[list[Annotated[float, Field(ge=0)]] | None, Field(min_length=1)] = None
    whole: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.file is None) == (self.lags is None):
            raise ValueError("needs a file or lags, and not both; give one of them")
        return self


@dataclass(frozen=True, eq=False)
class Observed:
    """The law that gives each observed lag the same probability."""

    lags: Floats

    @property
    def keeps_whole(self) -> bool:
        """Whether every observed lag is a whole number."""
        return bool((self.lags == np.floor(self.lags)).all())

    @property
    def distribution(self) -> Any:
        """The frequencies of the observed lags."""
        values, counts = np.unique(self.lags, return_counts=True)
        return discrete(values, counts / len(self.lags))

    def draw(self, stream: np.random.Generator, size: tuple[int, int]) -> Floats:
        """Observed lags, with replacement."""
        drawn: Floats = self.lags[stream.integers(len(self.lags), size=size)]
        return drawn


class Empirical:
    """The delay "empirical"."""

    settings: type[BaseModel] = EmpiricalSettings

    def build(self, settings: EmpiricalSettings, place: Place) -> LagDelay:
        """The delay for these settings; the file is relative to the scenario."""
        lags: Sequence[float] | Floats = settings.lags or ()
        if settings.file is not None:
            lags = read_column(place.folder / settings.file, "lag")
        return LagDelay(Observed(np.array(lags, dtype=np.float64)), settings.per, settings.whole)


KIND: DelayKind = Empirical()
