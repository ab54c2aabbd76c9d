"""What an import costs, against pandas reading the same two files.

Usage: python benchmarks/imports.py [OFFERS]. Writes the tables of a shop (tests/support/shops.py) as CSV files, imports
them with the command in a process of its own, and checks the log. Prints seconds, the peak of memory, and the ratio to
the time in which pandas reads the files with their dates.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from shops import make_shop

COMMAND = """
from tpstream.cli.app import main
try:
    main()
finally:
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
"""The command line, which ends with its peak of memory in kB."""


def timed(*words: object) -> tuple[float, float]:
    """The seconds that a command takes, and its peak of memory in GB."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", COMMAND, *map(str, words)], check=True, capture_output=True, text=True)
    return time.perf_counter() - began, int(done.stdout.split()[-1]) / 1e6


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shop = make_shop(count, zeros=0.52)
        offers, payments, log = folder / "offers.csv", folder / "payments.csv", folder / "shop.arrows"
        shop.offers.to_csv(offers, index=False)
        shop.payments.to_csv(payments, index=False)
        began = time.perf_counter()
        pd.read_csv(offers, parse_dates=["offered_at"])
        pd.read_csv(payments, parse_dates=["paid_at"])
        reading = time.perf_counter() - began
        rows = f"{len(shop.offers):,} offers, {len(shop.payments):,} payments"
        del shop
        seconds, memory = timed("import", offers, payments, "--window", "60d", "--out", log)
        print(f"{rows}: import {seconds:.1f} s, {memory:.2f} GB, {seconds / reading:.1f} times pandas reading them")
        for name in ("check", "answer"):
            seconds, memory = timed(name, log)
            print(f"{name}: {seconds:.1f} s, {memory:.2f} GB, {seconds / reading:.1f} times pandas reading them")


if __name__ == "__main__":
    main()
