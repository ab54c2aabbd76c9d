"""Files that are read or written whole: only ordinary ones are read, up to a size, none is written in part; and TOML.

A pipe would block, a device such as /dev/zero never ends. What is wrong is an OSError, like a missing file, so that
whoever reads tells it in the same line.
"""

import errno
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

LARGEST = 50_000_000
"""Bytes of a file that is read whole."""


def check_ordinary(path: Path) -> int:
    """The size of a file; raises OSError unless it is an ordinary one."""
    status = path.stat()
    if S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    if not S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, no ordinary file", str(path))
    return status.st_size


def read_whole(path: Path) -> bytes:
    """The content of an ordinary file that is not too large.

    Examples
    --------
    >>> read_whole(Path("/dev/zero"))
    Traceback (most recent call last):
    OSError: [Errno 22] it is a pipe or a device, no ordinary file: '/dev/zero'
    """
    size = check_ordinary(path)
    if size > LARGEST:
        raise OSError(errno.EFBIG, f"it has {size:,} bytes, and at most {LARGEST:,} are read at once", str(path))
    return path.read_bytes()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there in whole or as it was before; what could not be written is taken away.

    To what is no ordinary file, such as a terminal, it is written as it is.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    partly = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partly.write_bytes(content)
        partly.replace(path)
    except BaseException:
        partly.unlink(missing_ok=True)
        raise


def parse_toml(text: str) -> dict[str, Any]:
    """The content of TOML text; whatever is wrong with it, numbers of thousands of digits too, is a TOMLDecodeError.

    Examples
    --------
    >>> parse_toml("span = 30")
    {'span': 30}
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("It is nested too deep; write it flatter") from None
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error)) from None


def toml_value(value: Any) -> str:
    """A value as TOML, on one line.

    Examples
    --------
    >>> toml_value({"kind": "missing", "p": 0.5, "a b": [1, True, float("inf")]})
    '{ kind = "missing", p = 0.5, "a b" = [1, true, inf] }'
    """
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {toml_value(one)}' for name, one in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float):
        return repr(float(value))
    # As JSON, but every letter as it is: JSON writes some as two halves, which TOML refuses.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    """A name as a key: bare where TOML allows that."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else toml_value(name)
