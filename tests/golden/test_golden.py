"""The shipped scenarios, frozen, give the events, tables and replays that were recorded."""

import json

import golden
import pytest

RECORDED = json.loads(golden.RECORD.read_text())


@pytest.mark.parametrize("name", golden.names())
def test_events_tables_and_replays_are_unchanged(name: str) -> None:
    """Every event of every policy on both engines, a study's tables and replay's answers are those of the record."""
    if golden.made_on() != RECORDED["made on"]:
        pytest.skip(f"recorded on {RECORDED['made on']}, this is {golden.made_on()}")
    found, recorded = golden.fingerprints(name), RECORDED["scenarios"][name]
    assert {key: found.get(key) for key in recorded} == recorded
    # An engine that could not serve when the record was made gives what SimPy gave.
    assert all(found[key] == recorded[key.replace("compiled", "simpy")] for key in found.keys() - recorded.keys())
