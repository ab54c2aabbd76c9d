"""--plugin and --sink on the command line."""

import json
import re
from pathlib import Path

import pytest
from command import Command, tpstream
from plugged import SCENARIO, forgetful, write_greedy, write_post
from studies import TOML, read_lines

from tpstream.templates.scaffold import write_plugin

__all__ = ["forgetful", "tpstream"]
pytestmark = pytest.mark.usefixtures("forgetful")

BOTH = ("--plugin", "post.py", "--plugin", "greedy.py")
FAULTY = '''
from tpstream.policies.base import Parameters, PythonPolicy

class Faulty:
    """Decides for the first arm, and not at all from round 30 on."""
    def hear(self, events):
        pass
    def decide(self, round):
        if round >= 30:
            raise KeyError("thirty")
        return 0

POLICY = PythonPolicy("faulty", Parameters, lambda problem, parameters, stream: Faulty())
PLUGINS = {"policies": {"faulty": POLICY}}
'''


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario that needs two plug-ins, and these, which are so compiled once."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "world.toml").write_text(SCENARIO)
    (folder / "small.toml").write_text(TOML)
    for write in (write_post, write_greedy):
        write(folder)
    return folder


@pytest.fixture
def world(tpstream: Command, shared: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The console script, in that folder."""
    monkeypatch.chdir(shared)
    return tpstream


@pytest.mark.parametrize(
    "words",
    [
        ("validate", "world.toml"),
        ("run", "world.toml", "-j", 1),
        ("run", "world.toml", "-n", 2, "-j", 2, "--engine", "simpy"),
        ("compare", "world.toml", "-n", 2, "-j", 2, "-f", "a.svg"),
        ("sweep", "world.toml", "--set", "delays.0.mean=1.0,3.0", "-n", 2, "-j", 1, "-f", "a.svg"),
    ],
)
def test_commands_that_take_a_scenario(world: Command, words: tuple[object, ...]) -> None:
    """They know what the plug-ins define, and nothing of it without them."""
    without, shown = world(*words), world(*words, *BOTH)
    told = without.err.splitlines()  # how many kinds are unknown, and a line for each: the policy and the delay
    assert (without.code, without.out, len(told)) == (2, "", 3)
    assert told[0] == "tpstream: world.toml: 2 errors"
    assert "policies[0].kind: unknown policy 'greedy'" in told[1]
    assert (shown.code, shown.err) == (0, "")
    assert "greedy" in shown.out


def test_list_and_schema(world: Command) -> None:
    """`list` has a line for each plug-in, `schema` its keys."""
    shown = world("list", "delays", "--plugin", "post.py").out
    assert re.search(r"│ post +│ Every part comes later by a Poisson .*│ mean = 2\.0", shown)
    schema = json.loads(world("schema", "--plugin", "post.py").out)
    assert schema["$defs"]["PostDelay"]["properties"]["kind"]["const"] == "post"


def test_replay(world: Command) -> None:
    """A log of a plug-in policy replays with the plug-in; without it the policy is unknown."""
    world("run", "world.toml", *BOTH, "--log", "logs", "-j", 1)
    log = "logs/greedy.run-000.jsonl"
    assert world("replay", log, *BOTH).out == "equal: greedy takes the same 60 decisions\n"


def test_a_log_imports_nothing(tpstream: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that names a module as its policy is an error, and the module is not imported."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "users_trap.py").write_text("raise SystemExit('sprung')\n")
    tpstream("run", "small.toml", "-p", "uniform", "--log", "logs")
    path = Path("logs/uniform.run-000.jsonl")
    header, *events = path.read_text().splitlines()
    changed = json.loads(header) | {"kind": "users_trap:POLICY", "policy": "users_trap:POLICY"}
    Path("trap.jsonl").write_text("\n".join([json.dumps(changed), *events]) + "\n")
    shown = tpstream("replay", "trap.jsonl")
    assert (shown.code, shown.out) == (2, "")
    assert "unknown policy 'users_trap:POLICY'" in shown.err


def test_a_failed_run_is_repeated_with_its_plug_in(tpstream: Command, tmp_path: Path) -> None:
    """The command that repeats a failed run names the plug-ins, and does the same again."""
    (tmp_path / "faulty.py").write_text(FAULTY)
    words = ("run", "small.toml", "-p", "uniform", "-p", "faulty", "--plugin", "faulty.py", "-j", 1)
    shown = tpstream(*words)
    assert (shown.code, "policy 'faulty' raised KeyError in round 30: 'thirty'" in shown.err) == (1, True)
    assert f"--plugin {tmp_path / 'faulty.py'}" in " ".join(shown.err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("list", "delays", "--plugin", "pots.py"),
            "pots.py: no such file (did you mean 'post.py'?); give the path of a",
        ),
        (("run", "small.toml", "--plugin", "small.toml"), "small.toml: is no Python file; a plug-in ends in .py"),
        (("run", "small.toml", "--sink", "nobody"), "unknown sink 'nobody'; known: lines"),
        (
            ("run", "small.toml", "--sink", "lines:to=paper"),
            "sink lines: to: must be 'stderr' or 'stdout', got 'paper'",
        ),
    ],
)
def test_mistakes_are_one_line(world: Command, words: tuple[str, ...], message: str) -> None:
    """A plug-in or sink that is not there is told in one line, with exit code 2."""
    shown = world(*words)
    assert (shown.code, shown.out, len(shown.err.splitlines())) == (2, "", 1)
    assert message in shown.err


def test_lines(tpstream: Command) -> None:
    """`--sink lines` prints every event, here to standard error."""
    shown = tpstream("run", "small.toml", "-p", "uniform", "--sink", "lines", "--log", "logs", "-j", 1)
    assert shown.code == 0
    assert [json.loads(line) for line in shown.err.splitlines()] == read_lines(Path("logs/uniform.run-000.jsonl"))[1:-1]


FAULTS = {
    # what goes wrong: (what is written, text of its template, what it becomes, table in the scenario, the error)
    "negative lag": ("delay", "schedule.offsets + lags", "schedule.offsets - lags", "[[delays]]", "a lag of -"),
    "raises": (
        "delay",
        "stream.poisson(self.mean",
        "stream.poisson(-1.0",
        "[[delays]]",
        "raised ValueError for pulls 1",
    ),
    "falling times": ("arrival", "np.cumsum(", "500 - np.cumsum(", "[arrivals]", "is before round"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_plug_in_that_breaks_its_contract_is_not_valid(tpstream: Command, tmp_path: Path, fault: str) -> None:
    """`validate` says what a run says of it, in one line with exit code 2, also with --json."""
    kind, right, wrong, table, expected = FAULTS[fault]
    plugin, _ = write_plugin(kind, "broken", tmp_path)
    source = plugin.read_text()
    assert source.count(right) == 1
    plugin.write_text(source.replace(right, wrong))
    (tmp_path / "broken.toml").write_text(f'{TOML}\n{table}\nkind = "broken"\n')
    words = ("broken.toml", "--plugin", plugin.name, "-p", "uniform")
    for more in ((), ("--json",)):
        shown = tpstream("validate", *words, *more)
        assert (shown.code, shown.out, len(shown.err.splitlines())) == (2, "", 1)
        error = shown.err.removeprefix("tpstream: ").strip()
        assert expected in error
        assert error in tpstream("run", *words, "-j", 1).err
