"""Trials: many runs to their last read-out, and their operating characteristics."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tpstream.experiment.compare import Expecting, make_plan, refuse_if_all_failed, run_study
from tpstream.experiment.result import Study
from tpstream.experiment.worker import Logs, Progress
from tpstream.policies.base import PolicyForm
from tpstream.scenario.policy_choice import request_policies, with_kinds
from tpstream.scenario.scenario import Scenario
from tpstream.trial.characteristics import FIXED, Trial, read_trial

AT_ONCE = 50
"""Runs whose logs are on the disk at one time, if nobody wants to keep them."""


def trial(
    scenario: Scenario,
    policies: Sequence[str | PolicyForm] | None = None,
    *,
    runs: int = 10,
    seed: int | None = None,
    jobs: int = 1,
    logs: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Trial:
    """Run a scenario to its last read-out under every policy, and under fixed randomisation (`uniform`) in any case.

    `logs` keeps the event logs that everything is computed from, and the torn ones of runs that failed. The numbers of
    runs, seeds and cores mean what they do in `compare`. A run that fails is in `failures`; if all fail, that is an
    error.
    """
    drained = scenario if scenario.drain else scenario.with_(drain=True).noted({"drain": True})
    asked = with_kinds(drained, policies, [FIXED])
    if isinstance(progress, Expecting):
        progress.expect(drained.horizon * len(asked) * runs)
    tell = None if progress is None else partial(progress)  # what is to be expected was told
    found = []
    for some in batches(runs, AT_ONCE if logs is None else runs):
        with TemporaryDirectory(prefix="tpstream-trial-") if logs is None else nullcontext(logs) as folder:
            place = Logs(Path(folder), "arrow", "all", force)
            found.append(run_some(drained, asked, some, seed=seed, jobs=jobs, logs=place, progress=tell))
    refuse_if_all_failed([study for study, _ in found])
    return join(found, [one.label for one in request_policies(drained, asked)])


def batches(runs: int, most: int) -> list[range]:
    """The numbers of the runs, so many at most at a time; where none is asked for it is the study that complains."""
    return [range(first, min(first + most, runs)) for first in range(0, runs, most)] if runs > 0 else [range(0)]


def run_some(
    scenario: Scenario,
    policies: Sequence[str | PolicyForm],
    runs: range,
    *,
    seed: int | None,
    jobs: int,
    logs: Logs,
    progress: Progress | None,
) -> tuple[Study, Trial | None]:
    """Some runs, and what the logs of those say that did not fail; the others' are torn."""
    plan = make_plan(
        scenario,
        policies,
        {},
        together=False,
        runs=len(runs),
        first=runs.start,
        seed=seed,
        rounds=(),
        engine="auto",
        logs=logs,
    )
    (study,) = run_study(plan, jobs=jobs, folder=None, executor=None, progress=progress)
    whole = [path for paths in study.logs.values() for path in paths]
    return study, read_trial(whole) if whole else None


def join(found: Sequence[tuple[Study, Trial | None]], policies: Sequence[str]) -> Trial:
    """Runs of the same trial together, with the policies in this order; one that always failed has no outcome."""
    pieces = [piece for _, piece in found if piece is not None]
    failures = [failure for study, _ in found for failure in study.failures]
    return replace(
        pieces[0],
        outcomes={policy: [one for piece in pieces for one in piece.outcomes.get(policy, ())] for policy in policies},
        failures=tuple(sorted(failures, key=lambda failure: (policies.index(failure.policy), failure.run))),
    )
