"""The guide to plug-ins tells the truth: its files work as they stand, by path and as an installed package."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
FILES = {
    name: text
    for name, _, text in re.findall(
        r"`(\w+\.(?:py|toml))`[^`]*\n\n```(python|toml)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL
    )
}
COMMANDS = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines()]
INSTALLED = """
import sys
from tpstream import Scenario, simulate
from tpstream.testing import check_delay, check_policy
scenario = Scenario.load("clinic.toml")
arms = [simulate(scenario, "greedy", engine=engine).arms.tolist() for engine in ("simpy", "compiled")]
print(arms[0] == arms[1], "post_office" in sys.modules, "tips" in sys.modules)
check_delay("post-office", {"days": 1.0})
check_policy("greedy")
"""

OTHERS = {"rewards": "tips", "arrivals": "tides", "sinks": "ticker"}
"""Files and names of the guide's other kinds of plug-in."""


def run(folder: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """A Python process in that folder."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT)])), "COLUMNS": "120"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, check=False, text=True, env=environment
    )


def tpstream(folder: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """The command line in that folder."""
    return run(folder, "-c", "from tpstream.cli.app import main; main()", *words, path=path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files of the guide."""
    place = tmp_path_factory.mktemp("guide")
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    return place


def test_all_files_are_found() -> None:
    """Every program and scenario of the guide is a file with a name."""
    plugins = [
        "post_office.py",
        "odd_days.py",
        "nurse.py",
        "tips.py",
        "tides.py",
        "greedy.py",
        "stubborn.py",
        "ticker.py",
    ]
    others = ["clinic.toml", "ward.toml", "harbour.toml", "test_plugins.py", "pyproject.toml"]
    assert sorted(FILES) == sorted(plugins + others)
    assert len(FILES) == sum(language in {"python", "toml"} for language, _ in BLOCKS)


def test_the_commands_work(folder: Path) -> None:
    """Every command of the guide, in its order, does what it should."""
    assert len(COMMANDS) > 8
    printed = {}
    for command in COMMANDS:
        done = tpstream(folder, *shlex.split(command)[1:])
        # The guide's delay loses parts, which tp-ucb-fr counts as zero: that is told, and nothing else.
        told = [line for line in done.stderr.splitlines() if not line.startswith("warning: tp-ucb-fr counts lost")]
        assert (done.returncode, told) == (0, []), f"{command}: {done.stderr}"
        printed[shlex.split(command)[1]] = done.stdout
    assert "equal: tp-ucb-fr takes the same 500 decisions" in printed["replay"]
    assert re.search(r"^uniform, run 0: [\d.]+ euros$", printed["run"], re.MULTILINE)
    assert "ticker" in printed["list"]


def test_the_tests_pass(folder: Path) -> None:
    """The tests of the guide pass under pytest."""
    done = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_plugins.py")
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of the guide's files as an installer leaves it, with the entry points of the guide's pyproject.toml."""
    place = tmp_path_factory.mktemp("site-packages")
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    for name in ("post_office.py", "greedy.py", "tips.py"):
        (place / name).write_text(re.sub(r"^PLUGINS = .*\n", "", FILES[name], flags=re.MULTILINE), encoding="utf-8")
    install(place, project["name"], project["version"], project["entry-points"])
    return place


def install(place: Path, name: str, version: str, groups: dict[str, dict[str, str]]) -> None:
    """What an installer leaves beside a package's modules: its name, and its entry points by group."""
    about = place / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")


def test_an_installed_plug_in_works(folder: Path, installed: Path) -> None:
    """Without being named, in both engines and with the conformance kit; what is not asked for is not imported."""
    done = run(folder, "-c", INSTALLED, path=str(installed))
    assert (done.returncode, done.stdout) == (0, "True True False\n"), done.stderr


def test_an_installed_plug_in_is_listed(folder: Path, installed: Path) -> None:
    """`list` shows it, a scenario may use it, and other processes find it, too."""
    assert "post-office" in tpstream(folder, "list", "delays", path=str(installed)).stdout
    words = ("run", "clinic.toml", "-n", "2", "-j", "2", "--engine", "simpy", "-p", "greedy", "--quiet")
    done = tpstream(folder, *words, path=str(installed))
    assert (done.returncode, done.stderr) == (0, "")
    unknown = tpstream(folder, "validate", "clinic.toml")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "clinic.toml: delays[0].kind: unknown delay 'post-office'" in unknown.stderr


def test_the_other_kinds_can_be_installed_too(folder: Path, tmp_path: Path) -> None:
    """Rewards, arrivals and sinks are found by their entry points, and do what they do by path."""
    place = tmp_path / "site-packages"
    place.mkdir()
    for name in OTHERS.values():
        text, kinds = re.subn(r"^PLUGINS = .*: (\w+\(\))}}$", r"KIND = \1", FILES[f"{name}.py"], flags=re.MULTILINE)
        assert kinds == 1
        (place / f"{name}.py").write_text(text, encoding="utf-8")
    groups = {f"tpstream.{section}": {name: f"{name}:KIND"} for section, name in OTHERS.items()}
    install(place, "tpstream-harbour", "1.0", groups)
    words = ("run", str(folder / "harbour.toml"), "-t", "60", "-p", "uniform", "--sink", "ticker:unit=coins")
    by_package = tpstream(tmp_path, *words, path=str(place))
    by_path = tpstream(tmp_path, *words, *(f"--plugin={folder / name}.py" for name in OTHERS.values()))
    assert (by_package.returncode, by_package.stderr) == (0, "")
    told = re.compile(r"^uniform, run 0: [\d.]+ coins$", re.MULTILINE)
    assert told.findall(by_package.stdout) == told.findall(by_path.stdout) != []
    for section, name in OTHERS.items():
        assert name in tpstream(tmp_path, "list", section, path=str(place)).stdout
        assert name not in tpstream(tmp_path, "list", section).stdout


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("ucb1 = post_office:KIND", "policy 'ucb1' is defined by tpstream itself and by the package tpstream-clinic"),
        (
            "mine = post_office:KIND",
            "policy 'mine' of the package tpstream-clinic: post_office:KIND is a PostOfficeKind with",
        ),
        ("mine = no_such_module:X", "loading no_such_module:X raised ModuleNotFoundError"),
        ("mine = greedy:POLICY", "greedy:POLICY calls itself 'greedy'; give it the same name in both places"),
    ],
)
def test_a_bad_entry_point(folder: Path, installed: Path, tmp_path: Path, entry: str, message: str) -> None:
    """A name that is taken, or a definition that is none, is an error of one line that names the package."""
    name, _, value = entry.partition(" = ")
    install(tmp_path, "tpstream-clinic", "2.0", {"tpstream.policies": {name: value}})
    for module in ("post_office.py", "greedy.py"):
        (tmp_path / module).write_text((installed / module).read_text())
    done = tpstream(folder, "run", "setting-1", "-t", "20", "-p", name, path=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_must_not_take_an_installed_name(folder: Path, installed: Path) -> None:
    """Neither does the file win, nor the package: one of them has to go."""
    done = tpstream(folder, "list", "delays", "--plugin", "post_office.py", path=str(installed))
    assert done.returncode == 2
    assert "is the name of a delay of the package tpstream-clinic; choose another one" in done.stderr
