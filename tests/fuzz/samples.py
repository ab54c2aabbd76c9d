"""Good files of every kind that tpstream reads, small, each with the commands that read it; and all loops compiled."""

import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from io import StringIO
from pathlib import Path
from sqlite3 import connect
from typing import Any

from children import do_command, run_command
from mutations import toml_text
from services import SHOP, TOKEN
from shops import make_shop
from studies import KEYS
from trials import trial_keys

from tpstream import Decider, Scenario, import_log, simulate
from tpstream.log.writer import convert
from tpstream.model.errors import TpstreamError

Files = dict[str, bytes]
SCENARIOS = Path(__file__).parents[2] / "scenarios"
SHIPPED = (
    "applications/medical-trial",
    "applications/three-arm-trial",
    "applications/e-commerce",
    "applications/playlist",
    "applications/lottery-all",
    "paper/setting-1",
    "worlds/unequal-dropout",
    "worlds/subscriptions",
    "worlds/impatient",
    "worlds/rare-conversions",
)
POLICIES = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew", "uniform", "oracle")
TRACE = "arm,x1,x2,x3\n" + "low,1.5,0,0.5\nhigh,0,2,2\n" * 12
LONG_TRACE = "pull,arm,part,value\n" + "".join(
    f"{pull},{'low' if pull % 2 else 'high'},{part},{pull % 4 + part / 2}\n" for pull in range(24) for part in (1, 3)
)
TIMES = "time\n" + "".join(f"{number / 3:.3f}\n" for number in range(1, 40))
LAGS = "lag\n0\n1.5\n3\n0.25\n"
RECORDED: dict[str, Any] = {
    "name": "recorded",
    "horizon": 20,
    "drain": True,
    "rewards": {"kind": "trace", "file": "trace.csv", "draw": "resample", "groups": 1},
    "arms": [{"name": "low", "maximum": 9.0}, {"name": "high", "maximum": 9.0}],
    "arrivals": {"kind": "trace", "file": "times.csv"},
    "delays": [{"kind": "empirical", "file": "lags.csv"}],
    "policies": [{"kind": "delayed-ucb1"}, {"kind": "uniform"}],
}
BUSY: dict[str, Any] = {
    **KEYS,
    "name": "busy",
    "horizon": 25,
    "arrivals": {"kind": "poisson", "rate": 2.0},
    "delays": [{"kind": "missing", "p": 0.2}, {"kind": "lognormal", "median": 1.5, "sigma": 0.5}],
    "window": 7.0,
    "time_unit": "day",
    "start": "2024-01-03",
}
SWEEP = '[set]\nspan = [6, 12]\npolicies.tp-ucb-fr.ties = ["first", "random"]\n'


@dataclass(frozen=True)
class Sample:
    """Files, the one that is changed, and the commands that read it."""

    files: Files
    changed: str
    commands: Sequence[Sequence[str]]


@cache
def worlds() -> dict[str, dict[str, Any]]:
    """Scenarios as tables: those that ship, some shorter, and small ones."""
    found = {Path(name).name: tomllib.loads((SCENARIOS / f"{name}.toml").read_text()) for name in SHIPPED}
    for tree in found.values():
        tree["horizon"] = min(tree["horizon"], 600 if "trial" in tree else 200)
    return found | {"small": dict(KEYS), "busy": BUSY, "trial": trial_keys(horizon=25, policies=[{"kind": "uniform"}])}


