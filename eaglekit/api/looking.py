"""`inspect` and `diff`: what a checkpoint is, and what two of them have in common."""

from __future__ import annotations

from collections.abc import Sequence

from eaglekit.api.arguments import AuxConvention, refuse_values
from eaglekit.api.misuse import refusing
from eaglekit.api.opening import open_input, open_local, open_target
from eaglekit.api.stating import Layers, PathOrId, Settings, Stated, parse_requests, path_or_none, path_text, texts
from eaglekit.report import Report
from eaglekit.report.progress import Bar, silent


def inspect(
    path: PathOrId,
    *,
    engines: str | Sequence[str] = (),
    target: PathOrId | None = None,
    target_family: str | None = None,
    aux_layers: Layers | None = None,
    aux_convention: AuxConvention | None = None,
    dialect: str | None = None,
    settings: Settings = (),
    drops: str | Sequence[str] = (),
) -> Report:
    """What a checkpoint is and what engines make of it: `eaglekit inspect`. Of a Hub id only headers are fetched.

    What is wrong with the drafter is in the findings; what is no drafter raises `Refusal`.
    """
    from eaglekit.engines.inspection import inspect as look

    refuse_values("inspect", {"aux_convention": aux_convention})
    text = path_text(path)
    with refusing("inspect", text):
        beside = open_target(path_or_none(target))
        given = Stated(aux_layers, aux_convention, settings, target_family, dialect, drops).given(beside)
        return look(open_input(text), given, beside, parse_requests(texts(engines)))


def diff(
    first: PathOrId,
    second: PathOrId,
    *,
    target: PathOrId | None = None,
    target_family: str | None = None,
    aux_layers: Layers | None = None,
    aux_convention: AuxConvention | None = None,
    dialect: str | None = None,
    settings: Settings = (),
    drops: str | Sequence[str] = (),
    progress: Bar = silent,
) -> Report:
    """Two drafters by role and meaning: `eaglekit diff`. `ok` tells whether they compute the same."""
    from eaglekit.plan.diff import diff as compare
    from eaglekit.plan.diff import read_on_its_own

    refuse_values("diff", {"aux_convention": aux_convention})
    text = path_text(first)
    with refusing("diff", text):
        beside = open_target(path_or_none(target))
        given = Stated(aux_layers, aux_convention, settings, target_family, dialect, drops).given(beside)
        one, two = open_local(text, bar=progress), open_local(path_text(second), bar=progress)
        return compare(read_on_its_own(one, given), read_on_its_own(two, given), beside)
