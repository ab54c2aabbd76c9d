"""What the settings of all reward models share."""

from pydantic import BaseModel, ConfigDict

from tpstream.model.errors import ScenarioError


class Settings(BaseModel):
    """Keys of a scenario: none unknown, none changed later, every number finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def check_groups(groups: int, span: int) -> None:
    """Raise unless the span can be cut into that many equal groups."""
    if span % groups:
        divisors = ", ".join(str(divisor) for divisor in range(1, span + 1) if span % divisor == 0)
        raise ScenarioError(f"rewards.groups: {groups} does not divide the span {span}; use one of {divisors}")
