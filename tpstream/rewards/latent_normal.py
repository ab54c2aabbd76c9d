"""Visits of one patient that go together: correlated standard normal variables, one for each part.

With `correlation` r, each variable is Z_j = sqrt(r) U + sqrt(1 - r) E_j, where U belongs to the patient, so that every
two visits correlate with r. A table gives the correlation of every two visits instead. In both cases Z = L E for the
lower triangular factor L of the correlations, L L' = C, and independent E.
"""

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Discriminator, Field, Tag

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.numba_support import compiled_loop, held_stream

TOLERANCE = 1e-9
"""How far a correlation may be from what is possible by rounding."""
MOST_VISITS = 2_000
"""Parts whose correlations are a table in memory; the time that a pull takes grows with their square."""

Correlation = Annotated[
    Annotated[float, Field(ge=0, le=1), Tag("(number)")]
    | Annotated[list[list[Annotated[float, Field(ge=-1, le=1)]]], Tag("(table)")],
    Discriminator(lambda value: "(table)" if isinstance(value, list) else "(number)"),
]
CORRELATION: Any = Field(
    0.0,
    description="of the normal variables behind the visits of one patient: one number for every two visits, or a table "
    "with a row for each visit",
)


def lower_factor(correlation: Correlation, span: int) -> Floats:
    """L of these correlations; raises ScenarioError if they are none."""
    if span > MOST_VISITS:
        raise ScenarioError(
            f"span: every two of {span:,} visits correlate, which needs a table of that many rows; "
            f"at most {MOST_VISITS:,} visits are possible for these rewards"
        )
    if isinstance(correlation, list):
        if [len(row) for row in correlation] != [span] * span:
            raise ScenarioError(f"rewards.correlation: must have {span} rows of {span} numbers, one for each part")
        matrix = np.array(correlation, dtype=np.float64)
        if not (np.array_equal(matrix, matrix.T) and (matrix.diagonal() == 1).all()):
            raise ScenarioError("rewards.correlation: must be symmetric, with 1 on the diagonal")
    else:
        matrix = np.full((span, span), correlation)
        np.fill_diagonal(matrix, 1.0)
    lower = np.zeros((span, span))
    for part in range(span):  # Cholesky's way, which goes on where a variable is known from those before it
        rest = matrix[part:, part] - lower[part:, :part] @ lower[part, :part]
        if rest[0] > TOLERANCE:
            lower[part:, part] = rest / math.sqrt(rest[0])
        elif rest[0] < -TOLERANCE or np.abs(rest).max() > math.sqrt(TOLERANCE):
            raise ScenarioError(
                f"rewards.correlation: no variables correlate as in row {part + 1}; bring its numbers closer to 0"
            )
    return lower


def correlated_normals(stream: np.random.Generator, pulls: int, lower: Floats) -> Floats:
    """Z of the next pulls, of shape (pulls, span)."""
    drawn = stream.standard_normal((pulls, len(lower)))
    found = np.zeros_like(drawn)
    for part in range(len(lower)):  # in this order, so that compiled code gets the same bits
        found[:, part:] += drawn[:, part, np.newaxis] * lower[part:, part]
    return found


@compiled_loop
def fill_correlated(held: Any, out: Floats, lower: Floats) -> None:
    """Write what `correlated_normals` would return, from the same draws."""
    stream, span = held_stream(held), out.shape[1]
    for pull in range(out.shape[0]):
        for part in range(span):
            out[pull, part] = stream.standard_normal()
        for part in range(span - 1, -1, -1):  # the draws of later parts are no longer needed
            total = 0.0
            for earlier in range(part + 1):
                total += out[pull, earlier] * lower[part, earlier]
            out[pull, part] = total
