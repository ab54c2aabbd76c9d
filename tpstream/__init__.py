"""Simulate, record, replay and analyse decisions whose feedback trickles in over time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tpstream.analysis.diagnose import Diagnosis, diagnose
    from tpstream.analysis.log_regret import LogRegret, log_regret
    from tpstream.analysis.trial import Trial, read_trial
    from tpstream.log.reader import Log, read_log, read_logs
    from tpstream.model.errors import TpstreamError
    from tpstream.study.compare import compare
    from tpstream.study.plugins import Plugin, load_plugin
    from tpstream.study.replay import Replay, WhatIf, replay, what_if
    from tpstream.study.result import Study
    from tpstream.study.run import Run, simulate
    from tpstream.study.scenario import Scenario
    from tpstream.study.sweep import Sweep, sweep
    from tpstream.study.trial import trial

__all__ = [
    "Diagnosis",
    "Log",
    "LogRegret",
    "Plugin",
    "Replay",
    "Run",
    "Scenario",
    "Study",
    "Sweep",
    "TpstreamError",
    "Trial",
    "WhatIf",
    "compare",
    "diagnose",
    "load_plugin",
    "log_regret",
    "read_log",
    "read_logs",
    "read_trial",
    "replay",
    "simulate",
    "sweep",
    "trial",
    "what_if",
]

_HOMES = {
    "Diagnosis": "tpstream.analysis.diagnose",
    "Log": "tpstream.log.reader",
    "LogRegret": "tpstream.analysis.log_regret",
    "Plugin": "tpstream.study.plugins",
    "Replay": "tpstream.study.replay",
    "Run": "tpstream.study.run",
    "Scenario": "tpstream.study.scenario",
    "Study": "tpstream.study.result",
    "Sweep": "tpstream.study.sweep",
    "TpstreamError": "tpstream.model.errors",
    "Trial": "tpstream.analysis.trial",
    "WhatIf": "tpstream.study.replay",
    "compare": "tpstream.study.compare",
    "diagnose": "tpstream.analysis.diagnose",
    "load_plugin": "tpstream.study.plugins",
    "log_regret": "tpstream.analysis.log_regret",
    "read_log": "tpstream.log.reader",
    "read_logs": "tpstream.log.reader",
    "read_trial": "tpstream.analysis.trial",
    "replay": "tpstream.study.replay",
    "simulate": "tpstream.study.run",
    "sweep": "tpstream.study.sweep",
    "trial": "tpstream.study.trial",
    "what_if": "tpstream.study.replay",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import tpstream` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tpstream' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
