"""Make docs/evaluate.md: how often the intervals of `tpstream evaluate` contain the truth, and those of others.

    python docs/evaluate_tables.py [LOGS [WORLD]...]

The worlds are those of tests/support/logged_worlds.py, whose truth is known, numbered from 0; rows of others than those
that are named are kept. 2,000 logs of each take twenty minutes of a processor that has nothing else to do.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from logged_worlds import CUSTOMERS, REFUNDS, SHARES, LoggedWorld

from tpstream import evaluate
from tpstream.twin.evaluation import LOGGED

WORLDS = tuple(
    LoggedWorld(name, keys, share)
    for name, keys in (("customers", CUSTOMERS), ("refunds", REFUNDS))
    for share in (0.3, 0.6)
)
ALLOCATION = {"A": 0.1, "B": 0.3, "C": 0.6}
LEARNERS = ("epsilon-greedy", "group-thompson:variance=empirical,prior=none,groups=1")
LEARNED = WORLDS[1:3]
"""Worlds in which learning policies are evaluated, which takes longer."""
NORMAL = 1.96
PAGE, TEMPLATE = Path(__file__).with_name("evaluate.md"), Path(__file__).with_name("evaluate_template.txt")


@dataclass(frozen=True)
class Coverage:
    """How an estimator did over many logs; the second half is about open decisions that are taken as finished."""

    world: LoggedWorld
    policy: str
    estimator: str
    logs: int
    truth: float
    bias: float
    """The mean of the estimates minus the truth, as a share of it."""
    score: float
    """The same in standard errors of that mean."""
    covered: float
    given: float
    """The share of logs for which an interval was given."""
    naive_bias: float
    naive_score: float
    naive_covered: float

    def row(self) -> str:
        """A row of the table."""
        head = f"{_head(self.world)} {self.policy} | {self.estimator} | {self.logs:,} | {self.truth:.3f} "
        ours = f"| {self.bias:+.1%} ({self.score:+.1f}) | {self.covered:.3f} "
        return f"{head}{ours}| {self.naive_bias:+.1%} ({self.naive_score:+.0f}) | {self.naive_covered:.3f} |"


def cover(world: LoggedWorld, logs: int, learners: Sequence[str] = (), *, seed: int = 1) -> list[Coverage]:
    """Evaluate the allocation, and policies that learn, on many logs."""
    rows: dict[tuple[str, str], list[tuple[float | None, ...]]] = {}
    for path in world.logs(logs, seed):
        for policy in ("allocation", *learners):
            fixed = policy == "allocation"
            found = evaluate(path, None if fixed else policy, allocation=ALLOCATION if fixed else None, twin=False)
            for one in found.estimates:
                if one.estimator == LOGGED:
                    continue
                values = (one.value, one.low, one.high, one.error, one.naive)
                rows.setdefault((policy, one.estimator), []).append(values)
    truths = {policy: world.truth(policy, min(SHARES), 2 * logs, seed + 1) for policy in learners}
    truths["allocation"] = float(world.means @ list(ALLOCATION.values())), 0.0
    return [
        _judge(world, policy.partition(":")[0], name, np.array(one, dtype=float), *truths[policy])
        for (policy, name), one in rows.items()
    ]


def _judge(world: LoggedWorld, policy: str, name: str, rows: np.ndarray, truth: float, truth_error: float) -> Coverage:
    value, low, high, error, naive = rows.T
    given = ~np.isnan(low)
    spread = [float(np.hypot(one.std() / np.sqrt(len(rows)), truth_error)) for one in (value, naive)]
    return Coverage(
        world=world,
        policy=policy,
        estimator=name,
        logs=len(rows),
        truth=truth,
        bias=float(value.mean() / truth - 1),
        score=float((value.mean() - truth) / spread[0]),
        covered=float(((low <= truth) & (truth <= high))[given].mean()),
        given=float(given.mean()),
        naive_bias=float(naive.mean() / truth - 1),
        naive_score=float((naive.mean() - truth) / spread[1]),
        naive_covered=float((np.abs(naive - truth) <= NORMAL * error)[given].mean()),
    )


def _head(world: LoggedWorld) -> str:
    """How the rows of a world begin."""
    return f"| {world.name} | {world.open:.0%} |"


def _rows(logs: int, chosen: Sequence[int]) -> Iterator[str]:
    there = PAGE.read_text(encoding="utf-8").splitlines()
    for number, world in enumerate(WORLDS):
        if number in chosen:
            yield from (one.row() for one in cover(world, logs, LEARNERS if world in LEARNED else ()))
        else:
            yield from (line for line in there if line.startswith(_head(world)))


def main() -> None:
    """Simulate, and write the page."""
    logs, *chosen = map(int, sys.argv[1:] or [2000])
    rows = "\n".join(_rows(logs, chosen or range(len(WORLDS))))
    PAGE.write_text(TEMPLATE.read_text(encoding="utf-8").replace("{rows}", rows), encoding="utf-8")


if __name__ == "__main__":
    main()
