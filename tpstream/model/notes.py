"""The story of a run, told through structlog: to whoever configured it, else warnings and notes to standard error.

The version of this package.
"""

import logging
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import structlog

VERBOSE = "TPSTREAM_VERBOSE"
"""The environment variable that asks for the whole story; other processes of a study hear of it, too."""
NOTES = "TPSTREAM_NOTES"
"""The one that turns off, as "0", the notes that explain a wait."""


def logger(**context: Any) -> structlog.typing.FilteringBoundLogger:
    """A logger for what a person may want to know of a run; it never touches structlog's configuration."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger("tpstream")
    if not structlog.is_configured():
        renderer = structlog.processors.LogfmtRenderer(key_order=["level", "event"])
        logger = structlog.wrap_logger(
            structlog.WriteLogger(sys.stderr),
            processors=[structlog.processors.add_log_level, renderer],
            wrapper_class=structlog.make_filtering_bound_logger(_level()),
        )
    return logger.bind(**context)


def _level() -> int:
    if os.environ.get(VERBOSE):
        return logging.DEBUG
    return logging.WARNING if os.environ.get(NOTES) == "0" else logging.INFO


def own_version() -> str:
    """The installed version; unknown in a checkout that was never installed."""
    try:
        return version("tpstream")
    except PackageNotFoundError:
        return "unknown"
