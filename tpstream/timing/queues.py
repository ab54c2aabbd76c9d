"""Queues: a part waits for a shared resource, such as a laboratory, and is served."""

from typing import Literal, Self

import numpy as np
from pydantic import Field, NonNegativeFloat

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.interfaces import BuildContext
from tpstream.timing.kinds import TimingSettings


class LabQueue(TimingSettings):
    """Parts queue for a declared resource, first come first served; serving takes `mean` time, 0 is no delay."""

    resource: str = Field(min_length=1, description="name in [resources] of what serves the parts")
    mean: NonNegativeFloat = Field(description="mean time that serving a part takes")
    service: Literal["exponential", "constant"] = Field(
        "exponential", description="distribution of the time that serving a part takes"
    )

    @property
    def absent(self) -> bool:
        """Whether nothing has to wait: serving takes no time."""
        return self.mean == 0

    def build(self, context: BuildContext) -> Self:
        """The same; a resource that the scenario does not declare is refused."""
        if self.resource not in context.resources:
            near = did_you_mean(self.resource, context.resources)
            raise ScenarioError(
                f"resource: there is no resource {self.resource!r}{near}; "
                f"declare it, as in [resources] {self.resource} = 1"
            )
        return self

    def service_times(self, stream: np.random.Generator, parts: int) -> Floats:
        """How long serving each of the next parts takes; a constant is not drawn."""
        return stream.exponential(self.mean, parts) if self.service == "exponential" else np.full(parts, self.mean)
