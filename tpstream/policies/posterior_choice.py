"""What Delayed Thompson and Group Thompson share: the choice of a posterior by their parameters."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, model_validator

from tpstream.policies.base import IndexParameters, SharedPolicy
from tpstream.policies.normal_posterior import PRIOR, VARIANCE, Prior, Variance

Family = Literal["beta", "gauss"]
FAMILY = "the posterior: Beta of binary rewards (beta), or normal (gauss)"


class PosteriorParameters(IndexParameters):
    """Parameters: how ties are broken, and the posterior of a reward's mean."""

    family: Family = Field("beta", description=FAMILY)
    variance: Variance = VARIANCE
    prior: Prior = PRIOR

    @model_validator(mode="after")
    def _check_family(self) -> "PosteriorParameters":
        if self.family == "beta" and (self.prior == "none" or self.variance == "empirical"):
            raise ValueError('family: "beta" has a uniform prior and no variance; leave out prior and variance')
        return self


def choose_posterior(beta: SharedPolicy, normal: SharedPolicy) -> Callable[[Any], SharedPolicy]:
    """The `variant` of a policy: the empirical variance needs no bound, and without a prior no maximum either."""
    signed = replace(normal, needs_positive=False)
    unbounded = replace(signed, needs_maxima=False)

    def variant(parameters: Any) -> SharedPolicy:
        if parameters.family == "beta":
            return beta
        if parameters.variance == "bound":
            return normal
        return signed if parameters.prior == "half" else unbounded

    return variant
