"""Commands that write to a small disk: a line and no success, nothing half written; given room, they go on."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from children import FILE_SIZE, run_command
from hypothesis import strategies as st
from samples import write_files
from writers import WRITERS, half_written, inputs, left_over, not_a_prefix, repeated, undisturbed, writers, written

Case = dict[str, Any]
LINE = 4096
"""Bytes that can be written to any file: a line that says what is wrong."""


def cases() -> st.SearchStrategy[Case]:
    """A command, and how much it can write: in each file, or on a disk of its own."""
    return st.fixed_dictionaries({"writer": writers(), "room": st.floats(0, 1.2), "disk": st.booleans()})


def check(case: Case) -> str | None:
    """What is bad about how the command ends, what it leaves, or how it goes on."""
    name = case["writer"]
    expected = undisturbed(name).files
    sizes = [len(data) for place, data in expected.items() if place not in inputs()]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        room = int(case["room"] * (sum(sizes) if case["disk"] else max(sizes)))
        with small_disk(folder, room) if case["disk"] else no_disk() as mounted:
            write_files(folder, inputs())
            ended = run_command(WRITERS[name].words, folder, file_size=FILE_SIZE if mounted else max(room, LINE))
            fault = ended.fault or not_a_prefix(folder, name) or left_over(folder, name) or half_written(folder, name)
            if fault is None and ended.code == 0:
                fault = None if written(folder) == expected else "success, but not all was written"
            if mounted:
                subprocess.run(["mount", "-o", f"remount,size={FILE_SIZE}", str(folder)], check=True)  # noqa: S607
            fault = fault or repeated(folder, name)
    return None if fault is None else f"{name}: {fault}"


@contextmanager
def small_disk(folder: Path, room: int) -> Iterator[bool]:
    """A disk with so many bytes of room beyond what a command reads; False where nobody may mount one."""
    size = sum(map(len, inputs().values())) + room + 100_000
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mounted = subprocess.run(words, check=False, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607


@contextmanager
def no_disk() -> Iterator[bool]:
    """No disk of its own: only the size of files is limited."""
    yield False
