"""What bad plug-ins are made of."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tpstream import TpstreamError, read_log, simulate
from tpstream.engines.engine import EngineName
from tpstream.model.settings import Settings

HORIZON = 1200


def luck() -> float:
    """One, by way of Python's global generator."""
    return float(random.random() < 2)  # noqa: S311 (that it is used is the point)


def luck_of_numpy() -> float:
    """One, by way of NumPy's global generator."""
    return float(np.random.rand() < 2)  # noqa: NPY002 (the same)


class Kind:
    """Builds what it was given, whatever the settings."""

    settings = Settings
    arm_settings = Settings

    def __init__(self, build: Callable[..., Any]) -> None:
        self.build = build


def fail(*_: Any) -> Any:
    """What a plug-in must not do."""
    raise KeyError("lost")


def failure(folder: Path, scenario: Any, policy: Any, engine: EngineName) -> str:
    """How a run fails; its log must be sound up to there."""
    path = folder / "run.jsonl"
    with pytest.raises(TpstreamError) as caught:
        simulate(scenario, policy, engine=engine, log=path)
    log = read_log(path)
    kinds = log.frame()["kind"]
    assert (log.complete, bool((kinds == "pull").sum() > 30), bool((kinds == "closed").any())) == (False, True, True)
    return str(caught.value)
