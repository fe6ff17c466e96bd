"""What the card says in words: its sections, each left out when the report holds nothing for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from eaglekit.hub.card.architecture import architecture
from eaglekit.hub.card.matter import CardMatter
from eaglekit.hub.card.measured import acceptance, drift
from eaglekit.hub.card.metadata import is_31
from eaglekit.hub.card.serving import serving, verifying
from eaglekit.hub.card.sources import limits, provenance, warnings
from eaglekit.hub.card.words import code, words

SECTIONS: tuple[tuple[str, Callable[[CardMatter], Iterable[str]]], ...] = (
    ("How it is built", architecture),
    ("Measured acceptance", acceptance),
    ("Drift", drift),
    ("Serving", serving),
    ("Check it yourself", verifying),
    ("Where it comes from", provenance),
    ("What the report warns of", warnings),
    ("What the numbers do not say", limits),
)
"""Heading -> the paragraphs below it."""
PLACES = "https://huggingface.co"


def body(matter: CardMatter) -> str:
    """The Markdown between the markers."""
    parts = [f"# {_title(matter)}", _opening(matter)]
    for heading, write in SECTIONS:
        paragraphs = [paragraph for paragraph in write(matter) if paragraph]
        if paragraphs:
            parts += [f"## {heading}", *paragraphs]
    return "\n\n".join(parts)


def _title(matter: CardMatter) -> str:
    if matter.repo is not None:
        return words(matter.repo.partition("/")[2])
    return f"{_kind(matter)} drafter for {words(matter.base_model.name)}"


def _kind(matter: CardMatter) -> str:
    return "EAGLE 3.1" if is_31(matter) else "EAGLE-3"


def _opening(matter: CardMatter) -> str:
    base = matter.base_model
    page = f"[{words(base.repo)}]({PLACES}/{base.repo}/tree/{base.commit})"
    article = f"An {_kind(matter)} draft model for speculative decoding with {page}"
    layers = matter.fact("num_layers")
    size = matter.fact("weights")
    built = f"{'One layer' if layers == 1 else f'{layers} layers'}" if isinstance(layers, int) else "A small network"
    # Count and size; how they are spread over files is of no interest here.
    inside = f" ({words(size.rpartition(', ')[0])})" if isinstance(size, str) else ""
    return (
        f"{article}, at commit {code(base.commit)}. {built}{inside} that proposes tokens from that model's hidden "
        "states; the target checks every one, so its output stays its own. It is not a model that can run by itself, "
        "and it is of no use beside another target."
    )
