"""Complete logs of which bytes were changed: none of them passes as whole, whatever it is read for."""

from pathlib import Path
from typing import Any

from children import do_command
from hypothesis import strategies as st
from kept_children import try_files
from mutations import changed_bytes
from samples import LOG_COMMANDS, whole_logs

from tpstream.log.reader import read_log
from tpstream.model.errors import LogError

Case = dict[str, Any]
PASSED = 3
"""The exit code of a child for which the log was whole."""


def cases() -> st.SearchStrategy[Case]:
    """A complete log with other bytes, and a command that reads it, or none: then all of it is read."""

    def of(name: str) -> st.SearchStrategy[Case]:
        data = whole_logs()[name]
        commands = [[], *([word.replace("{}", name) for word in words] for words in LOG_COMMANDS)]
        changed = changed_bytes(data).filter(lambda other: other != data)
        return st.builds(
            lambda other, words: {"files": {name: other}, "words": words}, changed, st.sampled_from(commands)
        )

    return st.sampled_from(sorted(whole_logs())).flatmap(of)


def check(case: Case) -> str | None:
    """What is bad about how the log is read."""
    (name,) = case["files"]
    words = case.get("words") or []
    ended = try_files(case["files"], read, (name, words))
    return f"{Path(name).suffix} passes as whole: {' '.join(words[:1])}" if ended.code == PASSED else ended.fault


def read(asked: tuple[str, list[str]]) -> int:
    """Read a log, as those do who use it; a command may succeed if the log does not count as complete."""
    name, words = asked
    try:
        code = 0
        if words:
            code = do_command(words)
        else:
            read_log(name).join()
        return PASSED if code == 0 and read_log(name).complete else code
    except LogError as error:
        print(error)  # noqa: T201 (a command says as much)
        return 2