LOG_COMMANDS = (
    ("replay", "{}"),
    ("replay", "{}", "-p", "uniform"),
    ("replay", "{}", "-p", "delayed-ucb1", "--check", "--json"),
    ("regret", "{}"),
    ("regret", "{}", "--json"),
    ("diagnose", "{}"),
    ("view", "{}", "--out", "page.html"),
    ("convert", "{}", "copy.jsonl"),
    ("convert", "{}", "copy.arrows", "--sparse"),
    ("convert", "{}", "copy.parquet", "--dense"),
    ("check", "{}"),
    ("answer", "{}"),
    ("answer", "{}", "--json"),
    ("inference", "{}", "--replications", "5"),
    ("fit", "{}", "--out", "twin.toml"),
    ("evaluate", "{}", "-p", "uniform", "--replays", "10", "--no-twin", "--assume-random"),
)
SCENARIO_COMMANDS = (
    ("validate", "{}"),
    ("validate", "{}", "--json"),
    ("run", "{}", "--horizon", "25", "-q"),
    ("run", "{}", "--horizon", "25", "--engine", "simpy", "--log", "logs"),
    ("compare", "{}", "--horizon", "25", "--runs", "2", "--jobs", "1", "--out", "out", "--json"),
    ("compare", "{}", "--horizon", "25", "--runs", "2", "--jobs", "1", "--figure", "a.svg", "--report", "a.html"),
    ("sweep", "{}", "--set", "horizon=20,30", "--runs", "1", "--jobs", "1"),
    ("league", "{}", "--horizon", "20", "--runs", "2", "--jobs", "1", "-p", "uniform", "-p", "ucb1"),
    ("trial", "{}", "--horizon", "25", "--runs", "2", "--jobs", "1"),
    ("theory", "{}"),
)
DESIGN_COMMANDS = (
    ("validate", "{}"),
    ("run", "{}", "-q"),
    ("run", "{}", "--engine", "simpy", "--log", "logs"),
    ("trial", "{}", "--runs", "2", "--jobs", "1", "--out", "out"),
    ("trial", "{}", "--runs", "2", "--jobs", "1", "--figure", "a.svg", "--report", "a.html"),
    ("trial", "{}", "--tell", "1"),
    ("calibrate", "{}", "--target", "type1=0.1", "--runs", "20", "--jobs", "1"),
)
"""Of a scenario with the design of a trial, whose looks fit its own horizon."""
IMPORT = ("import", "offers.csv", "payments.csv", "--out", "log.jsonl", "--window", "20d")


def _about(commands: Sequence[Sequence[str]], name: str) -> list[list[str]]:
    return [[word.format(name) if word == "{}" else word for word in words] for words in commands]


@cache
def samples(kind: str) -> Sequence[Sample]:
    """Samples of the files of one kind."""
    return BUILDERS[kind]()


def _scenarios() -> list[Sample]:
    found = []
    for label, tree in worlds().items():
        name, commands = f"{label}.toml", DESIGN_COMMANDS if "trial" in tree else SCENARIO_COMMANDS
        found.append(Sample({name: toml_text(tree).encode()}, name, _about(commands, name)))
    return found


def _sweeps() -> list[Sample]:
    files = {"small.toml": toml_text(KEYS).encode(), "sweep.toml": SWEEP.encode()}
    few = ("--horizon", "20", "--runs", "1", "--jobs", "1", "-p", "tp-ucb-fr")
    words = ("sweep", "small.toml", "--file", "sweep.toml", *few)
    return [Sample(files, "sweep.toml", [words, (*words, "--together")])]


def _traces() -> list[Sample]:
    files = {"recorded.toml": toml_text(RECORDED).encode()}
    files |= {name: text.encode() for name, text in (("trace.csv", TRACE), ("times.csv", TIMES), ("lags.csv", LAGS))}
    long = {**files, "trace.csv": LONG_TRACE.encode()}
    commands = _about([SCENARIO_COMMANDS[place] for place in (0, 2, 3, 4)], "recorded.toml")
    return [
        *(Sample(files, name, commands) for name in files if name != "recorded.toml"),
        Sample(long, "trace.csv", commands),
    ]


def _imports() -> list[Sample]:
    tables = {name: data for name, data in _tables().items() if name != "log.map.toml"}  # a map is written, not read
    columnar = ("import", "offers.csv", "payments.parquet", "--out", "log.jsonl", "--window", "20d")
    return [
        *(Sample(tables, name, [IMPORT, (*IMPORT, "--json")]) for name in ("offers.csv", "payments.csv")),
        Sample(tables, "payments.parquet", [columnar]),
        Sample({"wide.csv": TRACE.encode()}, "wide.csv", [("import", "wide.csv", "--out", "a.arrows")]),
        Sample({"long.csv": LONG_TRACE.encode()}, "long.csv", [("import", "long.csv", "--out", "a.parquet")]),
    ]


def _maps() -> list[Sample]:
    return [Sample(_tables(), "log.map.toml", [(*IMPORT, "--map", "log.map.toml")])]


