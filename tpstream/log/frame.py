"""Logs as tables."""

from typing import Any

import numpy as np
import pandas as pd

from tpstream.log.columns import Columns
from tpstream.model.events import NAMES, Kind


def frame(columns: Columns) -> pd.DataFrame:
    """Columns as a pandas DataFrame; kinds are a category, indices an array for each pull and None elsewhere."""
    return pd.DataFrame({name: _column(name, columns) for name in columns})


def _column(name: str, columns: Columns) -> Any:
    if name == "kind":
        return pd.Categorical.from_codes(columns["kind"].astype(np.intp), categories=list(NAMES))  # type: ignore[call-overload]
    if name == "indices":
        vectors = iter(columns["indices"])
        return [next(vectors) if kind == Kind.PULL else None for kind in columns["kind"].tolist()]
    return columns[name]
