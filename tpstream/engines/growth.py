"""Growth: arrays that get more rows."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Row = TypeVar("Row", bound=np.generic)


def longer(rows: NDArray[Row], more: int) -> NDArray[Row]:
    """The array with more rows, of zeros."""
    return np.concatenate([rows, np.zeros((more, *rows.shape[1:]), dtype=rows.dtype)])


def with_longer(fields: Any, names: tuple[str, ...], rows: int) -> Any:
    """A named tuple in which these fields have that many rows."""
    return fields._replace(**{name: longer(getattr(fields, name), rows - len(getattr(fields, name))) for name in names})
