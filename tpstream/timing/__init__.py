"""When do the parts of a pull arrive, and when are decisions due? Delays and arrival processes."""

from tpstream.model.registry import Registry

DELAYS = Registry(
    what="delay",
    group="tpstream.delays",
    builtin={
        "none": "tpstream.timing.lags:NoDelay",
        "constant": "tpstream.timing.lags:Constant",
        "geometric": "tpstream.timing.lags:Geometric",
        "poisson": "tpstream.timing.lags:Poisson",
        "uniform": "tpstream.timing.lags:Uniform",
        "lognormal": "tpstream.timing.lags:Lognormal",
        "weibull": "tpstream.timing.lags:Weibull",
        "pareto": "tpstream.timing.lags:Pareto",
        "empirical": "tpstream.timing.lags:Empirical",
        "by-arm": "tpstream.timing.combined:ByArm",
        "lump": "tpstream.timing.combined:Lump",
        "reporting": "tpstream.timing.calendars:Reporting",
        "calendar": "tpstream.timing.calendars:OpenHours",
        "missing": "tpstream.timing.losses:Missing",
        "dropout": "tpstream.timing.losses:Dropout",
        "reward-dependent": "tpstream.timing.combined:RewardDependent",
        "seasonal": "tpstream.timing.varying:Seasonal",
        "lab-queue": "tpstream.timing.queues:LabQueue",
    },
    needs=("settings", "build"),
)

ARRIVALS = Registry(
    what="arrival process",
    group="tpstream.arrivals",
    builtin={
        "regular": "tpstream.timing.arrivals:RegularArrivals",
        "poisson": "tpstream.timing.arrivals:Poisson",
        "batches": "tpstream.timing.arrivals:Batches",
        "ramp": "tpstream.timing.arrivals:Ramp",
        "varying": "tpstream.timing.varying:Varying",
        "sites": "tpstream.timing.sites:Sites",
        "trace": "tpstream.timing.arrivals:Trace",
    },
    needs=("settings", "build"),
)
