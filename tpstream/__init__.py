"""Simulate, record, replay and analyse decisions whose feedback trickles in over time."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tpstream.analysis.diagnose import Diagnosis, diagnose
    from tpstream.analysis.log_regret import LogRegret, log_regret
    from tpstream.experiment.compare import compare
    from tpstream.experiment.result import Study
    from tpstream.experiment.sweep import Sweep, sweep
    from tpstream.log.reader import Log, read_log, read_logs
    from tpstream.model.errors import TpstreamError
    from tpstream.replay.replay import Replay, WhatIf, replay, what_if
    from tpstream.run.simulate import Run, simulate
    from tpstream.scenario.plugins import Plugin, load_plugin
    from tpstream.scenario.scenario import Scenario
    from tpstream.trial.characteristics import Trial, read_trial
    from tpstream.trial.trial import trial

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
    "Plugin": "tpstream.scenario.plugins",
    "Replay": "tpstream.replay.replay",
    "Run": "tpstream.run.simulate",
    "Scenario": "tpstream.scenario.scenario",
    "Study": "tpstream.experiment.result",
    "Sweep": "tpstream.experiment.sweep",
    "TpstreamError": "tpstream.model.errors",
    "Trial": "tpstream.trial.characteristics",
    "WhatIf": "tpstream.replay.replay",
    "compare": "tpstream.experiment.compare",
    "diagnose": "tpstream.analysis.diagnose",
    "load_plugin": "tpstream.scenario.plugins",
    "log_regret": "tpstream.analysis.log_regret",
    "read_log": "tpstream.log.reader",
    "read_logs": "tpstream.log.reader",
    "read_trial": "tpstream.trial.characteristics",
    "replay": "tpstream.replay.replay",
    "simulate": "tpstream.run.simulate",
    "sweep": "tpstream.experiment.sweep",
    "trial": "tpstream.trial.trial",
    "what_if": "tpstream.replay.replay",
}


class _Package(ModuleType):
    """This package; `tpstream.replay` and `tpstream.trial` are the functions, not the folders of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        # The import system sets every imported subpackage as an attribute of its parent, which would hide a function.
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import tpstream` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tpstream' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
