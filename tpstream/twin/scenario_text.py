"""The scenario file of a twin: TOML that can be read and edited, with where each number comes from."""

from typing import Any

from tpstream.model.whole_files import toml_value

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
