"""What users can name: exports, errors, and what importing costs."""

import ast
import inspect
import pickle
import pydoc
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from studies import finish, start_python

import tpstream
from tpstream.model import errors
from tpstream.model.errors import TpstreamError, UnknownNameError, did_you_mean

NEEDED = {"Run", "Scenario", "Study", "TpstreamError", "compare", "read_log", "simulate"}
HEAVY = ("matplotlib", "numba", "numpy", "pandas", "pyarrow", "pydantic", "scipy", "simpy")
UNNEEDED = ("matplotlib", "pandas", "pyarrow", "scipy.special", "scipy.stats", "simpy")
CLASSES = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, TpstreamError)]


def test_the_names_of_the_design_are_exported() -> None:
    """`from tpstream import ...` has the names that are promised."""
    assert set(tpstream.__all__) >= NEEDED


@pytest.mark.parametrize("name", tpstream.__all__)
def test_an_exported_name_is_there(name: str) -> None:
    """Each exported name can be had, has a docstring, and lives in this package."""
    value = getattr(tpstream, name)
    assert value.__name__ == name
    assert value.__module__.startswith("tpstream.")
    assert inspect.getdoc(value)


@pytest.mark.parametrize("name", tpstream.__all__)
def test_tools_find_what_api_pages_need(name: str) -> None:
    """Each exported name has a module, a docstring and a signature, by which API pages and `help` are made."""
    value = getattr(tpstream, name)
    module = inspect.getmodule(value)
    assert module is not None
    assert getattr(module, name) is value
    assert len(str(inspect.getdoc(value))) > 30
    assert "pydantic" not in str(inspect.signature(value)).lower()


def test_exports_are_sorted_and_listed() -> None:
    """`dir` shows the exported names and the version, each of them once."""
    assert dir(tpstream) == sorted({*tpstream.__all__, "__version__"})


def test_exports_can_be_read_without_running_the_package() -> None:
    """`__all__` is written out, and is what the table of lazy imports and the imports for type checkers say."""
    tree = ast.parse(Path(str(tpstream.__file__)).read_text(encoding="utf-8"))
    assigned = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for_checkers = [
        alias.asname
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert ast.literal_eval(assigned["__all__"]) == sorted(tpstream._MODULES) == sorted(map(str, for_checkers))


def test_the_version_is_the_projects() -> None:
    """`__version__` is that of pyproject.toml, and the file about citing names the same."""
    top = Path(__file__).parents[1]
    version = tomllib.loads((top / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    cited = yaml.safe_load((top / "CITATION.cff").read_text(encoding="utf-8"))
    assert tpstream.__version__ == version == cited["version"]


def test_the_file_about_citing_is_whole() -> None:
    """CITATION.cff has the keys that its format demands, the developers as an entity, and the paper as a reference."""
    cited = yaml.safe_load((Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["authors"] == [{"name": "The tpstream developers"}]
    (paper,) = cited["references"]
    assert (paper["authors"][0]["family-names"], paper["year"]) == ("Romano", 2022)


def test_there_is_an_extra_for_the_tests_that_are_written() -> None:
    """`tpstream[test]` has pytest, which the test beside a new plug-in needs."""
    extras = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert any(one.startswith("pytest") for one in extras["project"]["optional-dependencies"]["test"])


def test_help_on_a_policy_says_what_its_handlers_take() -> None:
    """`help(tpstream.SharedPolicy)` has the signature of each function of a policy."""
    text = pydoc.plain(pydoc.render_doc(tpstream.SharedPolicy))
    signatures = {
        "init": "(problem, parameters) -> state",
        "decide": "(state, round, stream) -> arm",
        "on_pull": "(state, arm, slot, total)",
        "on_partial": "(state, arm, slot, part, value)",
        "on_received": "(state, arm, amount)",
        "on_group": "(state, arm, slot, group, amount)",
        "on_lost": "(state, arm, slot, part)",
        "on_closed": "(state, arm, slot, credited)",
    }
    for handler, signature in signatures.items():
        assert re.search(rf"{handler} : callable.*\n[ |]*`{re.escape(signature)}`", text), handler


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that is not exported fails as in any module."""
    with pytest.raises(AttributeError, match="has no attribute 'simulation'"):
        tpstream.simulation  # noqa: B018


def test_the_drawn_tree_is_the_real_one() -> None:
    """The tree in the docstring has every error, each below its parent, with its meaning."""
    drawn: dict[str, str] = {}
    path = [(-1, "")]
    for margin, name in re.findall(r"^([ │├└─]*)(\w+Error)", str(errors.__doc__), re.MULTILINE):
        while path[-1][0] >= len(margin):
            path.pop()
        drawn[name] = path[-1][1]
        path.append((len(margin), name))
    real = {value.__name__: value.__bases__[0].__name__ for value in CLASSES}
    assert drawn == real | {"TpstreamError": ""}


@pytest.mark.parametrize("error", CLASSES)
def test_errors_travel_between_processes(error: type[TpstreamError]) -> None:
    """An error keeps its type and text when another process sends it."""
    made = UnknownNameError("policy", "x", ["y", "x1"]) if error is UnknownNameError else error("text")
    again = pickle.loads(pickle.dumps(made))  # noqa: S301 (our own)
    assert (type(again), str(again)) == (error, str(made))


@pytest.mark.parametrize(
    ("name", "found"),
    [("tp-ucb-rf", " (did you mean 'tp-ucb-fr'?)"), ("oracel", " (did you mean 'oracle'?)"), ("xyz", "")],
)
def test_did_you_mean(name: str, found: str) -> None:
    """The nearest known name is offered, if any is near."""
    assert did_you_mean(name, ["tp-ucb-fr", "oracle", "uniform"]) == found


def test_importing_is_light() -> None:
    """`import tpstream` loads none of the heavy packages; they wait for the first name that needs them."""
    code = f"import sys, tpstream; print([name for name in {HEAVY} if name in sys.modules])"
    assert finish(start_python(code)) == "[]\n"


def loaded_by(words: Sequence[str], names: Sequence[str]) -> str:
    """Which of these modules a command loads."""
    code = f"""
import sys
from tpstream.cli.app import main
sys.argv = ["tpstream", *{list(words)}]
try:
    main()
finally:
    sys.stderr.write(str([name for name in {list(names)} if name in sys.modules]))
"""
    process = start_python(code, TPSTREAM_NOTES="0")
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    return told


def test_help_is_light() -> None:
    """`tpstream --help` loads none of the heavy packages."""
    assert loaded_by(["--help"], HEAVY) == "[]"


def test_a_short_run_is_light() -> None:
    """A run that prints its result loads no package for tables, files, figures, statistics or SimPy's timeline."""
    words = ["run", "setting-1", "--horizon", "300", "-p", "ucb1", "-p", "uniform"]
    assert loaded_by(words, UNNEEDED) == "[]"
