"""The forms of a log: by name, by a file's suffix and by its content."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from tpstream.log.files import LogFile
from tpstream.log.form import Reader, Writer
from tpstream.log.header import Header
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.registry import load_object

FormName = Literal["jsonl", "arrow", "parquet"]


@dataclass(frozen=True)
class Form:
    """Where a form's writer and reader live, how its files begin, and how many events are written at a time."""

    writer: str
    reader: str
    magic: bytes
    batch: int
    streams: bool = True
    """Whether what was written can be read before the end."""


FORMS: Mapping[FormName, Form] = {
    "jsonl": Form("tpstream.log.jsonl:JsonLinesWriter", "tpstream.log.jsonl:JsonLinesReader", b"{", 8192),
    "arrow": Form("tpstream.log.arrow:ArrowWriter", "tpstream.log.arrow:ArrowReader", b"\xff\xff\xff\xff", 100_000),
    "parquet": Form(
        "tpstream.log.parquet:ParquetWriter", "tpstream.log.parquet:ParquetReader", b"PAR1", 1_000_000, streams=False
    ),
}
SUFFIXES: Mapping[str, FormName] = {f".{name}": name for name in FORMS}


def find_form(path: Path, name: str | None = None) -> FormName:
    """The form of a log to be written: the one named, else the one of the suffix."""
    if name is not None:
        if name not in FORMS:
            raise UnknownNameError("form of a log", name, FORMS)
        return cast(FormName, name)
    if path.suffix not in SUFFIXES:
        raise LogError(f"{path}: the ending {path.suffix!r} names no form of a log; use {', '.join(SUFFIXES)}")
    return SUFFIXES[path.suffix]


def check_streams(name: str) -> None:
    """Refuse a form that cannot be written while a run goes on."""
    if not FORMS[find_form(Path(), name)].streams:
        raise LogError(f"{name} cannot be written while a run goes on; write arrow and convert it")


def open_writer(form: FormName, file: LogFile, header: Header) -> Writer:
    """A writer that has put the header into the file."""
    writer: Writer = load_object(FORMS[form].writer)(file, header)
    return writer


def open_reader(path: Path) -> tuple[FormName, Reader]:
    """The form that the content of a file shows, and a reader for it."""
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise LogError(f"{path}: the file is empty; its run ended before it began")
    for name, form in FORMS.items():
        if start.startswith(form.magic):
            reader: Any = load_object(form.reader)
            return name, reader.open(path)
    if start.startswith(b"ARROW1"):
        raise LogError(f"{path}: this is an Arrow file with a footer; write it as an Arrow stream")
    raise LogError(f"{path}: this is not a log; logs are JSON lines, an Arrow stream or Parquet")
