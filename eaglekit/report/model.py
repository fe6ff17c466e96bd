"""One model for everything eaglekit says: a `Report`. Terminal, JSON and Markdown are renderings of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib.util import find_spec
from typing import Any

FINDINGS_SHOWN = 200
"""Most findings that one report keeps: nobody reads more, and a hostile file can make millions."""


def printable(text: str) -> str:
    """`text` with control and format characters shown as escapes: what a file holds must not steer a terminal."""
    if text.isprintable():
        return text
    # Line breaks stay; everything else that does not print is spelled out.
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


SCHEMA = "eaglekit/report/1"


class Severity(str, Enum):
    """How much a finding weighs: an error refuses, a warning is for the reader to judge, a note explains."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Code:
    """The story behind a kind of finding; what `eaglekit explain` prints."""

    name: str
    """Kebab-case words, stable for ever: users write them into scripts."""
    severity: Severity
    """The severity of a finding that does not say its own."""
    title: str
    """One line: what is the matter."""
    story: str
    """Why it matters, and what happens in an engine when nobody notices."""
    remedy: str
    """What to do."""
    sources: tuple[str, ...] = ()
    """Public threads or source files that show it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation: what, where, got, expected, what to do next."""

    code: str
    message: str
    """One sentence of fact, no advice; names the tensor, key or file."""
    place: str = ""
    got: str = ""
    expected: str = ""
    hint: str = ""
    """One sentence of advice; the next command where there is one."""
    severity: Severity | None = None
    """None means the severity of its code."""

    def __post_init__(self) -> None:
        from eaglekit.report.codes import CODES

        if self.code not in CODES:
            raise KeyError(f"finding code {self.code!r} has no entry in eaglekit.report.codes")
        if self.severity is None:
            object.__setattr__(self, "severity", CODES[self.code].severity)

    @classmethod
    def from_json(cls, document: Mapping[str, str]) -> Finding:
        """The finding that `as_json` wrote."""
        return cls(**{**document, "severity": Severity(document["severity"])})  # type: ignore[arg-type]

    def as_json(self) -> dict[str, str]:
        """The finding as a flat JSON object; empty fields are left out."""
        assert self.severity is not None  # noqa: S101 - set in __post_init__
        pairs = {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "place": self.place,
            "got": self.got,
            "expected": self.expected,
            "hint": self.hint,
        }
        return {key: value for key, value in pairs.items() if value}


@dataclass(frozen=True, slots=True)
class Fact:
    """Something known, and how it is known."""

    name: str
    value: Any
    """A JSON value."""
    origin: str = ""
    """`read: ...`, `derived: ...`, `given: ...` or `rule: ...`, then the place."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured number with its unit, and how sure it is."""

    name: str
    value: float
    unit: str
    note: str = ""
    low: float | None = None
    """Lower end of the 95 % interval, when one was estimated."""
    high: float | None = None
    """Upper end of the 95 % interval."""
    count: int | None = None
    """How many observations it stands on; the note begins with what they are."""

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Measurement:
        """The measurement that `as_json` wrote."""
        return cls(**document)

    def as_json(self) -> dict[str, Any]:
        """A flat JSON object; what was not estimated is left out."""
        pairs = {"name": self.name, "value": self.value, "unit": self.unit, "note": self.note}
        spread = {"low": self.low, "high": self.high, "count": self.count}
        return pairs | {key: number for key, number in spread.items() if number is not None}


