"""Comparisons: several policies, many runs, the same random numbers for all."""

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from tpstream.analysis.value import CLAIRVOYANT, WAITING
from tpstream.engines.selection import EngineName
from tpstream.log.header import Detail
from tpstream.policies.form import PolicyForm
from tpstream.study.asked import with_kinds
from tpstream.study.conduct import conduct, make_plan, refuse_if_all_failed
from tpstream.study.crew import default_jobs
from tpstream.study.export import export
from tpstream.study.piece import Logs, Progress
from tpstream.study.result import Study
from tpstream.study.scenario import Scenario

__all__ = ["compare", "default_jobs"]


def compare(
    scenario: Scenario,
    policies: Sequence[str | PolicyForm] | None = None,
    *,
    runs: int = 10,
    first: int = 0,
    seed: int | None = None,
    jobs: int = 1,
    engine: EngineName = "auto",
    rounds: Sequence[int] = (),
    logs: str | Path | None = None,
    log_format: str = "jsonl",
    log_detail: Detail = "all",
    force: bool = False,
    sinks: Sequence[str] = (),
    baselines: bool = False,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Study:
    """Run every policy (default: those of the scenario) `runs` times on common random numbers.

    `jobs` is the number of cores to use; a program needs the usual guard of its main part for it. Instead, `executor`
    is any executor of pieces, e.g. a Dask client's. `folder` keeps every finished run, so that the same call goes on
    where it was interrupted, and gets the result files. `rounds` are rounds, besides the last, at which results are
    given; `first` is the number of the first run. `logs` is the folder in which every run leaves its event log, in
    the form of `log_format` (jsonl or arrow) and with as much as `log_detail` says (see `simulate`); `sinks`, as in
    "name:key=value", hear every run, too. `baselines` adds the clairvoyant and the waiting policy (`ucb1` and
    `delayed-ucb1`) where they are missing, so that `Study.value` can tell what partial information is worth. A run
    that fails is in `failures`; if all fail, that is an error.
    """
    if baselines:
        policies = with_kinds(scenario, policies, [CLAIRVOYANT, WAITING])
    place = None if folder is None else Path(folder)
    plan = make_plan(
        scenario,
        policies,
        {},
        together=False,
        runs=runs,
        first=first,
        seed=seed,
        rounds=rounds,
        engine=engine,
        logs=None if logs is None else Logs(Path(logs), log_format, log_detail, force),
        sinks=sinks,
    )
    (study,) = conduct(plan, jobs=jobs, folder=place, executor=executor, progress=progress)
    refuse_if_all_failed([study])
    if place is not None:
        export(place, study)
    return study
