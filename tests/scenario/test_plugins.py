"""Plug-in files: what they define is known by name, everywhere; mistakes are told in one line."""

import pickle
import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from plugged import SCENARIO, forgetful, write_greedy, write_post
from studies import finish, small, start_python

from tpstream import Scenario, compare, load_plugin, simulate
from tpstream.engines.engine import EngineName
from tpstream.log import SINKS
from tpstream.model.errors import PluginError, PolicyError, ScenarioError, UnknownNameError
from tpstream.model.registry import OWN
from tpstream.policies import POLICIES
from tpstream.scenario.plugins import load_elsewhere, loaded_plugins
from tpstream.timing import DELAYS

__all__ = ["forgetful"]
pytestmark = pytest.mark.usefixtures("forgetful")

GOOD = """
from tpstream.timing.lags import Poisson

class Kind:
    settings = Poisson

    def build(self, settings, context):
        return settings

KIND = Kind()
"""
BAD: dict[str, tuple[str, str]] = {
    "syntax": ("x = (\n", "line 1: SyntaxError: '(' was never closed; mend the file"),
    "raises": ("x = 1\ny = 1 / 0\n", "line 2: ZeroDivisionError: division by zero; mend the file"),
    "imports what is not there": ("import no_such_module\n", "line 1: ModuleNotFoundError: No module named 'no_such"),
    "leaves": ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3; mend the file"),
    "no names": ("x = 1\n", 'has no PLUGINS; say what it defines, as in PLUGINS = {"delays": {"my-delay": KIND}}'),
    "not a mapping": ("PLUGINS = [1]\n", "PLUGINS must be a mapping of mappings, as in"),
    "not of mappings": ('PLUGINS = {"delays": 1}\n', "PLUGINS must be a mapping of mappings, as in"),
    "empty": ("PLUGINS = {}\n", "PLUGINS is empty; say what the file defines"),
    "unknown section": (
        'PLUGINS = {"delay": {}}\n',
        "has no section 'delay' (did you mean 'delays'?); use policies, re",
    ),
    "odd name": (GOOD + 'PLUGINS = {"delays": {"a:b": KIND}}\n', "PLUGINS['delays']['a:b'] is no name; use letters"),
    "built-in name": (
        GOOD + 'PLUGINS = {"delays": {"lump": KIND}}\n',
        "PLUGINS['delays']['lump'] is the name of a built-in delay; choose another one",
    ),
    "a class": (
        GOOD + 'PLUGINS = {"delays": {"new": Kind}}\n',
        "is the class Kind; give an instance, as in Kind()",
    ),
    "another object": (
        'PLUGINS = {"delays": {"new": 3}}\n',
        "['new'] is a int without settings and build; a delay needs",
    ),
    "another kind": (
        GOOD + 'PLUGINS = {"rewards": {"new": KIND}}\n',
        "is a Kind without arm_settings; a reward model",
    ),
    "odd settings": (
        GOOD + 'KIND.settings = dict\nPLUGINS = {"delays": {"new": KIND}}\n',
        "has settings that are no pydantic model but <class 'dict'>",
    ),
    "another name": (
        'from tpstream.policies.ucb1 import POLICY\nPLUGINS = {"policies": {"mine": POLICY}}\n',
        "PLUGINS['policies']['mine'] calls itself 'ucb1'; give it the same name in both places",
    ),
}


def test_a_loaded_name_is_known(tmp_path: Path) -> None:
    """After loading, the names that a file defines work like built-in ones, and not before."""
    assert "post" not in DELAYS.names()
    plugin = load_plugin(write_post(tmp_path))
    assert (plugin.names, DELAYS.names()[-1]) == ((("delays", "post"),), "post")
    run = simulate(small(delays=[{"kind": "post", "mean": 3.0}]), "tp-ucb-fr")
    assert run.arms.tolist() != simulate(small(), "tp-ucb-fr").arms.tolist()


def test_loading_twice_is_loading_once(tmp_path: Path) -> None:
    """A file that did not change is the same plug-in, however its path is written."""
    path = write_post(tmp_path)
    load_plugin(path)
    kind = DELAYS.find("post")
    load_plugin(tmp_path / "." / path.name)
    assert DELAYS.find("post") is kind
    assert len(loaded_plugins()) == 1


