"""From recorded decisions to a world: the text of a scenario, and the traces that lie beside it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from tpstream.analysis.open_values import ArmAges
from tpstream.model.arrays import Floats
from tpstream.model.errors import DataError
from tpstream.model.whole_files import toml_value, write_whole
from tpstream.scenario.scenario import Scenario
from tpstream.twin.arrivals import FittedArrivals, fit_arrivals, round_off
from tpstream.twin.completion import OWN, complete
from tpstream.twin.losses import Losses, without_losses
from tpstream.twin.parametric import fit_payments
from tpstream.twin.recorded import Recorded
from tpstream.twin.scenario_text import WIDE, TomlText

Method = Literal["resampled", "parametric"]
MOST_TRACES = 20_000
"""Decisions of an arm whose traces are kept; of more, a random sample is."""
MOST_CELLS = 10_000_000
"""The same for decisions times periods."""
FEW_DONORS = 50
"""Below so many donors, few decisions tell how open ones go on."""
SEVERAL = 1.05
"""Payments per paying decision from which on decisions are said to pay several times."""
WITHIN = ({"kind": "uniform", "high": 1.0}, "a payment comes at any time within its period, as in the log")
TRACES = ".traces.csv"
"""What the traces are called, behind the name of the scenario."""
FILE = 'file = "{traces}"'
"""The line of the scenario in which their name is put."""
POLICIES = ({"kind": "uniform"}, {"kind": "delayed-ucb1"}, {"kind": "delayed-thompson"}, {"kind": "part-thompson"})
GAUSSIAN = {"family": "gauss", "variance": "empirical", "prior": "none"}
SIGNED_POLICIES = (
    {"kind": "uniform"},
    {"kind": "delayed-thompson", **GAUSSIAN},
    {"kind": "epsilon-greedy"},
    {"kind": "explore-then-commit"},
)
"""Those of the built-in policies that can learn from refunds."""


@dataclass(frozen=True, eq=False)
class FittedWorld:
    """A scenario that runs, once its files are written."""

    text: str
    """The scenario, with `{traces}` in the place of the name of the file of traces; `text_for` puts it in."""
    traces: pd.DataFrame | None
    begin: float
    """The time of the log at which the scenario begins."""
    notes: tuple[str, ...]

    def text_for(self, stem: str) -> str:
        """The scenario as a file of this name has it, which its traces begin with, too."""
        return self.text.replace(FILE.ljust(WIDE), f"file = {toml_value(stem + TRACES)}".ljust(WIDE), 1)

    def write(self, path: Path, *, force: bool = False) -> list[Path]:
        """Write the scenario and its traces beside it; returns the files."""
        if path.suffix != ".toml":
            raise DataError(f"{path}: a scenario ends in .toml, got {path.suffix or 'no ending'!r}")
        beside = path.with_name(path.stem + TRACES)
        files = [path] if self.traces is None else [path, beside]
        for file in files:
            if file.exists() and not force:
                raise DataError(f"{file}: is there already; choose another --out, or overwrite with --force")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self.traces is not None:
                write_whole(beside, self.traces.to_csv(index=False).encode())
            try:
                write_whole(path, self.text_for(path.stem).encode())
            except OSError:
                beside.unlink(missing_ok=True)  # an older scenario must not be run with other traces
                raise
        except OSError as error:
            raise DataError(f"{path}: cannot write the scenario: {error.strerror}; choose another place") from error
        return files

    def load(self, path: Path) -> Scenario:
        """Write the files, over those that are there, and read the scenario."""
        self.write(path, force=True)
        return Scenario.load(path)


def fit_world(recorded: Recorded, source: str, method: Method, seed: int) -> FittedWorld:
    """The world of these decisions."""
    arrivals = fit_arrivals(recorded.made, recorded.unit, recorded.start)
    found = _resampled(recorded, seed) if method == "resampled" else _parametric(recorded)
    toml = TomlText()
    toml.say(f"A twin of {source}, made by tpstream fit (method {method}, seed {seed}).", *_about(recorded))
    toml.key("name", recorded.name)
    _head(toml, recorded, arrivals)
    found.write(toml)
    toml.table("[arrivals]", arrivals.reason)
    for key, value in arrivals.keys.items():
        toml.key(key, value)
    for delay, reason in found.delays:
        toml.table("[[delays]]", reason)
        for key, value in delay.items():
            toml.key(key, value)
    for number, policy in enumerate(found.policies):
        toml.table("[[policies]]", "to begin with; `tpstream list policies` has all" if not number else "")
        for key, value in policy.items():
            toml.key(key, value)
    return FittedWorld(toml.text(), found.traces, arrivals.begin, (*arrivals.notes, *found.notes))


def _about(recorded: Recorded) -> list[str]:
    """What the log is, in lines of comment."""
    closed = sum(int((arm.observed == arm.periods).sum()) for arm in recorded.table.arms)
    decisions = f"{len(recorded.sequence):,} decisions, {closed:,} of them observed for the whole window"
    return [
        f"The log has {decisions}, and is known up to time {recorded.table.until:g}.",
        "Change what you like: the numbers were written once, and nothing else refers to them.",
    ]


def _head(toml: TomlText, recorded: Recorded, arrivals: FittedArrivals) -> None:
    """The keys before the first table."""
    table = recorded.table
    last = float(recorded.made[-1])
    toml.key("horizon", len(recorded.sequence), "decisions, as many as in the log")
    toml.key("window", float(table.periods), f"{recorded.window}, as in the log")
    if table.header.window is not None and table.header.window != table.periods:
        toml.say(f"(the window of the log is {table.header.window:g}; its last period is shorter)")
    if recorded.unit is not None:
        toml.key("time_unit", recorded.unit, "as in the log")
    if recorded.start is not None:
        toml.key("start", recorded.start.isoformat(), "the day that begins at time 0, as in the log")
    elif arrivals.begin:
        toml.say(f"Time 0 is time {arrivals.begin:g} of the log.")
    if recorded.currency is not None:
        toml.key("currency", recorded.currency, "as in the log")
    if table.until >= last + table.periods - table.whole:
        toml.key("drain", value=True, reason="the log goes on until every window is over")
    toml.key("seed", 0)


@dataclass(frozen=True, eq=False)
class _Payments:
    """How decisions pay, as parts of a scenario."""

    lines: tuple[tuple[str, Any, str], ...]
    """Keys of `[rewards]`, their values and reasons."""
    reason: str
    arms: tuple[tuple[tuple[str, Any, str], ...], ...]
    delays: tuple[tuple[dict[str, Any], str], ...]
    """Tables, each with where it comes from."""
    policies: tuple[dict[str, Any], ...]
    head: tuple[tuple[str, Any, str], ...] = ()
    """Keys before the first table."""
    traces: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()

    def write(self, toml: TomlText) -> None:
        """The keys, `[rewards]` and the arms."""
        for key, value, reason in self.head:
            toml.key(key, value, reason)
        toml.table("[rewards]", self.reason)
        for key, value, reason in self.lines:
            toml.key(key, value, reason)
        for arm in self.arms:
            toml.table("[[arms]]")
            for key, value, reason in arm:
                toml.key(key, value, reason)


def _resampled(recorded: Recorded, seed: int) -> _Payments:
    """Recorded payments, drawn anew; open decisions are completed by donors."""
    tables, sums, reasons, notes = [], [], [], []
    lost: dict[str, Losses] = {}
    for number, (name, arm) in enumerate(zip(recorded.names, recorded.table.arms, strict=True)):
        random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        losses = without_losses(arm, recorded.lost[number], random)
        if not (losses.arm.observed == arm.periods).any():
            raise DataError(f"every decision of arm {name!r} lost something, so that none can complete others")
        lost[name] = losses
        kept = _kept(losses.arm, random)
        own, pulls = _rows_of(losses.arm, kept), recorded.pulls(number)[kept]
        traces = complete(own, random)
        tables.append(_long(name, traces.parts, pulls, np.where(traces.donor == OWN, 0, pulls[traces.donor])))
        sums.append(traces.parts.sum(axis=1))
        completed = int((traces.donor != OWN).sum())
        of = "" if len(kept) == arm.count else f", a random sample of {arm.count:,}"
        reasons.append(f"{len(kept):,} traces{of}; {completed:,} of them completed by donors")
        donors = len(kept) - completed
        if donors < FEW_DONORS:
            notes.append(
                f"only {donors} decisions of arm {name!r} were observed for the whole window and can be donors"
            )
    traces_table = pd.concat(tables, ignore_index=True)
    signed = bool((traces_table["value"] < 0).any())
    most = max(float(one.max()) for one in sums)
    maximum = round_up(most) if most > 0 else 1.0
    whole = recorded.whole_ages()
    lines: list[tuple[str, Any, str]] = [
        ("kind", "trace", "what decisions paid in each period of age"),
        ("file", "{traces}", "pull: the decision in the log; donor: whose later periods it has, 0 if its own"),
        ("draw", "resample", "every decision pays a trace of its arm, drawn at random"),
    ]
    if not signed:
        lines.append(("groups", 1, "no more is promised than the maximum"))
    return _Payments(
        lines=tuple(lines),
        reason="payments are recorded ones; those of open decisions were completed (docs/twin.md)",
        arms=tuple(
            (("name", name, reason), ("maximum", maximum, "the largest total of any trace, rounded up"))
            for name, reason in zip(recorded.names, reasons, strict=True)
        ),
        delays=(*(() if whole else (WITHIN,)), *_loss_delays(lost)),
        policies=tuple(SIGNED_POLICIES if signed else POLICIES),
        head=(("span", recorded.table.periods, "periods of age in which a decision may pay"),),
        traces=traces_table,
        notes=(*notes, *(["there are refunds: only policies that take negative rewards can run"] if signed else [])),
    )


def _loss_delays(lost: dict[str, Losses]) -> list[tuple[dict[str, Any], str]]:
    """The delay that loses parts as in the log, with its reason; none where nothing was lost."""
    delays = {name: one.delay for name, one in lost.items() if one.delay is not None}
    if not delays:
        return []
    shares = ", ".join(f"{lost[name].share:.1%} ({name})" for name in delays)
    return [({"kind": "by-arm", "arms": delays}, f"of the periods that were observed, lost were: {shares}")]


def _kept(arm: ArmAges, random: np.random.Generator) -> Any:
    """The decisions whose traces are kept."""
    most = max(min(MOST_TRACES, MOST_CELLS // arm.periods), 1)
    if arm.count <= most:
        return np.arange(arm.count)
    kept = np.sort(random.choice(arm.count, most, replace=False))
    if not (arm.observed[kept] == arm.periods).any():  # one donor at least
        kept[0] = int(np.flatnonzero(arm.observed == arm.periods)[0])
        kept.sort()
    return kept


def _rows_of(arm: ArmAges, kept: Any) -> ArmAges:
    """Some decisions of an arm."""
    if len(kept) == arm.count:
        return arm
    place = np.full(arm.count, -1)
    place[kept] = np.arange(len(kept))
    chosen = place[arm.row] >= 0
    return replace(
        arm,
        made=arm.made[kept],
        observed=arm.observed[kept],
        row=place[arm.row[chosen]],
        age=arm.age[chosen],
        amount=arm.amount[chosen],
    )


def _long(name: str, parts: Floats, pulls: Any, donors: Any) -> pd.DataFrame:
    """Traces as a long table: a row for each period that paid, and one for a decision that paid nothing."""
    row, part = np.nonzero(parts)
    nothing = np.flatnonzero(~parts.any(axis=1))
    rows, periods = np.concatenate([row, nothing]), np.concatenate([part, np.zeros(len(nothing), np.int64)])
    order = np.lexsort((periods, rows))
    rows, periods = rows[order], periods[order]
    return pd.DataFrame(
        {
            "pull": pulls[rows],
            "arm": name,
            "part": periods + 1,
            "value": parts[rows, periods],
            "donor": donors[rows],
        }
    )


def _parametric(recorded: Recorded) -> _Payments:
    """Payments by a few parameters."""
    family, found = fit_payments(recorded.names, list(recorded.table.arms))
    maximum = round_up(max(one.largest for one in found))
    arms, delays = [], {}
    for name, one in zip(recorded.names, found, strict=True):
        amounts = f"of the totals of {one.paying:,} decisions"
        arms.append(
            (
                ("name", name, ""),
                ("probability", round_off(one.delay.probability), "that a decision ever pays, by censored likelihood"),
                ("median", round_off(one.median), f"{amounts} that paid within the window"),
                ("sigma", round_off(one.sigma), "of their logarithms"),
                ("maximum", maximum, "the largest total of any arm, rounded up"),
            )
        )
        first, second = round_off(one.delay.first), round_off(one.delay.second)
        keys = {"scale": first, "shape": second} if family == "weibull" else {"median": first, "sigma": second}
        delays[name] = {"kind": family, **keys}
    several = _several(recorded)
    return _Payments(
        lines=(("kind", "conversion", "a decision pays once or never"),),
        reason="by a few parameters for each arm (docs/twin.md)",
        arms=tuple(arms),
        delays=(({"kind": "by-arm", "arms": delays}, "the age of the first payment, by censored likelihood"),),
        policies=tuple(POLICIES[:3]),
        head=(
            ("span", 1, "a decision pays once"),
            ("reveal", "positive", "that a decision pays nothing is known only when its window is over"),
        ),
        notes=() if several is None else (several,),
    )


def _several(recorded: Recorded) -> str | None:
    """A note if decisions pay more than once, which parameters leave out."""
    paying = payments = 0
    for arm in recorded.table.arms:
        paid = arm.amount != 0
        paying += len(np.unique(arm.row[paid]))
        payments += int(paid.sum())
    if payments <= SEVERAL * paying:
        return None
    return (
        f"decisions that paid did so {payments / paying:.1f} times on average; here they pay their total at the time "
        f"of the first payment, so that money comes too early: prefer the method resampled"
    )


def round_up(value: float) -> float:
    """A number of three digits that is not smaller."""
    step = 10.0 ** (np.floor(np.log10(value)) - 2)
    return round_off(float(np.ceil(value / step - 1e-9) * step), 6)