@dataclass(frozen=True, slots=True)
class Series:
    """One line or one set of bars of a chart."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    """Lower ends of the 95 % intervals, one per point, or nothing."""
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or any(len(ends) not in (0, len(self.y)) for ends in (self.low, self.high)):
            raise ValueError(f"the series {self.name[:80]!r} has lists that do not go together")

    def points(self) -> Iterator[tuple[float | str, float, float | None, float | None]]:
        """Each point with its value and the ends of its interval; None for an end that was not estimated."""
        unknown = (None,) * len(self.y)
        yield from zip(self.x, self.y, self.low or unknown, self.high or unknown, strict=True)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Series:
        """The series that `as_json` wrote."""
        return cls(document["name"], *(tuple(document[key]) for key in ("x", "y", "low", "high")))

    def as_json(self) -> dict[str, Any]:
        """A JSON object of lists."""
        return {
            "name": self.name,
            "x": list(self.x),
            "y": list(self.y),
            "low": list(self.low),
            "high": list(self.high),
        }


@dataclass(frozen=True, slots=True)
class Chart:
    """Numbers that people would rather look at. Only data: the renderers draw it."""

    name: str
    """Kebab-case; the key in JSON."""
    title: str
    x_label: str
    """What the axis shows, with its unit."""
    y_label: str
    series: tuple[Series, ...]
    kind: str = "line"
    """`line`, or `bar` for categories."""

    @classmethod
    def from_json(cls, name: str, document: Mapping[str, Any]) -> Chart:
        """The chart that `as_json` wrote under `name`."""
        series = tuple(Series.from_json(part) for part in document["series"])
        return cls(name, document["title"], document["x_label"], document["y_label"], series, document["kind"])

    def as_json(self) -> dict[str, Any]:
        """A JSON object; its name is the key it stands under."""
        return {
            "title": self.title,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "kind": self.kind,
            "series": [series.as_json() for series in self.series],
        }


@dataclass(frozen=True, slots=True)
class Table:
    """Rows people look at: tensors, plan steps, engine readings."""

    name: str
    """Kebab-case; the key in JSON."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def as_json(self) -> list[dict[str, Any]]:
        """One object per row, keyed by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Report:
    """Facts, findings, tables and measurements about one subject."""

    command: str
    subject: str
    facts: tuple[Fact, ...] = ()
    findings: tuple[Finding, ...] = ()
    tables: tuple[Table, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    charts: tuple[Chart, ...] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    """What the command made, if anything: paths, digests, plans."""

    @property
    def ok(self) -> bool:
        """True when no finding is an error."""
        return not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that refuse."""
        return self.of(Severity.ERROR)

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of one severity, in the order they were made."""
        return tuple(finding for finding in self.findings if finding.severity is severity)

    def with_findings(self, findings: Iterable[Finding]) -> Report:
        """This report with `findings` added behind its own."""
        return replace(self, findings=(*self.findings, *findings))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Report:
        """The report that `as_json` wrote. The document has passed `schemas/report.json`."""
        return cls(
            command=document["command"],
            subject=document["subject"],
            facts=tuple(Fact(name, f["value"], f["origin"]) for name, f in document["facts"].items()),
            findings=tuple(Finding.from_json(finding) for finding in document["findings"]),
            tables=tuple(
                Table(name, name, tuple(rows[0]) if rows else (), tuple(tuple(row.values()) for row in rows))
                for name, rows in document["tables"].items()
            ),
            measurements=tuple(Measurement.from_json(m) for m in document["measurements"]),
            charts=tuple(Chart.from_json(name, chart) for name, chart in document.get("charts", {}).items()),
            result=document["result"],
        )

    def as_json(self) -> dict[str, Any]:
        """The document that `--json` prints; schema `schemas/report.json`."""
        return {
            "schema": SCHEMA,
            "ok": self.ok,
            "command": self.command,
            "subject": self.subject,
            "facts": {fact.name: {"value": fact.value, "origin": fact.origin} for fact in self.facts},
            "findings": [finding.as_json() for finding in self.findings],
            "tables": {table.name: table.as_json() for table in self.tables},
            "measurements": [measurement.as_json() for measurement in self.measurements],
            "charts": {chart.name: chart.as_json() for chart in self.charts},
            "result": dict(self.result),
        }

    def __repr__(self) -> str:
        from eaglekit.report.plain import headline

        return f"<Report: {headline(self)}>"

    def __str__(self) -> str:
        from eaglekit.report.plain import plain

        return plain(self)

    def _repr_html_(self) -> str | None:
        """What a notebook shows; None without jinja2, and then it takes `_repr_markdown_`."""
        if find_spec("jinja2") is None:
            return None
        from eaglekit.report.html.fragment import fragment

        return fragment(self)

    def _repr_markdown_(self) -> str:
        from eaglekit.report.markdown import markdown

        return markdown(self)


class Refusal(Exception):  # noqa: N818 - a refusal is a report, not a programming error
    """Raised when eaglekit will not go on. Carries every finding, gathered, never only the first."""

    def __init__(self, *findings: Finding, report: Report | None = None) -> None:
        self.report = (report or Report(command="", subject="")).with_findings(shortened(findings))
        super().__init__("; ".join(f"{f.code}: {f.message}" for f in self.report.errors))

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is made anew of its message, which is none of the findings.
        return _refusal, (self.report,)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding of the refused work."""
        return self.report.findings


def _refusal(report: Report) -> Refusal:
    """The refusal with this report: what copying and pickling one calls."""
    return Refusal(report=report)


def shortened(findings: Sequence[Finding]) -> list[Finding]:
    """At most `FINDINGS_SHOWN` findings, the last one saying how many are left out."""
    kept = list(findings[:FINDINGS_SHOWN])
    if len(findings) > FINDINGS_SHOWN:
        kept[-1] = replace(kept[-1], message=f"{kept[-1].message}; {len(findings) - FINDINGS_SHOWN} more are not shown")
    return kept


def refuse_if(findings: Sequence[Finding]) -> None:
    """Raise `Refusal` with all of `findings` when any of them is an error."""
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise Refusal(*findings)