def test_a_changed_file_is_loaded_again(tmp_path: Path) -> None:
    """Then its names mean what it says now, also the keys of its tables; names that it dropped are unknown."""
    path = write_post(tmp_path)
    load_plugin(path)
    small(delays=[{"kind": "post", "mean": 3.0}])
    text = path.read_text().replace("mean", "days")
    path.write_text(text)
    load_plugin(path)
    small(delays=[{"kind": "post", "days": 3.0}])
    with pytest.raises(ScenarioError, match=r"delays\[0\]\.mean: unknown key"):
        small(delays=[{"kind": "post", "mean": 3.0}])
    path.write_text(text.replace('"post"', '"mail"'))
    load_plugin(path)
    assert DELAYS.names()[-1] == "mail"
    assert "post" not in DELAYS.names()


@pytest.mark.parametrize("mistake", BAD)
def test_a_bad_file(tmp_path: Path, mistake: str) -> None:
    """A file that cannot be used is an error of one line that names it and says what to do; nothing is left of it."""
    text, message = BAD[mistake]
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(PluginError) as caught:
        load_plugin(path)
    told = str(caught.value)
    assert told.startswith(f"{path}: ")
    assert message in told
    assert "\n" not in told
    assert ("new" in DELAYS.names(), loaded_plugins()) == (False, ())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("post_ofice.py", r"no such file \(did you mean 'post\.py'\?\); give the path of a plug-in"),
        ("post.txt", "is no Python file; a plug-in ends in .py"),
        ("folder.py", "cannot be read"),
    ],
)
def test_a_file_that_is_not_there(tmp_path: Path, name: str, message: str) -> None:
    """A wrong path is an error that says what is wrong with it."""
    write_post(tmp_path)
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(PluginError, match=message):
        load_plugin(tmp_path / name)


def test_two_files_with_one_name(tmp_path: Path) -> None:
    """A name belongs to one file."""
    for folder in ("a", "b"):
        write_post(tmp_path / folder)
    load_plugin(tmp_path / "a" / "post.py")
    with pytest.raises(PluginError, match=r"b/post\.py.*'post'\] is the name of a delay of another plug-in file"):
        load_plugin(tmp_path / "b" / "post.py")


def test_a_bad_new_version_leaves_the_old_one(tmp_path: Path) -> None:
    """If a changed file cannot be loaded, what was loaded before stays."""
    path = write_post(tmp_path)
    load_plugin(path)
    path.write_text("x = 1\n")
    with pytest.raises(PluginError, match="has no PLUGINS"):
        load_plugin(path)
    assert len(small(delays=[{"kind": "post"}]).delays) == 1


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_plug_ins_work_in_every_worker(tmp_path: Path, engine: EngineName) -> None:
    """Processes and threads know what this process loaded, and find the same."""
    for write in (write_post, write_greedy):
        load_plugin(write(tmp_path))
    (tmp_path / "world.toml").write_text(SCENARIO)
    scenario = Scenario.load(tmp_path / "world.toml")
    alone = compare(scenario, runs=4, engine=engine)
    with ProcessPoolExecutor(2, get_context("spawn")) as processes, ThreadPoolExecutor(2) as threads:
        for executor in (processes, threads):
            shared = compare(scenario, runs=4, engine=engine, executor=executor)
            for policy in ("greedy", "uniform"):
                assert shared.counts[policy].tolist() == alone.counts[policy].tolist()


def test_a_scenario_travels_with_its_plug_ins(tmp_path: Path) -> None:
    """A pickled scenario can be read by a process that has loaded nothing."""
    load_plugin(write_post(tmp_path))
    (tmp_path / "scenario.pickle").write_bytes(pickle.dumps(small(delays=[{"kind": "post", "mean": 2.0}])))
    code = """
import pickle, sys
print(pickle.load(open(sys.argv[1], "rb")).delays[0].mean)
"""
    assert finish(start_python(code, tmp_path / "scenario.pickle")) == "2.0\n"


def test_a_worker_with_another_file(tmp_path: Path) -> None:
    """A file that is not the one that was loaded is refused by a worker."""
    path = write_post(tmp_path)
    plugin = load_plugin(path)
    path.write_text(path.read_text() + "# new\n")
    with pytest.raises(PluginError, match=r"post\.py: is not what it was when it was loaded"):
        load_elsewhere([plugin])


