"""The package's logger, and its version.

Messages go to structlog as the user configured it, else to standard error.
"""

import logging
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import structlog

VERBOSE = "TPSTREAM_VERBOSE"
"""The environment variable that turns on all messages, also in worker processes."""
NOTES = "TPSTREAM_NOTES"
"""The environment variable that turns off, with "0", the notes that explain why something takes long."""


def logger(**context: Any) -> structlog.typing.FilteringBoundLogger:
    """A logger with this context; structlog's configuration is not changed."""
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
    """The installed version; "unknown" in a checkout that was never installed."""
    try:
        return version("tpstream")
    except PackageNotFoundError:
        return "unknown"
