"""How does one pull pay? Reward models: exact means, exact maxima, vectorised samplers."""

from tpstream.model.registry import Registry

REWARDS = Registry(
    what="reward model",
    group="tpstream.rewards",
    builtin={
        "smooth-beta": "tpstream.rewards.smooth_beta:KIND",
        "playlist": "tpstream.rewards.playlist:KIND",
        "price": "tpstream.rewards.price:KIND",
        "lottery": "tpstream.rewards.lottery:KIND",
        "trace": "tpstream.rewards.trace:KIND",
    },
    needs=("settings", "arm_settings", "build"),
)
