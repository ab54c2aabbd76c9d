"""Compiled code: kept on disk, used again by the next process, never stale; also for policies that users write."""

import importlib.util
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from studies import finish, small, start_python

from tpstream import simulate
from tpstream.engines import compiled_general_loop, compiled_plain_loop
from tpstream.model import events, numba_support
from tpstream.model.errors import PolicyError
from tpstream.policies import handlers, index, loader
from tpstream.policies.loader import cache_folder, fingerprint
from tpstream.policies.tp_ucb_fr import POLICY as FR
from tpstream.policies.ucb1 import POLICY as UCB1

COMPILE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from studies import small
from tpstream import simulate
print(simulate(small(), "tp-ucb-fr").arms.tolist())
"""
USERS_POLICY = '''
"""Pulls the arms in turn, STEP at a time."""
from typing import Any, NamedTuple
import numpy as np
from tpstream.model.numba_support import compiled
from tpstream.policies.base import Parameters, SharedPolicy

STEP = 1

class InTurnState(NamedTuple):
    indices: Any
    heard: Any

def init(problem, parameters):
    return InTurnState(np.zeros(problem.arms), np.zeros(1))

@compiled
def on_partial(state, arm, slot, part, value):
    state.heard[0] += value

@compiled
def decide(state, round, stream):
    return (round - 1) // STEP % state.indices.size

POLICY = SharedPolicy("in-turn", Parameters, init, decide, on_partial=on_partial)
'''
FACTORY = """
from tpstream.model.numba_support import compiled

def always(arm):
    @compiled
    def decide(state, round, stream):
        return arm
    return decide
"""


def load(path: Path, text: str) -> ModuleType:
    """A module of a user, written to a file and imported."""
    path.write_text(text)
    name = f"users_module_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def digits(**functions: Any) -> str:
    """The fingerprint of some functions."""
    return fingerprint(functions)


@pytest.fixture(autouse=True)
def _traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What users' policies leave in this process and on disk goes away with the test."""
    before = set(sys.modules)
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("TPSTREAM_CACHE", str(tmp_path / "cache"))
    yield
    for name in set(sys.modules) - before:
        if name.startswith("users_module"):
            del sys.modules[name]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}, reason="nothing is compiled")
def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    """The first process leaves machine code, the second uses it: it decides the same and writes nothing."""

    def state() -> dict[str, tuple[int, int]]:
        return {
            str(path.relative_to(tmp_path)): (path.stat().st_mtime_ns, path.stat().st_size)
            for path in tmp_path.rglob("*.nb*")
        }

    first = finish(start_python(COMPILE))
    kept = state()
    second = finish(start_python(COMPILE))
    assert {path.rpartition(".")[2] for path in kept} == {"nbi", "nbc"}
    assert (second, state()) == (first, kept)


def test_the_cache_is_where_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TPSTREAM_CACHE names the folder, else it is below the user's cache folder; it is made if missing."""
    monkeypatch.setenv("TPSTREAM_CACHE", str(tmp_path / "mine" / "cache"))
    assert cache_folder() == tmp_path / "mine" / "cache"
    assert cache_folder().is_dir()
    monkeypatch.delenv("TPSTREAM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    assert cache_folder() == tmp_path / "users" / "tpstream"


def test_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a place to keep it, code is compiled for this process only, with one warning; runs are the same."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("TPSTREAM_CACHE", str(tmp_path / "file" / "cache"))
    policy = load(tmp_path / "policy.py", USERS_POLICY).POLICY
    assert simulate(small(), policy).arms.tolist()[:4] == [0, 1, 2, 0]
    assert cache_folder().is_dir()
    (warning,) = capsys.readouterr().err.splitlines()
    assert 'event="compiled code is not kept"' in warning
    assert 'remedy="set TPSTREAM_CACHE"' in warning


def test_a_policy_of_a_user(tmp_path: Path) -> None:
    """A policy in the shared form from any module runs as an object, under its own name."""
    run = simulate(small(), load(tmp_path / "policy.py", USERS_POLICY).POLICY)
    assert (run.choice.label, run.arms.tolist()) == ("in-turn", [0, 1, 2] * 20)


def test_a_changed_policy_is_compiled_again(tmp_path: Path) -> None:
    """When the file of a policy changes, the next process runs the new code, not the kept one."""
    path = tmp_path / "policy.py"
    before = simulate(small(), load(path, USERS_POLICY).POLICY)
    after = simulate(small(), load(path, USERS_POLICY.replace("STEP = 1", "STEP = 2")).POLICY)
    assert (before.arms.tolist()[:6], after.arms.tolist()[:6]) == ([0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 2, 2])


def test_a_policy_under_another_name(tmp_path: Path) -> None:
    """A file that is a script now and a module later is two policies: code kept for one does not fit the other."""
    for name in ("script.py", "module.py"):
        policy = load(tmp_path / name, USERS_POLICY).POLICY
        assert simulate(small(), policy).arms.tolist()[:4] == [0, 1, 2, 0]
        del sys.modules[f"users_module_{name.removesuffix('.py')}"]


def test_a_policy_of_a_shell_or_notebook() -> None:
    """A policy whose code is in no file runs, too; written anew in the next cell, it is another one."""
    for step, arms in ((1, [0, 1, 2, 0]), (2, [0, 0, 1, 1])):
        cell: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(USERS_POLICY.replace("STEP = 1", f"STEP = {step}"), "<stdin>", "exec"), cell)  # noqa: S102
        assert simulate(small(), cell["POLICY"]).arms.tolist()[:4] == arms


