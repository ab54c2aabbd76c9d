"""Make docs/coverage.md: how often intervals of open decisions contain the truth, and leads are called by chance.

    python docs/coverage_tables.py [RUNS]

The worlds are those of tests/support/open_worlds.py, whose truth is known. With 2,000 runs it takes some minutes.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from open_worlds import END, PaymentWorld, draw_arm, make_table

from tpstream.analysis.age_tables import AgeTable
from tpstream.analysis.answer_arms import arm_answer
from tpstream.analysis.leads import lead_courses

WORLDS = (
    PaymentWorld(4_000, 0.70, 0.8, 0.05),
    PaymentWorld(4_000, 0.90, 0.8, 0.05),
    PaymentWorld(20_000, 0.97, 0.8, 0.0),
    PaymentWorld(20_000, 0.99, 1.0, 0.0),
    PaymentWorld(4_000, 0.97, 0.8, 0.0),
    PaymentWorld(800, 0.97, 0.8, 0.0),
    PaymentWorld(800, 0.99, 0.8, 0.0),
    PaymentWorld(800, 0.99, 1.0, 0.0),
    PaymentWorld(20_000, 0.97, 1.3, 0.0),
    PaymentWorld(4_000, 0.90, 1.3, 0.05),
    PaymentWorld(4_000, 0.97, 1.3, 0.05),
    PaymentWorld(800, 0.97, 1.3, 0.0),
    PaymentWorld(4_000, 0.97, 1.5, 0.0),
    PaymentWorld(20_000, 0.97, 1.8, 0.0),
    PaymentWorld(4_000, 0.97, 1.8, 0.0),
    PaymentWorld(800, 0.97, 1.8, 0.0),
    PaymentWorld(4_000, 0.90, 2.3, 0.0),
    PaymentWorld(4_000, 0.97, 1.5, 0.0, tail="pareto"),
    PaymentWorld(4_000, 0.90, 1.5, 0.0, tail="pareto"),
)
NORMAL = 1.96
TEMPLATE = Path(__file__).with_name("coverage_template.txt")
"""The page without its numbers."""


def cover(world: PaymentWorld, runs: int, seed: int = 1) -> dict[str, float]:
    """How often intervals were given, and contained the truth."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(runs):
        drawn = draw_arm(random, world)
        found = arm_answer("a", drawn.arm, drawn.arm.usable())
        row, estimate = found.columns(), found.estimate
        if estimate is None or row["low"] is None:
            continue
        given = row["outstanding_low"] is not None
        rows.append(
            (
                row["low"] <= world.value <= row["high"],
                abs(estimate.value - world.value) <= NORMAL * estimate.error,
                row["outstanding_low"] <= drawn.later <= row["outstanding_high"] if given else np.nan,
                found.naive / world.value,
            )
        )
    means = np.array(rows, dtype=float).reshape(-1, 4)
    outstanding = means[:, 2][~np.isnan(means[:, 2])]
    return {
        "given": len(rows) / runs,
        "value": float(means[:, 0].mean()) if rows else np.nan,
        "normal": float(means[:, 1].mean()) if rows else np.nan,
        "outstanding": float(outstanding.mean()) if len(outstanding) > runs / 2 else np.nan,
        "naive": float(means[:, 3].mean()) if rows else np.nan,
    }


PEEKING = PaymentWorld(3_000, 0.7, 0.8, 0.0, early=4.0), PaymentWorld(3_000, 0.7, 0.8, 0.0, early=1.4)


def peek(runs: int, seed: int = 1) -> dict[str, tuple[float, float]]:
    """How often a lead is called by chance: on some day, and on the last."""
    random = np.random.default_rng(seed)
    names = ("what was paid so far, 1.96 errors", "the corrected value, 1.96 errors", "`tpstream answer`")
    calls = {name: np.zeros(2) for name in names}
    for _ in range(runs):
        table = make_table(*(draw_arm(random, world) for world in PEEKING))
        course = lead_courses(table, [0, 1], 0, float(END), 0.05)[1]
        score = np.abs(course.differences) / course.errors
        naive = np.array([_naive_score(table, float(time)) for time in course.times])
        for name, crossed in zip(names, (naive > NORMAL, score > NORMAL, score > course.bounds), strict=True):
            calls[name] += crossed.any(), crossed[-1]
    return {name: (found[0] / runs, found[1] / runs) for name, found in calls.items()}


RARE = tuple(PaymentWorld(3_000, 0.95, 0.8, 0.0, early, growth=1.0) for early in (4.0, 1.4))


def peek_naively(runs: int, seed: int = 1) -> tuple[float, float]:
    """How often what was paid so far calls a lead by chance, if few pay: on some fifth day, and on the last one."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        table = make_table(*(draw_arm(random, world) for world in RARE))
        scores = [_naive_score(table, float(time)) for time in range(10, END + 1, 5)]
        found.append((np.nanmax(scores) > NORMAL, scores[-1] > NORMAL))
    some, last = np.mean(found, axis=0)
    return float(some), float(last)


def _naive_score(table: AgeTable, time: float) -> float:
    """The difference of the means of what was paid so far, in standard errors."""
    means, squares = [], []
    for arm, times in zip(table.arms, table.times, strict=True):
        then = arm.cut(times, time)
        totals = np.bincount(then.row, weights=then.amount, minlength=then.count)
        means.append(totals.mean())
        squares.append(totals.var() / then.count)
    return float(abs(means[0] - means[1]) / np.sqrt(sum(squares)))


def _rows(runs: int) -> Iterator[str]:
    for world in WORLDS:
        found = cover(world, runs)
        shown = ["" if np.isnan(value) else f"{value:.3f}" for value in found.values()]
        sigma, refunds = f"{'index ' if world.tail == 'pareto' else ''}{world.sigma:g}", f"{world.refunds:.0%}"
        yield f"| {world.decisions:,} | {world.zeros:.0%} | {sigma} | {refunds} | {' | '.join(shown)} |"


def main() -> None:
    """Simulate, and write the page."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    peeks = max(runs // 5, 1)
    alarms = [f"| {name} | {some:.1%} | {last:.1%} |" for name, (some, last) in peek(peeks).items()]
    rare_some, rare_last = peek_naively(peeks)
    ages = [world.mean_age for world in PEEKING]
    text = TEMPLATE.read_text(encoding="utf-8").format(
        runs=runs,
        rows="\n".join(_rows(runs)),
        alarms="\n".join(alarms),
        peeks=peeks,
        first=ages[0],
        second=ages[1],
        rare_some=rare_some,
        rare_last=rare_last,
    )
    (Path(__file__).parent / "coverage.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
