"""The colours of charts and page, light and dark, by what they are for."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Palette:
    """One colour scheme; colours as `#rrggbb`. Text on a `paper` of its own has a contrast of at least 4.5."""

    paper: str
    """Behind everything."""
    card: str
    """Behind tiles, charts and tables."""
    ink: str
    muted: str
    """Text that explains: labels, units, origins."""
    line: str
    """Borders and grid lines."""
    good: str
    warning: str
    error: str
    s1: str
    """The first series of a chart, and the page's accent."""
    s2: str
    s3: str
    s4: str
    s5: str
    s6: str

    @property
    def series(self) -> tuple[str, ...]:
        """Colours of series, in order; they differ in lightness too, for print and for colour-blind readers."""
        return (self.s1, self.s2, self.s3, self.s4, self.s5, self.s6)

    def named(self) -> dict[str, str]:
        """Name -> colour."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


LIGHT = Palette(
    paper="#f6f7f9",
    card="#ffffff",
    ink="#16202e",
    muted="#5a6678",
    line="#dfe4ea",
    good="#0f7a4d",
    warning="#8f5b00",
    error="#b3261e",
    s1="#2456d6",
    s2="#d9580d",
    s3="#0c8467",
    s4="#9b3fb5",
    s5="#9a6a00",
    s6="#55627a",
)
DARK = Palette(
    paper="#0f141b",
    card="#171e28",
    ink="#e8edf4",
    muted="#9dabbd",
    line="#2c3644",
    good="#4fd198",
    warning="#f0b849",
    error="#ff8a80",
    s1="#7ea6ff",
    s2="#ff9d5c",
    s3="#45d3ad",
    s4="#d996f2",
    s5="#e5c35f",
    s6="#a3b1c6",
)
EITHER = Palette(
    paper="transparent",
    card="transparent",
    ink="currentColor",
    muted="currentColor",
    line="rgba(128, 128, 128, 0.4)",
    good="#12875a",
    warning="#a86a00",
    error="#d1392f",
    s1="#3b78e7",
    s2="#d9580d",
    s3="#0c8467",
    s4="#a64cc0",
    s5="#9a6a00",
    s6="#6b7890",
)
"""On a ground that nobody knows, such as a notebook's: the reader's own ink, and colours that light and dark both bear.

Each has a contrast of at least 3 on either, as graphics need; sentences are in ink.
"""
# Equal to no other colour: in the page they become `var(--name)`, which follows the reader's scheme.
PLACEHOLDERS = Palette(*(f"#ab{index:02x}cd" for index, _ in enumerate(fields(Palette))))

SCHEMES = {"light": LIGHT, "dark": DARK, "page": PLACEHOLDERS}
"""Scheme -> palette. `page` follows the CSS variables of the page that the SVG is set into."""
VARIABLES = {colour: f"var(--{name})" for name, colour in PLACEHOLDERS.named().items()}
