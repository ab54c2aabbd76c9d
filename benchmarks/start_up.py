"""How long does a command take before it works?

The help, which imports nothing heavy; a short run on a machine that never compiled anything (an empty cache); and the
same run again, which finds the compiled code on disk. Prints seconds, the best of several turns, and ratios to a
bare start of Python.

    python benchmarks/start_up.py [--turns 5]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

MAIN = "from tpstream.cli.app import main; main()"
RUN = ("run", "setting-1", "-t", "1000", "-p", "tp-ucb-fr", "--quiet")


def seconds_of(code: str, *words: str, cache: str) -> float:
    """The seconds that a Python process takes from its start to its end."""
    began = time.perf_counter()
    environment = os.environ | {"TPSTREAM_CACHE": cache}
    subprocess.run([sys.executable, "-c", code, *words], env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    rows: dict[str, list[float]] = {"python -c pass": [], "tpstream --help": [], "cold run": [], "warm run": []}
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as cache:
            rows["python -c pass"].append(seconds_of("pass", cache=cache))
            rows["tpstream --help"].append(seconds_of(MAIN, "--help", cache=cache))
            rows["cold run"].append(seconds_of(MAIN, *RUN, cache=cache))
            rows["warm run"].append(seconds_of(MAIN, *RUN, cache=cache))
    print(f"tpstream {' '.join(RUN)}, best of {turns}")
    print(f"{'':18}{'seconds':>9}{'ratio':>8}")
    bare = min(rows["python -c pass"])
    for name, seconds in rows.items():
        print(f"{name:18}{min(seconds):>9.2f}{min(seconds) / bare:>8.1f}")


if __name__ == "__main__":
    main()
