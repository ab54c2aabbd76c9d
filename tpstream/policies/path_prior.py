"""What is believed about the path of an arm's rewards before its first pull, by hand, from a file, or from history."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tpstream.model.arrays import Floats
from tpstream.model.display import counted
from tpstream.model.errors import PolicyError
from tpstream.model.whole_files import read_whole

TOLERANCE = 1e-8
"""How far below 0 rounding may bring the smallest eigenvalue of a covariance, as a share of the largest."""


class PathPrior(BaseModel):
    """A normal prior of the mean of every part (or group of parts) of an arm, and the noise of a single pull.

    Parameters
    ----------
    mean : sequence of float
        The expectation of the mean of each part.
    covariance : matrix of float
        How the arms' means vary around it: a square matrix with a row for each part.
    noise : matrix of float
        The covariance of the parts of one pull around the means of its arm.

    Raises
    ------
    pydantic.ValidationError
        If sizes differ, or a matrix is no covariance.

    Examples
    --------
    >>> prior = PathPrior(mean=(0.5, 0.25), covariance=((0.04, 0.02), (0.02, 0.04)), noise=((0.25, 0.0), (0.0, 0.25)))
    >>> prior.sums()
    (0.75, 0.12, 0.5)
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    mean: tuple[float, ...] = Field(description="the expectation of the mean of each part")
    covariance: tuple[tuple[float, ...], ...] = Field(
        description="how the arms' means vary around it: a square matrix with a row for each part"
    )
    noise: tuple[tuple[float, ...], ...] = Field(
        description="the covariance of the parts of one pull around the means of its arm"
    )

    @model_validator(mode="after")
    def _check_matrices(self) -> "PathPrior":
        size = len(self.mean)
        for name in ("covariance", "noise"):
            rows = getattr(self, name)
            if len(rows) != size or any(len(row) != size for row in rows):
                raise ValueError(f"{name}: must have {size} rows of {size} numbers, as many as there are means")
            matrix = np.array(rows)
            values = np.linalg.eigvalsh(matrix) if np.allclose(matrix, matrix.T) else np.array([-1.0, 0.0])
            if values[0] < -TOLERANCE * max(values[-1], 1e-300):
                raise ValueError(f"{name}: is no covariance: it must be symmetric with eigenvalues of at least 0")
        return self

    def sums(self) -> tuple[float, float, float]:
        """Mean, variance and noise of the cumulative reward: the sums over all parts."""
        matrices = np.array(self.covariance), np.array(self.noise)
        return float(np.sum(self.mean)), float(matrices[0].sum()), float(matrices[1].sum())

    def save(self, path: str | Path) -> None:
        """Write the prior to a file, as JSON; a scenario's `prior = "FILE"` reads it."""
        Path(path).write_text(json.dumps(self.model_dump(mode="json")) + "\n")


def load_prior(path: Path) -> PathPrior:
    """The prior of a file that `PathPrior.save` wrote, or that was written by hand."""
    try:
        return PathPrior.model_validate_json(read_whole(path))
    except OSError as error:
        raise PolicyError(
            f"prior: {path} cannot be read: {error.strerror}; write it with fit_prior(...).save"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise PolicyError(f"prior: {path}: {where}: {first['msg']}; correct it") from None


def fit_prior(traces: Mapping[str, Floats] | Iterable[Floats], *, groups: int | None = None) -> PathPrior:
    """Fit a prior to the recorded pulls of other arms (McDonald et al. 2023).

    The mean is the mean over arms of their mean paths, the covariance that of these paths, and the noise the mean over
    arms of the covariance of their pulls.

    Parameters
    ----------
    traces : mapping or iterable of arrays
        For each arm the parts of its pulls, of shape (pulls, span). They are read one by one, so that a generator
        needs the memory of a single arm.
    groups : int, optional
        Add up the parts in this many equal groups, which are the coordinates then; by default every part is one.

    Returns
    -------
    PathPrior
        The prior, which `progressive-thompson` takes as its parameter `prior`.

    Raises
    ------
    PolicyError
        If there are fewer than two arms, an arm has fewer than two pulls, or the shapes do not fit.

    Examples
    --------
    >>> stream = np.random.default_rng(1)
    >>> arms = [level + 0.1 * stream.normal(size=(50, 4)) for level in (1.0, 2.0, 3.0)]
    >>> [round(number, 1) for number in fit_prior(arms, groups=2).mean]
    [4.0, 4.0]
    """
    means: list[Floats] = []
    noises: list[Floats] = []
    for table in traces.values() if isinstance(traces, Mapping) else traces:
        grouped = _grouped(np.asarray(table, dtype=np.float64), groups)
        if means and len(grouped[0]) != len(means[0]):
            raise PolicyError("fit_prior: every arm must have the same number of parts; leave out others")
        means.append(grouped.mean(axis=0))
        noises.append(np.atleast_2d(np.cov(grouped, rowvar=False)))
    if len(means) < 2:  # noqa: PLR2004 (a covariance needs two)
        raise PolicyError(f"fit_prior: {counted(len(means), 'arm')} cannot tell how arms differ; give at least 2")
    noise, covariance = np.mean(noises, axis=0), np.atleast_2d(np.cov(means, rowvar=False))
    return PathPrior(
        mean=tuple(np.mean(means, axis=0).tolist()),
        covariance=tuple(map(tuple, ((covariance + covariance.T) / 2).tolist())),
        noise=tuple(map(tuple, ((noise + noise.T) / 2).tolist())),
    )


def _grouped(table: Floats, groups: int | None) -> Floats:
    """The pulls of one arm, checked, with the sums of their groups as columns."""
    if table.ndim != 2 or len(table) < 2:  # noqa: PLR2004
        raise PolicyError("fit_prior: every arm needs a table of at least 2 pulls, one in each row; leave out others")
    if not np.isfinite(table).all():
        raise PolicyError("fit_prior: a part is missing or infinite; leave out pulls that are not complete")
    span = table.shape[1]
    if span % (groups or span):
        raise PolicyError(f"fit_prior: groups = {groups} does not divide the span {span}; use a divisor of it")
    summed: Floats = table.reshape(len(table), groups or span, -1).sum(axis=2)
    return summed


def default_prior(groups: int) -> PathPrior:
    """A guess, for a maximum of 1: half of it is expected, and the groups of an arm are alike.

    The mean of a group is 1 / (2 alpha) with a standard deviation of 1 / (4 alpha) and a correlation of 0.5 between
    groups; a single pull varies by (1 / 2 alpha)^2 in each of them, independently.
    """
    covariance = (0.5 + 0.5 * np.eye(groups)) / (4.0 * groups) ** 2
    noise = np.eye(groups) / (2.0 * groups) ** 2
    return PathPrior(
        mean=(0.5 / groups,) * groups,
        covariance=tuple(map(tuple, covariance.tolist())),
        noise=tuple(map(tuple, noise.tolist())),
    )
