"""Bad scenarios: each gets one line that says where, what, the value and, where there is one, the remedy."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, field_validator

from tpstream.model import whole_files
from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import Rewards
from tpstream.model.settings import Settings
from tpstream.rewards import REWARDS
from tpstream.scenario.scenario import Scenario

GOOD = """
name = "good"
horizon = 100
span = 12
seed = 1
drain = false

[rewards]
kind = "smooth-beta"
groups = 4
a = [1, 2, 3, 4]
b = [4, 3, 2, 1]
spread = "even"

[[arms]]
name = "low"
maximum = 10.0
[[arms]]
name = "high"
maximum = 20.0
[[arms]]
maximum = 30.0

[[policies]]
kind = "tp-ucb-fr"
groups = 6
ties = "random"
[[policies]]
kind = "delayed-ucb1"
start = "random"
"""

TRACE = """
name = "recorded"
horizon = 2
span = 2
rewards = { kind = "trace", file = "sales.csv", draw = "resample" }
arms = [{ name = "low" }, { name = "high" }]
"""

SALES = "arm,x1,x2\nlow,1,2\nhigh,0,4\n"

DIVISORS = "use one of 1, 2, 3, 4, 6, 12"

LOTTERY = '[rewards]\nkind = "lottery"\ntickets = 12\nwinners = "all"\n[[arms]]\nprobability = 0.5\nprize = 10'
PLAYLIST = '[rewards]\nkind = "playlist"\nsongs = 6\nlevels = 2\n[[arms]]\nmean = 6.0\ndeviation = 3.0'
PRICE = '[rewards]\nkind = "price"\nitems = 10\n[[arms]]\nprice = 2.5\nrate = 0.5'

CASES: dict[str, tuple[str, str, str]] = {
    # what is wrong: (text of the good file, what it becomes, the complaint)
    "unknown key": ("horizon = 100", "horizn = 100", "horizn: unknown key (did you mean 'horizon'?)"),
    "unknown key, nothing like it": (
        "seed = 1",
        "zzz = 1",
        "zzz: unknown key; known: name, horizon, span, seed, drain...",
    ),
    "unknown key of rewards": ("groups = 4", "group = 4", "rewards.group: unknown key (did you mean 'groups'?)"),
    "unknown key of an arm": (
        "maximum = 10.0",
        "maximun = 10.0",
        "arms[0].maximun: unknown key (did you mean 'maximum'?)",
    ),
    "unknown key of a policy": (
        'ties = "random"',
        'tie = "random"',
        "policies[0].tie: unknown key (did you mean 'ties'?)",
    ),
    "another policy's key": (
        'start = "random"',
        "profile = 3",
        "policies[1].profile: unknown key; known: kind, name, ties, start, groups",
    ),
    "key of another kind": ("spread =", "songs =", "rewards.songs: unknown key..."),
    "no horizon": ("horizon = 100", "", "horizon: missing; add horizon (rounds, i.e. decisions)"),
    "no kind": (
        'kind = "smooth-beta"',
        "",
        "rewards.kind: missing; use one of smooth-beta, playlist, price, lottery, churn, conversion, binary, ...",
    ),
    "no groups": ("groups = 4", "", "rewards.groups: missing; add groups (equal groups of parts, ..."),
    "no maximum": ("maximum = 20.0", "", "arms[1].maximum: missing; add maximum (largest cumulative reward of a pull)"),
    "no kind of policy": (
        'kind = "tp-ucb-fr"',
        "",
        "policies[0].kind: missing; use one of ucb1, delayed-ucb1, tp-ucb-fr...",
    ),
    "horizon 0": ("horizon = 100", "horizon = 0", "horizon: must be at least 1, got 0"),
    "negative horizon": ("horizon = 100", "horizon = -5", "horizon: must be at least 1, got -5"),
    "horizon below arms": ("horizon = 100", "horizon = 2", "horizon: must be at least the number of arms, 3, got 2"),
    "horizon as text": ("horizon = 100", 'horizon = "100"', "horizon: must be a whole number, got '100'"),
    "horizon as float": (
        "horizon = 100",
        "horizon = 1e5",
        "horizon: must be a whole number, got 100000.0; write 100000",
    ),
    "horizon as truth": ("horizon = 100", "horizon = true", "horizon: must be a whole number, got true"),
    "horizon as date": ("horizon = 100", "horizon = 2020-02-02", "horizon: must be a whole number, got '2020-02-02'"),
    "span 0": ("span = 12", "span = 0", "span: must be at least 1, got 0"),
    "fractional span": ("span = 12", "span = 12.5", "span: must be a whole number, got 12.5"),
    "negative seed": ("seed = 1", "seed = -1", "seed: must be at least 0, got -1"),
    "drain as number": ("drain = false", "drain = 1", "drain: must be true or false, got 1"),
    "empty name": ('name = "good"', 'name = ""', "name: must not be empty, got ''"),
    "name as number": ('name = "good"', "name = 1", "name: must be text in quotes, got 1"),
    "unknown rewards": (
        '"smooth-beta"',
        '"smoth-beta"',
        "rewards.kind: unknown reward model 'smoth-beta' (did you mean 'smooth-b...",
    ),
    "kind as number": ('kind = "smooth-beta"', "kind = 3", "rewards.kind: must be text in quotes, got 3"),
    "groups do not divide": ("groups = 4", "groups = 5", f"rewards.groups: 5 does not divide the span 12; {DIVISORS}"),
    "groups 0": ("groups = 4", "groups = 0", "rewards.groups: must be at least 1, got 0"),
    "short vector": (
        "a = [1, 2, 3, 4]",
        "a = [1, 2, 3]",
        "rewards.a: has 3 numbers but groups = 4; give one per group",
    ),
    "long vector of an arm": (
        "maximum = 20.0",
        "maximum = 20.0\nb = [1, 1, 1, 1, 1]",
        "arms[1].b: has 5 numbers but groups = 4...",
    ),
    "zero in a vector": ("a = [1, 2, 3, 4]", "a = [1, 2, 0, 4]", "rewards.a[2]: must be greater than 0, got 0"),
    "text in a vector": ("b = [4, 3, 2, 1]", 'b = [4, "3", 2, 1]', "rewards.b[1]: must be a number, got '3'"),
    "number for a vector": ("b = [4, 3, 2, 1]", "b = 4", "rewards.b: must be a list, got 4"),
    "wrong spread": (
        '"even"',
        '"evn"',
        "rewards.spread: must be 'even', 'first', 'last', 'single' or 'random', got 'evn' (did you mean 'even'?)",
    ),
    "maximum 0": ("maximum = 10.0", "maximum = 0", "arms[0].maximum: must be greater than 0, got 0"),
    "negative maximum": ("maximum = 30.0", "maximum = -3.0", "arms[2].maximum: must be greater than 0, got -3.0"),
    "infinite maximum": ("maximum = 30.0", "maximum = inf", "arms[2].maximum: must be a finite number, got inf"),
    "maximum nan": ("maximum = 30.0", "maximum = nan", "arms[2].maximum: must be a finite number, got nan"),
    "maximum as text": ("maximum = 30.0", 'maximum = "30"', "arms[2].maximum: must be a number, got '30'"),
    "same names": (
        'name = "high"',
        'name = "low"',
        "arms[1].name: 'low' is also the name of arms[0]; give them different names",
    ),
    "name like a default": (
        'name = "low"',
        'name = "arm-3"',
        "arms[2].name: 'arm-3' is also the name of arms[0]; give them different names",
    ),
    "unknown policy": (
        '"tp-ucb-fr"',
        '"tp-ucb-rf"',
        "policies[0].kind: unknown policy 'tp-ucb-rf' (did you mean 'tp-ucb-fr'?); known...",
    ),
    "policy's groups do not divide": (
        "groups = 6",
        "groups = 5",
        f"policies[0].groups: 5 does not divide the span 12; {DIVISORS}",
    ),
    "policy's groups 0": ("groups = 6", "groups = 0", "policies[0].groups: must be at least 1, got 0"),
    "wrong ties": (
        'ties = "random"',
        'ties = "fist"',
        "policies[0].ties: must be 'random' or 'first', got 'fist' (did you mean 'first'?)",
    ),
    "ties as truth": ('ties = "random"', "ties = true", "policies[0].ties: must be 'random' or 'first', got true"),
    "same kind twice": (
        '"delayed-ucb1"\nstart = "random"',
        '"tp-ucb-fr"\ngroups = 6\nties = "random"',
        "policies[1].name: 'tp-ucb-fr:groups=6,ties=random' is also the name of policies[0]; give...",
    ),
    "same labels": (
        'start = "random"',
        'name = "tp-ucb-fr"',
        "policies[1].name: 'tp-ucb-fr' is also the name of policies[0]; give them different labels",
    ),
    "empty label": ('start = "random"', 'name = ""', "policies[1].name: must not be empty, got ''"),
    "no equals sign": (
        "span = 12",
        "span 12",
        "line 4, column 6: expected '=' after a key in a key/value pair, in 'span 12'",
    ),
    "key twice": ("span = 12", "span = 12\nspan = 13", "line 5, column 10: cannot overwrite a value, in 'span = 13'"),
    "unclosed text": ('start = "random"', 'start = "random', "line 30, column 16: illegal character..."),
    "unfinished": ('start = "random"\n', "start = ", "end of document: start has no value; write one behind the =..."),
    "no value": ("span = 12", "span = # months", "line 4, column 8: span has no value; write one behind the =..."),
}

TRACE_CASES: dict[str, tuple[str, str, str]] = {
    "no such file": ('"sales.csv"', '"sale.csv"', "rewards.file: there is no file..."),
    "column missing": ("arm,x1,x2", "arm,x1,y2", "rewards.file: sales.csv has no column 'x2'..."),
    "arm column missing": ("arm,x1", "name,x1", "rewards.file: sales.csv has no column 'arm'..."),
    "nan": ("low,1,2", "low,1,nan", "rewards.file: sales.csv row 1, column x2: the value is missing..."),
    "empty cell": ("high,0,4", "high,,4", "rewards.file: sales.csv row 2, column x1: the value is missing..."),
    "negative": (
        "high,0,4",
        "high,0,-4",
        "arms[1].maximum: every row of arm 'high' pays less than nothing, so the maximum is unknown; give it",
    ),
    "no number": ("high,0,4", "high,0,four", "rewards.file: sales.csv row 2, column x2: 'four' is not a number..."),
    "unknown arm": (
        "high,0,4",
        "hihg,0,4",
        "rewards.file: sales.csv row 2, column arm: 'hihg' is no arm (did you mean 'high'?)...",
    ),
    "no row of an arm": ("high,0,4\n", "", "rewards.file: sales.csv has no row of arm 'high'..."),
    "maximum below the record": (
        '{ name = "high" }',
        '{ name = "high", maximum = 3 }',
        "arms[1].maximum: 3.0 is less than the recorded...",
    ),
    "wrong draw": (
        '"resample"',
        '"resampled"',
        "rewards.draw: must be 'sequence' or 'resample', got 'resampled' (did you mean 'resample'?)",
    ),
    "no groups for a policy": (
        "arms =",
        "policies = [{ kind = 'tp-ucb-fr' }]\narms =",
        "policies[0].groups: groups are not known for these...",
    ),
}


OTHER_KINDS: dict[str, tuple[str, str, str, str]] = {
    "tickets": (LOTTERY, "tickets = 12", "tickets = 10", "rewards.tickets: 10 is not the span 12; make them equal"),
    "winners": (LOTTERY, '"all"', '"al"', "rewards.winners: must be 'one' or 'all', got 'al' (did you mean 'all'?)"),
    "probability": (LOTTERY, "0.5", "1.5", "arms[0].probability: must be at most 1, got 1.5"),
    "prize": (LOTTERY, "prize", "price", "arms[0].price: unknown key (did you mean 'prize'?)"),
    "songs": (
        PLAYLIST,
        "songs = 6",
        "songs = 5",
        "rewards.songs: 5 songs of 2 levels have 10 parts but the span is 12...",
    ),
    "mean": (PLAYLIST, "mean = 6.0", "mean = 12.0", "arms[0].mean: 12.0 is not below the maximum 12; lower it"),
    "deviation": (
        PLAYLIST,
        "deviation = 3.0",
        "deviation = 9.0",
        "arms[0].deviation: 9.0 is impossible with mean 6.0...",
    ),
    "rate": (PRICE, "rate = 0.5", "rate = -1", "arms[0].rate: must be at least 0, got -1"),
    "items": (PRICE, "items = 10", "items = 10.5", "rewards.items: must be a whole number, got 10.5"),
}

SEVERAL: dict[str, tuple[dict[str, str], list[str]]] = {
    # what is wrong: (texts of the good file and what they become, the complaints)
    "values": (
        {"horizon = 100": "horizon = 0", "span = 12": "span = 0"},
        ["horizon: must be at least 1, got 0", "span: must be at least 1, got 0"],
    ),
    "mistyped and missing": (
        {"horizon = 100\nspan = 12": "spn = 12"},
        ["spn: unknown key (did you mean 'span'?)", "horizon: missing; add horizon (rounds, i.e. decisions)"],
    ),
    "unknown and impossible": (
        {"span = 12": "span = 0\nzzz = 1"},
        ["zzz: unknown key; known: name, horizon, span...", "span: must be at least 1, got 0"],
    ),
    "kinds and keys of tables": (
        {
            '"tp-ucb-fr"': '"tp-ucb-rf"',
            '"delayed-ucb1"\nstart': '"delayed-ucb1"\nstrat',
            'spread = "even"': "spread = 1",
        },
        [
            "policies[1].strat: unknown key (did you mean 'start'?)",
            "rewards.spread: must be 'even'...",
            "policies[0].kind: unknown policy 'tp-ucb-rf' (did you mean 'tp-ucb-fr'?)...",
        ],
    ),
    "what does not fit together": (
        {"horizon = 100": "horizon = 2\ndefault_reward = 1.0", "groups = 6": "groups = 5"},
        [
            "horizon: must be at least the number of arms, 3, got 2",
            "default_reward: 1 for each of 12 parts is more than an arm's maximum; give at most 0.833333",
            f"policies[0].groups: 5 does not divide the span 12; {DIVISORS}",
        ],
    ),
    "rewards and timing": (
        {"groups = 4": "groups = 5", "seed = 1": 'delays = [{ kind = "lab-queue", resource = "lab", mean = 1.0 }]'},
        [
            f"rewards.groups: 5 does not divide the span 12; {DIVISORS}",
            "delays[0].resource: there is no resource 'lab'...",
        ],
    ),
}

SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "rewards no table": ({"rewards": 3}, "rewards: must be a table, got 3; write [rewards]"),
    "rewards a list": (
        {"rewards": [{"kind": "trace"}]},
        "rewards: must be a table, got [{'kind': 'trace'}]; write [rewards]",
    ),
    "no arms": ({"arms": []}, "arms: at least 1 arm is needed; write [[arms]]"),
    "arms a table": ({"arms": {"maximum": 1}}, "arms: must be a list of tables, got a table; write [[arms]]"),
    "arms numbers": ({"arms": [{"maximum": 1}, 2]}, "arms[1]: must be a table, got 2; write [[arms]]"),
    "policies a name": ({"policies": "ucb1"}, "policies: must be a list of tables, got 'ucb1'; write [[policies]]"),
    "policies names": ({"policies": ["ucb1"]}, "policies[0]: must be a table, got 'ucb1'; write [[policies]]"),
    "an object": (
        {"arms": [{"maximum": 1, "name": {1, 2}}]},
        "arms[0].name: must be a number, text, true, false, a list or a table, got {1, 2}",
    ),
    "nothing": ({"horizon": None}, "horizon: must be a whole number, got None"),
    "a long list": ({"horizon": list(range(50))}, "horizon: must be a whole number, got 50 values"),
    "a long text": ({"horizon": "x" * 100}, f"horizon: must be a whole number, got '{'x' * 59}..."),
}

KEYS: dict[str, Any] = {
    "name": "small",
    "horizon": 20,
    "span": 12,
    "rewards": {"kind": "smooth-beta", "groups": 6},
    "arms": [{"maximum": 1.0}],
}


def changed(text: str, old: str, new: str) -> str:
    """The text with one piece replaced, which must be there once."""
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new)


def complaint(path: Path) -> str:
    """What loading the file complains about, after the name of the file."""
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def agrees(message: str, expected: str) -> bool:
    """Whether the message is the expected one, or begins with it if that ends in three dots."""
    return message.startswith(expected[:-3]) if expected.endswith("...") else message == expected


def test_the_good_ones_are_good(tmp_path: Path) -> None:
    """The files that the cases start from load, so that each case fails for its own reason."""
    (tmp_path / "sales.csv").write_text(SALES)
    path = tmp_path / "good.toml"
    head = GOOD.partition("[rewards]")[0]
    for text in (GOOD, TRACE, head + LOTTERY, head + PLAYLIST, head + PRICE):
        path.write_text(text)
        assert Scenario.load(path).span in {2, 12}
    assert Scenario(**KEYS).span == 12


@pytest.mark.parametrize("case", CASES)
def test_bad_file(case: str, tmp_path: Path) -> None:
    """One thing is wrong in the file, and the complaint begins with it."""
    old, new, expected = CASES[case]
    path = tmp_path / "bad.toml"
    path.write_text(changed(GOOD, old, new))
    assert agrees(complaint(path), expected)


@pytest.mark.parametrize("case", SEVERAL)
def test_all_errors_of_a_file_are_told_at_once(case: str, tmp_path: Path) -> None:
    """Several things are wrong in the file: the first line says how many, and each has a line of its own."""
    changes, expected = SEVERAL[case]
    text = GOOD
    for old, new in changes.items():
        text = changed(text, old, new)
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(path)
    head, *lines = str(caught.value).splitlines()
    assert head == f"{path}: {len(expected)} errors"
    assert len(lines) == len(expected)
    assert all(agrees(line, f"  {one}") for line, one in zip(lines, expected, strict=True))


@pytest.mark.parametrize("case", TRACE_CASES)
def test_bad_record(case: str, tmp_path: Path) -> None:
    """One thing is wrong in the recorded rewards or in how they are used."""
    old, new, expected = TRACE_CASES[case]
    path = tmp_path / "bad.toml"
    in_scenario = old in TRACE
    path.write_text(changed(TRACE, old, new) if in_scenario else TRACE)
    (tmp_path / "sales.csv").write_text(SALES if in_scenario else changed(SALES, old, new))
    assert agrees(complaint(path), expected)


@pytest.mark.parametrize("case", OTHER_KINDS)
def test_bad_settings_of_other_kinds(case: str, tmp_path: Path) -> None:
    """Every kind of rewards has its keys checked by its own rules."""
    text, old, new, expected = OTHER_KINDS[case]
    path = tmp_path / "bad.toml"
    path.write_text(GOOD.partition("[rewards]")[0] + changed(text, old, new))
    assert agrees(complaint(path), expected)


@pytest.mark.parametrize("case", SHAPES)
def test_bad_keys_in_python(case: str) -> None:
    """In Python the complaint is the same, without a file."""
    change, expected = SHAPES[case]
    with pytest.raises(ScenarioError) as caught:
        Scenario(**KEYS | change)
    assert str(caught.value) == expected


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there: the complaint tells how to see those that ship."""
    path = tmp_path / "nowhere.toml"
    assert complaint(path) == "no such file; `tpstream list scenarios` shows the ones that ship"


