"""The dialects as tables that people read: for `eaglekit dialects` and for the documentation."""

from __future__ import annotations

from collections.abc import Iterator

from eaglekit.dialects.dialect import Dialect, Means
from eaglekit.dialects.families import FAMILIES
from eaglekit.dialects.faults import FAULTS
from eaglekit.dialects.reading import ABSENT_FACTS
from eaglekit.dialects.recognise import named
from eaglekit.dialects.strangers import STRANGERS
from eaglekit.dialects.tables import DIALECTS
from eaglekit.report import Table


def dialect_tables(name: str | None) -> tuple[Table, ...]:
    """All dialects in one table, or everything about one. Raises `Refusal` for an unknown name."""
    return (overview(),) if name is None else one(named(name, "NAME").dialect)


def overview() -> Table:
    """One row per dialect."""
    rows = tuple(
        (d.name, "read, written" if d.writable else "read", d.title, "; ".join(_ids(d)) or "the file alone decides")
        for d in DIALECTS.values()
    )
    return Table("dialects", "Dialects", ("dialect", "is", "spelling of", "its layer ids"), rows)


def one(dialect: Dialect) -> tuple[Table, ...]:
    """Everything about one dialect: signs, tensor names, config keys, absences, limits, faults."""
    signs = (*((str(c), "must hold") for c in dialect.needs), *((str(c), f"adds {c.weight}") for c in dialect.supports))
    rows = tuple((row.template, str(row.part.value), row.layers, "read, written" if row.write else "read")
                 for row in dialect.rows)  # fmt: skip
    keys = tuple(
        (key.path, "meaning", "read, written" if key.write and dialect.writable else "read") for key in dialect.keys
    )
    fixed = tuple(
        (row.path, f"only {' or '.join(map(str, row.allowed))}: {row.why}", "checked") for row in dialect.fixed
    )
    absent = tuple((fact, _absence(rule)) for fact, rule in {**ABSENT_FACTS, **dialect.absent}.items())
    limits = tuple((limit.reason, limit.instead) for limit in dialect.limits)
    faults = tuple((f.code, f.message, f.source) for f in FAULTS if dialect.name in f.dialects)
    return (
        Table("about", dialect.title, ("what", "says"), tuple(_about(dialect))),
        Table("signs", "Recognised by", ("sign", "counts"), signs),
        Table("rows", "Tensor names", ("name", "role", "layers", "is"), rows),
        Table("keys", "Config keys", ("key", "what", "is"), (*keys, *fixed)),
        Table("absent", "What an absent fact means", ("fact", "means"), absent),
        Table("limits", "What it cannot say", ("reason", "nearest"), limits),
        Table("faults", "Known faults of its producers", ("code", "fault", "source"), faults),
    )


def dropped_keys(dialect: Dialect) -> Table:
    """The keys a dialect leaves behind, with the reason."""
    return Table("dropped", "Keys left behind", ("key", "why"), tuple((d.path, d.why) for d in dialect.dropped_keys))


def families() -> Table:
    """How SGLang and tokenspeed read explicit layer ids, by the target's family."""
    rows = tuple(
        (family.name, ", ".join(family.model_types), family.sglang.says, family.tokenspeed.says)
        for family in FAMILIES.values()
    )
    return Table("families", "Target families", ("family", "model_type", "SGLang", "tokenspeed"), rows)


def strangers() -> Table:
    """What is recognised by shape and refused."""
    rows = tuple((s.code, s.what, "; ".join(map(str, s.signs)), s.hint) for s in STRANGERS)
    return Table("strangers", "Recognised and refused", ("code", "what", "signs", "where to go"), rows)


def _ids(dialect: Dialect) -> Iterator[str]:
    for meaning in dialect.ids:
        yield (meaning.rule.name if meaning.rule else "either") + (f" when {meaning.when}" if meaning.when else "")


def _absence(rule: Means | str) -> str:
    if isinstance(rule, Means):
        value = getattr(rule.value, "value", rule.value)
        return f"{value} ({rule.source})"
    return "asked for"


def _about(dialect: Dialect) -> Iterator[tuple[str, str]]:
    yield "is", "read and written" if dialect.writable else "read"
    for source in dialect.sources:
        yield "source", source
    for meaning in dialect.ids:
        condition = f", when {meaning.when}" if meaning.when else ""
        name, says = (meaning.rule.name, meaning.rule.says) if meaning.rule else ("either", "the list itself must tell")
        yield "layer ids", f"{name}{condition}: {says} ({meaning.source})"
    for kind, (architecture, model_type) in dialect.classes.items():
        yield f"class for {kind}", f"{architecture}, model_type {model_type or 'absent'}"
    if dialect.example:
        yield "example", dialect.example
