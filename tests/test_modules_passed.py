"""A command passes few modules of ours between the typed words and the result."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "modules_passed.py"


@pytest.mark.slow
def test_commands_pass_few_modules(tmp_path: Path) -> None:
    """`run`, `compare` and `replay` stay below the limits, so that who follows one of them has few files to read."""
    spec = importlib.util.spec_from_file_location("modules_passed", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    passed = {name: script.passed(name, tmp_path) for name in script.AIMS}
    assert {name: passed[name] for name, most in script.AIMS.items() if len(passed[name]) > most} == {}
