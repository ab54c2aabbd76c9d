"""Plug-in files for tests, and a process that forgets them afterwards."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from studies import TOML

from tpstream.scenario import plugins
from tpstream.scenario.plugins import REGISTRIES
from tpstream.templates.scaffold import write_plugin

SCENARIO = (
    TOML + '\n[[delays]]\nkind = "post"\nmean = 1.5\n\n[[policies]]\nkind = "greedy"\n[[policies]]\nkind = "uniform"\n'
)
"""The small scenario with a delay and a policy of plug-ins."""


@pytest.fixture
def forgetful() -> Iterator[None]:
    """What is loaded in a test is unknown after it."""
    yield
    for registry in REGISTRIES.values():
        registry.added.clear()
    plugins._loaded.clear()
    plugins._beside.clear()
    for name in [name for name in sys.modules if name.startswith("tpstream_plugin_")]:
        del sys.modules[name]


def write_post(folder: Path) -> Path:
    """A plug-in with the delay "post"."""
    return write_plugin("delay", "post", folder)[0]


def write_greedy(folder: Path) -> Path:
    """A plug-in with the policy "greedy"."""
    return write_plugin("policy", "greedy", folder)[0]
