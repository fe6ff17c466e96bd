"""Tidies an SVG that matplotlib wrote: small, accessible, free of names that another chart on the page could have."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from xml.etree import ElementTree

from eaglekit.report.html.palette import VARIABLES
from eaglekit.report.html.words import described
from eaglekit.report.model import Chart, printable

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
REFERENCE = re.compile(r"url\(#([^)]*)\)")
COLOUR = re.compile(r"#[0-9a-f]{6}")
FONT_FAMILY = re.compile(r"font-family:[^;]*;?\s*")
FONT_SHORT = re.compile(r"(font: [^;']*?\d+(?:\.\d+)?px) [^;]*")


def tidied(written: str, chart: Chart, *, page: bool) -> str:
    """The SVG with title and description, without ids that nothing refers to.

    With `page` it has no namespaces and no size of its own, and placeholder colours are the page's variables.
    """
    root = ElementTree.fromstring(written)  # noqa: S314 - matplotlib wrote it a moment ago
    prefix = "c" + hashlib.sha256(repr(chart).encode()).hexdigest()[:8]
    referred = set(_references(root))
    for element in root.iter():
        _tidy(element, prefix, referred, page=page)
    # Its one style rule would hold for the whole page; the root says the same of the joins.
    for child in [child for child in root if child.tag == f"{SVG}metadata" or child.find(f"{SVG}style") is not None]:
        root.remove(child)
    _drop_empty(root)
    _introduce(root, chart, prefix, page=page)
    if page:
        # In HTML an svg element has its namespaces without being told.
        for element in root.iter():
            element.tag = element.tag.removeprefix(SVG)
        return ElementTree.tostring(root, encoding="unicode")
    ElementTree.register_namespace("", SVG[1:-1])
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _references(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == LINK:
                yield value.removeprefix("#")
            else:
                yield from REFERENCE.findall(value)


def _tidy(element: ElementTree.Element, prefix: str, referred: set[str], *, page: bool) -> None:
    attributes: dict[str, str] = {}
    for key, value in element.attrib.items():
        if key == "id":
            if value in referred:
                attributes["id"] = f"{prefix}-{value}"
        elif key == LINK:
            attributes["href"] = f"#{prefix}-{value.removeprefix('#')}"
        elif key == "style":
            style = FONT_SHORT.sub(r"\1 inherit", FONT_FAMILY.sub("", value))
            if page:
                style = COLOUR.sub(lambda found: VARIABLES.get(found[0], found[0]), style)
            attributes[key] = _without_short_font(style)
        elif not (key == "transform" and value.startswith("rotate(-0 ")):
            attributes[key] = REFERENCE.sub(rf"url(#{prefix}-\1)", value)
    element.attrib.clear()
    element.attrib.update(attributes)
    if element.tag == f"{SVG}path":
        element.set("d", " ".join(element.get("d", "").split()))
    if element.tag != f"{SVG}text":
        element.text = element.text if (element.text or "").strip() else None
    element.tail = None


def _without_short_font(style: str) -> str:
    """`font: bold 15px inherit` is no CSS; the same as single properties."""
    found = re.match(r"font: (?:(bold|\d{3}) )?(\d+(?:\.\d+)?px) inherit(.*)", style)
    if not found:
        return style
    weight = f"font-weight: {found[1]}; " if found[1] else ""
    return f"{weight}font-size: {found[2]}{found[3]}"


def _drop_empty(root: ElementTree.Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{SVG}g" and len(child) == 0:
                parent.remove(child)


def _introduce(root: ElementTree.Element, chart: Chart, prefix: str, *, page: bool) -> None:
    title, description = ElementTree.Element(f"{SVG}title"), ElementTree.Element(f"{SVG}desc")
    title.text, description.text = printable(chart.title), described(chart)
    title.set("id", f"{prefix}-title")
    description.set("id", f"{prefix}-desc")
    root.insert(0, title)
    root.insert(1, description)
    _, _, width, height = root.get("viewBox", "0 0 0 0").split()
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    if not page:
        root.set("width", width)
        root.set("height", height)
    root.set("stroke-linejoin", "round")
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    root.set("font-family", "inherit" if page else FONTS)
