"""Which columns of the tables mean what, and what these do not say themselves: a file MAP.toml."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from tpstream.model.errors import DataError, did_you_mean
from tpstream.model.settings import Settings
from tpstream.model.whole_files import parse_toml, read_whole, toml_value

Layout = Literal["two", "long", "wide"]


class DecisionColumns(Settings):
    """Columns about decisions."""

    id: str | None = Field(None, description="what payments refer to; without it every row is a decision")
    time: str | None = Field(None, description="when it was made")
    arm: str = Field(description="what was decided: any text or number")
    probability: str | None = Field(None, description="the probability with which this arm was chosen")
    keep: tuple[str, ...] = Field((), description="columns that are written beside the log, by pull")


class PaymentColumns(Settings):
    """Columns about payments."""

    decision: str | None = Field(None, description="the id of the decision (two tables)")
    time: str | None = Field(None, description="when it was paid")
    part: str | None = Field(None, description="the age in units, from 1, where there is no time")
    amount: str | None = Field(None, description="what was paid; negative: a refund")
    id: str | None = Field(None, description="what tells two payments apart; without it equal rows are one payment")
    columns: tuple[str, ...] = Field((), description="of a wide table: what each part paid, in order")


class ImportOptions(Settings):
    """What the tables do not say themselves."""

    unit: str | None = Field(None, description="the unit of time, and the length of a part: day, week, hour, ...")
    window: str | float | None = Field(None, description="how long a decision pays: 60d, 8w, or a number of units")
    until: str | float | None = Field(None, description="the last day, or the time, up to which payments are known")
    timezone: str | None = Field(None, description="the zone of times that have none")
    tolerance: str | float | None = Field(None, description="how long before its decision a payment may be")
    time_format: str | None = Field(None, description="the format of all times, as of strptime")
    separator: str | None = Field(None, description="between the columns of a CSV file")
    decimal: Literal[".", ","] | None = Field(None, description="the decimal mark")
    encoding: str | None = Field(None, description="of a CSV file")
    name: str | None = Field(None, description="the name of the data")
    currency: str | None = Field(None, description="what is paid, e.g. EUR")
    assignment: Literal["random", "chosen"] | None = Field(
        None, description="how arms came about: by chance alone, or chosen by somebody, as by customers"
    )


class ColumnMap(Settings):
    """What MAP.toml says: the layout of the tables, their columns, and options."""

    layout: Layout = "two"
    decisions: DecisionColumns
    payments: PaymentColumns = PaymentColumns()
    options: ImportOptions = ImportOptions()

    def text(self) -> str:
        """The map as TOML, with what every key means; keys without a value are comments."""
        lines = ["# Which columns mean what; correct it and import again with --map.", f'layout = "{self.layout}"']
        for name in ("decisions", "payments", "options"):
            table: Settings = getattr(self, name)
            lines += ["", f"[{name}]"]
            for key, field in type(table).model_fields.items():
                value = getattr(table, key)
                shown = f"{key} = {toml_value(value)}" if value not in (None, ()) else f"# {key} ="
                lines.append(
                    f"{shown:<40}  # {field.description}" if shown[0] != "#" else f"{shown}  {field.description}"
                )
        return "\n".join(lines) + "\n"


def read_map(source: str | Path | Mapping[str, Any] | ColumnMap) -> ColumnMap:
    """The map in a file or a dictionary; DataError names the key that is wrong."""
    if isinstance(source, ColumnMap):
        return source
    name = "map" if isinstance(source, Mapping) else str(source)
    try:
        keys = source if isinstance(source, Mapping) else parse_toml(read_whole(Path(source)).decode())
        return ColumnMap.model_validate(keys)
    except OSError as error:
        raise DataError(f"{name}: cannot read the map: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{name}: is not TOML: {error}") from error
    except ValidationError as error:
        # A key that is not known says more than the one that is missing instead.
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            tables: dict[str, type[Settings]] = {
                "decisions": DecisionColumns,
                "payments": PaymentColumns,
                "options": ImportOptions,
            }
            of_table: type[Settings] = ColumnMap if len(first["loc"]) == 1 else tables[str(first["loc"][0])]
            near = did_you_mean(str(first["loc"][-1]), of_table.model_fields)
            raise DataError(f"{name}: {key}: there is no such key{near}") from error
        raise DataError(f"{name}: {key}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error
