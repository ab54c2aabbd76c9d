"""The code of a plug-in is part of a study: its file, all that it imports, and the versions of installed packages."""

import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import pytest
from plugged import forgetful
from studies import TOML, finish, small, start_python

from tpstream import Scenario, compare, load_plugin, simulate
from tpstream.experiment import executors
from tpstream.experiment.store import plugin_code, policy_code
from tpstream.model.errors import PluginError, StudyError
from tpstream.scenario.plugins import load_elsewhere
from tpstream.scenario.source_code import UNKNOWN, identify_code, modules_of
from tpstream.scenario.tables import find_policy
from tpstream.timing import DELAYS

__all__ = ["forgetful"]
pytestmark = pytest.mark.usefixtures("forgetful", "helpers")

DELAY = """
{imports}
from tpstream.model.interfaces import Schedule
from tpstream.model.settings import Settings

class Late:
    whole = True
    def apply(self, schedule, rewards, arm, stream):
        {inside}
        return Schedule(schedule.offsets + {lag}, schedule.lost)

class Kind:
    settings = Settings
    def build(self, settings, context):
        return Late()

PLUGINS = {{"delays": {{"late": Kind()}}}}
"""
FORMS: dict[str, tuple[str, str, str, str]] = {
    "module": ("import local_helper", "", "local_helper.LAG", "local_helper.py"),
    "name": ("from local_helper import LAG", "", "LAG", "local_helper.py"),
    "lazy": ("", "from local_helper import LAG", "LAG", "local_helper.py"),
    "by name": ("", 'LAG = __import__("local_helper").LAG', "LAG", "local_helper.py"),
    "package": ("from local_package import rates", "", "rates.LAG", "local_package/rates.py"),
    "package's own": ("import local_package.rates as r", "", "r.LAG", "local_package/__init__.py"),
    "relative": ("from local_package.inner import LAG", "", "LAG", "local_package/rates.py"),
    "lazy package": ("", "from local_package.inner import LAG", "LAG", "local_package/rates.py"),
    "no __init__": ("from local_folder import rates", "", "rates.LAG", "local_folder/rates.py"),
}
"""The import, the import inside a method, the lag, and the file that is edited."""


