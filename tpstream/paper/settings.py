"""The paper's settings: which scenarios belong to each, and which policies run in them."""

from dataclasses import dataclass

from tpstream.model.errors import UnknownNameError

UCB1, FR, EW = "ucb1", "tp-ucb-fr", "tp-ucb-ew"
DELAYED = "delayed-ucb1:start=random"
"""Delayed-UCB1 with the start that the published numbers show."""
ROUND_ROBIN = "delayed-ucb1:start=round-robin"
"""Delayed-UCB1 with the start of the paper's algorithm box."""
NAMES = {UCB1: "UCB1", DELAYED: "Delayed-UCB1", FR: "TP-UCB-FR", EW: "TP-UCB-EW"}
"""The paper's names of the policies that it compares."""
BY_GROUPS = {kind: {groups: f"{kind}:groups={groups}" for groups in (5, 10, 20, 25, 50)} for kind in (FR, EW)}
"""The policies of Setting 1 by kind and the number of groups they assume (the paper's eta); the environment has 20."""
GRID = ((100, 10), (200, 20), (100, 50), (200, 100))
"""Pairs of span and groups in Settings 2, 2.1, 2.2 and 2.3, in the paper's order."""
FAMILY = ("2", "2.1", "2.2", "2.3")
"""The settings that have one scenario for each pair of the grid."""


def family_scenario(setting: str, span: int, groups: int) -> str:
    """The name of the scenario of Setting 2, 2.1, 2.2 or 2.3 with this span and number of groups."""
    return f"setting-{setting}-{span}-{groups}"


@dataclass(frozen=True)
class Setting:
    """One of the paper's settings."""

    name: str
    about: str
    scenarios: tuple[str, ...]
    policies: tuple[str, ...] = (UCB1, DELAYED, ROUND_ROBIN, FR, EW)


def _family(name: str, about: str) -> Setting:
    return Setting(name, about, tuple(family_scenario(name, *pair) for pair in GRID))


_ALL = (
    Setting(
        "1",
        "Ten arms, span 100, 20 uniform groups; the policies assume 5, 10, 20, 25 or 50.",
        ("setting-1",),
        (UCB1, DELAYED, ROUND_ROBIN, *BY_GROUPS[FR].values(), *BY_GROUPS[EW].values()),
    ),
    _family("2", "Ten arms, four pairs of span and groups, uniform groups."),
    _family("2.1", "As Setting 2, but late groups pay more."),
    _family("2.2", "As Setting 2, but early groups pay more."),
    _family("2.3", "As Setting 2, with the appendix's random Beta groups."),
    Setting(
        "4",
        "Ten worlds with random Beta groups, span 100, 10 groups.",
        tuple(f"setting-4-{number}" for number in range(1, 11)),
    ),
    Setting("5", "Setting 1 with ten times the rounds.", ("setting-5",)),
    Setting(
        "spotify", "Six playlists of 20 songs; synthetic rewards in place of the real sessions.", ("spotify-like",)
    ),
)
SETTINGS = {setting.name: setting for setting in _ALL}
"""The settings by name, in the paper's order."""


def find_settings(names: list[str] | None) -> list[Setting]:
    """The settings of these names in the paper's order; all of them if none is named."""
    for name in names or ():
        if name not in SETTINGS:
            raise UnknownNameError("setting of the paper", name, SETTINGS)
    return [setting for name, setting in SETTINGS.items() if not names or name in names]
