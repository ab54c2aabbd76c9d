"""How Sphinx makes a site of this folder: `make docs`. The lists in index.md become the table of contents."""

import re
from importlib import metadata

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

project = "tpstream"
release = metadata.version("tpstream")
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
root_doc = "index"
default_role = "code"  # docstrings write code in single backticks, as Markdown does

html_theme = "furo"
html_title = f"tpstream {release}"
html_copy_source = False
html_math_renderer = "mathml"  # the default would load a script from the network
html_theme_options = {"top_of_page_buttons": []}

myst_heading_anchors = 3  # so that links to headings work, and are checked
maximum_signature_line_length = 80  # longer ones: a line for each parameter
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
numpydoc_show_class_members = False  # autodoc lists them

SECTION = re.compile(r"^## (.+)\n((?:(?!^#).*\n)*)", re.MULTILINE)
ENTRY = re.compile(r"^- \[([^\]]+)\]\(([\w-]+)\.md\)", re.MULTILINE)


def add_contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Turn every list of pages in the index into a part of the table of contents, under the heading above it."""
    if page != root_doc:
        return
    for caption, text in SECTION.findall(source[0]):
        entries = "\n".join(f"{title} <{target}>" for title, target in ENTRY.findall(text))
        if entries:
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"


def hide_constructor(
    _app: Sphinx, what: str, _name: str, found: object, _options: object, signature: str, returns: str
) -> tuple[str, str]:
    """Leave out the signature of a result, which users do not create: its docstring says which function returns it."""
    result = what == "class" and re.search("Get one from `|as `\\w+` returns", found.__doc__ or "")
    return ("" if result else signature, returns)


def write_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula inside a line as MathML."""
    writer.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def write_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own as MathML."""
    writer.body.append(tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Add what is above to Sphinx."""
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-signature", hide_constructor)
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
