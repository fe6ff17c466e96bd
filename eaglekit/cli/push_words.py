"""What `eaglekit push` says at its end: what has come of it in a line, and what can be done next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from eaglekit.cli.push_options import SIGSTORE

WORDS: Mapping[str, str] = {
    "published": "published, and every file compared with its digest",
    "nothing to do": "everything was there already; nothing was sent, every file compared with its digest",
    "rehearsed": "rehearsed: nothing was published; every file compared with its digest",
}
"""By the outcome of a push to a branch."""
PROPOSED: Mapping[str, str] = {
    "published": "proposed as pull request {number}; every file compared with its digest",
    "nothing to do": "proposed already as pull request {number}; nothing was sent, every file compared with its digest",
    "rehearsed": "rehearsed, as pull request {number}: nothing was published; every file compared with its digest",
}
"""And of one with --create-pr."""


def ending(result: Mapping[str, Any], *, sound: bool) -> str:
    """The headline of a push that is over. `sound` tells that the commit is right."""
    if not sound:
        return "something is wrong with the commit"
    pull = result["pull_request"]
    told = WORDS[result["outcome"]] if pull is None else PROPOSED[result["outcome"]].format_map(pull)
    return f"{told}; tag {result['tag']}: set now" if result["tag_set"] else told


def afterwards(result: Mapping[str, Any], sign: str | None) -> Iterator[str]:
    """Lines of speech: the next commands, and for a key how others come to check its signature."""
    for line in result["next"]:
        yield f"next: {line}"
    if sign is None or sign == SIGSTORE:
        return
    place = shlex.quote(f"./{result['repo'].rpartition('/')[2]}")
    yield "the public key, to be announced anywhere but in the repository:"
    yield f"      openssl ec -in {shlex.quote(sign)} -pubout -out public.pem"
    yield "by which everybody checks what was pulled:"
    yield (
        f"      model_signing verify key {place} --signature {place}/model.sig --public_key public.pem "
        "--ignore_unsigned_files"
    )
