"""What keeps work from being sent to other processes: it is found before any is started, and told with a remedy."""

import ast
import io
import pickle
import sys
from collections.abc import Iterable
from concurrent import futures
from pathlib import Path
from typing import Any, NamedTuple

from tpstream.experiment.plan import StudyPolicy
from tpstream.policies.base import SharedPolicy
from tpstream.run.options import RunOptions, SinkChoice
from tpstream.scenario.source_code import find_anew

IN_A_FILE = "define it at the top level of a module that can be imported, or of a plug-in file (load_plugin)"
"""What to do with a definition that no other process finds."""


class Obstacle(NamedTuple):
    """Why work cannot be given to other processes, and what to do about it."""

    reason: str
    remedy: str


def processes_obstacle(policies: Iterable[StudyPolicy], options: RunOptions) -> Obstacle | None:
    """What keeps this work from being given to processes that this program starts; None if nothing does."""
    file = unguarded_main()
    if file is not None:
        reason = f'{file.name} has no if __name__ == "__main__": and each new process would do all of it again'
        return Obstacle(reason, 'put the call under if __name__ == "__main__":')
    found = (policy_obstacle(policy) for policy in policies)
    return next((one for one in found if one is not None), None) or sinks_obstacle(options)


def unguarded_main() -> Path | None:
    """The main file of this program, if a new process cannot load it without doing all of it again.

    Python loads the main file in every process that it spawns. One without `if __name__ == "__main__":` would start
    its study there once more; a shell or a notebook has no file to load.
    """
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None or not Path(file).is_file():
        return None
    return None if "__main__" in Path(file).read_text(encoding="utf-8", errors="replace") else Path(file)


def policy_obstacle(policy: StudyPolicy) -> Obstacle | None:
    """Why a policy cannot be sent to another process, or would be slow there; None if it can be sent.

    A compiled policy must have a name: the code of a mere object would be compiled anew in every process.
    """
    form = policy.choice.form
    what = f"the policy {policy.choice.label!r}"
    if policy.choice.named:
        return None
    if isinstance(form, SharedPolicy):
        reason = f"{what} is compiled and an object without a registered name: every process would compile it anew"
        return Obstacle(reason, "name it in PLUGINS of a plug-in file, load that (load_plugin), and ask for it by name")
    name = str(getattr(form.create, "__qualname__", ""))
    if "<lambda>" in name:
        remedy = "write a function with def, or a class, at the top level of a module or of a plug-in file"
        return Obstacle(f"{what} is created by a lambda, which cannot be sent to another process", remedy)
    if "<locals>" in name:
        around = name.partition(".<locals>")[0]
        reason = f"{what} is created by {name.rpartition('.')[2]}, which is defined inside {around} and cannot be sent"
        return Obstacle(reason, IN_A_FILE)
    return sending_obstacle(what, form)


def sinks_obstacle(options: RunOptions) -> Obstacle | None:
    """Why the sinks would not hear runs in other processes; None if they would: those with a name are opened there."""
    for sink in options.sinks:
        if not isinstance(sink, SinkChoice):
            reason = f"the sink {type(sink).__name__} is an object of this process and would hear no run of another one"
            return Obstacle(reason, "give the name of a sink plug-in, which every process opens for itself")
    return None


def executor_obstacle(executor: futures.Executor, options: RunOptions) -> Obstacle | None:
    """What keeps this work from being given to this executor; None if nothing does. Threads share this process."""
    return None if isinstance(executor, futures.ThreadPoolExecutor) else sinks_obstacle(options)


def sending_obstacle(what: str, value: Any) -> Obstacle | None:
    """Why a value cannot be packed here and unpacked in another process; None if it can."""
    needed: list[tuple[str, str]] = []

    class Unpacker(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            needed.append((module, name))
            return super().find_class(module, name)

    try:
        Unpacker(io.BytesIO(pickle.dumps(value))).load()
    except Exception as error:  # noqa: BLE001 (whatever an object of a user raises, it cannot be sent)
        text = " ".join(str(error).split())
        return Obstacle(f"{what} cannot be sent to another process ({type(error).__name__}: {text})", IN_A_FILE)
    for module, name in needed:
        lost = _unreachable(module, name)
        if lost:
            return Obstacle(f"{what} needs {name}, which {lost}", IN_A_FILE)
    return None


def _unreachable(module: str, name: str) -> str | None:
    """Why a new process does not find a name of a module; None if it does."""
    if module != "__main__":
        return None if find_anew(module) else f"is in {module}, a module that another process cannot import"
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None or not Path(file).is_file():
        return "is defined at a prompt or in a notebook, where no other process finds it"
    # A new process loads the main file under another name, so that it passes over what is under the guard.
    tree = ast.parse(Path(file).read_bytes())
    loaded = [statement for statement in tree.body if not _is_guard(statement)]
    names = {getattr(node, "name", getattr(node, "id", None)) for statement in loaded for node in ast.walk(statement)}
    if name.partition(".")[0] in names:
        return None
    return f'is not defined in {Path(file).name} outside of if __name__ == "__main__":, where no other process finds it'


def _is_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test)
