"""Make docs/inference.md: bias and coverage of estimates from adaptive trials, and false alarms of tests.

    python docs/inference_tables.py [RUNS]

Every trial is simulated, written to a log with its probabilities, and read again. 2,000 runs take some minutes.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tpstream import Scenario, adaptive_estimates, randomisation_test, simulate
from tpstream.model.arrays import Floats

TEMPLATE = Path(__file__).with_name("inference_template.txt")
"""The page without its numbers."""
KINDS: dict[str, tuple[str, Any]] = {
    "naive": ("naive", None),
    "IPW": ("ipw", "uniform"),
    "AIPW": ("aipw", "uniform"),
    "constant": ("aipw", "constant"),
    "two-point": ("aipw", "two-point"),
}
"""The estimates that are shown, by their titles."""


@dataclass(frozen=True)
class TrialWorld:
    """A trial with binary outcomes whose truth is known."""

    title: str
    chances: tuple[float, ...]
    rule: dict[str, Any]
    patients: int = 300
    more: dict[str, Any] = field(default_factory=dict)
    """Further keys of the scenario, such as delays."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arms."""
        return ("standard", "new", "other")[: len(self.chances)]

    def scenario(self) -> Scenario:
        """The scenario."""
        arms = [{"name": name, "probability": p} for name, p in zip(self.names, self.chances, strict=True)]
        keys: dict[str, Any] = {"span": 1, "drain": True, "rewards": {"kind": "binary"}, "arms": arms}
        return Scenario(name="trial", horizon=self.patients, **keys, **self.more)


LIMITED = {"kind": "best-probability", "minimum": 0.1, "update": 10}
FREE = {"kind": "best-probability", "update": 10}
LATE = {"delays": [{"kind": "constant", "lag": 50.0}]}
LOST = {"kind": "by-arm", "arms": {"new": {"kind": "missing", "p": 0.3}}, "others": {"kind": "missing", "p": 0.1}}
WORLDS = (
    TrialWorld("no difference", (0.3, 0.3), LIMITED),
    TrialWorld("one arm is better", (0.3, 0.5), LIMITED),
    TrialWorld("no difference, outcomes known 50 patients later", (0.3, 0.3), LIMITED, more=LATE),
    TrialWorld("three arms, 10 % drop out, of the new arm 30 %", (0.3, 0.3, 0.5), LIMITED, 900, {"delays": [LOST]}),
    TrialWorld("no difference, no least probability", (0.3, 0.3), FREE),
)
"""The last one is where estimates fail: an arm may get next to nobody."""


def measure(world: TrialWorld, runs: int, seed: int = 1) -> dict[str, dict[str, Floats]]:
    """Of each estimate, in each run: `mean`, error of the mean of the new arm; `difference`, that of its difference.

    Also whether their intervals contain the truth, `mean_covered` and `difference_covered`, and how wide the interval
    of the difference is, `width`. NaN where there is no interval.
    """
    found: dict[str, dict[str, list[float]]] = {title: {} for title in KINDS}
    scenario, truth = world.scenario(), dict(zip(world.names, world.chances, strict=True))
    with TemporaryDirectory() as folder:
        for run in range(runs):
            path = Path(folder) / f"{run}.arrows"
            simulate(scenario, world.rule, seed=seed, run=run, log=path, log_detail="probabilities")
            made = adaptive_estimates(path)
            path.unlink()
            for title, kind in KINDS.items():
                for name, against in (("mean", None), ("difference", "standard")):
                    target = truth["new"] - (truth["standard"] if against else 0.0)
                    one = made.find("new", *kind, against=against)
                    row = found[title]
                    given = one.value is not None and one.low is not None and one.high is not None
                    row.setdefault(name, []).append(one.value - target if one.value is not None else np.nan)
                    row.setdefault(f"{name}_covered", []).append(one.low <= target <= one.high if given else np.nan)
                    row.setdefault(f"{name}_width", []).append(one.high - one.low if given else np.nan)
    return {
        title: {name: np.array(values, dtype=float) for name, values in row.items()} for title, row in found.items()
    }


def false_alarms(world: TrialWorld, runs: int, seed: int = 1) -> dict[str, float]:
    """How often each test calls a difference at the 5 % level although there is none."""
    scenario, calls = world.scenario(), dict.fromkeys([*KINDS, "randomisation test"], 0.0)
    with TemporaryDirectory() as folder:
        for run in range(runs):
            path = Path(folder) / f"{run}.arrows"
            simulate(scenario, world.rule, seed=seed, run=run, log=path, log_detail="probabilities")
            made = adaptive_estimates(path)
            for title, kind in KINDS.items():
                one = made.find("new", *kind, against="standard")
                calls[title] += one.low is not None and one.high is not None and not one.low <= 0 <= one.high
            calls["randomisation test"] += randomisation_test(path, replications=199, seed=run).p_value <= 0.05  # noqa: PLR2004
            path.unlink()
    return {title: count / runs for title, count in calls.items()}


def _rows(measured: list[dict[str, dict[str, Floats]]], name: str, form: str) -> Iterator[str]:
    """A table with a row for each world: the means over runs, and the largest Monte Carlo error of the row."""
    for world, found in zip(WORLDS, measured, strict=True):
        means = [np.nanmean(found[title][name]) for title in KINDS]
        errors = [np.nanstd(found[title][name]) / np.sqrt(len(found[title][name])) for title in KINDS]
        yield f"| {world.title} | {' | '.join(format(mean, form) for mean in means)} | {max(errors):.3f} |"


def main() -> None:
    """Simulate, and write the page."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    measured = [measure(world, runs) for world in WORLDS]
    tests = max(runs // 5, 1)
    alarms = [
        f"| {world.title} | {' | '.join(f'{share:.1%}' for share in false_alarms(world, tests).values())} |"
        for world in (WORLDS[0], WORLDS[2], WORLDS[4])
    ]
    head = f"| trial | {' | '.join(KINDS)} |"
    text = TEMPLATE.read_text(encoding="utf-8").format(
        runs=runs,
        tests=tests,
        head=f"{head} error |\n|---|{'---|' * len(KINDS)}---|",
        test_head=f"{head} randomisation test |\n|---|{'---|' * len(KINDS)}---|",
        bias="\n".join(_rows(measured, "mean", "+.4f")),
        coverage="\n".join(_rows(measured, "mean_covered", ".3f")),
        differences="\n".join(_rows(measured, "difference_covered", ".3f")),
        widths="\n".join(_rows(measured, "difference_width", ".3f")),
        alarms="\n".join(alarms),
    )
    (Path(__file__).parent / "inference.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
