"""What cannot be sent to another process runs in the first one, with one note that tells the true cause."""

import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import moody
import pytest
from plugged import forgetful, write_greedy
from studies import small, start_python

from tpstream import compare, load_plugin
from tpstream.experiment import executors
from tpstream.experiment.plan import StudyPolicy
from tpstream.experiment.sending import policy_obstacle, processes_obstacle, sinks_obstacle
from tpstream.model.events import Events
from tpstream.model.notes import NOTES
from tpstream.policies.base import PolicyForm, SharedPolicy
from tpstream.run.options import RunOptions, choose_sink
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.tables import find_policy

__all__ = ["forgetful"]

PROGRAM = """
import sys
sys.path[:0] = [{support!r}]
import moody
from dataclasses import replace
from functools import partial
from studies import small
from tpstream import compare, load_plugin
from tpstream.experiment import executors
from tpstream.policies.base import Parameters, PythonPolicy
from tpstream.scenario.tables import find_policy

class Mine(moody.Moody):
    pass

def create(problem, parameters, stream):
    return Mine(problem.arms, gives_up=False)

def inside():
    def local(problem, parameters, stream):
        return Mine(problem.arms, gives_up=False)
    return local

def study(policy):
    executors.WORTH = 0.0
    found = compare(small(), [policy], runs=4, jobs=2, engine="simpy")
    print(len(found.records[policy.name]))
"""
"""Processes are worth their start in it, however short the work is."""
TOP, LAMBDA, LOCAL, COMPILED = (
    'PythonPolicy("mine", Parameters, create)',
    'PythonPolicy("mine", Parameters, lambda *given: create(*given))',
    'PythonPolicy("mine", Parameters, inside())',
    'replace(find_policy("ucb1"), name="mine")',
)
GUARD = 'if __name__ == "__main__":\n    '
CASES: dict[str, tuple[bool, str, str, str]] = {
    "prompt": (False, f"study({TOP})", "needs create, which is defined at a prompt or in a notebook", "define it at"),
    "prompt, lambda": (False, f"study({LAMBDA})", "is created by a lambda", "write a function with def"),
    "prompt, compiled": (False, f"study({COMPILED})", "is compiled and an object without a reg", "name it in PLUGINS"),
    "file": (True, f"{GUARD}study({TOP})", "", ""),
    "file, no guard": (True, f"study({TOP})", "program.py has no if __name__", "put the call under if __name__"),
    "file, lambda": (True, f"{GUARD}study({LAMBDA})", "is created by a lambda", "write a function with def"),
    "file, local": (True, f"{GUARD}study({LOCAL})", "created by local, which is defined inside inside", "top level"),
    "file, compiled": (True, f"{GUARD}study({COMPILED})", "every process would compile it anew", "ask for it by name"),
    "file, under the guard": (
        True,
        f'{GUARD}def late(*given): return create(*given)\n    study(PythonPolicy("mine", Parameters, late))',
        "needs late, which is not defined in program.py outside of if __name__",
        "define it at the top level",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_policy_of_a_program(tmp_path: Path, case: str) -> None:
    """A program or prompt with two jobs gets its result, and one note with the cause if it has one core only."""
    in_file, call, reason, remedy = CASES[case]
    code = PROGRAM.format(support=str(Path(__file__).parents[1] / "support")) + "\n" + call
    (tmp_path / "program.py").write_text(code)
    process = start_program(tmp_path / "program.py") if in_file else start_python(code, TPSTREAM_NOTES="1")
    printed, told = process.communicate(timeout=120)
    assert (process.returncode, printed) == (0, "4\n"), told
    assert told.count("only one core is used") == (1 if reason else 0)
    assert reason in told.replace("\\", "")
    assert remedy in told.replace("\\", "")
    assert "Traceback" not in told


def start_program(path: Path) -> Any:
    """A Python process that runs this file as its main program."""
    code = "import os, sys; os.execv(sys.executable, [sys.executable, sys.argv[1]])"
    return start_python(code, path, TPSTREAM_NOTES="1")


def test_programs_without_a_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are spawned from a shell, from a guarded program, and not from one that would start all over again."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert processes_obstacle([], RunOptions()) is None
    main.__file__ = str(tmp_path / "program.py")
    (tmp_path / "program.py").write_text("compare(scenario, jobs=2)")
    found = processes_obstacle([], RunOptions())
    assert found is not None
    assert "program.py has no if __name__" in found.reason
    (tmp_path / "program.py").write_text('if __name__ == "__main__":\n    compare(scenario, jobs=2)')
    assert processes_obstacle([], RunOptions()) is None


def study_policy(form: PolicyForm) -> StudyPolicy:
    """The policy as a study has it."""
    return StudyPolicy("", PolicyChoice(form.name, form, form.parameters()))


@pytest.mark.usefixtures("forgetful")
def test_policies_that_do_not_travel(tmp_path: Path) -> None:
    """A compiled policy travels by its name only, another one if a new process finds all that it is made of."""
    load_plugin(write_greedy(tmp_path))
    ucb1, greedy = find_policy("ucb1"), find_policy("greedy")
    assert isinstance(ucb1, SharedPolicy)
    for form in (ucb1, greedy, moody.POLICY):
        assert policy_obstacle(study_policy(form)) is None
    made = ModuleType("made_up")
    vars(made)["Made"] = type("Made", (), {"__module__": "made_up"})
    sys.modules["made_up"] = made
    try:
        forms = {
            "compiled": replace(ucb1),
            "created by a lambda": replace(moody.POLICY, create=lambda *_: None),  # type: ignore[arg-type,return-value]
            "made_up, a module that another process cannot import": replace(moody.POLICY, create=vars(made)["Made"]),
        }
        for reason, form in forms.items():
            found = policy_obstacle(study_policy(form))
            assert found is not None
            assert reason in found.reason
    finally:
        del sys.modules["made_up"]


class Listener:
    """A sink that counts what it hears; it can be pickled, and its copies in other processes count for themselves."""

    def __init__(self) -> None:
        self.heard = 0

    def hear(self, events: Events) -> None:
        """Count the events."""
        self.heard += len(events.seq)


def test_sinks_that_do_not_travel() -> None:
    """A sink with a name is opened by every process; an object would hear nothing of another one."""
    assert sinks_obstacle(RunOptions(sinks=(choose_sink("lines"),))) is None
    found = sinks_obstacle(RunOptions(sinks=(Listener(),)))
    assert found is not None
    assert found.reason == "the sink Listener is an object of this process and would hear no run of another one"


@pytest.mark.parametrize("workers", ["jobs", "executor", "threads"])
def test_a_sink_hears_every_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], workers: str
) -> None:
    """An object hears all runs, whoever was to do the work; one note says why that is this process."""
    monkeypatch.setenv(NOTES, "1")
    monkeypatch.setattr(executors, "WORTH", 0.0)
    alone, shared = Listener(), Listener()
    compare(small(), ["uniform"], runs=4, sinks=[alone])
    capfd.readouterr()
    if workers == "jobs":
        compare(small(), ["uniform"], runs=4, sinks=[shared], jobs=2)
    else:
        with ProcessPoolExecutor(1) if workers == "executor" else ThreadPoolExecutor(1) as executor:
            compare(small(), ["uniform"], runs=4, sinks=[shared], executor=executor)
    assert shared.heard == alone.heard > 0
    noted = capfd.readouterr().err
    assert noted.count("the sink Listener is an object of this process") == (workers != "threads")
