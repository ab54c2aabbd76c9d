"""The site of `make docs` builds without a warning, loads nothing from the network, and has every public name."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

import tpstream
import tpstream.testing

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEMPLATES = ROOT / "tpstream" / "templates"
DIRECTIVE = re.compile(r"^\.\. auto\w+:: ([\w.]+)", re.MULTILINE)
IMPORTED = re.compile(r"^from (tpstream[\w.]*) import ([\w, ]+)$", re.MULTILINE)
ALIASES = "tpstream.model.arrays."
"""Types of arrays for annotations, which api-plugins.md explains in a sentence."""
NAMES = [name for page in sorted(DOCS.glob("api*.md")) for name in DIRECTIVE.findall(page.read_text("utf-8"))]
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""The elements that make a browser load something, and the attribute that says what."""


def build(docs: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build a folder of pages as the Makefile does."""
    words = ["-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", str(docs), str(out)]
    return subprocess.run([sys.executable, *words], capture_output=True, check=False, text=True)


class Loaded(HTMLParser):
    """Collects what a page loads when it is viewed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of the address that this element loads."""
        if tag in LOADING:
            self.found += [value or "" for name, value in attrs if name == LOADING[tag]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built once; a warning, e.g. of a link that leads nowhere, is an error."""
    out = tmp_path_factory.mktemp("site")
    done = build(DOCS, out)
    assert (done.returncode, done.stderr) == (0, "")
    return out


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder with the configuration of the site and an index that lists one page."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "conf.py").write_text((DOCS / "conf.py").read_text("utf-8"))
    (tmp_path / "docs" / "index.md").write_text("# Site\n\n## Tasks\n\n- [A task](task.md): what it is\n")
    return tmp_path / "docs"


def test_every_name_is_in_the_reference() -> None:
    """Once: what `tpstream` and the conformance kit export, and what examples of plug-ins and templates import.

    Names of the latter that `tpstream` exports, too, are listed where plug-ins import them from.
    """
    texts = [page.read_text("utf-8") for page in (*DOCS.glob("*.md"), *TEMPLATES.glob("*my_*.py"))]
    found = [(module, name) for text in texts for module, names in IMPORTED.findall(text) for name in names.split(",")]
    imported = {f"{module}.{name.strip()}" for module, name in found if module != "tpstream"}
    known = {name.rpartition(".")[2] for name in imported}
    exported = {f"tpstream.{name}" for name in tpstream.__all__ if name not in known}
    kit = {f"tpstream.testing.{name}" for name in tpstream.testing.__all__}
    wanted = {name for name in imported | exported | kit if not name.startswith(ALIASES)}
    assert sorted(NAMES) == sorted(wanted)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_an_example(name: str) -> None:
    """In its docstring, which is run as a doctest; a result may name the function that returns it and has one."""
    module, _, last = name.rpartition(".")
    text = getattr(import_module(module), last).__doc__ or ""
    returned = re.search(r"(?:Get one from|as) `(\w+)`(?:,| returns)", text)
    if ">>> " not in text and returned:
        text = getattr(import_module(module), returned[1]).__doc__
    assert ">>> " in text


@pytest.mark.slow
def test_the_site_has_every_name(site: Path) -> None:
    """Every name of the reference can be linked to."""
    pages = "".join(page.read_text("utf-8") for page in site.glob("api*.html"))
    assert [name for name in NAMES if f'id="{name}"' not in pages] == []


@pytest.mark.slow
def test_the_site_loads_nothing_from_the_network(site: Path) -> None:
    """Scripts, styles, fonts and images all come from the site itself."""
    loaded: set[str] = set()
    for page in site.rglob("*.html"):
        parser = Loaded()
        parser.feed(page.read_text("utf-8"))
        loaded |= set(parser.found)
    for style in site.rglob("*.css"):
        loaded |= set(re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", style.read_text("utf-8")))
    assert len(loaded) > 10
    assert [address for address in sorted(loaded) if re.match(r"(https?:)?//", address)] == []


@pytest.mark.slow
def test_lists_of_the_index_are_the_contents(small: Path, tmp_path: Path) -> None:
    """A page that the index lists is in the sidebar under its heading; formulas are MathML."""
    (small / "task.md").write_text("# A long title of a task\n\n```{math}\n\\frac{a}{b}\n```\n")
    done = build(small, tmp_path / "site")
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "site" / "task.html").read_text("utf-8")
    assert re.search(r'caption-text">Tasks<.*href="#">A task<', page, re.DOTALL)
    assert "<mfrac>" in page
    assert "mathjax" not in page.lower()


@pytest.mark.slow
def test_a_link_that_leads_nowhere_is_an_error(small: Path, tmp_path: Path) -> None:
    """Links to pages and headings, and images, are checked."""
    (small / "task.md").write_text("# Task\n\n[none](missing.md)\n\n[none](#heading)\n\n![none](missing.png)\n")
    done = build(small, tmp_path / "site")
    assert done.returncode != 0
    assert "cross-reference target not found: 'missing.md'" in done.stderr
    assert "cross-reference target not found: 'heading'" in done.stderr
    assert "image file not readable: missing.png" in done.stderr
