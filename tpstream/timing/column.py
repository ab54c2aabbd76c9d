"""Columns: one column of numbers from a CSV file, checked value by value."""

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError, did_you_mean


def read_column(path: Path, column: str) -> Floats:
    """The finite numbers of at least 0 in that column; other columns are not read, empty lines are skipped."""
    if not path.is_file():
        raise ScenarioError(f"file: there is no file {path}; give a path relative to the scenario")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            titles = [title.strip() for title in reader.fieldnames or ()]
            if column not in titles:
                near = did_you_mean(column, titles)
                raise ScenarioError(f"file: {path.name} has no column {column!r}{near}; its first line must name it")
            reader.fieldnames = titles
            values = [_value(row, path.name, line, column) for line, row in enumerate(reader, start=1)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ScenarioError(f"file: {path.name} cannot be read ({error}); give a CSV file") from error
    if not values:
        raise ScenarioError(f"file: {path.name} has no rows; add some")
    return np.array(values)


def _value(row: Mapping[str | None, Any], name: str, line: int, column: str) -> float:
    """The row's number in that column; more values than titles may be a decimal comma."""
    if None in row:
        raise ScenarioError(f"file: {name} row {line}: has more values than the first line has titles; correct it")
    return _number(row[column], name, line, column)


def _number(text: str | None, name: str, row: int, column: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        fault = f"{text!r} is not a finite number of at least 0" if text else "the value is missing"
        raise ScenarioError(f"file: {name} row {row}, column {column}: {fault}; correct it")
    return value
