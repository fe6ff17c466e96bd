"""`plan`, `convert`, `apply`: a drafter as EAGLE 3.1, for every engine or for one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eaglekit.api.arguments import AuxConvention, WeightDtype, WrittenEmbedding, WrittenHead, refuse_values
from eaglekit.api.deciding import Decided, Wanted, carry_out, decide, reopened
from eaglekit.api.misuse import refusing
from eaglekit.api.stating import Layers, PathOrId, Settings, Stated, path_or_none, path_text, texts
from eaglekit.plan.apply import Wishes
from eaglekit.plan.saved import save
from eaglekit.report import Report
from eaglekit.report.model import printable
from eaglekit.report.progress import Bar, silent


@dataclass(frozen=True, eq=False)
class Plan:
    """A conversion that was decided and not carried out: printable, saveable, appliable."""

    decided: Decided

    @property
    def report(self) -> Report:
        """What allowed it, what it will do to every tensor and config key, and what engines will make of the result."""
        return self.decided.plan.full_report()

    def summary(self) -> str:
        """The plan in one sentence."""
        return self.decided.plan.summary()

    def apply(self, dst: PathOrId, *, manifest: bool = True, fsync: bool = True, progress: Bar = silent) -> Report:
        """Write the folder `dst`, which does not exist yet. Raises `Refusal`, also when the source has changed."""
        with refusing("convert", self.decided.source.source.label):
            return _written(self.decided, dst, manifest=manifest, fsync=fsync, bar=progress)

    def save(self, file: str | os.PathLike[str], *, progress: Bar = silent) -> None:
        """Write the plan to a new file, for `apply`, with the digests of everything it will read."""
        with (
            refusing("convert", self.decided.source.source.label),
            progress("digest of the source", self.decided.source.size_bytes, "bytes") as tell,
        ):
            save(self.decided.plan, Path(file), self.decided.source, self.decided.library, progress=tell)

    def __repr__(self) -> str:
        return f"<Plan: {printable(self.summary())}>"

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str | None:
        return self.report._repr_html_()

    def _repr_markdown_(self) -> str:
        return self.report._repr_markdown_()


def plan(
    src: PathOrId,
    *,
    to: str = "portable",
    engines: str | Sequence[str] = (),
    allow_degraded: bool = False,
    target: PathOrId | None = None,
    target_family: str | None = None,
    aux_layers: Layers | None = None,
    aux_convention: AuxConvention | None = None,
    dialect: str | None = None,
    settings: Settings = (),
    drops: str | Sequence[str] = (),
    dtype: WeightDtype | None = None,
    force_overflow: bool = False,
    sort_vocabulary: bool = False,
    embedding: WrittenEmbedding = "auto",
    head: WrittenHead = "auto",
    max_shard_size: str | None = None,
    progress: Bar = silent,
) -> Plan:
    """What `convert` would do, with nothing written: `eaglekit convert --dry-run`. Raises `Refusal`."""
    words = {"aux_convention": aux_convention, "dtype": dtype, "embedding": embedding, "head": head}
    refuse_values("convert", words)
    stated = Stated(aux_layers, aux_convention, settings, target_family, dialect, drops)
    wanted = Wanted(
        stated=stated,
        target=path_or_none(target),
        to=to,
        engines=texts(engines),
        allow_degraded=allow_degraded,
        dtype=dtype,
        force_overflow=force_overflow,
        sort_vocabulary=sort_vocabulary,
        embedding=embedding,
        head=head,
        max_shard_size=max_shard_size,
    )
    text = path_text(src)
    with refusing("convert", text):
        return Plan(decide(text, wanted, bar=progress).seen())


def convert(
    src: PathOrId,
    dst: PathOrId,
    *,
    to: str = "portable",
    engines: str | Sequence[str] = (),
    allow_degraded: bool = False,
    target: PathOrId | None = None,
    target_family: str | None = None,
    aux_layers: Layers | None = None,
    aux_convention: AuxConvention | None = None,
    dialect: str | None = None,
    settings: Settings = (),
    drops: str | Sequence[str] = (),
    dtype: WeightDtype | None = None,
    force_overflow: bool = False,
    sort_vocabulary: bool = False,
    embedding: WrittenEmbedding = "auto",
    head: WrittenHead = "auto",
    max_shard_size: str | None = None,
    manifest: bool = True,
    fsync: bool = True,
    progress: Bar = silent,
) -> Report:
    """Write a drafter as EAGLE 3.1 into the folder `dst`, which does not exist yet: `eaglekit convert`.

    `engines` are those that must read the result rightly, such as `vllm@0.24`. The function stays the same. Raises
    `Refusal`, with `dst` as it was.
    """
    decided = plan(
        src,
        to=to,
        engines=engines,
        allow_degraded=allow_degraded,
        target=target,
        target_family=target_family,
        aux_layers=aux_layers,
        aux_convention=aux_convention,
        dialect=dialect,
        settings=settings,
        drops=drops,
        dtype=dtype,
        force_overflow=force_overflow,
        sort_vocabulary=sort_vocabulary,
        embedding=embedding,
        head=head,
        max_shard_size=max_shard_size,
        progress=progress,
    )
    return decided.apply(dst, manifest=manifest, fsync=fsync, progress=progress)


def apply(
    plan: Plan | PathOrId, dst: PathOrId, *, manifest: bool = True, fsync: bool = True, progress: Bar = silent
) -> Report:
    """Carry out a plan, or the file of one that was saved, whose source is still what it was: `eaglekit apply`."""
    if isinstance(plan, Plan):
        return plan.apply(dst, manifest=manifest, fsync=fsync, progress=progress)
    file = os.fspath(plan)
    with refusing("apply", file):
        decided = reopened(Path(file), bar=progress)
        return _written(decided, dst, manifest=manifest, fsync=fsync, bar=progress)


def _written(decided: Decided, dst: PathOrId, *, manifest: bool, fsync: bool, bar: Bar) -> Report:
    how = Wishes(durable=fsync, manifest=manifest)
    planned, applied = carry_out(decided, Path(dst), how, bar=bar)
    return planned.full_report(applied)
