"""Decisions at several sites, such as the clinics of a trial, each from its opening on and at a rate of its own."""

from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Discriminator, Field, PositiveFloat, Tag, model_validator

from tpstream.model.arrays import Floats, Ints
from tpstream.model.interfaces import BuildContext
from tpstream.timing.kinds import TimingSettings, errors_at
from tpstream.timing.varying import Curve, VaryingRate, check_rates

Rate = Annotated[
    Annotated[PositiveFloat, Tag("(number)")] | Annotated[Curve, Tag("(curve)")],
    Discriminator(lambda value: "(curve)" if isinstance(value, list) else "(number)"),
]
"""A rate that is constant, or changes in time. By the tags an error is about one form only."""


class Site(VaryingRate):
    """One site: a Poisson process that begins when the site opens."""

    name: Annotated[str, Field(min_length=1)] = Field(description="what the site is called in the header of a log")
    rate: Rate = Field(
        description="decisions per unit of time: a number, or times since the opening with rates, linear between them"
    )
    opens: Annotated[float, Field(ge=0)] = Field(0.0, description="when the site opens")

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_rates(self.points, "rate")
        return self

    @property
    def points(self) -> Curve:
        """The rate as a curve of the time since the start of the run."""
        if isinstance(self.rate, list):
            return [(self.opens + time, rate) for time, rate in self.rate]
        return [(self.opens, self.rate)]

    @property
    def begin(self) -> float:
        """When the site opens."""
        return self.opens


class Sites(TimingSettings):
    """Decisions at several sites, each a Poisson process with a rate of its own from its opening on."""

    sites: Annotated[list[Site], Field(min_length=1)] = Field(
        description='the sites, as in [{ name = "Bern", opens = 30, rate = 0.5 }]'
    )

    regular: ClassVar[bool] = False
    """The times are random."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        repeated = [name for name in self.names if self.names.count(name) > 1]
        if repeated:
            raise ValueError(f"sites: {repeated[0]!r} is the name of two; give them different names")
        return self

    def build(self, context: BuildContext) -> Self:
        """The same with the days of this scenario."""
        built = []
        for number, site in enumerate(self.sites):
            with errors_at(f"sites[{number}]"):
                built.append(site.build(context))
        return self.model_copy(update={"sites": built})

    @property
    def names(self) -> list[str]:
        """The names of the sites."""
        return [site.name for site in self.sites]

    def at_sites(self, stream: np.random.Generator, horizon: int) -> tuple[Floats, Ints]:
        """The times of all decisions, and the site of each; at one time the site that is listed first comes first.

        For each site as many numbers are drawn as there are decisions, so that a site that is added at the end changes
        nothing at the others.
        """
        expected = [np.cumsum(stream.exponential(1.0, horizon)) for _ in self.sites]
        found: list[Floats] = []
        sites: list[Ints] = []
        walks = [site.periods(numbers) for site, numbers in zip(self.sites, expected, strict=True)]
        # The first walk to end has had `horizon` decisions itself.
        for period in zip(*walks, strict=False):
            found.extend(period)
            sites.extend(np.full(len(times), site) for site, times in enumerate(period))
            if sum(map(len, found)) >= horizon:
                break
        times, numbers = np.concatenate(found), np.concatenate(sites)
        order = np.lexsort((numbers, times))[:horizon]
        return times[order], numbers[order]

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions."""
        return self.at_sites(stream, horizon)[0]
