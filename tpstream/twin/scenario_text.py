"""The scenario file of a twin: TOML that can be read and edited, with where each number comes from."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

WIDE = 44
"""Where comments begin, if the line before them is shorter."""


class TomlText:
    """A TOML file, line by line, with comments."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, *texts: str) -> None:
        """Lines of comment."""
        self.lines += [f"# {text}" for text in texts]

    def table(self, header: str, reason: str = "") -> None:
        """The header of a table, such as [rewards], with a comment."""
        self.lines += ["", _with_comment(header, reason)]

    def key(self, name: str, value: Any, reason: str = "") -> None:
        """A key and its value, with where it comes from."""
        self.lines.append(_with_comment(f"{name} = {toml_value(value)}", reason))

    def text(self) -> str:
        """The file."""
        return "\n".join(self.lines) + "\n"


def _with_comment(line: str, reason: str) -> str:
    return f"{line.ljust(WIDE)}  # {' '.join(reason.split())}" if reason else line


def toml_value(value: Any) -> str:
    """A value as TOML, on one line.

    Examples
    --------
    >>> toml_value({"kind": "missing", "p": 0.5, "a b": [1, True]})
    '{ kind = "missing", p = 0.5, "a b" = [1, true] }'
    """
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {toml_value(one)}' for name, one in value.items())} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    """A name as a key: bare where TOML allows that."""
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else toml_value(name)
