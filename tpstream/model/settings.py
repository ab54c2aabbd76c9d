"""The base classes of the keys that a kind of model reads from a scenario, and of the scenario's tables."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """The base class of the keys that a reward model, delay, arrival process or sink reads from a scenario.

    Unknown keys are refused, numbers must be finite, and values cannot be changed later. The first line of a subclass's
    docstring is what `tpstream list` shows.

    Raises
    ------
    pydantic.ValidationError
        If a value is not allowed or a key is unknown.

    Examples
    --------
    >>> class PostOfficeSettings(Settings):
    ...     days: float = 2.0
    >>> PostOfficeSettings(days=3).days
    3.0
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Table(BaseModel):
    """A table of a scenario: unknown keys are refused, and values cannot be changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)
