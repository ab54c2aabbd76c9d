"""How many modules of ours a command passes: those of which a function runs, between the typed words and the result.

Usage: python benchmarks/modules_passed.py [--list]. A profile hook notes the file of every Python function that is
called; all modules are imported before, so that what runs while a module is imported does not count. Fewer modules are fewer files to read for someone who
follows a command.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = {
    "run": ("run", "setting-1", "--horizon", "2000", "--policy", "tp-ucb-fr", "--log", "{logs}", "--quiet"),
    "compare": ("compare", "setting-1", "--horizon", "2000", "--runs", "4", "--jobs", "2", "--figure", "{figure}"),
    "replay": ("replay", "{log}", "--quiet"),
    "trial": ("trial", "medical-trial", "--horizon", "60", "--runs", "2", "--quiet"),
}
AIMS = {"run": 42, "compare": 42, "replay": 32}
"""The most modules that a command may pass."""
HOOK = """
import json, pkgutil, sys, threading
from importlib import import_module
from pathlib import Path

import tpstream

package = str(Path(tpstream.__file__).parent)
seen = set()

def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(package) and code.co_name != "<module>":
        seen.add(code.co_filename[len(package) + 1:])

for module in pkgutil.walk_packages(tpstream.__path__, "tpstream."):
    if "templates" not in module.name:
        import_module(module.name)
main = import_module("tpstream.cli.app").main
threading.setprofile(note)
sys.setprofile(note)
try:
    main()
except SystemExit as left:
    sys.setprofile(None)
    if left.code not in (0, None):
        raise
print("PASSED " + json.dumps(sorted(seen)))
"""


def passed(words: tuple[str, ...]) -> list[str]:
    """The modules that a command passes, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", HOOK, *words], capture_output=True, text=True, check=True)

    return list(json.loads(done.stdout.rpartition("PASSED ")[2]))


def main() -> None:
    """Count and print; with --list the modules, too."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        places = {"logs": logs, "figure": Path(folder) / "figure.png", "log": logs / "tp-ucb-fr.run-000.jsonl"}
        for name, words in COMMANDS.items():
            found = passed(tuple(word.format(**places) for word in words))
            aim = f" (at most {AIMS[name]})" if name in AIMS else ""
            print(f"{name:8} {len(found)} modules{aim}")
            if "--list" in sys.argv:
                print("         " + "\n         ".join(found))


if __name__ == "__main__":
    main()
