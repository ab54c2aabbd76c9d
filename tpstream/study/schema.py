"""The JSON Schema of scenario files, by which editors complete and check them."""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from tpstream.delays import ARRIVALS, DELAYS
from tpstream.delays.tables import arrival_table, delay_table
from tpstream.policies import POLICIES
from tpstream.rewards import REWARDS
from tpstream.study.scenario import Scenario
from tpstream.study.tables import arm_table, policy_table, reward_table

Schema = dict[str, Any]


def json_schema() -> Schema:
    """The schema with the keys of every installed kind; the keys of an arm follow from the kind of rewards."""
    kinds, policies = REWARDS.names(), POLICIES.names()
    delays, arrivals = DELAYS.names(), ARRIVALS.names()
    models: list[type[BaseModel]] = [
        *map(reward_table, kinds),
        *map(arm_table, kinds),
        *map(policy_table, policies),
        *map(delay_table, delays),
        *map(arrival_table, arrivals),
    ]
    found, definitions = models_json_schema([(model, "validation") for model in models])
    table_of = {model: reference for (model, _), reference in found.items()}
    schema = Scenario.model_json_schema()
    keys: Schema = schema["properties"]
    keys["rewards"] |= {"type": "object", "properties": {"kind": {"enum": kinds}}, "required": ["kind"]}
    keys["arms"] |= {"type": "array", "minItems": 1, "items": {"type": "object"}}
    keys["policies"] |= {"type": "array", "items": {"oneOf": [table_of[policy_table(kind)] for kind in policies]}}
    keys["delays"] |= {"type": "array", "items": {"oneOf": [table_of[delay_table(kind)] for kind in delays]}}
    keys["arrivals"] |= {"oneOf": [table_of[arrival_table(kind)] for kind in arrivals]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "tpstream scenario",
        "description": str(Scenario.__doc__).partition("\n")[0],
        "$defs": definitions["$defs"],
        "oneOf": [
            {
                "title": kind,
                "properties": {
                    "rewards": table_of[reward_table(kind)],
                    "arms": {"items": table_of[arm_table(kind)]},
                },
            }
            for kind in kinds
        ],
    }
