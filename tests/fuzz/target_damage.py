"""Complete logs of which bytes were changed: none of them passes as whole."""

import tempfile
from pathlib import Path
from typing import Any

from children import run_child
from hypothesis import strategies as st
from mutations import changed_bytes
from samples import whole_logs

from tpstream.log.reader import read_log
from tpstream.model.errors import LogError

Case = dict[str, Any]
PASSED = 3
"""The exit code of a child for which the log was whole."""


def cases() -> st.SearchStrategy[Case]:
    """A complete log with other bytes."""

    def of(name: str) -> st.SearchStrategy[Case]:
        data = whole_logs()[name]
        return changed_bytes(data).filter(lambda other: other != data).map(lambda other: {"files": {name: other}})

    return st.sampled_from(sorted(whole_logs())).flatmap(of)


def check(case: Case) -> str | None:
    """What is bad about how the log is read."""
    ((name, data),) = case["files"].items()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / name
        place.write_bytes(data)
        ended = run_child(lambda: _read(place), Path(folder))
    return f"{place.suffix} passes as whole" if ended.code == PASSED else ended.fault


def _read(path: Path) -> int:
    """Read all of a log, as those do who use it."""
    try:
        log = read_log(path)
        log.join()
    except LogError as error:
        print(error)  # noqa: T201 (a command says as much)
        return 2
    return PASSED if log.complete else 0
