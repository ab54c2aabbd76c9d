"""What users can name: exports, errors, and what importing costs."""

import inspect
import pickle
import re

import pytest
from studies import finish, start_python

import tpstream
from tpstream.model import errors
from tpstream.model.errors import TpstreamError, UnknownNameError, did_you_mean

NEEDED = {"Run", "Scenario", "Study", "TpstreamError", "compare", "read_log", "simulate"}
HEAVY = ("matplotlib", "numba", "numpy", "pandas", "pyarrow", "pydantic", "scipy", "simpy")
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


def test_exports_are_sorted_and_listed() -> None:
    """`dir` shows the exported names, each of them once."""
    assert dir(tpstream) == sorted(set(tpstream.__all__))


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


def test_help_is_light() -> None:
    """`tpstream --help` loads none of the heavy packages."""
    code = f"""
import sys
from tpstream.cli.app import main
sys.argv = ["tpstream", "--help"]
try:
    main()
finally:
    sys.stderr.write(str([name for name in {HEAVY} if name in sys.modules]))
"""
    process = start_python(code)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "[]")
