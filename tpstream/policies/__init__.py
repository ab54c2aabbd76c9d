"""Who decides? Policies, one per file and written once for every engine, and how they are told events."""

from tpstream.model.registry import Registry

POLICIES = Registry(
    what="policy",
    group="tpstream.policies",
    builtin={
        "ucb1": "tpstream.policies.ucb1:POLICY",
        "delayed-ucb1": "tpstream.policies.delayed_ucb1:POLICY",
        "tp-ucb-fr": "tpstream.policies.tp_ucb_fr:POLICY",
        "tp-ucb-ew": "tpstream.policies.tp_ucb_ew:POLICY",
        "uniform": "tpstream.policies.uniform:POLICY",
        "oracle": "tpstream.policies.oracle:POLICY",
    },
    needs=("name", "parameters", "clairvoyant", "knows_means"),
)
