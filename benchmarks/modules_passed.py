"""How many modules of ours a command passes: those of which a function runs, between the typed words and the result.

Usage: python benchmarks/modules_passed.py [--list]. A profile hook notes the file of every Python function that is
called. The command is done once before, unmeasured: so nothing has to be compiled, and the modules that it imports are
known and imported first, since what runs while a module is imported does not count. Fewer modules are fewer files to
read for someone who follows a command.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = {
    "run": ("run", "setting-1", "--horizon", "2000", "--policy", "tp-ucb-fr", "--log", "{logs}", "--force", "--quiet"),
    "compare": ("compare", "setting-1", "--horizon", "2000", "--runs", "4", "--jobs", "2", "--figure", "{figure}"),
    "replay": ("replay", "{log}", "--quiet"),
    "trial": ("trial", "medical-trial", "--horizon", "60", "--runs", "2", "--quiet"),
}
AIMS = {"run": 42, "compare": 42, "replay": 32}
"""The most modules that a command may pass."""
WARM = """
import json, sys

try:
    from tpstream.cli.app import main
    main()
except SystemExit as left:
    if left.code not in (0, None):
        raise
print("FOUND " + json.dumps([name for name in sys.modules if name.startswith("tpstream")]))
"""
"""Does the command, so that all is compiled; tells which modules it imports."""
HOOK = """
import json, sys, threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import tpstream

package = str(Path(tpstream.__file__).parent)
seen = set()

def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(package) and code.co_name != "<module>":
        seen.add(code.co_filename[len(package) + 1:])

for name in json.loads(sys.argv.pop(1)):
    if find_spec(name):
        import_module(name)
main = import_module("tpstream.cli.app").main
threading.setprofile(note)
sys.setprofile(note)
try:
    main()
except SystemExit as left:
    sys.setprofile(None)
    if left.code not in (0, None):
        raise
print("FOUND " + json.dumps(sorted(seen)))
"""
"""Does the command again in a new process, with these modules imported before, and notes what is called."""


def found(program: str, *words: str) -> list[str]:
    """What this program finds, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout.rpartition("FOUND ")[2]))


def passed(name: str, folder: Path) -> list[str]:
    """The modules that a command passes; `replay` reads the log of `run`, which is in the folder then."""
    logs = folder / "logs"
    places = {"logs": logs, "figure": folder / "figure.png", "log": logs / "tp-ucb-fr.run-000.jsonl"}
    words = [word.format(**places) for word in COMMANDS[name]]
    loaded = found(WARM, *words)
    return found(HOOK, json.dumps(loaded), *words)


def main() -> None:
    """Count and print; with --list the modules, too."""
    with tempfile.TemporaryDirectory() as folder:
        for name in COMMANDS:
            modules = passed(name, Path(folder))
            aim = f" (at most {AIMS[name]})" if name in AIMS else ""
            print(f"{name:8} {len(modules)} modules{aim}")
            if "--list" in sys.argv:
                print("         " + "\n         ".join(modules))


if __name__ == "__main__":
    main()
