"""What each policy does with a part that is known to be lost: the table of docs/policies.md, each line by hand."""

import math
from pathlib import Path

import numpy as np
import pytest
from worlds import build_policy, events_of, table_world

from tpstream.policies import POLICIES

NAN = float("nan")
SPAN, MAXIMUM = 4, 8.0
TWO_PULLS = [
    ("pull", 1, 0, 0, NAN),
    *(("partial", 1, 0, part, 1.0) for part in (1, 2, 3, 4)),
    ("closed", 1, 0, 0, 4.0),
    ("pull", 2, 0, 0, NAN),
    ("partial", 2, 0, 1, 1.0),
    ("partial", 2, 0, 2, 1.0),
]
"""An arm that pays 1 in every part: a whole pull, and half of a second one."""
LOSS = [("dropped", 2, 0, 3, NAN), ("partial", 2, 0, 4, 1.0), ("closed", 2, 0, 0, 3.0)]
"""The rest of it: the third part is lost."""

ZERO, UNKNOWN = "counts as zero", "is not counted"
FATES: dict[str, dict[str, str]] = {
    "ucb1": {},
    "delayed-ucb1": {"": ZERO},
    "tp-ucb-fr": {"": ZERO},
    "tp-ucb-ew": {"": UNKNOWN},
    "tp-ucb-pooled": {"": UNKNOWN},
    "tp-ucb-fr-exact": {"": ZERO, "form=value": ZERO},
    "delayed-kl-ucb": {"": ZERO},
    "delayed-ucb-v": {"": ZERO},
    "delayed-moss": {"": ZERO},
    "delayed-ucb1-tuned": {"": ZERO},
    "delayed-thompson": {"": ZERO, "family=gauss": ZERO},
    "group-thompson": {"": UNKNOWN, "family=beta": UNKNOWN},
    "part-thompson": {"": UNKNOWN},
    "progressive-thompson": {"": UNKNOWN, "hears=closed": ZERO},
    "completion-ucb": {"": ZERO},
    "completion-thompson": {"": ZERO},
    "epsilon-greedy": {"": UNKNOWN, "hears=closed": ZERO},
    "explore-then-commit": {"": UNKNOWN, "hears=closed": ZERO},
    "best-probability": {"": ZERO, "family=normal": ZERO},
    "beta-ucb": {"": ZERO},
    "gittins": {"discount=0.9": ZERO},
    "permuted-blocks": {},
    "uniform": {},
    "oracle": {},
}
"""The clairvoyant, the policies with fixed probabilities and the oracle hear of no parts."""
CASES = [(name, keys, fate) for name, fates in FATES.items() for keys, fate in fates.items()]


def test_every_policy_is_here() -> None:
    """No policy is left out."""
    assert list(FATES) == list(POLICIES.builtin)


def estimate(name: str, keys: str, rows: list[tuple[str, int, int, int, float]], **more: object) -> float:  # noqa: C901, PLR0911
    """The policy's estimate of the arm's mean, without its bound or its draw, after these events."""
    given = dict(pair.split("=") for pair in keys.split(",") if pair) | more
    policy = build_policy(table_world(np.ones((1, 9, SPAN)), 9, maxima=[MAXIMUM], groups=SPAN), name, **given)
    policy.hear(events_of(rows))
    policy.decide(3)
    state = policy.state  # type: ignore[attr-defined]
    if hasattr(state, "centres"):
        return float(state.centres[0] * state.units[0])
    if name == "best-probability" and given.get("family") == "normal":
        return float(state.sums[0].sum() / state.patients[0])
    if name in {"beta-ucb", "gittins"}:
        return float(state.sums[0].sum() / state.closed[0] * MAXIMUM)
    if hasattr(state, "successes"):
        return float(state.successes.sum() + state.failures.sum())  # how much was observed
    index = float(policy.indices()[0])
    log = math.log(2)
    if name in {"tp-ucb-ew", "tp-ucb-pooled"}:
        return float(state.means[0].sum())
    if name == "tp-ucb-fr":
        return index - MAXIMUM * math.sqrt(2 * log / (SPAN * 2)) - (SPAN + 1) * MAXIMUM / 4
    if name == "tp-ucb-fr-exact":
        return index - MAXIMUM * math.sqrt(2 * log / (SPAN * 2))
    if name == "completion-ucb":
        return index - MAXIMUM * math.sqrt(2 * log * 2) / 2
    if name == "completion-thompson":
        return float(state.received[0].sum() / state.expected[0])
    if hasattr(state, "closed"):
        return float(state.sums[0].sum() / state.closed[0])
    return index


@pytest.mark.parametrize(("name", "keys", "fate"), CASES, ids=str)
def test_what_becomes_of_a_lost_part(name: str, keys: str, fate: str) -> None:
    """A lost part lowers the estimate of an arm that pays 4 to 3.5 if it counts as zero, and leaves it at 4 if not."""
    found = estimate(name, keys, [*TWO_PULLS, *LOSS])
    expected = {ZERO: 3.5, UNKNOWN: 4.0}[fate]
    if name in {"group-thompson", "part-thompson"} and "beta" not in keys:
        # A pseudo-observation of 1 in each group says the same as every part: the mean stays 4 exactly.
        expected = 4.0
    elif "beta" in keys or (name in {"best-probability", "delayed-thompson"} and not keys):
        expected = {ZERO: 2.0 + 2.0, UNKNOWN: 8.0 + 7.0}[fate]  # two pulls, or seven of eight parts, and the prior
    elif name == "delayed-thompson":
        expected = (4.0 + 4.0 + 3.0) / 3
    elif name == "progressive-thompson":
        whole = estimate(name, keys, [*TWO_PULLS, ("partial", 2, 0, 3, 1.0), ("partial", 2, 0, 4, 1.0)])
        closed = estimate(name, keys, [*TWO_PULLS, *LOSS[1:2], ("closed", 2, 0, 0, 3.0)])
        expected = closed if fate == ZERO else whole
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(("name", "keys", "fate"), CASES, ids=str)
def test_the_warning_is_about_these(name: str, keys: str, fate: str) -> None:
    """The policies that count a lost part as zero are those that a scenario with losses warns of."""
    form = POLICIES.find(name)
    given = dict(pair.split("=") for pair in keys.split(",") if pair)
    assert form.for_parameters(form.parameters(**given)).lost_as_zero == (fate == ZERO)


def test_the_table_of_the_docs() -> None:
    """docs/policies.md says of every policy what it does with a lost part."""
    page = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    for name, fates in FATES.items():
        mine = [line for line in lines if line.startswith(f"| `{name}`") and ("zero" in line or "not counted" in line)]
        assert bool(mine) == bool(fates), name
        for fate in set(fates.values()):
            assert any(fate in line for line in mine), (name, fate)