@pytest.fixture
def helpers(tmp_path: Path) -> Iterator[None]:
    """Modules beside the plug-in; what was imported is forgotten afterwards."""
    (tmp_path / "local_helper.py").write_text("LAG = 1\n")
    for folder in ("local_package", "local_folder"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rates.py").write_text("LAG = 1\n")
    (tmp_path / "local_package" / "__init__.py").write_text("")
    (tmp_path / "local_package" / "inner.py").write_text("from .rates import LAG\n")
    before = list(sys.path)
    yield
    sys.path[:] = before
    for name in [name for name in sys.modules if name.startswith("local_")]:
        del sys.modules[name]


def write_delay(folder: Path, form: str) -> Path:
    """A plug-in with the delay "late", whose lag is in another file."""
    imports, inside, lag, _ = FORMS[form]
    (folder / "late.py").write_text(DELAY.format(imports=imports, inside=inside, lag=lag))
    return folder / "late.py"


def late() -> Scenario:
    """The small scenario with the plug-in's delay."""
    return small(delays=[{"kind": "late"}])


@pytest.mark.parametrize("form", FORMS)
def test_an_edited_helper_is_another_study(tmp_path: Path, form: str) -> None:
    """However a plug-in imports a module of the user, an edit of it is noticed, by the name of its file."""
    path, edited = write_delay(tmp_path, form), FORMS[form][3]
    load_plugin(path)
    compare(late(), ["uniform"], runs=2, folder=tmp_path / "s")
    compare(late(), ["uniform"], runs=3, folder=tmp_path / "s")
    (tmp_path / edited).write_text((tmp_path / edited).read_text() + "# edited\n")
    load_plugin(path)
    told = rf"holds another study: {edited} was edited since it began; .* a copy is .*/s/code/{edited}, or choose"
    with pytest.raises(StudyError, match=told):
        compare(late(), ["uniform"], runs=4, folder=tmp_path / "s")
    assert "edited" not in (tmp_path / "s" / "code" / edited).read_text()


@pytest.mark.parametrize("form", FORMS)
def test_modules_beside_a_plug_in(tmp_path: Path, form: str) -> None:
    """A plug-in imports modules of its folder, at once or later; the study keeps copies, `sys.path` is as before."""
    before = list(sys.path)
    load_plugin(write_delay(tmp_path, form))
    compare(late(), ["uniform"], runs=2, folder=tmp_path / "s")
    assert sys.path == before
    edited = FORMS[form][3]
    assert (tmp_path / "s" / "code" / edited).read_text() == (tmp_path / edited).read_text()


def test_modules_beside_a_plug_in_in_worker_processes(tmp_path: Path) -> None:
    """Worker processes find them, too, also those that are imported during a run."""
    load_plugin(write_delay(tmp_path, "lazy package"))
    alone = compare(late(), ["ucb1"], runs=2)
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        shared = compare(late(), ["ucb1"], runs=2, executor=processes)
    assert shared.counts["ucb1"].tolist() == alone.counts["ucb1"].tolist()


@pytest.mark.parametrize("form", ["module", "lazy", "package", "no __init__"])
def test_two_modules_of_one_name(tmp_path: Path, form: str) -> None:
    """A plug-in never gets the helper of another folder: it is refused, and what was loaded before stays."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "local_helper.py").write_text("LAG = 1\n")
        for package in ("local_package", "local_folder"):
            shutil.copytree(tmp_path / package, tmp_path / folder / package)
        path = write_delay(tmp_path / folder, form)
        path.write_text(path.read_text().replace('"late"', f'"late-{folder}"'))
    load_plugin(tmp_path / "a" / "late.py")
    told = r"b/late\.py: imports local_\w+, which is .*/b/local.* beside it and .*/a/local.*; rename one of them"
    with pytest.raises(PluginError, match=told):
        load_plugin(tmp_path / "b" / "late.py")
    compare(small(delays=[{"kind": "late-a"}]), ["uniform"], runs=2)
    assert "late-b" not in DELAYS.names()


def test_installed_packages_come_first(tmp_path: Path) -> None:
    """A file beside the plug-in does not stand in for a module of Python or of an installed package."""
    for name in ("json", "scipy", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError\n")
    text = write_delay(tmp_path, "module").read_text()
    (tmp_path / "late.py").write_text(
        f"import json, numpy\nfrom scipy import stats\njson.dumps(stats.norm.mean())\n{text}"
    )
    assert set(load_plugin(tmp_path / "late.py").code) == {"late.py", "local_helper.py", "scipy", "numpy"}


def test_only_what_a_plug_in_imports_is_found(tmp_path: Path) -> None:
    """Other files in its folder stay out of reach of `import`."""
    (tmp_path / "local_other.py").write_text("")
    load_plugin(write_delay(tmp_path, "module"))
    with pytest.raises(ModuleNotFoundError):
        import_module("local_other")


def test_a_helper_that_fails(tmp_path: Path) -> None:
    """An error in a helper is told with its file and line; a missing one with where to put it. Nothing is left."""
    path = write_delay(tmp_path, "module")
    (tmp_path / "local_helper.py").write_text("LAG = 1\nLAG / 0\n")
    with pytest.raises(PluginError, match=r"late\.py: local_helper\.py, line 2: ZeroDivisionError"):
        load_plugin(path)
    (tmp_path / "local_helper.py").unlink()
    with pytest.raises(PluginError, match=rf"No module named 'local_helper'; .* put the module into {tmp_path}$"):
        load_plugin(path)
    (tmp_path / "local_helper.py").write_text("LAG = 1\n")
    assert load_plugin(path).names == (("delays", "late"),)


@pytest.mark.slow
def test_an_edited_helper_on_the_command_line(tmp_path: Path) -> None:
    """Two runs, an edit of the helper, and four runs are refused; the first two stay."""
    write_delay(tmp_path, "module")
    (tmp_path / "late.toml").write_text(TOML + '\n[[delays]]\nkind = "late"\n')
    code = "import sys; from tpstream.cli.app import main; main()"
    words = ("compare", tmp_path / "late.toml", "--plugin", tmp_path / "late.py", "--out", tmp_path / "s", "--quiet")
    finish(start_python(code, *words, "--policy", "uniform", "--runs", 2))
    results = (tmp_path / "s" / "results.csv").read_bytes()
    (tmp_path / "local_helper.py").write_text("LAG = 3\n")
    process = start_python(code, *words, "--policy", "uniform", "--runs", 4)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "holds another study" in told
    assert "local_helper.py" in told
    assert (tmp_path / "s" / "results.csv").read_bytes() == results


def test_loading_again_loads_an_edited_helper(tmp_path: Path) -> None:
    """After an edit, even within the same second, `load_plugin` makes the plug-in mean what the helper says now."""
    path = write_delay(tmp_path, "relative")
    load_plugin(path)
    about = (tmp_path / "local_package" / "rates.py").stat()
    before = simulate(late(), "ucb1").events()
    (tmp_path / "local_package" / "rates.py").write_text("LAG = 7\n")
    os.utime(tmp_path / "local_package" / "rates.py", ns=(about.st_atime_ns, about.st_mtime_ns + 1000))
    assert simulate(late(), "ucb1").events().equals(before)
    load_plugin(path)
    assert not simulate(late(), "ucb1").events().equals(before)


def test_results_are_kept_under_the_code_that_ran(tmp_path: Path) -> None:
    """An edit that was not loaded changes nothing, neither the numbers nor what they are kept under."""
    load_plugin(write_delay(tmp_path, "module"))
    code = plugin_code(late().resolved())
    (tmp_path / "local_helper.py").write_text("LAG = 7\n")
    assert plugin_code(late().resolved()) == code


def test_a_bad_helper_leaves_the_old_one(tmp_path: Path) -> None:
    """If an edited helper cannot be imported, what was loaded before stays."""
    path = write_delay(tmp_path, "module")
    load_plugin(path)
    before = sys.modules["local_helper"]
    (tmp_path / "local_helper.py").write_text("LAG = 1 / 0\n")
    with pytest.raises(PluginError, match=r"late\.py: .*ZeroDivisionError"):
        load_plugin(path)
    assert sys.modules["local_helper"] is before


def test_a_worker_with_another_helper(tmp_path: Path) -> None:
    """A worker whose helper is not the one that was loaded refuses the work, and names the file."""
    plugin = load_plugin(write_delay(tmp_path, "module"))
    (tmp_path / "local_helper.py").write_text("LAG = 7\n")
    with pytest.raises(PluginError, match=r"local_helper\.py, which .*late\.py imports: is not what it was"):
        load_elsewhere([plugin])


@pytest.mark.parametrize("edited", ["late.py", "local_helper.py"])
def test_code_that_was_edited_since_it_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], edited: str
) -> None:
    """Work for other processes is refused before any is started; work in this process goes on with the old code."""
    load_plugin(write_delay(tmp_path, "module"))
    (tmp_path / edited).write_text((tmp_path / edited).read_text() + "# edited\n")
    monkeypatch.setattr(executors, "WORTH", 0.0)
    compare(late(), ["uniform"], runs=4)
    told = "was edited since it was loaded; call load_plugin again, or restart the notebook"
    with pytest.raises(PluginError, match=rf"{edited}(, which .*)?: {told}$"):
        compare(late(), ["uniform"], runs=4, jobs=2)
    assert "Traceback" not in capfd.readouterr().err


def test_code_that_is_edited_while_workers_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """If the workers find other code than was loaded, the cause is told, without a traceback."""
    load_plugin(write_delay(tmp_path, "module"))
    checks = [lambda: (tmp_path / "local_helper.py").write_text("LAG = 2\n"), executors.check_unchanged]
    monkeypatch.setattr(executors, "check_unchanged", lambda: checks.pop(0)())  # noqa: PLW0108 (one after the other)
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(PluginError, match=r"local_helper\.py, which .* imports: was edited since it was loaded"),
    ):
        compare(late(), ["uniform"], runs=4, executor=pool)
    assert "Traceback" not in capfd.readouterr().err


def test_installed_packages_count_by_their_version(tmp_path: Path) -> None:
    """An installed package that a plug-in imports counts with its version, also one that is named otherwise."""
    (tmp_path / "local_helper.py").write_text("import dateutil.parser, json\nfrom scipy import stats\nLAG = 1\n")
    code = load_plugin(write_delay(tmp_path, "module")).code
    assert set(code) == {"late.py", "local_helper.py", "scipy", "python-dateutil"}
    assert code["scipy"] == version("scipy")
    assert code["python-dateutil"] == version("python-dateutil")


def test_all_of_a_plug_in_file_counts(tmp_path: Path) -> None:
    """The file that makes a definition counts, also if class and functions are of other modules."""
    (tmp_path / "local_helper.py").write_text((write_delay(tmp_path, "package")).read_text())
    text = "from local_helper import PLUGINS\n"
    found = []
    for edit in ("", "# edited\n"):
        (tmp_path / "mine.py").write_text(text + edit)
        load_plugin(tmp_path / "mine.py")
        found.append(plugin_code(late().resolved())["late"])
    before, after = found
    assert set(before) == {"mine.py", "local_helper.py", "local_package/__init__.py", "local_package/rates.py"}
    assert {name for name in before if before[name] != after[name]} == {"mine.py"}


def test_every_function_of_a_policy_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy with one function of the user and others of ours is the user's."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "local_policy.py").write_text(
        "from dataclasses import replace\nfrom tpstream.policies import ucb1\n"
        "def init(problem, parameters):\n    return ucb1.init(problem, parameters)\n"
        "POLICY = replace(ucb1.POLICY, name='mine', init=init)\n"
    )
    import local_policy  # type: ignore[import-not-found] # noqa: PLC0415 (it was just written)

    assert set(policy_code(local_policy.POLICY) or {}) == {"local_policy.py"}
    assert policy_code(find_policy("ucb1")) is None


def test_code_of_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that is in no file is told to be unknown; modules that it imported count."""
    monkeypatch.syspath_prepend(tmp_path)
    import local_helper  # type: ignore[import-not-found] # noqa: PLC0415 (it was just written)

    main = ModuleType("__main__")
    vars(main)["local_helper"] = local_helper
    monkeypatch.setitem(sys.modules, "__main__", main)

    def create() -> None:
        pass

    create.__module__ = "__main__"
    code = identify_code(modules_of(create))
    assert (code["__main__"], set(code)) == (UNKNOWN, {"__main__", "local_helper.py"})
