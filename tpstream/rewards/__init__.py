"""How does one pull pay? Reward models: exact means, exact maxima, vectorised samplers."""

from tpstream.model.registry import Registry

REWARDS = Registry(
    what="reward model",
    group="tpstream.rewards",
    builtin={
        "smooth-beta": "tpstream.rewards.smooth_beta:SmoothBetaSettings",
        "playlist": "tpstream.rewards.playlist:PlaylistSettings",
        "price": "tpstream.rewards.price:PriceSettings",
        "lottery": "tpstream.rewards.lottery:LotterySettings",
        "churn": "tpstream.rewards.churn:ChurnSettings",
        "conversion": "tpstream.rewards.conversion:ConversionSettings",
        "binary": "tpstream.rewards.binary:BinarySettings",
        "normal": "tpstream.rewards.normal:NormalSettings",
        "survival": "tpstream.rewards.survival:SurvivalSettings",
        "trace": "tpstream.rewards.trace:TraceSettings",
    },
    needs=("settings", "arm_settings", "build"),
)
