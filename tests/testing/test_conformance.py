"""Every built-in passes the conformance kit that plug-ins are tested with."""

from pathlib import Path
from typing import Any

import pytest
from families import COMPILED, form_of
from scipy import stats

from tpstream.log import SINKS
from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.policies import POLICIES
from tpstream.policies.base import SharedPolicy
from tpstream.policies.loader import functions_of
from tpstream.rewards import REWARDS
from tpstream.testing import check_arrivals, check_delay, check_policy, check_rewards, check_sink
from tpstream.testing.runs import small_scenario
from tpstream.timing import ARRIVALS, DELAYS

Keys = dict[str, Any]

REWARDS_TRIED: dict[str, list[tuple[Keys, list[Keys]]]] = {
    "smooth-beta": [
        *(
            ({"groups": 4, "spread": spread}, [{"maximum": 10.0}, {"maximum": 5.0, "a": [1, 2, 3, 4], "b": [2] * 4}])
            for spread in ("even", "first", "last", "single", "random")
        ),
        ({"groups": 1}, [{"maximum": 0.001}]),
    ],
    "playlist": [({"songs": 12, "levels": 1}, [{"mean": 5.0, "deviation": 2.0}, {"mean": 11.0, "deviation": 1.5}])],
    "price": [({"items": 20}, [{"price": 3.0, "rate": 0.5}, {"price": 1.0, "rate": 4.0}, {"price": 9.0, "rate": 0.0}])],
    "lottery": [
        ({"tickets": 12, "winners": winners}, [{"probability": p, "prize": 7.0} for p in (0.0, 0.1, 1.0)])
        for winners in ("one", "all")
    ],
    "churn": [({}, [{"churn": 0.2, "concentration": 1.0, "payment": 9.0}, {"churn": 0.5, "activity": [0.5] * 12}])],
    "conversion": [({"hazard": 0.2}, [{"probability": p, "median": 20.0, "maximum": 90.0} for p in (0.03, 1.0)])],
    "binary": [
        ({"correlation": 0.6}, [{"probability": 0.3}, {"probability": [0.0, 1.0] * 6}]),
        ({}, [{"patterns": {"0" * 12: 0.5, "01" * 6: 0.5}}]),
    ],
    "normal": [({"correlation": 0.5}, [{"mean": -1.0, "deviation": 2.0}, {"mean": 3.0, "deviation": 0.0}])],
    "survival": [({}, [{"hazard": [0.1, 0.0], "changes": [4.0]}, {"scale": 5.0, "shape": 0.7}, {"hazard": 0.0}])],
    "trace": [({"file": "rewards.csv", "draw": draw}, [{}, {"maximum": 99.0}]) for draw in ("sequence", "resample")],
}
LAG: Keys = {"kind": "constant", "lag": 3}
DELAYS_TRIED: dict[str, list[Keys]] = {
    "none": [{}],
    "constant": [{"lag": 2}, {"lag": 0.25}],
    "geometric": [{"p": 0.3}, {"p": 0.5, "per": "pull"}],
    "poisson": [{"mean": 2.5}],
    "uniform": [{"low": 1, "high": 4}, {"low": 0, "high": 3, "whole": True}],
    "lognormal": [{"median": 2.0, "sigma": 0.5}, {"mu": 0.3, "sigma": 1.0, "whole": True, "per": "pull"}],
    "weibull": [{"shape": 1.5, "scale": 3.0}],
    "pareto": [{"shape": 2.5, "scale": 1.0}, {"shape": 2.5, "scale": 1.0, "whole": True}],
    "empirical": [{"lags": [0, 1, 1, 7]}, {"file": "lags.csv"}],
    "by-arm": [{"arms": {"arm-1": LAG}}, {"arms": {}, "others": {"kind": "poisson", "mean": 1.0}}],
    "lump": [{}, {"at": 20}, {"at": 11.5}],
    "reporting": [{"every": 7}, {"every": 0.7, "first": 0.2}, {"days": [1, 3], "week": 5}],
    "calendar": [{"weekdays": ["Mon", "Thu"], "hours": [8, 16]}, {"holidays": [3, "2024-02-01"]}],
    "missing": [{"p": 0.3}, {"p": 1.0}],
    "dropout": [
        {"rate": 0.1},
        {"mean": 4.0, "informative": 1.0},
        {"curve": [[2, 0.3], [9, 0.8]]},
        {"curve": [[2, 0.3], [9, 1.0]], "informative": -1.0, "unit": 0.5},
    ],
    "reward-dependent": [
        {"threshold": 0.1, "below": LAG},
        {"threshold": 0.5, "below": LAG, "above": LAG, "per": "pull"},
    ],
    "seasonal": [{"delay": LAG, "curve": [[0, 1], [50, 3]]}],
    "lab-queue": [{"resource": "lab", "mean": 0.5}, {"resource": "lab", "mean": 0.1, "service": "constant"}],
}
LAWS: dict[str, Any] = {
    "geometric": stats.geom(0.3, loc=-1),
    "poisson": stats.poisson(2.5),
    "weibull": stats.weibull_min(1.5, scale=3.0),
}
"""The distribution of the lags for the first settings above, written down here once more."""
ARRIVALS_TRIED: dict[str, list[Keys]] = {
    "regular": [{}, {"every": 0.3}],
    "poisson": [{"rate": 2.0}, {"rate": 2.0, "size": 3}],
    "batches": [{"size": 4, "every": 7.0}, {"size": 1}],
    "ramp": [{"start": 0.5, "end": 4.0, "duration": 20.0}],
    "varying": [{"curve": [[0, 1], [50, 3]], "weekdays": {"Sun": 0}, "open": {"hours": [6, 22]}, "size": 3}],
    "sites": [{"sites": [{"name": "first", "rate": 1.0}, {"name": "second", "rate": [[0, 0.5], [9, 2]], "opens": 5}]}],
    "trace": [{"file": "times.csv"}],
}
POLICIES_TRIED: dict[str, list[Keys]] = {
    "ucb1": [{}, {"ties": "first"}],
    "delayed-ucb1": [{}, {"start": "random", "groups": 3}, {"groups": "auto"}],
    "tp-ucb-fr": [{}, {"groups": 6}, {"groups": "auto"}],
    "tp-ucb-ew": [{}, {"groups": 2, "ties": "first"}],
    "tp-ucb-pooled": [{"safe": True, "caps": {"a": 1, "b": 2}}],
    "tp-ucb-fr-exact": [{}, {"form": "value", "groups": 2}],
    "delayed-kl-ucb": [{}],
    "delayed-ucb-v": [{}],
    "delayed-moss": [{}],
    "delayed-ucb1-tuned": [{}],
    "delayed-thompson": [{}, {"family": "gauss", "variance": "empirical"}],
    "group-thompson": [{}, {"family": "beta"}, {"variance": "empirical", "prior": "none"}],
    "part-thompson": [{}],
    "progressive-thompson": [{}, {"hears": "first"}, {"hears": "closed"}, {"hears": "pull"}],
    "completion-ucb": [{}],
    "completion-thompson": [{"profile": [0.5, 0.75, 1.0]}],
    "epsilon-greedy": [{}, {"hears": "closed", "decay": 10.0}],
    "explore-then-commit": [{"tries": 2}, {"hears": "closed"}],
    "best-probability": [{"minimum": 0.1, "burn_in": 4, "update": 40}, {"family": "normal", "update": 40}],
    "beta-ucb": [{}],
    "gittins": [{"discount": 0.9}],
    "permuted-blocks": [{}],
    "uniform": [{}],
    "oracle": [{}],
}


