"""Figures of Matplotlib as SVG inside of a page.

The page's policy forbids style attributes, so that styles become presentation attributes. The background is left out
and greys take the colour of the page's text, so that a figure fits a light and a dark page. Of several figures in one
page each has ids of its own, given by a prefix.
"""

import re
from io import BytesIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tpstream.model.names import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
KEPT = {"svg", "g", "defs", "clipPath", "pattern", "path", "rect", "use", "text", "tspan", "image"}
"""The elements that a figure consists of; all others, such as descriptions of the file, are left out."""
INKS = {"#000000", "#444444", "#555555", "#666666"}
"""The colours of text, axes and reference lines, which become that of the page's text."""
PAPER = "#ffffff"
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
DIGITS = 2
"""Decimals of a coordinate; a unit is a point, 1/72 inch."""


def svg_of(figure: "Figure", prefix: str) -> str:
    """The figure as an SVG element for a page; its ids begin with the prefix."""
    import matplotlib as mpl  # noqa: PLC0415 (slow to import)

    image = BytesIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tpstream"}):
        figure.savefig(image, format="svg", metadata={"Date": None})
    text = visible(image.getvalue().decode(errors="replace"))
    root = ET.fromstring(text)  # noqa: S314 (Matplotlib wrote it just now)
    _clean(root, prefix, set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)))
    size = {name: root.attrib[name] for name in ("viewBox", "width", "height")}
    root.attrib = {**size, "fill": "currentColor", "stroke-linejoin": "round"}
    return ET.tostring(root, encoding="unicode")


def ink(colour: str) -> str:
    """A colour of a figure as the page has it."""
    return "currentColor" if colour.lower() in INKS else colour.lower()


def _clean(element: ET.Element, prefix: str, named: set[str]) -> None:
    """Turn an element and all inside into what a page may hold; `named` are the ids that something refers to."""
    element.tag = element.tag.removeprefix(SVG)
    styles = [one.split(":", 1) for one in element.attrib.pop("style", "").split(";") if one.strip()]
    found = element.attrib | {name.strip(): value.strip() for name, value in styles}
    found.pop("font-family", None)  # the page has one for all figures
    own = found.pop("id", None)
    if own in named:
        found["id"] = prefix + own
    if LINK in found:
        target = found.pop(LINK)
        found["href"] = target if target.startswith("data:") else f"#{prefix}{target.removeprefix('#')}"
    if element.tag == "path" and found.get("fill") == PAPER and "stroke" not in found:
        found["fill"] = "none"
    found |= {paint: ink(found[paint]) for paint in ("fill", "stroke") if paint in found}
    found |= {use: found[use].replace("url(#", f"url(#{prefix}") for use in ("clip-path", "fill") if use in found}
    if found.get("transform", "").startswith("rotate(-0 "):
        del found["transform"]
    found = {name: value if name in {"href", "id"} else _rounded(value) for name, value in found.items()}
    if "d" in found:
        found["d"] = " ".join(found["d"].split())
    element.attrib = {name: found[name] for name in sorted(found)}
    for child in list(element):
        if child.tag.removeprefix(SVG) in KEPT:
            _clean(child, prefix, named)
        else:
            element.remove(child)
    if element.tag not in {"text", "tspan"}:
        element.text = None
    element.tail = None


def _rounded(value: str) -> str:
    """Numbers with fewer decimals: a page need not be exact to a millionth of a point."""
    return NUMBER.sub(lambda found: f"{float(found[0]):.{DIGITS}f}".rstrip("0").rstrip("."), value)