def test_compiled_plug_ins_are_kept(tmp_path: Path) -> None:
    """A second process uses the machine code of the first; one with a changed file makes its own."""
    (tmp_path / "cache").mkdir()
    path = write_greedy(tmp_path)
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from studies import small
from tpstream import load_plugin, simulate
load_plugin(sys.argv[1])
print(simulate(small(), "greedy:explore=0").arms.tolist())
"""

    def run() -> tuple[str, set[tuple[str, int]]]:
        printed = finish(start_python(code, path, TPSTREAM_CACHE=str(tmp_path / "cache")))
        return printed, {(file.name, file.stat().st_mtime_ns) for file in (tmp_path / "cache").rglob("*.nb?")}

    first, second = run(), run()
    path.write_text(path.read_text().replace("return round - 1", "return arms - round"))
    changed = run()
    assert first == second
    assert first[1]
    assert first[1] < changed[1]
    assert first[0] != changed[0]


NAMED = """
from pathlib import Path
Path(__file__).with_name("was-here").touch()
from tpstream.policies.base import SharedPolicy
from tpstream.policies.tp_ucb_fr import POLICY as FR
from dataclasses import replace
POLICY = replace(FR, name="mine")
NUMBER = 3
"""


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that can be imported, and leaves a trace if it is."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "users_named.py").write_text(NAMED)
    return tmp_path / "was-here"


def test_a_policy_by_its_module(named: Path) -> None:
    """In Python a policy can be asked for as "module:Name", with parameters after it."""
    run = simulate(small(), "users_named:POLICY:groups=6")
    assert (run.choice.label, run.choice.parameters.groups) == ("mine:groups=6", 6)  # type: ignore[attr-defined]
    assert list(compare(small(), ["users_named:POLICY"], runs=1).counts) == ["mine"]
    assert named.exists()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("users_named:POLICE", "cannot be imported: AttributeError"),
        ("no_such_module:POLICY", "cannot be imported: ModuleNotFoundError"),
        ("users_named:NUMBER", "is a int; give a SharedPolicy or a PythonPolicy"),
    ],
)
def test_a_policy_that_is_not_there(named: Path, spec: str, message: str) -> None:
    """A module or name that is not there, or is something else, is an error that says so."""
    assert not named.exists()
    with pytest.raises(PolicyError, match=message):
        simulate(small(), spec)


@pytest.mark.parametrize("kind", ["users_named:POLICY", "users_named", "users_named.py", "./users_named.py"])
@pytest.mark.parametrize("key", ["rewards", "delays", "arrivals", "policies", "inner"])
def test_a_scenario_imports_nothing(named: Path, key: str, kind: str) -> None:
    """Whatever a scenario file names, nothing runs that was not installed or loaded: it is an unknown kind."""
    tables = {
        "rewards": {"rewards": {"kind": kind}},
        "delays": {"delays": [{"kind": kind}]},
        "arrivals": {"arrivals": {"kind": kind}},
        "policies": {"policies": [{"kind": kind}]},
        "inner": {"delays": [{"kind": "by-arm", "arms": {}, "others": {"kind": kind}}]},
    }
    with pytest.raises(ScenarioError, match=rf"unknown .* '{kind}'.*; known: .*; {re.escape(OWN)}"):
        small(**tables[key])
    assert not named.exists()


def test_a_plug_in_file_is_asked_for_until_one_is_loaded(tmp_path: Path) -> None:
    """An unknown policy or sink may be the user's own; with a file of policies loaded, that is not said of policies."""
    unknown = [(POLICIES, "mine"), (SINKS, "mine")]
    assert all(str(registry.unknown(name)).endswith(OWN) for registry, name in unknown)
    error = pickle.loads(pickle.dumps(POLICIES.unknown("mine")))  # noqa: S301 (our own)
    assert str(error) == str(POLICIES.unknown("mine"))
    with pytest.raises(UnknownNameError, match=re.escape(OWN)):
        small().policy("mine")
    load_plugin(write_greedy(tmp_path))
    assert [str(registry.unknown(name)).endswith(OWN) for registry, name in unknown] == [False, True]


def test_a_label_imports_nothing(named: Path) -> None:
    """A scenario may call a policy what it likes."""
    scenario = small(policies=[{"kind": "uniform", "name": "users_named:POLICY"}])
    assert list(compare(scenario, runs=1).counts) == ["users_named:POLICY"]
    assert not named.exists()


def test_an_unknown_policy_has_a_suggestion() -> None:
    """A mistyped name of a plug-in is told like any other."""
    with pytest.raises(UnknownNameError, match=r"unknown policy 'tp-ucb-rf' \(did you mean 'tp-ucb-fr'\?\)"):
        simulate(small(), "tp-ucb-rf")
    assert "mine" not in POLICIES.names()