def test_a_copied_policy_is_refused(tmp_path: Path) -> None:
    """Two classes of states with one name and the same fields slow each other down, so the second policy is refused."""
    first = load(tmp_path / "policy.py", USERS_POLICY).POLICY
    copied = USERS_POLICY.replace('"in-turn"', '"in-turn-again"')
    simulate(small(), first)
    remedy = (
        r"policy 'in-turn-again': its state InTurnState \(.*copy.py\) has the name and the fields of another policy's "
        r"\(.*policy.py\), which would make runs several times slower; rename the class"
    )
    for engine in ("compiled", "simpy"):
        with pytest.raises(PolicyError, match=remedy):
            simulate(small(), load(tmp_path / "copy.py", copied).POLICY, engine=engine)
    renamed = load(tmp_path / "renamed.py", copied.replace("InTurnState", "AgainState")).POLICY
    assert simulate(small(), renamed).arms.tolist() == simulate(small(), first).arms.tolist()


def test_policies_of_one_factory(tmp_path: Path) -> None:
    """Two policies that differ only in what their functions were made with do not share code."""
    always = load(tmp_path / "factory.py", FACTORY).always
    policy = load(tmp_path / "policy.py", USERS_POLICY)
    decided = [
        simulate(small(), policy.SharedPolicy("always", policy.Parameters, policy.init, always(arm))).arms.tolist()
        for arm in (0, 2)
    ]
    assert decided == [[0] * 60, [2] * 60]


def test_a_policy_travels_to_other_processes(tmp_path: Path) -> None:
    """A policy of a module is the same after it was sent."""
    policy = load(tmp_path / "policy.py", USERS_POLICY).POLICY
    again = pickle.loads(pickle.dumps(policy))  # noqa: S301 (our own)
    assert simulate(small(), again).arms.tolist() == simulate(small(), policy).arms.tolist()


def test_the_fingerprint_is_of_the_code() -> None:
    """The same functions have the same fingerprint, other ones another, and their roles count."""
    assert digits(decide=FR.decide) == digits(decide=FR.decide)
    prints = [digits(decide=FR.decide), digits(decide=UCB1.decide), digits(other=FR.decide), digits()]
    assert len(set(prints)) == 4


@pytest.mark.parametrize(
    "change", ["return FACTOR * 2", "return helper.twice(FACTOR)  # new", "return helper.twice(FACTOR) + TABLE[0]"]
)
def test_the_fingerprint_knows_the_function(tmp_path: Path, change: str) -> None:
    """A change of the source, a comment too, gives another fingerprint."""
    assert _print_of(tmp_path, body=change) != _print_of(tmp_path)


@pytest.mark.parametrize(
    "helper",
    ["FACTOR, TABLE = 3, np.ones(2)", "FACTOR, TABLE = 2, np.zeros(2)", "# a comment\nFACTOR, TABLE = 2, np.ones(2)"],
)
def test_the_fingerprint_knows_what_is_called_and_taken(tmp_path: Path, helper: str) -> None:
    """A change in a function that is called through its module, or in a constant, gives another fingerprint."""
    assert _print_of(tmp_path, constants=helper) != _print_of(tmp_path)
    assert _print_of(tmp_path) == _print_of(tmp_path)


@pytest.mark.parametrize("source", [events, numba_support, index, handlers])
def test_loops_are_compiled_again_when_a_source_changes(
    source: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of a file whose code or constants are compiled into every loop gives the loops other names."""
    file = Path(str(source.__file__))
    before = loader._load_copy("any", compiled_plain_loop, {}).__name__
    changed = tmp_path / file.name
    changed.write_text(f"{file.read_text()}\n# changed\n")
    sources = tuple(changed if path == file else path for path in loader.SOURCES)
    monkeypatch.setattr(loader, "SOURCES", sources)
    assert loader._load_copy("any", compiled_plain_loop, {}).__name__ != before


@pytest.mark.parametrize(
    ("source", "constant"),
    [
        *((handlers, name) for name in ("PULL", "PARTIAL", "CLOSED", "DROPPED")),
        *((compiled_general_loop, name) for name in ("PULL", "LATE", "IMPUTED", "CODES")),
    ],
)
def test_loops_are_compiled_again_when_a_constant_changes(
    source: ModuleType, constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constant that a loop imports, from whatever module, is part of the loop's name."""
    before = loader._load_copy("any", source, {}).__name__
    monkeypatch.setattr(source, constant, 99)
    assert loader._load_copy("any", source, {}).__name__ != before


def _print_of(
    folder: Path, body: str = "return helper.twice(FACTOR) + TABLE[1]", constants: str = "FACTOR, TABLE = 2, np.ones(2)"
) -> str:
    """The fingerprint of a function that takes constants and a function from another module."""
    load(folder / "helper.py", f"import numpy as np\n{constants}\ndef twice(value):\n    return 2 * value\n")
    source = f"import users_module_helper as helper\nfrom users_module_helper import *\ndef decide():\n    {body}\n"
    return digits(decide=load(folder / "caller.py", source).decide)


def test_only_the_policies_that_are_used_are_imported() -> None:
    """Reading a scenario, and naming a policy, import the modules of the policies that are meant and no others."""
    code = """
import sys
from tpstream import Scenario
Scenario.load("setting-1").policy("tp-ucb-fr")
print(sorted(name for name in sys.modules if name.endswith(("thompson", "greedy", "_kl_ucb", "pooled"))))
"""
    assert finish(start_python(code)).strip() == "[]"
