"""When do the parts of a pull arrive, and when are decisions due? Delays and arrival processes."""

from tpstream.model.registry import Registry

DELAYS = Registry(
    what="delay",
    group="tpstream.delays",
    builtin={
        "none": "tpstream.timing.lags:NONE",
        "constant": "tpstream.timing.lags:CONSTANT",
        "geometric": "tpstream.timing.lags:GEOMETRIC",
        "poisson": "tpstream.timing.lags:POISSON",
        "uniform": "tpstream.timing.lags:UNIFORM",
        "lognormal": "tpstream.timing.lags:LOGNORMAL",
        "weibull": "tpstream.timing.lags:WEIBULL",
        "pareto": "tpstream.timing.lags:PARETO",
        "empirical": "tpstream.timing.lags:EMPIRICAL",
        "by-arm": "tpstream.timing.combined:BY_ARM",
        "lump": "tpstream.timing.combined:LUMP",
        "reporting": "tpstream.timing.calendars:REPORTING",
        "missing": "tpstream.timing.losses:MISSING",
        "dropout": "tpstream.timing.losses:DROPOUT",
        "reward-dependent": "tpstream.timing.combined:REWARD_DEPENDENT",
        "lab-queue": "tpstream.timing.queues:LAB_QUEUE",
    },
    needs=("settings", "build"),
)

ARRIVALS = Registry(
    what="arrival process",
    group="tpstream.arrivals",
    builtin={
        "regular": "tpstream.timing.arrivals:REGULAR",
        "poisson": "tpstream.timing.arrivals:POISSON",
        "batches": "tpstream.timing.arrivals:BATCHES",
        "ramp": "tpstream.timing.arrivals:RAMP",
        "trace": "tpstream.timing.arrivals:TRACE",
    },
    needs=("settings", "build"),
)
