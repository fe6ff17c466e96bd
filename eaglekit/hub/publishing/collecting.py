"""A collection: whether it may be changed, before anything is sent; and the model put into it, at the very end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eaglekit.hub.model import Account, Outline
from eaglekit.hub.publishing.aftermath import Published
from eaglekit.hub.remote.client import HubClient
from eaglekit.hub.remote.words import Doing
from eaglekit.report import Finding, Refusal

# huggingface_hub, HfApi.get_collection: OWNER/TITLE-ID, as in the address of its page.
SLUG = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,250}-[0-9a-f]{24}", re.ASCII)


def holds(client: HubClient, account: Account, slug: str) -> bool:
    """Whether the collection has the model already. Raises `Refusal` when it has not, and could not be given it."""
    found = client.read(Doing.COLLECT, lambda: _collection(client, slug), missing=ABSENT)
    if found is ABSENT:
        raise Refusal(_unfit(client, slug, f"shows no collection {slug} to the account {account.name!r}", "absent"))
    if found["slug"] != slug:
        raise Refusal(_unfit(client, slug, f"calls the collection {slug} by another name", str(found["slug"])))
    if client.repo in found["models"]:
        return True
    owner = slug.partition("/")[0]
    if account.known and owner not in account.curates:
        got = f"a token ({account.role}) that may change {', '.join(account.curates) or 'no collections'}"
        raise Refusal(_unfit(client, slug, f"lets {account.name!r} change no collections of {owner}", got))
    return False


ABSENT: Mapping[str, Any] = {}


def collect(planned: Outline, published: Published, client: HubClient) -> list[Finding]:
    """Put the model into the collection that is wished. A failure is a finding: the commit stays."""
    slug = planned.wishes.collection
    if slug is None or planned.state.collected:
        return []
    try:
        client.write(Doing.COLLECT, lambda: _add(client, slug), file=slug)
    except Refusal as refusal:
        if _is_in(client, slug):
            return []
        return [_failed(client, slug, published.commit, refusal.findings[0].got), *refusal.findings]
    return []


def _collection(client: HubClient, slug: str) -> Mapping[str, Any]:
    found = client.api.get_collection(slug)
    return {"slug": found.slug, "models": {item.item_id for item in found.items if item.item_type == "model"}}


def _add(client: HubClient, slug: str) -> None:
    client.api.add_collection_item(slug, client.repo, "model", exists_ok=True)


def _is_in(client: HubClient, slug: str) -> bool:
    try:
        return client.repo in client.read(Doing.COLLECT, lambda: _collection(client, slug))["models"]
    except Refusal:
        return False


def _unfit(client: HubClient, slug: str, what: str, got: str) -> Finding:
    return Finding(
        "push-collection-unfit",
        f"{client.asked.host} {what}",
        place=f"--collection {slug}",
        got=got,
        expected="a collection that the account may change",
        hint="take the name from the address of its page, https://huggingface.co/collections/OWNER/TITLE-ID; "
        "or leave --collection out and add the model on that page",
    )


def _failed(client: HubClient, slug: str, commit: str, got: str) -> Finding:
    return Finding(
        "push-collection-failed",
        f"{client.repo} has the commit {commit} and is not in the collection {slug}",
        place=f"{client.repo}: {slug}",
        got=got,
        expected=f"{client.repo} in {slug}",
        hint="run the same command again: it sends no files, and adds the model",
    )
