"""What a model of a user is told about its scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import numpy as np

from tpstream.model.arrays import Floats


@dataclass(frozen=True)
class BuildContext:
    """What a model is told about its scenario when it is built.

    Parameters
    ----------
    names : sequence of str
        The names of the arms.
    span : int
        How many parts a pull pays.
    folder : Path
        Where relative file names start.
    horizon : int or None
        The number of rounds, where it is known.
    resources : mapping of str to int
        The capacities of the resources that the scenario declares.
    visits : sequence of float
        The nominal times of the parts after the pull; empty: 0, 1, ..., span - 1.
    time_unit : str or None
        What a unit of time is, such as "day".
    start : date or None
        The day that begins at time 0.
    maxima : sequence of float
        The largest cumulative reward of each arm, for delays that depend on rewards; empty: not known.

    Examples
    --------
    >>> BuildContext(["low", "high"], span=6, folder=Path("."), resources={"nurse": 2}).resources["nurse"]
    2
    """

    names: Sequence[str]
    span: int
    folder: Path
    horizon: int | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    visits: Sequence[float] = ()
    time_unit: str | None = None
    start: date | None = None
    maxima: Sequence[float] = ()

    @property
    def nominal(self) -> Floats:
        """When the parts are due after the pull."""
        return np.array(self.visits or range(self.span), dtype=np.float64)
