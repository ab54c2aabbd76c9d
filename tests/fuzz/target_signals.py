"""Studies with workers that are interrupted: nobody is left behind after some seconds, and only a line is said."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from mutations import toml_text
from samples import KEYS, write_files

Case = dict[str, Any]
PROGRAM = str(Path(sys.executable).with_name("tpstream"))
PATIENCE = 5.0
"""Seconds after which nobody may be left."""
LONGEST = 6.0
"""Seconds after which a study is interrupted at the latest: its workers are at work by then."""
WORLD = KEYS | {"horizon": 60_000, "arrivals": {"kind": "poisson", "rate": 2.0}}
STUDY = ("small.toml", "-p", "tp-ucb-fr", "-p", "uniform", "--runs", "100", "--jobs", "2", "--out", "out", "-q")
COMMANDS = {
    "compare": ("compare", *STUDY, "--engine", "simpy"),
    "logs": ("compare", *STUDY, "--engine", "simpy", "--log", "logs"),
    "sweep": ("sweep", *STUDY, "--set", "span=6,12"),
    "trial": ("trial", *STUDY),
    "alone": ("compare", *STUDY, "--engine", "simpy", "--jobs", "1"),
}
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")


def cases() -> st.SearchStrategy[Case]:
    """A study, a signal, whether its whole group gets it as from a terminal, and when."""
    return st.fixed_dictionaries(
        {
            "command": st.sampled_from(sorted(COMMANDS)),
            "signal": st.sampled_from(SIGNALS),
            "group": st.booleans(),
            "moment": st.floats(0.3, LONGEST),
        }
    )


def check(case: Case) -> str | None:
    """What is bad about how the study ends."""
    number = signal.Signals[case["signal"]]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder, {"small.toml": toml_text(WORLD).encode()})
        with (folder / "printed").open("wb") as printed:
            process = subprocess.Popen(
                [PROGRAM, *COMMANDS[case["command"]]],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
                preexec_fn=_heed_signals,  # noqa: PLW1509 (there are no threads here)
            )
        time.sleep(case["moment"])
        (os.killpg if case["group"] else os.kill)(process.pid, number)
        fault = _end_of(process, number)
        left = _left(process.pid)
        for one in left:
            os.kill(one, signal.SIGKILL)
        text = (folder / "printed").read_text(errors="replace")
        files = [path.suffix for path in folder.rglob("*.partial")] if number != signal.SIGKILL else []
    if "Traceback" in text and "tpstream/cli" in text:  # else Python itself was interrupted while it started
        fault = "traceback"
    elif left:
        fault = f"{len(left)} orphans"
    elif files:
        fault = "a temporary file is left"
    return None if fault is None else f"{case['command']} after {case['signal']}: {fault}"


def _heed_signals() -> None:
    """Undo what a shell does to programs in the background: they ignore some signals, and so would the study."""
    for name in SIGNALS[:3]:
        signal.signal(signal.Signals[name], signal.SIG_DFL)


def _end_of(process: subprocess.Popen[bytes], number: int) -> str | None:
    """What is bad about how the first process ends, which it is given some seconds for."""
    try:
        code = process.wait(PATIENCE * 4)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return f"still running after {PATIENCE * 4:.0f} s"
    # Before tpstream is loaded Python itself ends, by the signal.
    return None if code in {0, 128 + number, -number} else f"exit code {code}"


def _left(session: int) -> list[int]:
    """The processes of a session that are there after some seconds."""
    end = time.monotonic() + PATIENCE
    while (left := _members(session)) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def _members(session: int) -> list[int]:
    """The processes of a session, but for those that have ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session, *_ = place.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            found.append(int(place.parent.name))
    return found
