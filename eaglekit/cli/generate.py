"""`python -m eaglekit.cli.generate schemas|docs`: everything that is written from the tables and the program itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import click

from eaglekit.cli import ledger
from eaglekit.cli.main import COMMANDS, cli
from eaglekit.dialects import listing
from eaglekit.dialects.schemas import config_schema
from eaglekit.dialects.tables import DIALECTS
from eaglekit.engines.listing import DATES, as_markdown, engine_markdown, engines_table
from eaglekit.engines.tables import ENGINES
from eaglekit.report import Table
from eaglekit.report.codes import CODES
from eaglekit.report.json_text import dumps

ROOT = Path(__file__).resolve().parent.parent.parent
LEGEND = """\
The last column of an engine's table says how a row is known: *run here* is what the engine itself was seen to do, at
the version in brackets, by a suite of this repository; *read* is what its code says; *reported* is what an issue or a
pull request says.

"""
NOTE = "<!-- Written by `make docs` from the program. Edit the program. -->\n\n"


def schemas() -> Mapping[Path, str]:
    """Path -> text of every generated schema."""
    return {
        Path("schemas") / f"config.{dialect.name}.json": dumps(config_schema(dialect))
        for dialect in DIALECTS.values()
        if dialect.writable
    }


def docs() -> Mapping[Path, str]:
    """Path -> text of every generated page."""
    pages = {Path("docs/commands") / f"{name}.md": _command_page(name) for name in COMMANDS}
    pages.update({Path("docs/dialects") / f"{name}.md": text for name, text in _dialect_pages()})
    pages.update({Path("docs/engines") / f"{name}.md": text for name, text in _engine_pages()})
    pages[Path("docs/codes.md")] = _codes_page()
    pages[Path("docs/ledger.md")] = f"# The ledger\n\n{NOTE}{ledger.page()}"
    return pages


def _command_page(name: str) -> str:
    command = cli.get_command(click.Context(cli), name)
    if command is None:
        raise AssertionError(f"{name} is listed and cannot be loaded")
    parent = click.Context(cli, info_name="eaglekit", terminal_width=100)
    help_text = command.get_help(click.Context(command, info_name=name, parent=parent, terminal_width=100))
    return f"# eaglekit {name}\n\n{NOTE}```\n{help_text}\n```\n"


def _dialect_pages() -> Iterator[tuple[str, str]]:
    parts = [f"# Dialects\n\n{NOTE}", as_markdown(_linked(listing.overview()))]
    parts += ["\n## Target families\n\n", as_markdown(listing.families())]
    parts += ["\n## Recognised and refused\n\n", as_markdown(listing.strangers())]
    yield "index", "".join(parts)
    for dialect in DIALECTS.values():
        parts = [
            f"# {dialect.name}: {dialect.title}\n\n{NOTE}The same in a terminal: `eaglekit dialects {dialect.name}`.\n"
        ]
        for table in (*listing.one(dialect), listing.dropped_keys(dialect)):
            if table.rows:
                title = "In short" if table.name == "about" else table.title
                parts.append(f"\n## {title}\n\n{as_markdown(table)}")
        yield dialect.name, "".join(parts)


def _engine_pages() -> Iterator[tuple[str, str]]:
    yield "index", f"# Engines\n\n{NOTE}{as_markdown(_linked(engines_table()))}\n{LEGEND}{DATES}"
    for engine in ENGINES.values():
        yield engine.name, f"# {engine.title}\n\n{NOTE}{engine_markdown(engine)}\n{LEGEND}{DATES}"


def _linked(table: Table) -> Table:
    """The table with the first cell of each row as a link to the page of that name."""
    return replace(table, rows=tuple((f"[{first}]({first}.md)", *rest) for first, *rest in table.rows))


def _codes_page() -> str:
    parts = [f"# Finding codes\n\n{NOTE}"]
    for code in CODES.values():
        sources = f"\n\nSources: {'; '.join(code.sources)}." if code.sources else ""
        parts.append(
            f"## {code.name}\n\n*{code.severity.value}*: {code.title}.\n\n{code.story} {code.remedy}{sources}\n\n"
        )
    return "".join(parts).rstrip() + "\n"


GENERATORS: Mapping[str, Callable[[], Mapping[Path, str]]] = {"schemas": schemas, "docs": docs}


def main(words: list[str]) -> int:
    """Write what `words` name below the checkout; with `--check`, only tell what is stale."""
    check = "--check" in words
    stale = []
    for word in (word for word in words if word != "--check"):
        for path, text in GENERATORS[word]().items():
            file = ROOT / path
            if file.exists() and file.read_text(encoding="utf-8") == text:
                continue
            stale.append(str(path))
            if not check:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    click.echo("\n".join(stale) or "everything is current")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