@pytest.mark.parametrize("path", ["seting-1", "elsewhere/setting-1.toml"])
def test_almost_a_shipped_name(path: str) -> None:
    """A mistyped name, or a shipped file asked for where it is not: the nearest name is asked for."""
    with pytest.raises(ScenarioError, match=r"no such file \(did you mean 'setting-1'\?\)"):
        Scenario.load(path)


def test_almost_a_file_that_is_there(tmp_path: Path) -> None:
    """A mistyped file is asked for by its path, if one beside it is nearer than every name that ships."""
    (tmp_path / "mytrial.toml").touch()
    assert complaint(tmp_path / "mytrail.toml").startswith(f"no such file (did you mean '{tmp_path}/mytrial.toml'?);")
    assert "(did you mean 'setting-1'?)" in complaint(tmp_path / "setting1.toml")


def test_folder(tmp_path: Path) -> None:
    """A folder is not a scenario."""
    assert complaint(tmp_path) == "is a folder; give a scenario file"


def test_not_utf_8(tmp_path: Path) -> None:
    """A file in another encoding is refused with the place of the first bad byte."""
    path = tmp_path / "latin.toml"
    path.write_bytes('name = "café"'.encode("latin-1"))
    assert complaint(path) == "is not UTF-8 text (byte 11); save it as UTF-8"


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be read is refused with the system's reason."""
    path = tmp_path / "secret.toml"
    path.write_text(GOOD)

    def refuse(*_: object, **__: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert complaint(path) == "cannot be read (Permission denied); check its place and permissions"


@dataclass(frozen=True)
class Promise:
    """An arm that promises a mean and a maximum."""

    mean: float
    maximum: float

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """Never asked."""
        raise NotImplementedError


class PromiseSettings(Settings):
    """What the model promises."""

    groups: int


class Extra(Settings):
    """A table inside an arm."""

    level: int = 0


class PromiseArmSettings(BaseModel):
    """What an arm promises; it does not say what to do with unknown keys."""

    mean: float
    maximum: float
    extra: Extra = Extra()

    @field_validator("mean")
    @classmethod
    def _reject(cls, mean: float) -> float:
        if mean == 7:
            raise ValueError("7 is not a mean; use 8")
        return mean


class Promises:
    """A reward model of a plug-in that promises whatever it is told to."""

    settings: type[BaseModel] = PromiseSettings
    arm_settings: type[BaseModel] = PromiseArmSettings

    def build(self, settings: PromiseSettings, arms: list[PromiseArmSettings], context: object) -> Rewards:  # noqa: ARG002
        """The promises."""
        return Rewards([Promise(arm.mean, arm.maximum) for arm in arms], settings.groups)


PROMISES = Promises()


@pytest.mark.parametrize(
    ("groups", "arm", "expected"),
    [
        (5, {"mean": 1, "maximum": 2}, "rewards: 5 groups do not divide the span 12; change one of them"),
        (0, {"mean": 1, "maximum": 2}, "rewards: 0 groups do not divide the span 12; change one of them"),
        (3, {"mean": 1, "maximum": 0}, "arms[0]: its maximum must be greater than 0 and finite, got 0.0"),
        (3, {"mean": 1, "maximum": math.inf}, "arms[0].maximum: must be a finite number, got inf"),
        (3, {"mean": 3, "maximum": 2}, "arms[0]: its mean must be from 0 to its maximum 2.0, got 3.0"),
        (3, {"mean": math.nan, "maximum": 2}, "arms[0].mean: must be a finite number, got nan"),
        (3, {"mean": 1, "maximum": 2, "man": 1}, "arms[0].man: unknown key (did you mean 'mean'?)"),
        (3, {"mean": 7, "maximum": 9}, "arms[0].mean: 7 is not a mean; use 8"),
        (3, {"mean": 1, "maximum": 2, "extra": {"levle": 1}}, "arms[0].extra.levle: unknown key; remove it"),
        (3, {"mean": 1, "maximum": 2, "extra": {"level": "1"}}, "arms[0].extra.level: must be a whole number, got '1'"),
        (3, {"mean": 1, "maximum": 2, "extra": 1}, "arms[0].extra: must be a table, got 1"),
    ],
)
def test_broken_promises(groups: int, arm: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in's model that cannot be is refused when the scenario is read, and its keys are checked as ours are."""
    monkeypatch.setitem(REWARDS.builtin, "promises", f"{__name__}:PROMISES")
    with pytest.raises(ScenarioError) as caught:
        Scenario(**KEYS | {"rewards": {"kind": "promises", "groups": groups}, "arms": [arm]})
    assert str(caught.value) == expected


def nested(depth: int) -> dict[str, Any]:
    """A table in a table in a table ..."""
    return {} if depth == 0 else {"a": nested(depth - 1)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"window": 1e300},
            "window: 1e+300 is beyond 1e+15, up to which times and sums are exact; give a smaller number",
        ),
        ({"horizon": 10**400}, "horizon: a number of 400 digits is beyond 1e+15"),
        ({"horizon": 10**11}, "horizon: must be at most 10000000000, got 100000000000"),
        ({"span": 10**12}, "span: must be at most 1000000"),
        ({"delays": [{"kind": "reporting", "every": 1e16}]}, "delays[0].every: 1e+16 is beyond 1e+15"),
        ({"visits": [1, math.nan]}, "visits[1]: must be a finite number, got nan"),
        ({"name": "a" * 20_000}, "name: is a text of 20,000 letters; at most 10,000 are allowed"),
        ({"arms": [{}] * 10_001}, "arms: has 10,001 entries; at most 10,000 are allowed"),
        ({"delays": [{"kind": "geometric", "p": 0.5}] * 101}, "delays: has 101 entries; at most 100 are allowed"),
        ({"policies": [{"kind": "uniform"}] * 1_001}, "policies: has 1,001 entries; at most 1,000 are allowed"),
        ({"rewards": nested(900)}, "is nested more than 20 deep; no key of a scenario is"),
    ],
)
def test_giants(changes: dict[str, Any], expected: str) -> None:
    """What no scenario needs is refused in one short line, before anything is built of it."""
    with pytest.raises(ScenarioError) as caught:
        Scenario(**KEYS | changes)
    assert expected in str(caught.value)
    assert len(str(caught.value)) < 200


def test_files_that_are_no_ordinary_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe, a device, nesting without end and a file that is too large are refused, unread."""
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(ScenarioError, match="it is a pipe or a device, no ordinary file"):
            Scenario.load(path)
    deep = tmp_path / "deep.toml"
    deep.write_text(f"a = {'[' * 3000}{']' * 3000}")
    with pytest.raises(ScenarioError, match="it is nested too deep; write it flatter"):
        Scenario.load(deep)
    monkeypatch.setattr(whole_files, "LARGEST", 10)
    with pytest.raises(ScenarioError, match="it has 6,004 bytes, and at most 10 are read at once"):
        Scenario.load(deep)


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("mine.py", b"import numpy as np\n", "; a plug-in file is given with --plugin"),
        ("mine.png", b"\x89PNG\r\n\x1a\n\x00", ""),
        ("mine.csv", b"a,b\n1,2\n", ""),
    ],
)
def test_another_kind_of_file_is_no_scenario(tmp_path: Path, name: str, content: bytes, remedy: str) -> None:
    """A file that is not TOML, and does not claim to be, is told to be no scenario file."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: is not a scenario file, which is TOML text (FILE.toml){remedy}"
