"""Values as TOML: whatever is written is read back as it was, by any reader of TOML and from the command line."""

import math
import tomllib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tpstream.log.imports.column_map import ColumnMap, DecisionColumns, PaymentColumns, read_map
from tpstream.model.whole_files import parse_toml, toml_value
from tpstream.scenario.files import toml_text
from tpstream.scenario.overrides import read_setting
from tpstream.scenario.policy_choice import read_value

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))  # no halves of letters, which no file can hold
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
TITLES = TEXTS.filter(bool)


@given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    """TOML gives back every value that was written: emojis, line breaks, infinity and names of any kind."""
    assert tomllib.loads(f"value = {toml_value(value)}") == {"value": value}


def test_values_that_are_told_by_hand() -> None:
    """Names that are no bare keys are quoted, texts escaped, and numbers that are none have TOML's names."""
    assert toml_value({"a b": 'say "x"', "c": [1, 2.5, True]}) == '{ "a b" = "say \\"x\\"", c = [1, 2.5, true] }'
    assert toml_value([math.inf, -math.inf, math.nan, 1e16]) == "[inf, -inf, nan, 1e+16]"
    assert math.isnan(parse_toml(f"value = {toml_value(math.nan)}")["value"])


@given(VALUES)
@pytest.mark.parametrize("read", [read_value, lambda text: read_setting(f"rewards.what={text}").value])
def test_a_repeated_command_sets_the_same_value(read: Any, value: Any) -> None:
    """What a command that repeats a run writes behind --set or for a policy is read as the same value."""
    assert read(toml_text(value)) == value
    assert type(read(toml_text(value))) is type(value)


@pytest.mark.parametrize(
    "word", ["inf", "-inf", "nan", "true", "-1", "10:30:10", "1:2, b", "a,b", "", "none", "\N{GRINNING FACE}"]
)
def test_words_that_look_like_something_else(word: str) -> None:
    """A text that would be read as a number, a range or several values is written in quotes."""
    assert read_setting(f"name={toml_text(word)}").value == word


@given(TITLES, TITLES)
def test_any_title_of_a_column_stands_in_a_map(arm: str, kept: str) -> None:
    """A map that was written is read back whatever its columns are called, line breaks included."""
    map = ColumnMap(decisions=DecisionColumns(arm=arm, keep=(kept,)), payments=PaymentColumns(columns=(kept, arm)))
    assert read_map(parse_toml(map.text())) == map
