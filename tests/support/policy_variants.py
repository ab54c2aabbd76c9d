"""Parameters with which policies are tried: what each parameter changes, once."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tpstream.policies.base import Parameters, SharedPolicy

Keys = dict[str, Any]
PRIOR = {
    "mean": [0.4, 0.1],
    "covariance": [[0.5, 0.2], [0.2, 0.3]],
    "noise": [[1.0, -0.3], [-0.3, 0.5]],
}
GROUPED: dict[str, list[Keys]] = {
    "delayed-ucb1": [{}, {"start": "random"}],
    "tp-ucb-fr": [{}, {"caps": {"a": 0.7, "b": 2.5}}, {"groups": "auto"}],
    "tp-ucb-pooled": [{}, {"safe": True}, {"caps": {"a": 1.5, "b": 0.5}}],
    "tp-ucb-fr-exact": [{}, {"form": "value"}, {"caps": {"a": 2.0, "b": 1.0}}],
    "group-thompson": [
        {},
        {"prior": "none"},
        {"variance": "empirical"},
        {"variance": "empirical", "prior": "none"},
        {"family": "beta"},
    ],
    "part-thompson": [{}, {"prior": "none"}],
    "progressive-thompson": [{}, {"hears": "first"}, {"hears": "closed"}, {"hears": "pull"}],
    "epsilon-greedy": [{"hears": "groups"}],
    "explore-then-commit": [{"hears": "groups", "tries": 2}],
}
"""With a number of groups besides."""
TWO_GROUPS: dict[str, list[Keys]] = {
    "tp-ucb-fr": [{"caps": [0.75, 0.25]}],
    "tp-ucb-pooled": [{"caps": [0.2, 0.8], "safe": True}],
    "tp-ucb-fr-exact": [{"caps": [0.6, 0.4]}, {"caps": [0.0, 1.0], "form": "value"}],
    "progressive-thompson": [{"prior": PRIOR, "hears": hears} for hears in ("parts", "first", "closed", "pull")],
}
"""With two groups, which is what they are about."""
OTHERS: dict[str, list[Keys]] = {
    "delayed-ucb1": [{}, {"start": "random"}, {"groups": "auto"}],
    "delayed-kl-ucb": [{}, {"start": "random", "extra": 0.0}],
    "delayed-ucb-v": [{}, {"start": "random"}],
    "delayed-moss": [{}, {"start": "random", "a": 0.5}],
    "delayed-ucb1-tuned": [{}, {"start": "random"}],
    "delayed-thompson": [{}, *({"family": "gauss"} | keys for keys in GROUPED["group-thompson"][:-1])],
    "completion-ucb": [{}, {"profile": [0.1, 0.1, 0.6, 1.0]}],
    "completion-thompson": [{}, {"profile": [0.5, 1.0]}],
    "beta-ucb": [{}, {"prior": [0.5, 2.0]}],
    "gittins": [{"discount": 0.9}, {"discount": 0.0, "prior": [0.5, 2.0]}],
    "epsilon-greedy": [{}, {"hears": "closed", "epsilon": 0.5, "decay": 5.0}],
    "explore-then-commit": [{"tries": 1}, {"hears": "closed", "tries": 3}],
}
ALLOCATED: dict[str, list[Keys]] = {
    "best-probability": [
        {"update": 40, "burn_in": 3, "minimum": 0.05},
        {"update": 40, "power": "i/(2n)", "minimum": 0.1, "limit": "clip"},
    ],
    "permuted-blocks": [{}],
}
"""Without indices, and so without ties; their literal versions are in tests of their own."""
NAMES = sorted({*GROUPED, *OTHERS, *ALLOCATED})
"""The policies that are tried with these."""
Tried = tuple[str, Keys, bool]
TRIED: list[Tried] = [
    *((name, keys, True) for name, several in GROUPED.items() for keys in several),
    *((name, keys, False) for name, several in OTHERS.items() for keys in several),
]
"""Every policy with each of its parameters, and whether groups are to be given besides."""
TRIED_IN_TWO: list[Tried] = [
    (name, {"groups": 2, **keys}, False) for name, several in TWO_GROUPS.items() for keys in several
]


def label(tried: Tried) -> str:
    """A name for a test."""
    keys = {key: "given" if value is PRIOR else value for key, value in tried[1].items()}
    return ":".join([tried[0], *(f"{key}={value}" for key, value in keys.items()), *(["groups"] if tried[2] else [])])


def complete(keys: Keys, groups: int, *, grouped: bool) -> Keys:
    """The parameters with the groups, where they are to be given."""
    return {**({"groups": groups} if grouped else {}), **keys}


def parameters(form: SharedPolicy, span: int) -> st.SearchStrategy[Parameters]:
    """Any of the parameters of a policy, any groups and any way to break ties."""
    if form.name in ALLOCATED:
        return st.sampled_from([form.parameters(**keys) for keys in ALLOCATED[form.name]])
    divisors = st.sampled_from([number for number in range(1, span + 1) if span % number == 0])
    mine = [tried for tried in TRIED if tried[0] == form.name]
    if span % 2 == 0:
        mine += [tried for tried in TRIED_IN_TWO if tried[0] == form.name]
    build: Callable[..., Parameters] = lambda tried, groups, ties: form.parameters(  # noqa: E731
        **complete(tried[1], groups, grouped=tried[2]), ties=ties
    )
    return st.builds(build, st.sampled_from(mine), divisors, st.sampled_from(["random", "first"]))
