"""Failures: how to repeat a run that failed, alone."""

import shlex
from collections.abc import Mapping
from typing import Any

from tpstream.policies import POLICIES
from tpstream.study.asked import Asked
from tpstream.study.plugins import loaded_plugins
from tpstream.study.scenario import Scenario
from tpstream.study.tables import bare


def how_to_repeat(scenario: Scenario, settings: Mapping[str, Any], asked: Asked, seed: int, run: int) -> str:
    """A command that does one run again; a call where scenario or policy exist in Python only."""
    if scenario.source is None or asked.form.name not in POLICIES.names():
        return f"simulate(scenario, {asked.label!r}, seed={seed}, run={run})"
    words = ["tpstream", "run", scenario.source, "--policy", asked.label, "--horizon", str(scenario.horizon)]
    for path, value in settings.items():
        words += ["--set", f"{path}={bare(value)}"]
    for plugin in loaded_plugins():
        words += ["--plugin", str(plugin.path)]
    return shlex.join([*words, "--seed", str(seed), "--run", str(run)])
