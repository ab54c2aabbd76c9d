"""What an import costs, against pandas reading the same two files.

Usage: python benchmarks/imports.py [OFFERS]. Writes the tables of a shop (tests/support/shops.py) as CSV files, imports
them with the command in a process of its own, and checks the log. Prints seconds, those of the processor (on a busy
machine they say more), the peak of memory, and the ratio to the time in which pandas reads the files with their dates.
"""

import resource
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


def timed(*words: object) -> tuple[float, float, float]:
    """The seconds that a command takes, those of the processor, and its peak of memory in GB."""
    began, used = time.perf_counter(), processor_seconds()
    done = subprocess.run([sys.executable, "-c", COMMAND, *map(str, words)], check=True, capture_output=True, text=True)
    return time.perf_counter() - began, processor_seconds() - used, int(done.stdout.split()[-1]) / 1e6


def processor_seconds() -> float:
    """The time that the processor spent on all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
        print(f"{len(shop.offers):,} offers, {len(shop.payments):,} payments; pandas reads them in {reading:.1f} s")
        del shop
        for words in (("import", offers, payments, "--window", "60d", "--out", log), ("check", log), ("answer", log)):
            seconds, processor, memory = timed(*words)
            spent = f"{seconds:.1f} s ({processor:.1f} s of the processor), {memory:.2f} GB"
            print(f"{words[0]}: {spent}, {seconds / reading:.1f} times pandas reading them")


if __name__ == "__main__":
    main()
