"""What reward models with groups share."""

from tpstream.model.errors import ScenarioError


def check_groups(groups: int, span: int) -> None:
    """Raise unless the span can be cut into that many equal groups."""
    if span % groups:
        divisors = ", ".join(str(divisor) for divisor in range(1, span + 1) if span % divisor == 0)
        raise ScenarioError(f"rewards.groups: {groups} does not divide the span {span}; use one of {divisors}")
