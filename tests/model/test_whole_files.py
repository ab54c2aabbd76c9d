"""Files that are written whole: on a full disk the one before stays, and nothing is left beside it."""

import errno
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from tpstream.cli.output import write_table
from tpstream.figures.style import save_figure
from tpstream.model.errors import TpstreamError
from tpstream.model.whole_files import write_whole
from tpstream.view.pages import Page

WRITERS: dict[str, Callable[[Path], object]] = {
    "a.html": lambda path: Page("<p>a page</p>").write(path),
    "a.svg": lambda path: save_figure(Figure(), path),
    "a.png": lambda path: save_figure(Figure(), path),
    "a.csv": lambda path: write_table(path, pd.DataFrame({"a": [1]})),
    "a.parquet": lambda path: write_table(path, pd.DataFrame({"a": [1]})),
    "a.json": lambda path: write_table(path, pd.DataFrame({"a": [1]})),
}
"""Who writes files for users, by a name that they may be given."""


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told; the file that was there stays as it was, and there is no other."""
    path = tmp_path / name
    WRITERS[name](path)
    before = path.read_bytes()

    def write_some(place: Path, content: bytes) -> int:
        with place.open("wb") as file:
            file.write(content[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_some)
    with pytest.raises(TpstreamError, match="No space left on device"):
        WRITERS[name](path)
    assert (path.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (before, [name])


def test_a_link_and_a_device_stay(tmp_path: Path) -> None:
    """What a link leads to is written, and a device is not replaced by a file."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"content")
    write_whole(Path("/dev/null"), b"content")
    assert ((tmp_path / "file").read_bytes(), (tmp_path / "link").is_symlink()) == (b"content", True)
    assert not Path("/dev/null").is_file()