def cases(tried: dict[str, list[Any]]) -> Any:
    """Each kind with each of its settings."""
    every = [(kind, given) for kind, several in tried.items() for given in several]
    return pytest.mark.parametrize(("kind", "given"), every, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(every)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records for the kinds that read some."""
    place = tmp_path_factory.mktemp("records")
    heads = ",".join(f"x{part}" for part in range(1, 13))
    rows = [f"arm-{1 + pull % 2}," + ",".join(str((pull * part) % 4) for part in range(12)) for pull in range(600)]
    (place / "rewards.csv").write_text("\n".join([f"arm,{heads}", *rows]))
    (place / "lags.csv").write_text("lag\n0\n2\n2\n5\n")
    (place / "times.csv").write_text("time\n" + "\n".join(str(1 + 0.5 * round) for round in range(300)))
    return place


def test_nothing_is_left_out() -> None:
    """Whatever is built in is tried here."""
    tried = [REWARDS_TRIED, DELAYS_TRIED, ARRIVALS_TRIED, POLICIES_TRIED, {"lines": []}]
    registries = (REWARDS, DELAYS, ARRIVALS, POLICIES, SINKS)
    assert [list(one) for one in tried] == [list(registry.builtin) for registry in registries]


@cases(REWARDS_TRIED)
def test_rewards(kind: str, given: tuple[Keys, list[Keys]], folder: Path) -> None:
    """A reward model keeps its promises."""
    check_rewards(kind, given[0], given[1], span=12, folder=folder)


@cases(DELAYS_TRIED)
def test_delays(kind: str, given: Keys, folder: Path) -> None:
    """A delay keeps its promises."""
    law = LAWS.get(kind) if given is DELAYS_TRIED[kind][0] else None
    check_delay(kind, given, span=12, folder=folder, distribution=law)


@cases(ARRIVALS_TRIED)
def test_arrivals(kind: str, given: Keys, folder: Path) -> None:
    """An arrival process keeps its promises."""
    law = stats.expon(scale=0.5) if kind == "poisson" and "size" not in given else None
    check_arrivals(kind, given, horizon=300 if kind == "trace" else 10_000, folder=folder, distribution=law)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        pytest.param(
            kind,
            given,
            marks=() if JIT_IS_OFF or form_of(kind, **given) in COMPILED else pytest.mark.verify,
            id=":".join([kind, *(f"{key}={value}" for key, value in given.items())]),
        )
        for kind, several in POLICIES_TRIED.items()
        for given in several
    ],
)
def test_policies(kind: str, given: Keys) -> None:
    """A policy keeps its promises: each as plain Python, and compiled one for each family of handlers."""
    check_policy(kind, given)


def test_families_are_complete() -> None:
    """Whatever handler or special field a policy has, one of those that are always compiled has it, too.

    Looks are left out: the kit's worlds have none.
    """

    def features(form: SharedPolicy) -> set[str]:
        problem = small_scenario().problem()
        fields = {"clock", "probabilities", "open_arms"} & set(form.init(problem, form.parameters())._fields)
        handlers = {name for name in functions_of(form) if name != "on_look"}
        kinds = {name for name in ("per_pull", "queues", "clairvoyant", "knows_means") if getattr(form, name)}
        return fields | handlers | kinds

    forms = [form_of(kind, **given) for kind, several in POLICIES_TRIED.items() for given in several]
    assert set().union(*map(features, COMPILED)) == set().union(*map(features, forms))


@pytest.mark.parametrize("to", ["stderr", "stdout"])
def test_sinks(to: str) -> None:
    """A sink keeps its promises."""
    check_sink("lines", {"to": to})
