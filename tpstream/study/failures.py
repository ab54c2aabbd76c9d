"""Failures: how to repeat a run that failed, alone."""

import shlex
from collections.abc import Mapping
from typing import Any

from tpstream.policies import POLICIES
from tpstream.study.choices import PolicyChoice
from tpstream.study.paths import steps_of
from tpstream.study.plugins import loaded_plugins
from tpstream.study.scenario import Scenario
from tpstream.study.tables import bare, written


def how_to_repeat(scenario: Scenario, settings: Mapping[str, Any], choice: PolicyChoice, seed: int, run: int) -> str:
    """A command that does one run again; a call where scenario or policy exist in Python only."""
    if scenario.source is None or choice.form.name not in POLICIES.names():
        return f"simulate(scenario, {choice.label!r}, seed={seed}, run={run})"
    settings = {**scenario.settings, **settings}
    of_world = {path: value for path, value in settings.items() if steps_of(path)[0] != "policies"}
    policy = choice.label if len(of_world) == len(settings) else spelled(choice)
    words = ["tpstream", "run", scenario.source, "--policy", policy, "--horizon", str(scenario.horizon)]
    for path, value in of_world.items():
        words += ["--set", f"{path}={bare(value)}"]
    for plugin in loaded_plugins():
        words += ["--plugin", str(plugin.path)]
    return shlex.join([*words, "--seed", str(seed), "--run", str(run)])


def spelled(choice: PolicyChoice) -> str:
    """The policy with all its parameters, for a command that sets none: alone, it may have another number or rival."""
    given = choice.parameters.model_dump(mode="json", exclude_none=True)
    return written(choice.form.name, given)
