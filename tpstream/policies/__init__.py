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
        "tp-ucb-pooled": "tpstream.policies.tp_ucb_pooled:POLICY",
        "tp-ucb-fr-exact": "tpstream.policies.tp_ucb_fr_exact:POLICY",
        "delayed-kl-ucb": "tpstream.policies.delayed_kl_ucb:POLICY",
        "delayed-ucb-v": "tpstream.policies.delayed_ucb_v:POLICY",
        "delayed-moss": "tpstream.policies.delayed_moss:POLICY",
        "delayed-ucb1-tuned": "tpstream.policies.delayed_ucb1_tuned:POLICY",
        "delayed-thompson": "tpstream.policies.delayed_thompson:POLICY",
        "group-thompson": "tpstream.policies.group_thompson:POLICY",
        "part-thompson": "tpstream.policies.part_thompson:POLICY",
        "progressive-thompson": "tpstream.policies.progressive_thompson:POLICY",
        "completion-ucb": "tpstream.policies.completion_ucb:POLICY",
        "completion-thompson": "tpstream.policies.completion_thompson:POLICY",
        "epsilon-greedy": "tpstream.policies.epsilon_greedy:POLICY",
        "explore-then-commit": "tpstream.policies.explore_then_commit:POLICY",
        "best-probability": "tpstream.policies.best_probability:POLICY",
        "beta-ucb": "tpstream.policies.beta_ucb:POLICY",
        "gittins": "tpstream.policies.gittins:POLICY",
        "permuted-blocks": "tpstream.policies.permuted_blocks:POLICY",
        "uniform": "tpstream.policies.uniform:POLICY",
        "oracle": "tpstream.policies.oracle:POLICY",
    },
    needs=("name", "parameters", "clairvoyant", "knows_means"),
)
