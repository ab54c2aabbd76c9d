"""The version of this package."""

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """The installed version; unknown in a checkout that was never installed."""
    try:
        return version("tpstream")
    except PackageNotFoundError:
        return "unknown"
