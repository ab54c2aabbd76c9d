"""How long does a command take before it works?

The help, which imports nothing heavy; a short run under the scenario's four policies on a machine that never compiled
anything (an empty cache); and the same run again, which finds the compiled code on disk. Beside them the floor: a
program that imports what no run can do without (NumPy, Numba, pydantic, structlog, Typer, Rich) and calls one compiled
function that it finds on disk. Prints seconds by the clock and of the processor (the two differ where other work goes
on and priority cannot be had, see measuring.py), the best of several turns, and ratios to the floor.

    python benchmarks/start_up.py [--turns 5]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from measuring import undisturbed

MAIN = "from tpstream.cli.app import main; main()"
RUN = ("run", "setting-1", "--horizon", "500")
FLOOR = """
import numba, numpy, pydantic, structlog, typer
from rich.console import Console
from rich.table import Table

@numba.njit(cache=True)
def draw(stream):
    return stream.random()

draw(numpy.random.default_rng(1))
Console().print(Table())
"""
"""The least that a command does which draws with compiled code and prints a table."""


def seconds_of(code: str, *words: str, cache: str, short: bool) -> tuple[float, float]:
    """The seconds that a Python process takes from its start to its end, and those of the processor.

    A `short` one has priority over other programs.
    """
    environment = os.environ | {"TPSTREAM_CACHE": cache, "TPSTREAM_NOTES": "0", "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the second start of an installed package finds its bytecode
    program = Path(cache) / "program.py"  # Numba keeps compiled code for files only
    program.write_text(code)
    command = [sys.executable, str(program), *words]
    with undisturbed() if short else nullcontext():
        before, began = processor_seconds(), time.perf_counter()
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - began, processor_seconds() - before


def processor_seconds() -> float:
    """The seconds that the processes started here have used so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    commands = {
        "python -c pass": ("pass",),
        "cold run": (MAIN, *RUN),
        "warm run": (MAIN, *RUN),
        "--help": (MAIN, "--help"),
        "floor, cold": (FLOOR,),
        "floor": (FLOOR,),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as cache:
            for name, words in commands.items():
                taken[name].append(seconds_of(*words, cache=cache, short="cold" not in name))
    print(f"tpstream {' '.join(RUN)}, best of {turns}")
    print(f"{'':18}{'seconds':>9}{'processor':>11}{'ratio to floor':>16}")
    floor = min(taken["floor"])[0]
    for name, seconds in taken.items():
        clock, processor = (min(column) for column in zip(*seconds, strict=True))
        print(f"{name:18}{clock:>9.2f}{processor:>11.2f}{clock / floor:>16.2f}")


if __name__ == "__main__":
    main()
