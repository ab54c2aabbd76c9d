"""The paper's settings: which scenarios belong to each, and which policies run in them."""

from dataclasses import dataclass

from tpstream.model.errors import UnknownNameError

UCB1, FR, EW = "ucb1", "tp-ucb-fr", "tp-ucb-ew"
DELAYED = "delayed-ucb1:start=random"
"""Delayed-UCB1 with the start that the published numbers show."""
ROUND_ROBIN = "delayed-ucb1:start=round-robin"
"""Delayed-UCB1 with the start of the paper's algorithm box."""
BOTH_STARTS = (UCB1, DELAYED, ROUND_ROBIN, FR, EW)
ASSUMED = (5, 10, 20, 25, 50)
"""The groups that policies assume in Setting 1 (the paper's eta); the world has 20."""
GRID = ((100, 10), (200, 20), (100, 50), (200, 100))
"""Spans and groups of Settings 2, 2.1, 2.2 and 2.3, in the paper's order."""
FAMILY = ("2", "2.1", "2.2", "2.3")


def assuming(kind: str, groups: int) -> str:
    """A policy that assumes so many groups."""
    return f"{kind}:groups={groups}"


@dataclass(frozen=True)
class Setting:
    """One of the paper's settings."""

    name: str
    about: str
    scenarios: tuple[str, ...]
    policies: tuple[str, ...] = BOTH_STARTS


def family_scenario(setting: str, span: int, groups: int) -> str:
    """The scenario of one cell of Setting 2, 2.1, 2.2 or 2.3."""
    return f"setting-{setting}-{span}-{groups}"


def _family(name: str, about: str) -> Setting:
    return Setting(name, about, tuple(family_scenario(name, *cell) for cell in GRID))


_FIRST = Setting(
    "1",
    "ten arms, span 100, 20 uniform groups; the policies assume 5, 10, 20, 25 or 50",
    ("setting-1",),
    (UCB1, DELAYED, ROUND_ROBIN, *(assuming(kind, groups) for kind in (FR, EW) for groups in ASSUMED)),
)
SETTINGS = {
    setting.name: setting
    for setting in (
        _FIRST,
        _family("2", "ten arms, four pairs of span and groups, uniform groups"),
        _family("2.1", "as Setting 2, but late groups pay more"),
        _family("2.2", "as Setting 2, but early groups pay more"),
        _family("2.3", "as Setting 2, with the appendix's random Beta groups"),
        Setting(
            "4",
            "ten worlds with random Beta groups, span 100, 10 groups",
            tuple(f"setting-4-{number}" for number in range(1, 11)),
        ),
        Setting("5", "Setting 1 with ten times the rounds", ("setting-5",)),
        Setting("spotify", "six playlists of 20 songs; a synthetic stand-in for the real sessions", ("spotify-like",)),
    )
}


def find_settings(names: list[str] | None) -> list[Setting]:
    """The settings of those names in the paper's order; all of them if none is named."""
    for name in names or ():
        if name not in SETTINGS:
            raise UnknownNameError("setting of the paper", name, SETTINGS)
    return [setting for name, setting in SETTINGS.items() if not names or name in names]
