"""`outline`: what a push would do with every file, and what speaks against it. Pure: nothing is asked or sent."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch

from eaglekit.hub.model import CARD, Change, LocalFile, Outline, RemoteEntry, RemoteState, Row, Wishes
from eaglekit.report import Finding

SHORT = 12
"""Digits of a digest that people compare."""
LOADED = ("*.safetensors", "*.safetensors.index.json", "*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.gguf")
"""Names that engines load weights from, by pattern."""


def outline(files: Iterable[LocalFile], state: RemoteState, wishes: Wishes) -> Outline:
    """Every file of the push and of the repository with what becomes of it, sorted by name."""
    local = {file.name: file for file in files}
    names = sorted({*local, *state.entries})
    rows = tuple(_row(name, local.get(name), state.entries.get(name)) for name in names)
    card = local[CARD].read().decode("utf-8") if CARD in local else ""
    return Outline(wishes, state, rows, card)


def objections(planned: Outline, *, merged_card: bool) -> list[Finding]:
    """What speaks against the outline: replaced files, a taken tag, other weights. `merged_card` tells that the new
    card was made from the one that stands there, with everything of it outside the markers kept.
    """
    return [
        *_replaced(planned, merged_card=merged_card),
        *_taken_tag(planned),
        *_other_weights(planned),
        *_visibility(planned),
    ]


def _row(name: str, local: LocalFile | None, remote: RemoteEntry | None) -> Row:
    if local is None:
        return Row(Change.REMOTE_ONLY, name, None, remote)
    if remote is None:
        return Row(Change.NEW, name, local, None)
    return Row(Change.SAME if remote.holds(local) else Change.CHANGED, name, local, remote)


def _replaced(planned: Outline, *, merged_card: bool) -> list[Finding]:
    if planned.wishes.overwrite:
        return []
    changed = [row for row in planned.rows if row.change is Change.CHANGED]
    pairs = [
        (row.local, row.remote)
        for row in changed
        if row.local is not None and row.remote is not None and not (merged_card and row.name == CARD)
    ]
    if not pairs:
        return []
    names = ", ".join(here.name for here, _ in pairs)
    return [
        Finding(
            "push-would-overwrite",
            f"{len(pairs)} file{'s' if len(pairs) > 1 else ''} on the Hub would be replaced by other content: {names}",
            place=planned.wishes.repo,
            got="; ".join(f"{there.name}: {_digest_there(there)}" for _, there in pairs),
            expected="; ".join(f"{here.name}: {_digest_here(here, there)}" for here, there in pairs),
            hint="say --overwrite to replace them, or push to another branch with --revision",
        )
    ]


def _digest_there(entry: RemoteEntry) -> str:
    digest = f"sha256 {entry.sha256[:SHORT]}" if entry.sha256 is not None else f"git {entry.git_name[:SHORT]}"
    return f"{digest}, {entry.size_bytes} bytes"


def _digest_here(file: LocalFile, entry: RemoteEntry) -> str:
    """The digest of the kind that the Hub keeps of the other one, so that the two can be compared."""
    if not file.sha256:
        return "made when it is agreed to"
    digest = f"sha256 {file.sha256[:SHORT]}" if entry.sha256 is not None else f"git {file.git_name()[:SHORT]}"
    return f"{digest}, {file.size_bytes} bytes"


def _taken_tag(planned: Outline) -> list[Finding]:
    tag, state = planned.wishes.tag, planned.state
    taken = state.tags.get(tag) if tag is not None else None
    if taken is None or (not planned.sends and taken == state.parent):
        return []
    return [
        Finding(
            "push-tag-taken",
            f"{planned.wishes.repo} has the tag {tag} at another commit",
            place=f"{planned.wishes.repo}: {tag}",
            got=f"a tag at {taken[:12]}",
            expected="a tag that does not exist yet, or one at this very content",
            hint="choose another tag",
        )
    ]


def _other_weights(planned: Outline) -> list[Finding]:
    beside = [
        row.name
        for row in planned.rows
        if row.change is Change.REMOTE_ONLY and any(fnmatch(row.name, pattern) for pattern in LOADED)
    ]
    return [
        Finding(
            "push-remote-weights",
            f"{name} lies beside the pushed weights, and may be loaded with them or instead",
            place=f"{planned.wishes.repo}: {name}",
            hint="delete it on the Hub if it is old, or push to another branch with --revision",
        )
        for name in beside
    ]


def _visibility(planned: Outline) -> list[Finding]:
    if not (planned.wishes.public and planned.state.private):
        return []
    return [
        Finding(
            "push-visibility-kept",
            f"{planned.wishes.repo} exists and stays private",
            place=planned.wishes.repo,
            got="--public",
            hint="change the visibility on the settings page of the repository",
        )
    ]
