"""Simulate, record, replay and analyse decisions whose feedback trickles in over time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tpstream.model.errors import TpstreamError
    from tpstream.study.compare import compare
    from tpstream.study.result import Study
    from tpstream.study.run import Run, simulate
    from tpstream.study.scenario import Scenario

__all__ = ["Run", "Scenario", "Study", "TpstreamError", "compare", "simulate"]

_HOMES = {
    "Run": "tpstream.study.run",
    "Scenario": "tpstream.study.scenario",
    "Study": "tpstream.study.result",
    "TpstreamError": "tpstream.model.errors",
    "compare": "tpstream.study.compare",
    "simulate": "tpstream.study.run",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import tpstream` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tpstream' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
