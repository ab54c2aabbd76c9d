"""Trials: many runs to their last read-out, and their operating characteristics."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tpstream.analysis.trial import FIXED, Trial, read_trial
from tpstream.policies.form import PolicyForm
from tpstream.study.asked import ask, with_kinds
from tpstream.study.compare import compare
from tpstream.study.conduct import Expecting
from tpstream.study.piece import Progress
from tpstream.study.scenario import Scenario

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

    `logs` keeps the event logs that everything is computed from. The numbers of runs, seeds and cores mean what they do
    in `compare`.
    """
    drained = scenario if scenario.drain else scenario.with_(drain=True)
    asked = with_kinds(drained, policies, [FIXED])
    if isinstance(progress, Expecting):
        progress.expect(drained.horizon * len(asked) * runs)
    tell = None if progress is None else partial(progress)  # what is to be expected was told
    if logs is not None:
        compare(
            drained, asked, runs=runs, seed=seed, jobs=jobs, logs=logs, log_format="arrow", force=force, progress=tell
        )
        return read_trial(logs)
    pieces = []
    for first in range(0, max(runs, 1), AT_ONCE):
        with TemporaryDirectory(prefix="tpstream-trial-") as folder:
            some = min(AT_ONCE, runs - first)
            compare(
                drained,
                asked,
                runs=some,
                first=first,
                seed=seed,
                jobs=jobs,
                logs=folder,
                log_format="arrow",
                progress=tell,
            )
            pieces.append(read_trial(folder))
    return join(pieces, [one.label for one in ask(drained, asked)])


def join(pieces: Sequence[Trial], policies: Sequence[str]) -> Trial:
    """Runs of the same trial together, with the policies in this order."""
    one = pieces[0]
    outcomes = {policy: [outcome for piece in pieces for outcome in piece.outcomes[policy]] for policy in policies}
    return Trial(one.name, one.arms, one.means, one.horizon, outcomes)
