"""The campaign: tries to break tpstream, prints a table of what was tried, and keeps what failed in tests/corpus/."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

from samples import warm_up  # noqa: E402 (found on the path above)
from search import CORPUS, Found, read_case, search_in_parallel  # noqa: E402
from targets import KINDS, TARGETS  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs/reliability.md"
BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"
"""Between these lines of the page the table is put."""


def main() -> int:
    """Run a campaign; the exit code is 1 if anything bad was found."""
    options = _options()
    if options.corpus:
        return try_again()
    names = options.target or list(TARGETS)
    print("| aim | cases | bad | a second |\n|---|---|---|---|", flush=True)  # noqa: T201 (a command prints)
    rows, found = [], {}
    total = sum(TARGETS[name].share for name in names)
    for name in names:
        target = TARGETS[name]
        seconds = 1e9 if options.minutes is None else 60 * options.minutes * target.share / total
        if name in KINDS:
            warm_up(name)
        cases = options.cases or (target.short if options.short else target.full)
        found[name] = search_in_parallel(target, cases, options.seed, seconds=seconds, jobs=options.jobs)
        rows.append(row(target.aim, found[name]))
        print(rows[-1], flush=True)  # noqa: T201
    for name, one in found.items():
        for fault, times in one.faults.most_common():
            print(f"bad: {name}: {fault} ({times} times)")  # noqa: T201
    if options.write:
        write_table(rows, options.seed)
    return int(any(one.faults for one in found.values()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--minutes", type=float, help="how long all of it takes")
    parser.add_argument("--cases", type=int, help="cases of each target; by default those of a full campaign")
    parser.add_argument("--short", action="store_true", help="the few cases of `make test`")
    parser.add_argument("--corpus", action="store_true", help="only try again what failed once")
    parser.add_argument("--seed", type=int, default=int(datetime.now(UTC).strftime("%Y%m%d")), help="default: the day")
    parser.add_argument("--jobs", type=int, help="processes; default: one for each core")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    return parser.parse_args()


def try_again() -> int:
    """Try every case that failed once; the exit code is 1 if one fails still."""
    failed = 0
    for path in sorted(CORPUS.glob("*.json")):
        name, case = read_case(path)
        fault = TARGETS[name].fault_of(case)
        if fault is not None:
            print(f"bad: {path.name}: {fault}", flush=True)  # noqa: T201
        failed += fault is not None
    return int(failed > 0)


def row(aim: str, found: Found) -> str:
    """A row of the table."""
    return f"| {aim} | {found.cases:,} | {found.faults.total():,} | {found.cases / max(found.seconds, 1e-9):,.1f} |"


def write_table(rows: list[str], seed: int) -> None:
    """Put the table into the page, between its marks."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    table = "\n".join(["| aim | cases | bad | a second |", "|---|---|---|---|", *rows])
    PAGE.write_text(f"{before}{BEGIN}\nThe campaign of {day}, seed {seed}:\n\n{table}\n{END}{after}")


if __name__ == "__main__":
    sys.exit(main())
