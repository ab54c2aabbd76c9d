"""The problem: what a policy is told about the world before the first round."""

from dataclasses import dataclass, replace

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError


@dataclass(frozen=True, eq=False)
class Problem:
    """Arms, span and horizon; `means` is None unless a policy is entitled to them."""

    names: tuple[str, ...]
    maxima: Floats
    span: int
    horizon: int
    groups: int | None
    means: Floats | None = None

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return len(self.names)

    def without_means(self) -> "Problem":
        """The problem as an ordinary policy sees it."""
        return replace(self, means=None)

    def assumed_groups(self, groups: int | None) -> int:
        """The number of groups a policy works with: its own, else the environment's."""
        chosen = self.groups if groups is None else groups
        if chosen is None:
            raise PolicyError("groups are not known for these rewards; give the policy its own, e.g. groups = 1")
        if chosen < 1 or self.span % chosen:
            divisors = [divisor for divisor in range(1, self.span + 1) if self.span % divisor == 0]
            raise PolicyError(
                f"groups = {chosen} does not divide the span {self.span}; use one of {', '.join(map(str, divisors))}"
            )
        return chosen