@cache
def _tables() -> Files:
    """The tables of a small shop, as CSV and Parquet, and the map that is guessed for them."""
    with tempfile.TemporaryDirectory() as name:
        folder, shop = Path(name), make_shop(60, seed=3)
        shop.offers.to_csv(folder / "offers.csv", index=False)
        shop.payments.to_csv(folder / "payments.csv", index=False)
        shop.payments.to_parquet(folder / "payments.parquet", index=False)
        assert run_command([*IMPORT, "--quiet"], folder).succeeded
        return read_files(folder, "offers.csv", "payments.csv", "payments.parquet", "log.map.toml")


@cache
def _log_files() -> dict[str, Files]:
    """Logs of several worlds in every format, by their names."""
    runs = {
        "plain": (KEYS | {"horizon": 15}, "tp-ucb-fr", "indices"),
        "busy": (BUSY | {"reveal": "positive"}, "delayed-ucb1", "all"),
        "trial": (trial_keys(horizon=25), "uniform", "all"),
        "pulls": (KEYS | {"horizon": 15}, "ucb1", "pulls"),
        "long": (KEYS | {"horizon": 130, "span": 3, "arms": KEYS["arms"][:2]}, "uniform", "probabilities"),
    }
    found: dict[str, Files] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label, (keys, policy, detail) in runs.items():
            simulate(Scenario(**keys), policy, log=folder / f"{label}.jsonl", log_detail=detail)
        shop = make_shop(60, seed=3)
        import_log(shop.offers, shop.payments, out=folder / "shop.jsonl", window="20d")
        simulate(Scenario(**BUSY), "uniform", log=folder / "dense.jsonl")
        convert(folder / "dense.jsonl", folder / "sparse.jsonl", sparse=True)
        _decide(folder)
        (folder / "live.jsonl").rename(folder / "decider.jsonl")
        for label in (*runs, "shop", "sparse", "decider"):
            for ending in (".arrows", ".parquet"):
                convert(folder / f"{label}.jsonl", folder / f"{label}{ending}")
            found[label] = read_files(folder, *(f"{label}{ending}" for ending in (".jsonl", ".arrows", ".parquet")))
    return found


def _decide(folder: Path, policy: str = "uniform") -> None:
    """Some decisions of a decider and what they paid; its log goes on, and has no end."""
    with Decider.open(folder / "live", policy=policy, arms=["old", "new"], span=3, clock="caller") as decider:
        for number in range(8):
            made = decider.decide(f"offer-{number}", at=float(number))
            if number % 3:
                decider.deliver(made.token, amount=float(number), key=f"payment-{number}", part=1, at=number + 0.5)


GO_ON = "go-on"
"""Stands for no command, but for a decider that goes on with its log."""


def _go_on() -> int:
    """Open the log of a decider and decide once more, as a service does when it starts; the exit code of a command."""
    try:
        with Decider.open("live") as decider:
            for note in decider.recovery.notes:
                print(note)  # noqa: T201 (a service says as much)
            made = decider.decide("one-more", at=20.0)
            decider.deliver(made.token, amount=1.0, key="last", at=20.5)
    except TpstreamError as error:
        print(error)  # noqa: T201 (the same)
        return 2
    return 0


def do_words(words: Sequence[str]) -> int:
    """Do what the words of a sample say, here: the exit code."""
    return _go_on() if words[0] == GO_ON else do_command(words)


def _deciders() -> list[Sample]:
    """Logs of deciders that go on, and their snapshots, of which either is changed."""
    found = []
    for policy in ("uniform", "epsilon-greedy"):
        with tempfile.TemporaryDirectory() as name:
            _decide(Path(name), policy)
            files = read_files(Path(name), "live.jsonl", "live.snapshot.npz")
        found += [Sample(files, changed, [(GO_ON,)]) for changed in files]
    return found


def whole_logs() -> Files:
    """Complete logs by their names."""
    return {name: data for label, files in _log_files().items() if label != "decider" for name, data in files.items()}


def _logs(suffix: str) -> list[Sample]:
    return [
        Sample({name: files[name]}, name, _about(LOG_COMMANDS, name))
        for label, files in _log_files().items()
        for name in [f"{label}{suffix}"]
    ]


FEW = ("--jobs", "1", "--out", "out")
STUDIES = (
    ("compare", "small.toml", "-p", "ucb1", "-p", "uniform", "--horizon", "20", "--runs", "3", *FEW),
    ("sweep", "small.toml", "--set", "span=6,12", "-p", "uniform", "--horizon", "20", "--runs", "2", *FEW),
    ("trial", "trial.toml", "--runs", "2", *FEW),
    ("league", "small.toml", "-p", "uniform", "--horizon", "20", "--runs", "2", *FEW),
)
"""Studies whose folders are changed."""


