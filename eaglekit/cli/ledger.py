"""The ledger: public reports of what went wrong with drafters, each with what this program does about it, as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from eaglekit.engines.listing import as_markdown
from eaglekit.report import Table

STATUSES: Mapping[str, str] = {
    "refused": "an error names it, and nothing is written or sent",
    "caught": "a finding names it; whoever reads it decides",
    "mended": "what is written is right, or the right thing is done without a question",
    "told": "the file is right, and a row of the engine's table says which versions misread it",
    "out of scope": "nothing that this program does would have spared it; the reason is given, and what comes nearest",
}
"""Status -> what it means, in the order of the page."""

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "ledger"


@dataclass(frozen=True, slots=True)
class Entry:
    """One report: what went wrong, where it was said, and what is done about it."""

    id: str
    kind: str
    summary: str
    threads: tuple[str, ...]
    status: str
    codes: tuple[str, ...] = ()
    """Finding codes."""
    tests: tuple[str, ...] = ()
    """`file::function`, below the checkout; each holds the input of the report, rebuilt small."""
    engine: str = ""
    rows: tuple[str, ...] = ()
    """Features of the engine's table."""
    how: str = ""


@dataclass(frozen=True, slots=True)
class Theme:
    """Reports of one subject."""

    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A small case with several inputs, and the tests that hold them."""

    id: str
    title: str
    tests: tuple[str, ...]
    note: str = ""


def themes(folder: Path = FOLDER) -> tuple[Theme, ...]:
    """Every theme, in the order of its files."""
    documents = (_document(path) for path in sorted(folder.glob("[0-9]*.yaml")))
    return tuple(Theme(each["title"], tuple(Entry(**_tuples(one)) for one in each["entries"])) for each in documents)


def kinds(folder: Path = FOLDER) -> Mapping[str, str]:
    """Kind of failure -> what it is."""
    found: dict[str, str] = _document(folder / "kinds.yaml")
    return found


def cases(folder: Path = FOLDER) -> tuple[Case, ...]:
    """Every small case."""
    return tuple(Case(**_tuples(each)) for each in _document(folder / "cases.yaml"))


def _document(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def counts(entries: Iterable[Entry]) -> Mapping[str, int]:
    """Status -> number of entries, in the order of the page."""
    found = Counter(entry.status for entry in entries)
    return {status: found[status] for status in STATUSES}


def sentence() -> str:
    """The counts as the README gives them."""
    entries = [entry for theme in themes() for entry in theme.entries]
    listed = ", ".join(f"{number} {status}" for status, number in counts(entries).items())
    return f"{len(entries)} public reports of what went wrong with drafters, one by one: {listed}"


def page() -> str:
    """The page, without its title."""
    every = themes()
    parts = [_INTRODUCTION, "".join(f"- **{status}**: {meaning}.\n" for status, meaning in STATUSES.items())]
    parts.append(f"\n## Counts\n\n{as_markdown(_by_kind([entry for theme in every for entry in theme.entries]))}")
    for theme in every:
        rows = tuple((each.id, each.kind, _told(each), _answer(each)) for each in theme.entries)
        table = Table("ledger", theme.title, ("report", "kind", "what went wrong", "what is done"), rows)
        parts.append(f"\n## {theme.title}\n\n{as_markdown(table, markup=True)}")
    told = tuple((case.id, f"{case.title}.{_sentence(case.note)}", _tests(case.tests)) for case in cases())
    parts.append(
        f"\n## Small cases\n\n{_CASES}{as_markdown(Table('cases', '', ('case', 'inputs', 'tests'), told), markup=True)}"
    )
    return "".join(parts)


_INTRODUCTION = """\
Issues and pull requests in which somebody converted, loaded, checked or published a drafter and it went wrong, each
with what eaglekit does when it meets the same. A test that is named here holds the input of the report, rebuilt small.
How often a kind stands here is how often it was found, and no sample of all users.

"""
_CASES = "Inputs rebuilt from several reports each; some numbers were never given.\n\n"


def _by_kind(entries: Sequence[Entry]) -> Table:
    rows = [
        (f"{name}: {title}", *_numbers([entry for entry in entries if entry.kind == name]))
        for name, title in kinds().items()
    ]
    return Table("counts", "", ("kind", *STATUSES, "all"), (*rows, ("all", *_numbers(entries))))


def _numbers(entries: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(str(number or "") for number in (*counts(entries).values(), len(entries)))


def _told(entry: Entry) -> str:
    return f"{entry.summary} {', '.join(f'[{_short(thread)}]({thread})' for thread in entry.threads)}"


def _short(thread: str) -> str:
    owner, name, _, number = thread.removeprefix("https://github.com/").split("/")
    return f"{owner}/{name}#{number}"


def _answer(entry: Entry) -> str:
    codes = ", ".join(f"[`{code}`](codes.md#{code})" for code in entry.codes)
    rows = f"table of {entry.engine}: {', '.join(entry.rows)}" if entry.rows else ""
    named = "; ".join(part for part in (codes, rows) if part)
    head = f"**{entry.status}**" + (f" ({named})" if named else "") + (f": {entry.how}" if entry.how else "")
    return f"{head}. {_tests(entry.tests)}".strip()


def _tests(tests: Sequence[str]) -> str:
    return "; ".join(f"[{_words(test)}](../{test.partition('::')[0]})" for test in tests)


def _words(test: str) -> str:
    return test.partition("::test_")[2].replace("_", " ")


def _sentence(note: str) -> str:
    return f" {note}" if note else ""
