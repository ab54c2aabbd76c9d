"""Simulate, record, replay and analyse decisions whose feedback arrives in parts, over time."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors read; the table below says the same to Python
    from tpstream.analysis.adaptive import (
        AdaptiveEstimates as AdaptiveEstimates,
        adaptive_estimates as adaptive_estimates,
    )
    from tpstream.analysis.answer import Answer as Answer, answer as answer
    from tpstream.analysis.diagnose import Diagnosis as Diagnosis, diagnose as diagnose
    from tpstream.analysis.log_regret import LogRegret as LogRegret, log_regret as log_regret
    from tpstream.experiment.compare import compare as compare
    from tpstream.experiment.league import League as League, league as league
    from tpstream.experiment.result import Study as Study
    from tpstream.experiment.sweep import Sweep as Sweep, sweep as sweep
    from tpstream.log.check import LogCheck as LogCheck, check_log as check_log
    from tpstream.log.imports.importing import import_log as import_log
    from tpstream.log.reader import Log as Log, read_log as read_log, read_logs as read_logs
    from tpstream.model.errors import (
        DeciderError as DeciderError,
        ServiceError as ServiceError,
        TpstreamError as TpstreamError,
    )
    from tpstream.model.numba_support import compiled as compiled
    from tpstream.policies.base import (
        Parameters as Parameters,
        PythonPolicy as PythonPolicy,
        SharedPolicy as SharedPolicy,
    )
    from tpstream.policies.path_prior import PathPrior as PathPrior, fit_prior as fit_prior
    from tpstream.replay.randomisation import (
        RandomisationTest as RandomisationTest,
        randomisation_test as randomisation_test,
    )
    from tpstream.replay.replay import Replay as Replay, replay as replay
    from tpstream.replay.what_if import WhatIf as WhatIf, what_if as what_if
    from tpstream.run.open_world import OpenWorld as OpenWorld, open_world as open_world
    from tpstream.run.simulate import Run as Run, simulate as simulate
    from tpstream.scenario.plugins import Plugin as Plugin, load_plugin as load_plugin
    from tpstream.scenario.scenario import Scenario as Scenario
    from tpstream.serve.client import Client as Client
    from tpstream.serve.decider import Decider as Decider
    from tpstream.trial.calibrate import Calibration as Calibration, calibrate as calibrate
    from tpstream.trial.characteristics import Trial as Trial
    from tpstream.trial.designs import OperatingCharacteristics as OperatingCharacteristics
    from tpstream.trial.from_runs import read_trial as read_trial
    from tpstream.trial.stored import read_study as read_study
    from tpstream.trial.tell import tell_trial as tell_trial
    from tpstream.trial.trial import trial as trial
    from tpstream.trial.truths import Truths as Truths
    from tpstream.twin.evaluate import evaluate as evaluate
    from tpstream.twin.evaluation import Evaluation as Evaluation
    from tpstream.twin.fit import Twin as Twin, fit as fit

    __version__: str

__all__ = [
    "AdaptiveEstimates",
    "Answer",
    "Calibration",
    "Client",
    "Decider",
    "DeciderError",
    "Diagnosis",
    "Evaluation",
    "League",
    "Log",
    "LogCheck",
    "LogRegret",
    "OpenWorld",
    "OperatingCharacteristics",
    "Parameters",
    "PathPrior",
    "Plugin",
    "PythonPolicy",
    "RandomisationTest",
    "Replay",
    "Run",
    "Scenario",
    "ServiceError",
    "SharedPolicy",
    "Study",
    "Sweep",
    "TpstreamError",
    "Trial",
    "Truths",
    "Twin",
    "WhatIf",
    "adaptive_estimates",
    "answer",
    "calibrate",
    "check_log",
    "compare",
    "compiled",
    "diagnose",
    "evaluate",
    "fit",
    "fit_prior",
    "import_log",
    "league",
    "load_plugin",
    "log_regret",
    "open_world",
    "randomisation_test",
    "read_log",
    "read_logs",
    "read_study",
    "read_trial",
    "replay",
    "simulate",
    "sweep",
    "tell_trial",
    "trial",
    "what_if",
]
"""The public names, written out for tools that read the source without running it; a test compares with _PUBLIC."""
_PUBLIC = {
    "analysis.adaptive": ("AdaptiveEstimates", "adaptive_estimates"),
    "analysis.answer": ("Answer", "answer"),
    "analysis.diagnose": ("Diagnosis", "diagnose"),
    "analysis.log_regret": ("LogRegret", "log_regret"),
    "experiment.compare": ("compare",),
    "experiment.league": ("League", "league"),
    "experiment.result": ("Study",),
    "experiment.sweep": ("Sweep", "sweep"),
    "log.check": ("LogCheck", "check_log"),
    "log.imports.importing": ("import_log",),
    "log.reader": ("Log", "read_log", "read_logs"),
    "model.errors": ("DeciderError", "ServiceError", "TpstreamError"),
    "model.numba_support": ("compiled",),
    "policies.base": ("Parameters", "PythonPolicy", "SharedPolicy"),
    "policies.path_prior": ("PathPrior", "fit_prior"),
    "replay.randomisation": ("RandomisationTest", "randomisation_test"),
    "replay.replay": ("Replay", "replay"),
    "replay.what_if": ("WhatIf", "what_if"),
    "run.open_world": ("OpenWorld", "open_world"),
    "run.simulate": ("Run", "simulate"),
    "scenario.plugins": ("Plugin", "load_plugin"),
    "scenario.scenario": ("Scenario",),
    "serve.client": ("Client",),
    "serve.decider": ("Decider",),
    "trial.calibrate": ("Calibration", "calibrate"),
    "trial.characteristics": ("Trial",),
    "trial.designs": ("OperatingCharacteristics",),
    "trial.from_runs": ("read_trial",),
    "trial.stored": ("read_study",),
    "trial.tell": ("tell_trial",),
    "trial.trial": ("trial",),
    "trial.truths": ("Truths",),
    "twin.evaluate": ("evaluate",),
    "twin.evaluation": ("Evaluation",),
    "twin.fit": ("Twin", "fit"),
}
"""The public names, by the module in which they are defined."""
_MODULES = {name: f"{__name__}.{module}" for module, names in _PUBLIC.items() for name in names}


class _Package(ModuleType):
    """The type of this package; its `replay` and `trial` are the functions, not the folders of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        # The import system sets every imported subpackage as an attribute of its parent, which would hide a function.
        if not (name in _MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import tpstream` costs nothing."""
    if name == "__version__":
        return import_module(f"{__name__}.model.notes").own_version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
