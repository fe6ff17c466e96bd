"""`eaglekit explain`: a finding code, with the story behind it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import click

from eaglekit.cli.output import guarded, json_option, print_report
from eaglekit.report import Fact, Finding, Refusal, Report, Table


@click.command("explain")
@click.argument("code", required=False)
@json_option
@guarded("explain", "code")
def command(code: str | None, *, as_json: bool) -> None:
    """Tell the story behind a finding code.

    Without CODE, list them all.

    \b
    Examples:
      eaglekit explain
      eaglekit explain aux-convention-unknown
    """
    from eaglekit.report.codes import CODES

    if code is None:
        rows = tuple((entry.name, entry.severity.value, entry.title) for entry in CODES.values())
        table = Table("codes", "Finding codes", ("code", "severity", "what"), rows)
        print_report(Report("explain", "", tables=(table,)), as_json=as_json)
        return
    entry = CODES.get(code)
    if entry is None:
        close = near(code, list(CODES))
        raise Refusal(
            Finding(
                "code-unknown",
                f"there is no finding code {code!r}",
                place="CODE",
                got=code,
                hint=f"did you mean {' or '.join(close)}?" if close else "eaglekit explain lists them all",
            )
        )
    facts = [
        Fact("code", entry.name),
        Fact("severity", entry.severity.value),
        Fact("what", entry.title),
        Fact("why it matters", entry.story),
        Fact("what to do", entry.remedy),
        *([Fact("sources", "; ".join(entry.sources))] if entry.sources else []),
    ]
    print_report(Report("explain", code, facts=tuple(facts)), as_json=as_json)


def near(asked: str, names: Sequence[str]) -> list[str]:
    """At most three of `names` that `asked` may mean: those that hold it, else those spelled alike."""
    word = asked.lower()
    holding = [name for name in names if word and word in name]
    return holding[:3] or difflib.get_close_matches(word, names, n=3)
