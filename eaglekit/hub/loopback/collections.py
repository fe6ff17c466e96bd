"""Collections: named lists of repositories."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from eaglekit.hub.loopback.access import known, visible
from eaglekit.hub.loopback.exchange import Exchange, Refused
from eaglekit.hub.loopback.model import WRITING_ROLES, Account, Collection
from eaglekit.hub.loopback.storage import now


def create(exchange: Exchange) -> None:
    """A new collection; one of the same title is a conflict."""
    account = known(exchange)
    wanted = exchange.json()
    title, owner = str(wanted.get("title") or ""), str(wanted.get("namespace") or account.name)
    if not title:
        raise Refused(400, '"title" is required')
    if not may_curate(account, owner):
        raise Refused(403, f'You don\'t have the rights to create a collection under the namespace "{owner}"')
    digest = hashlib.sha256(f"{owner}/{title}".encode()).hexdigest()[:24]
    slug = f"{owner}/{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}-{digest}"
    with exchange.storage.lock:
        if slug in exchange.storage.collections:
            exchange.answer(409, {"error": "This collection exists already", "slug": slug})
            return
        made = Collection(slug, title, owner, bool(wanted.get("private")))
        exchange.storage.collections[slug] = made
        exchange.storage.save()
    exchange.answer(200, described(made))


def read(exchange: Exchange, slug: str) -> None:
    """A collection with its items."""
    exchange.answer(200, described(find_collection(exchange, slug)))


def add_item(exchange: Exchange, slug: str) -> None:
    """Put a model into a collection; one that is there is a conflict."""
    collection = find_collection(exchange, slug)
    if not may_curate(known(exchange), collection.owner):
        raise Refused(403, "You don't have the rights to change this collection")
    wanted = exchange.json()
    item = wanted.get("item")
    if not isinstance(item, dict) or item.get("type") != "model" or not isinstance(item.get("id"), str):
        raise Refused(400, '"item" must be a model and its id')
    visible(exchange, item["id"])
    with exchange.storage.lock:
        if any(id == item["id"] for _, id, _ in collection.items):
            raise Refused(409, "This item is in the collection already")
        collection.items.append(("model", item["id"], str(wanted.get("note") or "")))
        exchange.storage.save()
    exchange.answer(200, described(collection))


def may_curate(account: Account, owner: str) -> bool:
    """Whether this token may change the collections of `owner`."""
    role = "admin" if owner == account.name else account.organisations.get(owner, "")
    scoped = any(scope.name == owner and "collection.write" in scope.permissions for scope in account.scopes)
    return role in WRITING_ROLES and (account.role == "write" or scoped)


def find_collection(exchange: Exchange, slug: str) -> Collection:
    """The collection, if this account may know of it."""
    if exchange.token:
        known(exchange)
    collection = exchange.storage.collections.get(slug)
    if collection is None or (
        collection.private and (exchange.account is None or collection.owner not in exchange.account.namespaces)
    ):
        raise Refused(404 if exchange.account else 401, "Collection not found")
    return collection


def described(collection: Collection) -> dict[str, Any]:
    """A collection as the Hub gives it."""
    items = [
        {
            "_id": hashlib.sha256(id.encode()).hexdigest()[:24],
            "id": id,
            "type": kind,
            "position": position,
            **({"note": {"text": note, "html": note}} if note else {}),
        }
        for position, (kind, id, note) in enumerate(collection.items)
    ]
    return {
        "slug": collection.slug,
        "title": collection.title,
        "owner": {"name": collection.owner, "type": "user"},
        "items": items,
        "lastUpdated": now(),
        "position": 0,
        "private": collection.private,
        "theme": "green",
        "upvotes": 0,
    }
