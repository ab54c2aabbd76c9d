"""Changes of how decisions are made for real, as a page shows them: when, what, and why."""

from typing import Any

from tpstream.log.changes import Change
from tpstream.model.display import counted, number_text
from tpstream.view.aggregate import Aggregate
from tpstream.view.words import Units, clean


def described_changes(aggregate: Aggregate) -> list[dict[str, Any]]:
    """The changes in order: their time, a few letters for a mark, and a sentence with the reason."""
    unit = Units.of(aggregate.header).time or "time"
    found, before = [], None
    for time, change in aggregate.changes:
        label = _label(change, before, aggregate.header.policy, list(aggregate.header.arms))
        text = f"from {unit} {number_text(time)} on: {label} (reason: {clean(change.reason)})"
        found.append({"time": time, "label": label, "text": text})
        before = change
    return found


def change_facts(aggregate: Aggregate) -> list[tuple[str, str]]:
    """All changes in a line, as a word and what it is; nothing if there was none."""
    texts = [one["text"] for one in described_changes(aggregate)]
    return [("changes", f"{counted(len(texts), 'change')}; {'; '.join(texts)}")] if texts else []


def _label(change: Change, before: Change | None, policy: str, arms: list[str]) -> str:
    """What is another way than before, in a few letters."""
    if before is not None:
        policy, arms = before.policy, before.arms
    found = []
    if change.switch != (None if before is None else before.switch):
        found.append("the policy decides again" if change.switch is None else f"all for {clean(change.switch)}")
    if change.policy != policy or (change.fresh and change.arms == arms):
        found.append(f"policy {clean(change.policy)}")
    for word, more in (("without", set(arms) - set(change.arms)), ("again with", set(change.arms) - set(arms))):
        if more:
            found.append(f"{word} {' and '.join(map(clean, sorted(more)))}")
    return ", ".join(found) or "no change"
