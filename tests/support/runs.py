"""An engine that is ready to run, for tests that look inside a run."""

from tpstream import Scenario
from tpstream.engines.engine import Engine, open_engine
from tpstream.scenario.policy_choice import PolicyChoice


def open_run(scenario: Scenario, choice: PolicyChoice, seed: int, run: int, *, engine: str = "auto") -> Engine:
    """The engine of this run, to whose bus a test can subscribe."""
    return open_engine(engine, scenario.build_world(seed, run), choice.form, choice.parameters, choice.label)
