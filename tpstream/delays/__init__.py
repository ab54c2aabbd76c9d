"""When do the parts arrive, and when are decisions due?"""

from tpstream.model.registry import Registry

DELAYS = Registry(
    what="delay",
    group="tpstream.delays",
    builtin={
        "none": "tpstream.delays.lags:NONE",
        "constant": "tpstream.delays.lags:CONSTANT",
        "geometric": "tpstream.delays.lags:GEOMETRIC",
        "poisson": "tpstream.delays.lags:POISSON",
        "uniform": "tpstream.delays.lags:UNIFORM",
        "lognormal": "tpstream.delays.lags:LOGNORMAL",
        "weibull": "tpstream.delays.lags:WEIBULL",
        "pareto": "tpstream.delays.lags:PARETO",
        "empirical": "tpstream.delays.empirical:KIND",
        "by-arm": "tpstream.delays.by_arm:KIND",
        "lump": "tpstream.delays.lump:KIND",
        "reporting": "tpstream.delays.reporting:KIND",
        "missing": "tpstream.delays.missing:KIND",
        "dropout": "tpstream.delays.dropout:KIND",
        "reward-dependent": "tpstream.delays.reward_dependent:KIND",
        "lab-queue": "tpstream.delays.lab_queue:KIND",
    },
    needs=("settings", "build"),
)

ARRIVALS = Registry(
    what="arrival process",
    group="tpstream.arrivals",
    builtin={
        "regular": "tpstream.delays.arrivals:REGULAR",
        "poisson": "tpstream.delays.arrivals:POISSON",
        "batches": "tpstream.delays.arrivals:BATCHES",
        "ramp": "tpstream.delays.ramp:KIND",
        "trace": "tpstream.delays.arrivals:TRACE",
    },
    needs=("settings", "build"),
)
