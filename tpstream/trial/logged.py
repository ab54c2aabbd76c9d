"""The operating characteristics of a design with looks from the logs of its trials."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpstream.analysis.logs import WorldLogs
from tpstream.analysis.regret import PullCounts
from tpstream.experiment.runs import TrialSummary
from tpstream.log.reader import Log
from tpstream.looks.design import Design
from tpstream.model.errors import LogError
from tpstream.model.events import Kind
from tpstream.replay.looks import LookAudit
from tpstream.replay.replay import rebuild, whole_rounds
from tpstream.run.loop import counted_rounds
from tpstream.scenario.scenario import Scenario
from tpstream.trial.decisions import SimulatedTrials, stack_measures
from tpstream.trial.designs import DesignStory, OperatingCharacteristics
from tpstream.trial.outcomes import refuse_unfinished
from tpstream.trial.truths import GIVEN


def read_design(gathered: WorldLogs) -> OperatingCharacteristics:
    """The operating characteristics of the design of these logs; each policy is a design of its own."""
    header, several = gathered.header, len(gathered.logs) > 1
    logs = [log for of_policy in gathered.logs.values() for log in of_policy]
    for log in logs:
        refuse_unfinished(log)
        if log.header.seed != header.seed:
            raise LogError(f"{log.path}: has the seed {log.header.seed}, another {header.seed}; give logs of one seed")
    scenario, design = _design(logs[0])
    summary = TrialSummary.of_scenario(scenario, design)
    trials: list[SimulatedTrials] = []
    stories: dict[str, DesignStory] = {}
    for policy, of_policy in gathered.logs.items():
        name = f"{gathered.name}: {policy}" if several else gathered.name
        runs = np.array([log.header.run for log in of_policy])
        measures = (_measures(log, scenario, design) for log in of_policy)
        comparison = summary.comparison(design.names)
        trials.append(stack_measures(name, GIVEN, comparison, design.horizon, runs, measures))
        scenarios = {GIVEN: scenario}
        stories[name] = DesignStory(design.horizon, summary.rules, scenario.time_unit, None, scenarios, policy)
    return OperatingCharacteristics(trials, stories, header.seed)


def _design(log: Log) -> tuple[Scenario, Design]:
    """The scenario of a log's header, and its design."""
    scenario, reason = rebuild(log, ".")
    design = None if scenario is None else scenario.design()
    if scenario is None or design is None:
        raise LogError(f"{log.path}: its design cannot be built again: {reason}; run the trial again")
    return scenario, design


def _measures(log: Log, scenario: Scenario, design: Design) -> dict[str, NDArray[Any]]:
    """The measures of one trial: its looks are held again, and compared with those of the log."""
    header = log.header
    audit = LookAudit(design, scenario.build_world(header.seed, header.run))
    pulls = PullCounts(design.arms, counted_rounds(design.horizon, ()))
    for events in audit.checked(whole_rounds(log.batches()), str(log.path), complete=True):
        pulls.add(events.arm[events.kind == Kind.PULL])
    return {**audit.monitor.values(), "pulls": pulls.counts()}
