"""The page of the service: its configurations are accepted, its rehearsal is equal, its program prints what it says."""

import re
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from command import Command, tpstream
from services import TOKEN, serving

from tpstream.serve.config import Experiment, Limits, ServiceConfig, ServiceKeys
from tpstream.serve.openapi import REFUSALS, openapi
from tpstream.serve.responses import STATUS

__all__ = ["tpstream"]
PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
CONFIGS = [tomllib.loads(text) for text in re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


def test_the_rehearsal(tpstream: Command) -> None:
    """The service of the page decides as the simulation; the numbers in the page are of such a run."""
    Path("token").write_text(TOKEN)
    words = re.search(r"^tpstream (run .*) --against \S+ (.*)$", PAGE, re.MULTILINE)
    assert words is not None
    with serving(Path.cwd(), *CONFIGS[0]["experiments"]) as server:
        found = tpstream(*words[1].split(), "--against", server.url, *words[2].split())
    shown = re.search(r"^equal: .*$", PAGE, re.MULTILINE)
    assert shown is not None
    assert (found.code, found.out.splitlines()[0]) == (0, shown[0])


def test_going_live(tpstream: Command) -> None:
    """The program of the page prints what it says, asked of the service of the page; its answer can be read."""
    Path("token").write_text(TOKEN)
    program, printed = re.findall(r"^```python\n(.*?)^```$\s+^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
    with serving(Path.cwd(), *CONFIGS[1]["experiments"]) as server:
        out = StringIO()
        with redirect_stdout(out):
            exec(program.replace("http://127.0.0.1:8787", server.url), {})  # noqa: S102 (the page's own program)
        assert out.getvalue() == printed
        assert tpstream("answer", "logs/prices/prices.jsonl").code == 0


def test_the_tables() -> None:
    """Every path, status and key is in the tables of the page."""
    paths = {path.replace("/{experiment}", "") for path in openapi()["paths"]}
    assert all(f"{path}`" in PAGE for path in paths)
    statuses = {str(int(status)) for status in STATUS.values()} | REFUSALS.keys()
    assert all(re.search(rf"^\| [^|]*\b{status}\b", PAGE, re.MULTILINE) for status in statuses)
    keys = {*ServiceKeys.model_fields, *Limits.model_fields, *Experiment.model_fields}
    assert all(f"`{key}`" in PAGE or f"[{key}]" in PAGE for key in keys)


def test_the_configurations(tmp_path: Path) -> None:
    """Both are accepted as they are."""
    (tmp_path / "token").write_text(TOKEN)
    for keys in CONFIGS:
        assert ServiceConfig.parse(keys, tmp_path).tokens == {keys["experiments"][0]["name"]: TOKEN}
