"""The YAML at the top of a card: read without trust, edited key by key so that everything else stays as it was."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eaglekit.report import Finding, Refusal

FENCE = "---"
MOST_CHARACTERS = 256 * 1024
"""Longest front matter that is read; the longest of real cards are a tenth of it."""
DEEPEST = 24
"""Most levels of nesting; model-index has eight."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One top-level key as it stands in the text."""

    key: str
    value: Any
    """As JSON; dates and numbers beyond JSON as text."""
    text: str
    """Its lines, with the comments below it."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The parsed YAML of a card."""

    head: str
    """Comments above the first key."""
    entries: tuple[Entry, ...] = ()

    def values(self) -> dict[str, Any]:
        """Key -> value."""
        return {entry.key: entry.value for entry in self.entries}

    def with_values(self, values: Mapping[str, Any]) -> str:
        """The YAML with these keys set, each where it stood or at the end; everything else as it was."""
        parts = [self.head]
        for entry in self.entries:
            same = entry.key in values and entry.value == values[entry.key] and _kinds(entry.value, values[entry.key])
            if entry.key not in values or same:
                parts.append(entry.text)
            else:
                parts += [yaml_of(entry.key, values[entry.key]), _comments(entry.text)]
        known = {entry.key for entry in self.entries}
        parts += [yaml_of(key, value) for key, value in values.items() if key not in known]
        return "".join(parts)


def parse(text: str, place: str = "README.md") -> FrontMatter:
    """The front matter in `text`, which is what stands between the two `---` lines.

    Raises `Refusal` for what is no plain mapping, or was made to harm who reads it.
    """
    import yaml

    if len(text) > MOST_CHARACTERS:
        raise Refusal(_broken(place, f"it is {len(text):,} characters long", f"at most {MOST_CHARACTERS:,}"))
    text = text if not text or text.endswith("\n") else f"{text}\n"
    try:
        _refuse_tricks(text, place)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            return FrontMatter(text)
        if not isinstance(root, yaml.MappingNode) or root.flow_style:
            raise Refusal(_broken(place, "it is no mapping with a key a line", "key: value, one a line"))
        return _entries(text, root, place)
    except yaml.YAMLError as error:
        raise Refusal(_broken(place, f"it is no YAML: {_reason(error)}", "YAML")) from None
    except (ValueError, OverflowError) as error:
        raise Refusal(_broken(place, f"a value cannot be read: {error}", "values that JSON has")) from None


def yaml_of(key: str, value: Any) -> str:
    """One key with its value as YAML lines; same value, same text."""
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, data: str) -> Any:
        # A commit of digits and one `e` is a number to YAML 1.2, and text to 1.1, which this dumper knows.
        number = _OTHER_BASE.match(data) or not isinstance(_scalar("str", data, quoted=False), str)
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style="'" if number else None)

    Plain.add_representer(str, text)

    def dumped(*, unicode: bool) -> str:
        return str(
            yaml.dump({key: value}, Dumper=Plain, sort_keys=False, allow_unicode=unicode, width=100_000, indent=2)
        )

    written = dumped(unicode=True)
    # Characters that do not print, or that some reader takes for a line's end, are written as escapes.
    return written if written.replace("\n", "").isprintable() else dumped(unicode=False)


def _refuse_tricks(text: str, place: str) -> None:
    """Raise `Refusal` for what data never needs: references, tags, deep nesting, several documents."""
    import yaml

    depth = documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise Refusal(_broken(place, f"{_line(event)} holds a reference", "no & and no *"))
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise Refusal(_broken(place, f"{_line(event)} holds the tag {tag}", "no tags"))
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise Refusal(_broken(place, f"it is nested more than {DEEPEST} levels deep", f"at most {DEEPEST}"))
    if documents > 1:
        raise Refusal(_broken(place, "it holds several documents", "one"))


def _line(event: Any) -> str:
    return f"line {event.start_mark.line + 1}"


def _entries(text: str, root: Any, place: str) -> FrontMatter:
    lines = re.findall(r"[^\n]*\n", text)
    values = _plain(root, place)
    starts = [key.start_mark.line for key, _ in root.value]
    ends = [*starts[1:], len(lines)]
    names = [str(key.value) for key, _ in root.value]
    return FrontMatter(
        "".join(lines[: starts[0]]) if starts else text,
        tuple(
            Entry(name, values[name], "".join(lines[start:end]))
            for name, start, end in zip(names, starts, ends, strict=True)
        ),
    )


def _plain(node: Any, place: str) -> Any:
    """A node as JSON would have it, as YAML 1.2 reads it: the Hub's own reader does."""
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_plain(part, place) for part in node.value]
    if isinstance(node, yaml.MappingNode):
        pairs: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None or name in pairs:
                line = key.start_mark.line + 1
                what = "a key that is no text" if name is None else f"the key {name!r} a second time"
                raise Refusal(_broken(place, f"line {line} holds {what}", "every key once"))
            pairs[name] = _plain(value, place)
        return pairs
    return _scalar(node.tag.rpartition(":")[2], node.value, quoted=node.style is not None)


WORDS: Mapping[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
"""Plain scalars that are no text in YAML 1.2 (10.3.2). `no`, `yes`, `on` are text: a language is `no`."""
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_OTHER_BASE = re.compile(r"0[xob]", re.IGNORECASE)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def _scalar(tag: str, text: str, *, quoted: bool) -> Any:
    if quoted:
        return text
    if text in WORDS:
        return WORDS[text]
    if tag not in ("int", "float", "str"):
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


def _kinds(one: Any, other: Any) -> bool:
    """Whether equal values are of one kind: 1 is not True, and 3 is not 3.0."""
    return type(one) is type(other)


def _comments(text: str) -> str:
    """The comments and empty lines at the end of an entry: they belong to what follows."""
    lines = re.findall(r"[^\n]*\n", text)
    kept: list[str] = []
    while lines and (not lines[-1].strip() or lines[-1].startswith("#")):
        kept.insert(0, lines.pop())
    return "".join(kept)


def _reason(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f", line {mark.line + 1}" if mark is not None else ""
    return f"{getattr(error, 'problem', None) or type(error).__name__}{where}"


def _broken(place: str, what: str, expected: str) -> Finding:
    return Finding(
        "card-front-matter",
        f"the front matter of {place} cannot be used: {what}",
        place=f"{place}: front matter",
        got=what,
        expected=expected,
        hint="mend the lines between the two `---` lines at the top, or take the README.md away",
    )
