"""What was measured: acceptance over all texts, by position and by category, and drift over draft depth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eaglekit.hub.card.categories import CATEGORIES, by_category
from eaglekit.hub.card.figure import charts_of
from eaglekit.hub.card.matter import CardMatter
from eaglekit.hub.card.storage import activations_in_words, weights_in_words
from eaglekit.hub.card.words import between, figure_of, length, share, table, with_interval, words
from eaglekit.hub.model import FIGURE
from eaglekit.report.model import Measurement

CATEGORIES_SHOWN = 40
"""Most categories in the card; the report beside it has all."""


def acceptance(matter: CardMatter) -> Iterator[str]:
    """Lengths, how they were measured, positions, categories."""
    rows = [(words(name), *_cells(each)) for name, each in _lengths(matter)]
    if not rows:
        return
    yield _what(matter)
    yield table(("decoding", "tokens per target step", "95 % interval", "over"), rows)
    yield _how(matter)
    positions = list(_positions(matter))
    if positions:
        yield "By draft position:"
        yield positions[0]
    categories = _categories(matter)
    if categories:
        yield "By category, greedy:"
        yield categories


def _lengths(matter: CardMatter) -> Iterator[tuple[str, Measurement]]:
    """Label -> each acceptance length that was measured."""
    at = _temperature(matter)
    labels = {
        "acceptance length": "greedy, as served",
        "acceptance length, every slot": "greedy, from every position",
        "acceptance length, sampled": f"{at}, drafts sampled",
        "acceptance length, sampled, best drafts": f"{at}, most likely drafts",
    }
    for name, label in labels.items():
        each, other = matter.measurement(name), matter.measurement(f"baseline: {name}")
        if each is not None:
            yield label, each
        # The source of a conversion has the same figures, which say nothing twice.
        if other is not None and (each is None or other.value != each.value):
            yield f"{label}: baseline", other


def _temperature(matter: CardMatter) -> str:
    value = matter.result("settings", "temperature")
    return f"temperature {value:g}" if isinstance(value, (int, float)) else "sampled"


def _cells(each: Measurement) -> tuple[str, ...]:
    stands_on = each.note.partition(";")[0].partition(",")[0]
    count = f"{each.count:,} {words(UNITS.get(stands_on, stands_on))}" if each.count is not None else ""
    return f"**{figure_of(each)}**", between(each), count


UNITS = {"slots": "positions of the responses"}


def _what(matter: CardMatter) -> str:
    drafts = matter.draft_tokens
    if drafts is None:
        return "Tokens per step of the target, its own token included:"
    return (
        f"Tokens per step of the target with {drafts} draft token{'s' * (drafts != 1)}, its own token included; "
        f"{drafts + 1} is the ceiling."
    )


def _how(matter: CardMatter) -> str:
    """Where the numbers come from, said plainly."""
    texts, tokens = matter.result("texts", "count"), matter.result("texts", "tokens")
    own = matter.measurement("responses that are the target's own")
    parts = [
        "Measured with eaglekit's reference drafter on the target's responses, **not in a serving engine**",
        f"{texts:,} texts of {tokens:,} tokens" if isinstance(texts, int) and isinstance(tokens, int) else "",
        f"{figure_of(own)} of the response tokens are the target's most likely ones" if own is not None else "",
    ]
    return f"{'; '.join(part for part in parts if part)}.{_target(matter)}"


def _target(matter: CardMatter) -> str:
    """How the target itself was computed."""
    about = matter.result("arithmetic", "target")
    if not isinstance(about, Mapping):
        return ""
    computed = about.get("dtype")
    said = [
        weights_in_words(about.get("formats")),
        activations_in_words(about.get("activations"), about.get("formats")),
        f"computed in {words(computed)}" if computed else "",
    ]
    told = "; ".join(part for part in said if part)
    return f" The target: {told}." if told else ""


def _positions(matter: CardMatter) -> Iterator[str]:
    kinds = {
        "acceptance rate": "accepted with all before it",
        "acceptance rate, conditional": "given the ones before",
        "acceptance rate, sampled": f"the same, {_temperature(matter)}",
    }
    found = {kind: _by_number(matter, f"{kind} at draft ") for kind in kinds}
    steps = sorted({step for rates in found.values() for step in rates})
    used = [kind for kind in kinds if found[kind]]
    rows = [
        (str(step), *(with_interval(found[kind][step]) if step in found[kind] else "" for kind in used))
        for step in steps
    ]
    if rows:
        yield table(("draft", *(words(kinds[kind]) for kind in used)), rows, numbers=len(used))


def _by_number(matter: CardMatter, name: str) -> dict[int, Measurement]:
    """Measurements called `name` with a number behind, by that number."""
    pattern = re.compile(rf"{re.escape(name)}([0-9]{{1,4}})")
    found = ((pattern.fullmatch(each.name), each) for each in matter.report.measurements)
    return {int(match[1]): each for match, each in found if match is not None}


def _categories(matter: CardMatter) -> str:
    lengths = by_category(matter.report)
    if not lengths:
        return ""
    counted: dict[Any, dict[str, Any]] = {row.get("category"): row for row in matter.rows(CATEGORIES)}
    rows = []
    for name, each in lengths.items():
        row = counted.get(name, {})
        over = [f"{row[kind]:,} {kind}" for kind in ("rounds", "texts") if isinstance(row.get(kind), int)]
        rows.append((words(name), f"**{figure_of(each)}**", between(each), " of ".join(over)))
    more = f"\n\n{len(rows) - CATEGORIES_SHOWN} more are in report.json." if len(rows) > CATEGORIES_SHOWN else ""
    columns = ("category", "tokens per target step", "95 % interval", "over")
    return table(columns, rows[:CATEGORIES_SHOWN]) + more


def drift(matter: CardMatter) -> Iterator[str]:
    """The figure, and what it shows in one sentence with its numbers."""
    sentence = _sentence(matter)
    if matter.has_figure and charts_of(matter.report):
        yield f"![{ALTERNATIVE}]({FIGURE})"
    if sentence:
        yield (
            f"{sentence} A state that grows from draft to draft, or attention that gathers on the first token, costs "
            "the later drafts first; the two changes of EAGLE 3.1 are there against both."
        )


ALTERNATIVE = (
    "Charts over draft depth: the size of the drafter's state, and the shares of its attention on the first token, on "
    "the context and on its own drafts."
)


def _sentence(matter: CardMatter) -> str:
    sizes = _by_number(matter, "state size at depth ")
    sinks = _by_number(matter, "attention on the first token at depth ")
    parts = []
    if len(sizes) > 1:
        first, last = min(sizes), max(sizes)
        one, other = sizes[first].value, sizes[last].value
        factor = f" ({length(other / one)} times)" if one > 0 else ""
        parts.append(f"the size of its state goes from {length(one)} to {length(other)}{factor}")
    if len(sinks) > 1:
        one, other = sinks[min(sinks)].value, sinks[max(sinks)].value
        parts.append(f"its attention on the first token from {share(one)} to {share(other)}")
    if not parts:
        return ""
    depth = max((*sizes, *sinks))
    return f"When the drafter drafts {depth} tokens in a row, {', and '.join(parts)}."
