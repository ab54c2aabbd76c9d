"""What is made from data of others: a trace, and a scenario with an arm for each of its names."""

from collections.abc import Iterable
from pathlib import Path

from tpstream.model.errors import ScenarioError


def refuse_existing(paths: Iterable[Path], *, force: bool) -> None:
    """Raise before any data are read if the results could not be written."""
    for path in paths:
        if path.exists() and not force:
            raise ScenarioError(f"{path}: is there already; choose another --out, or overwrite with --force")


def write_scenario(path: Path, template: str, names: Iterable[str], maximum: int, **facts: object) -> None:
    """The template with these facts, and with tables for arms of these names, which pay at most so much."""
    tables = "".join(f'\n[[arms]]\nname = "{name}"\nmaximum = {maximum}\n' for name in names)
    path.write_text(template.format(arms=tables, **facts), encoding="utf-8")
