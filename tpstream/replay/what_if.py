"""What if another policy had decided? The world of a log is run again under that one, on the same random numbers."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tpstream.analysis.regret import regret_by_round
from tpstream.figures.style import policy_colours
from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.display import Curve, Displayed, Summary, counted, number_text
from tpstream.model.errors import LogError
from tpstream.model.events import Kind
from tpstream.replay.audit import audited
from tpstream.replay.replay import find_policy_of, open_log, rebuild
from tpstream.run.simulate import simulate
from tpstream.scenario.policy_choice import PolicySpec


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf(Displayed):
    """Another policy in the world of a log, on the same random numbers, next to the logged one.

    Get one from `what_if`, which has an example.

    Parameters
    ----------
    log, policy, other
        The log's file, the label of its policy and that of the other.
    arms, other_arms
        The arm of every round, of the logged policy and of the other.
    regret, other_regret
        The cumulative pseudo-regret after every round, of the logged policy and of the other.
    notes
        What a reader of the result should know, such as where the log is torn.
    """

    log: str
    policy: str
    other: str
    arms: Ints
    other_arms: Ints
    regret: Floats
    other_regret: Floats
    notes: tuple[str, ...]

    @property
    def rounds(self) -> int:
        """The number of rounds that are compared."""
        return len(self.arms)

    @property
    def difference(self) -> float:
        """The other's final regret minus the logged one's: negative if the other would have done better."""
        return float(self.other_regret[-1] - self.regret[-1]) if self.rounds else 0.0

    @property
    def parting(self) -> int | None:
        """The first round in which they decide differently."""
        apart = np.flatnonzero(self.arms != self.other_arms)
        return int(apart[0]) + 1 if len(apart) else None

    @property
    def common(self) -> float:
        """The share of rounds in which they decide for the same arm."""
        return float(np.mean(self.arms == self.other_arms)) if self.rounds else 1.0

    def frame(self) -> pd.DataFrame:
        """The comparison as a DataFrame: both policies round by round."""
        columns = {
            "round": np.arange(1, self.rounds + 1),
            "arm": self.arms,
            "other_arm": self.other_arms,
            "regret": self.regret,
            "other_regret": self.other_regret,
            "difference": self.other_regret - self.regret,
        }
        return pd.DataFrame(columns)

    def _summary(self) -> Summary:
        curves, rounds = {self.policy: self.regret, self.other: self.other_regret}, np.arange(1, self.rounds + 1)
        finals = {policy: number_text(curve[-1]) if self.rounds else "none" for policy, curve in curves.items()}
        colours = policy_colours(curves)
        parted = "all decisions are equal" if self.parting is None else f"apart from round {self.parting:,} on"
        return Summary(
            f"What if {self.other} had decided instead of {self.policy}: {counted(self.rounds, 'round')}",
            [f"log {self.log}", f"the same arm in {self.common:.0%} of the rounds", parted],
            [{"policy": policy, "regret": final} for policy, final in finals.items()],
            self.notes,
            {policy: Curve(rounds, curve, colours[policy]) for policy, curve in curves.items()},
            ("round", "pseudo-regret"),
        )


def what_if(log: Log | str | Path, policy: PolicySpec, *, folder: str | Path = ".") -> WhatIf:
    """Run another policy in the world of a log, where the n-th pull of an arm pays the same, and compare both.

    The log is audited, its values too: otherwise the random numbers would not be the same. Of a torn log the rounds up
    to the tear are compared.

    Parameters
    ----------
    log
        A log that holds every event: a file, or a log that is open already.
    policy
        The other policy: a name, a dictionary or an object, as in `simulate`.
    folder
        Where the file names in the header's scenario start.

    Returns
    -------
    WhatIf
        The decisions and the regret of both policies.

    Raises
    ------
    LogError
        If the log cannot be read, holds only the pulls or fails the audit, or if its world cannot be built again.
    PolicyError
        If the policy does not fit the world of the log.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, simulate, what_if
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.jsonl"
    ...     run = simulate(Scenario.load("setting-1").with_(horizon=20), "uniform", log=path)
    ...     result = what_if(path, "oracle")
    >>> result.rounds, float(result.other_regret[-1]), result.difference < 0
    (20, 0.0, True)
    """
    log = open_log(log, "what-if")
    header, choice = log.header, find_policy_of(log, policy)
    scenario, reason = rebuild(log, folder)
    if scenario is None:
        raise LogError(
            f"{log.path}: its world cannot be run again: {reason}; `tpstream replay --check` asks what the "
            f"policy decides on the events as they are"
        )
    batches = audited(log, scenario.build_world(header.seed, header.run))
    arms = np.concatenate([np.empty(0, np.int64), *(events.arm[events.kind == Kind.PULL] for events in batches)])
    if not len(arms):
        raise LogError(f"{log.path}: holds no decision; there is nothing to compare")
    other = simulate(scenario, choice, seed=header.seed, run=header.run).arms[: len(arms)]
    notes = [] if log.truncated is None else [log.truncated]
    if len(other) < len(arms):
        notes.append(
            f"under {choice.label} the trial stops after {counted(len(other), 'decision')}; compared up to there"
        )
        arms = arms[: len(other)]
    means = header.known_means()
    return WhatIf(
        log=str(log.path),
        policy=header.policy,
        other=choice.label,
        arms=arms,
        other_arms=other,
        regret=regret_by_round(arms, means),
        other_regret=regret_by_round(other, means),
        notes=tuple(notes),
    )
