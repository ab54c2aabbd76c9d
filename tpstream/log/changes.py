"""What an event of kind `changed` says: that decisions which are made for real are made in another way from then on."""

from typing import Any

import msgspec

from tpstream.model.errors import LogError


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an event of kind changed says, as JSON in its column `key`: everything as it is from then on."""

    reason: str
    policy: str
    """The policy's label, its registered name and its parameters."""
    kind: str
    parameters: dict[str, Any]
    arms: list[str]
    """The arms that are open."""
    switch: str | None = None
    """The arm that all decisions are for; None: the policy decides."""
    fresh: bool = False
    """Whether the policy begins anew, and is told the whole log."""

    @property
    def leaves(self) -> bool:
        """Whether decisions are not made by the policy before it: then it may fail when it is told what came last."""
        return self.fresh or self.switch is not None


def encode_change(change: Change) -> str:
    """A change as text."""
    return msgspec.json.encode(change).decode()


def decode_change(source: object, text: str | None) -> Change:
    """The change that a log tells."""
    try:
        return msgspec.json.decode(text or "", type=Change)
    except msgspec.DecodeError as error:
        raise LogError(
            f"{source}: a change cannot be read: {error}; it must be the JSON that a Decider writes"
        ) from None
