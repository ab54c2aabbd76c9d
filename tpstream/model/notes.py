"""The package's logger, and the versions of what is installed.

Messages go to structlog as the user configured it, else to standard error: a sentence for people if that is a
terminal, else with named fields (logfmt) for programs.
"""

import logging
import os
import shlex
import sys
from collections.abc import MutableMapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import structlog

from tpstream.model.names import visible

VERBOSE = "TPSTREAM_VERBOSE"
"""The environment variable that turns on all messages, also in worker processes."""
NOTES = "TPSTREAM_NOTES"
"""The environment variable that turns off, with "0", the notes that explain why something takes long."""
PACKAGES = ("numpy", "numba", "simpy")
"""Packages whose version can change a number in a log."""


_logfmt = structlog.processors.LogfmtRenderer(key_order=["level", "event"])
WHY = ("reason", "remark", "remedy")
"""The fields of a message that are sentences."""


def logger(**context: Any) -> structlog.typing.FilteringBoundLogger:
    """A logger with this context; structlog's configuration is not changed."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger("tpstream")
    if not structlog.is_configured():
        renderer: structlog.typing.Processor = as_fields
        if sys.stderr.isatty() and not os.environ.get(VERBOSE):
            renderer = as_sentence
        logger = structlog.wrap_logger(
            structlog.WriteLogger(sys.stderr),
            processors=[structlog.processors.add_log_level, renderer],
            wrapper_class=structlog.make_filtering_bound_logger(level()),
        )
    return logger.bind(**context)


def as_fields(logger: object, level: str, fields: MutableMapping[str, Any]) -> str:
    """A message as programs read it (logfmt); a processor of structlog."""
    return visible(_logfmt(logger, level, fields))


def as_sentence(_logger: object, level: str, fields: MutableMapping[str, Any]) -> str:
    """A message as people read it; a processor of structlog.

    Examples
    --------
    >>> as_sentence(None, "info", {"event": "compiling", "policy": "ucb1", "remark": "takes seconds"})
    'note: compiling (policy ucb1): takes seconds'
    """
    told = {key: value for key, value in fields.items() if key not in {"level", "event"}}
    why = "; ".join(str(told.pop(key)) for key in WHY if key in told)
    about = ", ".join(f"{key} {value}" for key, value in told.items())
    start = f"{'note' if level == 'info' else level}: {fields['event']}"
    return visible(f"{start}{f' ({about})' if about else ''}{f': {why}' if why else ''}")


def level() -> int:
    """The level from which messages are shown, as the environment says."""
    if os.environ.get(VERBOSE):
        return logging.DEBUG
    return logging.WARNING if os.environ.get(NOTES) == "0" else logging.INFO


def own_version() -> str:
    """The installed version; "unknown" in a checkout that was never installed."""
    try:
        return version("tpstream")
    except PackageNotFoundError:
        return "unknown"


def typed_command() -> str:
    """The command line that this program was called with."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


@cache
def package_versions() -> dict[str, str]:
    """The versions of tpstream and of the packages that its numbers depend on.

    Read once, since versions are read from files and cannot change while a process lives.
    """
    return {"tpstream": own_version()} | {name: version(name) for name in PACKAGES}
