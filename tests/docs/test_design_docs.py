"""The page about the design is true: files and names that it mentions exist, its layers are those that are checked."""

import re
import tomllib
from pathlib import Path

TOP = Path(__file__).parents[2]
DESIGN = (TOP / "docs" / "design.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```text\n(.*?)^```$", DESIGN, re.MULTILINE | re.DOTALL)
CODE = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", DESIGN, flags=re.MULTILINE | re.DOTALL))
ENDINGS = (".py", ".js", ".html", ".css", ".md", ".toml")


def is_there(name: str) -> bool:
    """Whether a file or folder of this name exists; a module in a picture is named without its ending."""
    places = [folder / name for folder in (TOP, TOP / "tpstream", TOP / "docs")]
    found = any(place.exists() or place.with_name(f"{place.name}.py").exists() for place in places)
    pattern = name if "/" not in name or "*" in name else "no file"
    return found or next((TOP / "tpstream").rglob(pattern), None) is not None


def test_files_exist() -> None:
    """Every file and folder that is named, in the text and in the pictures, is there."""
    named = [
        name for name in CODE if name.endswith(ENDINGS) or re.fullmatch(r"(tests/|benchmarks/)?[a-z_]+/[\w/*.]*", name)
    ]
    pictured = [name for block in BLOCKS for name in re.findall(r"[a-z]+/[a-z_]+", block)]
    assert (len(named) > 200, len(pictured) > 20) == (True, True)
    assert [name for name in (*named, *pictured) if name != "code/" and not is_there(name)] == []


def test_names_exist() -> None:
    """Every name of a function, class, field or option that is mentioned stands somewhere in the source."""
    files = [
        TOP / "pyproject.toml",
        *(path for ending in ("py", "js") for path in (TOP / "tpstream").rglob(f"*.{ending}")),
    ]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    words = set(re.findall(r"\w+", source))
    named = {
        word
        for name in CODE
        if re.fullmatch(r"[A-Za-z_]\w+(\.\w+)*(\(.*\))?", name) and not name.endswith(ENDINGS)
        for word in re.findall(r"[A-Za-z_]\w+", name)
    }
    assert len(named) > 100
    assert sorted(named - words) == []


def test_the_layers_are_those_that_are_checked() -> None:
    """The folders of the package stand in the page, and from top to bottom in the README, as import-linter has them."""
    contracts = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [layer.replace("tpstream.", "") for layer in contracts[0]["layers"]]
    assert "\n".join(layers) + "\n" in BLOCKS
    folders = {path.parent.name for path in (TOP / "tpstream").glob("*/__init__.py")}
    assert folders == {folder for layer in layers for folder in layer.split(" | ")}
    mapped = re.findall(r"^\| `tpstream/(\w+)/` ", (TOP / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    depths = [next(depth for depth, layer in enumerate(layers) if folder in layer.split(" | ")) for folder in mapped]
    assert (set(mapped), depths) == (folders, sorted(depths))