def _studies() -> list[Sample]:
    """The folders of some studies, of which study.json, the store or a table is changed."""
    found = []
    for words in STUDIES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / words[1]).write_text(toml_text(worlds()[Path(words[1]).stem]))
            ended = run_command([*words, "-q"], folder)
            assert ended.succeeded, ended
            inner = "out/small" if words[0] == "league" else "out"
            with closing(connect(folder / f"{inner}/study.sqlite")) as database:
                database.execute("PRAGMA journal_mode = DELETE")  # else a copy needs its other files
            changed_ones = [f"{inner}/{name}" for name in ("study.json", "study.sqlite", "results.parquet")]
            changed_ones += ["out/league.json"] if words[0] == "league" else []
            kept = read_files(folder, words[1], *changed_ones)
        shows = [("show", "out"), ("show", "out", "--json"), ("show", "out", "--figure", "a.svg", "--report", "a.html")]
        commands = [*shows, words, [*words, "--json"]]
        found += [Sample(kept, changed, commands) for changed in changed_ones]
    return found


CONFIG: dict[str, Any] = {
    "port": 0,
    "hosts": ["shop.example"],
    "limits": {"body": 100_000, "rate": 50.5},
    "experiments": [
        SHOP | {"log": "logs/shop", "token_file": "token", "window": "60d", "maxima": [9.0, 9.5], "horizon": 100},
        SHOP | {"name": "mail", "policy": "delayed-ucb1:ties=random", "unit": "day", "currency": "EUR", "groups": 3},
    ],
}


def _configurations() -> list[Sample]:
    files = {"shop.toml": toml_text(CONFIG).encode(), "token": TOKEN.encode()}
    words = ("serve", "shop.toml", "--check")
    return [Sample(files, "shop.toml", [words, (*words, "--json")])]


BUILDERS: Mapping[str, Callable[[], list[Sample]]] = {
    "scenario": _scenarios,
    "sweep": _sweeps,
    "trace": _traces,
    "import": _imports,
    "map": _maps,
    "jsonl": partial(_logs, ".jsonl"),
    "arrow": partial(_logs, ".arrows"),
    "parquet": partial(_logs, ".parquet"),
    "study": _studies,
    "configuration": _configurations,
    "decider": _deciders,
}


def read_files(folder: Path, *names: str) -> Files:
    """The content of these files of a folder."""
    return {name: (folder / name).read_bytes() for name in names}


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder."""
    for name, data in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


_warm: set[str] = set()
"""Kinds whose commands were run here."""


def is_slow(words: Sequence[str]) -> bool:
    """Whether a command takes several times as long as others: it draws, or simulates much."""
    return not {"--figure", "--report", "fit"}.isdisjoint(words)


def warm_up(*kinds: str) -> None:
    """Run the commands on good files of these kinds here, so that children find everything loaded and compiled.

    Each command must do what it is asked for with some good file, and with each file some command must: of what is
    refused at its door nothing would be tried.
    """
    for kind in sorted(set(kinds) - _warm):
        _warm.add(kind)
        worked: dict[str, set[int]] = {}
        for number, sample in enumerate(samples(kind)):
            for words in sample.commands:
                form = " ".join(word for word in words if word != sample.changed)
                done = worked.setdefault(form, set())
                if not (done and is_slow(words)) and run_here(words, sample.files):  # what takes long is done once
                    done.add(number)
        numbers = set().union(*worked.values())
        refused = [form for form, done in worked.items() if not done]
        refused += [sample.changed for number, sample in enumerate(samples(kind)) if number not in numbers]
        assert not refused, f"refused although nothing is wrong: {refused}"


def run_here(words: Sequence[str], files: Files) -> bool:
    """Whether a command succeeds on some files, in this process."""
    os.environ |= {"TPSTREAM_NOTES": "0", "TERM": "dumb", "COLUMNS": "100"}
    here, argv = Path.cwd(), sys.argv
    with tempfile.TemporaryDirectory() as name, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        write_files(Path(name), files)
        os.chdir(name)
        try:
            return do_words(words) == 0
        finally:
            os.chdir(here)
            sys.argv = argv
