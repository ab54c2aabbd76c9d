"""Pages: HTML files that hold all they need, load nothing, and in which nothing runs but their own script.

A page is made from a template of the folder `page` (Jinja2, which escapes every value) and from files of style and
script. Its Content-Security-Policy names the hashes of that style and that script and forbids everything else.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tpstream.model.errors import PageError
from tpstream.model.whole_files import write_whole

if TYPE_CHECKING:
    from jinja2 import Environment  # imported where a page is made

STYLE = "style.css"
"""The style that all pages share."""
ENDINGS = (".html", ".htm")


class Page:
    """A page for a browser, as `report` of a result and `view` of a log return it.

    Parameters
    ----------
    text
        The HTML.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Page of {len(self.text) / 1e6:.2f} MB; write(PATH) writes it, a notebook shows it"

    def _repr_html_(self) -> str:
        frame = '<iframe style="width:100%;height:900px;border:0" sandbox="allow-scripts allow-downloads" srcdoc="'
        return f'{frame}{escape(self.text)}"></iframe>'

    def write(self, path: str | Path) -> Path:
        """Write the page to a file, and make the folders that are missing; returns the path."""
        path = prepare_page(Path(path))
        try:
            write_whole(path, self.text.encode())
        except OSError as error:
            raise PageError(f"{path}: cannot write the page: {error.strerror}; choose another place") from error
        return path

    def written(self, path: str | Path | None) -> Self:
        """Write the page if a path is given, and return it."""
        if path is not None:
            self.write(path)
        return self


def prepare_page(path: Path) -> Path:
    """Make the folder of a page; raises, before any work is done, if no page can be written there.

    The ending must be that of a page, so that another file that was named by mistake is not overwritten.
    """
    if path.suffix.lower() not in ENDINGS:
        raise PageError(f"{path}: a page ends in {' or '.join(ENDINGS)}, got {path.suffix or 'no ending'!r}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PageError(f"{path.parent}: cannot make this folder: {error.strerror}; choose another place") from error
    return path


def make_page(
    template: str, *, styles: Sequence[str] = (), scripts: Sequence[str] = (), connects: bool = False, **values: Any
) -> Page:
    """A page from a template and these values; style and script are joined from files, the shared style comes first.

    A page that `connects` may talk to the server that it came from, and to nobody else.
    """
    from markupsafe import Markup  # noqa: PLC0415 (with Jinja2, which is loaded only where a page is made)

    style = "".join(map(read_file, [STYLE, *styles]))
    script = "\n".join(map(read_file, scripts))
    script = f'"use strict";\n(() => {{\n{script}\n}})();\n' if scripts else ""
    policy = [
        "default-src 'none'",
        *([f"script-src '{_hash(script)}'"] if scripts else []),
        f"style-src '{_hash(style)}'",
        "img-src data: blob:",
        *(["connect-src 'self'"] if connects else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    own = {"policy": "; ".join(policy), "style": Markup(style), "script": Markup(script)}  # noqa: S704 (files of ours)
    return Page(_environment().get_template(template).render({**values, **own}))


def read_file(name: str) -> str:
    """A file of the folder `page`."""
    return (files("tpstream.view") / "page" / name).read_text(encoding="utf-8")


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 (only where a page is made)

    return Environment(
        loader=PackageLoader("tpstream.view", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


class Reported:
    """A result of which a report can be made; `_report` makes it."""

    def _report(self) -> Page:
        raise NotImplementedError

    def report(self, path: str | Path | None = None) -> Page:
        """Make a report: what was asked, what was found and how sure it is, tables, figures, and how to repeat it.

        Parameters
        ----------
        path
            Where to write it: one HTML file that loads nothing and prints. By default nothing is written.

        Returns
        -------
        Page
            The page, which a notebook shows.

        Raises
        ------
        PageError
            If the page cannot be written.
        """
        return self._report().written(path)
