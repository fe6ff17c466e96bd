"""`who`: whose token it is, and where it may write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglekit.checkpoint.hub_errors import clean
from eaglekit.hub.model import Account
from eaglekit.hub.remote.client import HubClient
from eaglekit.hub.remote.words import Doing

WRITING_ROLES = frozenset({"admin", "write", "contributor"})
"""Roles in an organisation that may make repositories and write to them."""
WRITE, CURATE = "repo.write", "collection.write"
"""What a fine-grained token calls it: to change repositories, and to change collections."""
OWNERS = frozenset({"user", "org"})


def who(client: HubClient) -> Account:
    """Whom the token belongs to, and where it may write. Asked once: the Hub counts these strictly."""
    answer = client.read(Doing.ACCOUNT, lambda: dict(client.api.whoami()))
    name = clean(str(answer.get("name", "?")), client.asked.token)
    token = _within(_within(answer, "auth"), "accessToken")
    role = clean(str(token.get("role", "unknown")), client.asked.token)
    listed = answer.get("orgs")
    organisations = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    writable = (name, *(str(o.get("name")) for o in organisations if o.get("roleInOrg", "write") in WRITING_ROLES))
    if role == "read":
        return Account(name, role, ())
    scoped = _within(token, "fineGrained").get("scoped")
    if role != "fineGrained" or not isinstance(scoped, list):
        return Account(name, role, writable, curates=writable, known=role == "write")
    places = _allowing(scoped, WRITE)
    spaces = tuple(str(place.get("name")) for place in places if place.get("type") in OWNERS)
    models = tuple(str(place.get("name")) for place in places if place.get("type") == "model")
    curates = tuple(str(place.get("name")) for place in _allowing(scoped, CURATE) if place.get("type") in OWNERS)
    return Account(name, role, spaces, models, curates)


def _allowing(scoped: list[Any], permission: str) -> list[Mapping[str, Any]]:
    """What a fine-grained token has this permission for."""
    return [
        _within(scope, "entity") for scope in scoped if isinstance(scope, dict) and permission in _permissions(scope)
    ]


def _permissions(scope: Mapping[str, Any]) -> tuple[Any, ...]:
    found = scope.get("permissions")
    return tuple(found) if isinstance(found, list) else ()


def _within(answer: Any, key: str) -> Mapping[str, Any]:
    """The object under `key`, or an empty one."""
    found = answer.get(key) if isinstance(answer, dict) else None
    return found if isinstance(found, dict) else {}
