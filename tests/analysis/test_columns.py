"""One register says what every column of every table means; tables, help and docs agree with it."""

from pathlib import Path

import pytest
from command import Command, tpstream
from made_up_trials import made_up_designs
from studies import small

from tpstream import compare, league, log_regret, trial
from tpstream.analysis.columns import TABLES
from tpstream.analysis.printed import printed_meaning

__all__ = ["tpstream"]
PAGE = Path(__file__).parents[2] / "docs" / "columns.md"


def page() -> str:
    """The tables of docs/columns.md as the register gives them."""
    parts = []
    for name, columns in TABLES.items():
        rows = [f"| `{one.name}` | {one.title} | {one.unit} | {one.meaning} |" for one in columns]
        head = [f"## `{name}`\n", "| column | printed as | unit | meaning |", "|---|---|---|---|"]
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join(parts)


def test_tables_have_the_columns_of_the_register(tmp_path: Path) -> None:
    """Every table has the columns of the register, in its order."""
    study = compare(small(currency="EUR"), ["ucb1", "delayed-ucb1", "uniform"], runs=2, logs=tmp_path)
    judged = trial(small(), ["ucb1"], runs=2)
    tables = study.tables() | {"value": study.value(), "trial": judged.table(), "choices": judged.choices()}
    found = league([small()], ["tp-ucb-ew"], runs=1)
    tables |= {"league": found.table(), "league_cells": found.cells(), "refused": found.refused()}
    tables |= {"outcomes": judged.results(), "regret": log_regret(tmp_path).table()}
    designs = made_up_designs(10)
    tables |= {"characteristics": designs.table(), "trials": designs.results()}
    tables |= {"design_contrasts": designs.contrasts()}
    assert {name: list(table) for name, table in tables.items()} == {
        name: [column.name for column in columns] for name, columns in TABLES.items() if name != "measures"
    }


def test_the_docs_page_is_the_register() -> None:
    """docs/columns.md has every column with its meaning."""
    assert page() in PAGE.read_text(encoding="utf-8")


def test_the_command_and_the_help(tpstream: Command) -> None:
    """`tpstream columns` tells of every column, and the help of a command of those that it prints."""
    shown = tpstream("columns").out
    assert all(column.name in shown for columns in TABLES.values() for column in columns)
    for command, table in (("compare", "table"), ("trial", "trial"), ("regret", "regret")):
        text = " ".join(tpstream(command, "--help").out.split())
        for column in TABLES[table]:
            assert not column.title or printed_meaning(column).split(";")[0].split(":")[0][:30] in text
        assert "95 % interval: lower" not in text
    refused = tpstream("columns", "tabel")
    assert (refused.code, "did you mean" in refused.err) == (2, True)


@pytest.mark.parametrize("table", TABLES)
def test_names_are_unique(table: str) -> None:
    """A column is stated once, with a meaning."""
    columns = TABLES[table]
    assert len({column.name for column in columns}) == len(columns)
    assert all(column.meaning for column in columns)
