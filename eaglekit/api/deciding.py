"""What is asked of a conversion, and the plan that comes of it with everything opened that it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

from eaglekit.api.misuse import Misuse
from eaglekit.api.opening import local_library, open_local, open_plan_target, open_target
from eaglekit.api.stating import Stated, parse_requests
from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.lookup import Library
from eaglekit.dialects.reading import read
from eaglekit.plan.apply import Applied, Wishes, apply
from eaglekit.plan.build import build
from eaglekit.plan.model import Plan
from eaglekit.plan.options import DTYPES, Options
from eaglekit.plan.outlook import with_outlook
from eaglekit.plan.saved import load, verify
from eaglekit.plan.sizes import parse_size
from eaglekit.report.progress import Bar, silent


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is asked of a conversion, in the words of whoever asks."""

    stated: Stated = field(default_factory=Stated)
    target: str | None = None
    to: str = "portable"
    engines: Sequence[str] = ()
    """Engines that must read the result rightly, as `ENGINE[@VERSION]`."""
    allow_degraded: bool = False
    dtype: str | None = None
    force_overflow: bool = False
    sort_vocabulary: bool = False
    embedding: str = "auto"
    head: str = "auto"
    max_shard_size: str | None = None

    def __post_init__(self) -> None:
        if self.allow_degraded and not self.engines:
            raise Misuse("--allow-degraded is about engines named with --for: name one, or leave it out.")
        if self.force_overflow and not self.dtype:
            raise Misuse("--force-overflow is about a cast: say --dtype too, or leave it out.")

    def options(self) -> Options:
        """The same, parsed. Raises `Refusal`."""
        return Options(
            to=self.to,
            requests=parse_requests(self.engines),
            allow_degraded=self.allow_degraded,
            dtype=DTYPES[self.dtype] if self.dtype else None,
            force_overflow=self.force_overflow,
            sort_vocabulary=self.sort_vocabulary,
            embedding=self.embedding,
            head=self.head,
            max_shard_bytes=parse_size(self.max_shard_size) if self.max_shard_size is not None else None,
        )


@dataclass(frozen=True, eq=False)
class Decided:
    """A plan, the opened source, and the target's library where something is copied from it."""

    plan: Plan
    source: Checkpoint
    library: Library | None

    def seen(self) -> Decided:
        """The same with what engines will make of the result."""
        return replace(self, plan=with_outlook(self.plan))


def decide(src: str, wanted: Wanted, *, bar: Bar = silent) -> Decided:
    """The plan of a conversion. Raises `Refusal`."""
    options = wanted.options()
    target = open_target(wanted.target)
    given = wanted.stated.given(target)
    source = open_local(src, bar=bar)
    plan = build(read(source, given), options, target)
    return Decided(plan, source, local_library(target, plan, bar=bar))


def reopened(file: Path, *, bar: Bar = silent) -> Decided:
    """A saved plan, its source and target byte for byte as they were. Raises `Refusal`."""
    plan = load(file)
    plan = replace(plan, report=replace(plan.report, command="apply"))
    source = open_local(plan.source.label, bar=bar)
    library = open_plan_target(plan, bar=bar)
    with bar("check the source", source.size_bytes, "bytes") as tell:
        verify(plan, source, library, progress=tell)
    return Decided(plan, source, library)


def carry_out(
    decided: Decided, dst: Path, how: Wishes, *, bar: Bar = silent, beside: Callable[[], object] = lambda: None
) -> tuple[Plan, Applied]:
    """Write what was decided; the plan with its outlook, and what was written.

    `beside` is done while bytes are copied. Raises `Refusal`, with `dst` as it was.
    """
    # Copying waits for the disk and the hash: what is only told afterwards is worked out beside it.
    with ThreadPoolExecutor(1) as other:
        told = other.submit(_outlook, decided.plan, beside)
        with bar(f"write {dst}", decided.plan.size_bytes, "bytes") as tell:
            applied = apply(decided.plan, dst, source=decided.source, target=decided.library, wishes=how, progress=tell)
        return told.result(), applied


def _outlook(plan: Plan, beside: Callable[[], object]) -> Plan:
    """The plan with what engines will make of it; imports on the way what the end of the run needs."""
    import_module("jsonschema_rs")
    beside()
    return with_outlook(plan)
