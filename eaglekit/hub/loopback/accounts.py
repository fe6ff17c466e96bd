"""Accounts and repositories: who asks, what they may do, making a repository and changing who sees it."""

from __future__ import annotations

import re
from typing import Any

from eaglekit.hub.loopback.access import known, readable, visible, writable
from eaglekit.hub.loopback.exchange import Exchange, Refused

REPO_NAME = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}(?<![.-])(?<!\.git)")


def whoami(exchange: Exchange) -> None:
    """Who the token belongs to, and what it may do."""
    if exchange.account is None:
        raise Refused(401, "Invalid username or password.")
    account = exchange.account
    access: dict[str, Any] = {"displayName": "loopback", "role": account.role}
    if account.role == "fineGrained":
        scoped = [
            {"entity": {"type": scope.kind, "name": scope.name}, "permissions": list(scope.permissions)}
            for scope in account.scopes
        ]
        access["fineGrained"] = {"canReadGatedRepos": False, "global": [], "scoped": scoped}
    organisations = [
        {"type": "org", "name": name, "fullname": name, "isEnterprise": False, "roleInOrg": role}
        for name, role in account.organisations.items()
    ]
    exchange.answer(
        200,
        {
            "type": "user",
            "id": account.name,
            "name": account.name,
            "fullname": account.name,
            "isPro": False,
            "orgs": organisations,
            "auth": {"type": "access_token", "accessToken": access},
        },
    )


def check_reading(exchange: Exchange, repo: str) -> None:
    """Whether this account may read the files."""
    readable(exchange, visible(exchange, repo))
    exchange.answer(200, b"")


def check_writing(exchange: Exchange, repo: str) -> None:
    """Whether this account may commit."""
    writable(exchange, repo)
    exchange.answer(200, b"")


def create_repository(exchange: Exchange) -> None:
    """A new repository under the name that the body gives."""
    account = known(exchange)
    wanted = exchange.json()
    name, namespace = str(wanted.get("name") or ""), str(wanted.get("organization") or account.name)
    if wanted.get("type") not in {None, "model"}:
        raise Refused(400, f"This Hub keeps models only, not a {wanted['type']}")
    if not REPO_NAME.fullmatch(name):
        raise Refused(400, f"Invalid repo name: {namespace}/{name}")
    id = f"{namespace}/{name}"
    url = f"{exchange.hub.endpoint}/{id}"
    if not account.may_create_in(namespace):
        raise Refused(403, f'You don\'t have the rights to create a model under the namespace "{namespace}"')
    private = wanted.get("visibility") == "private" or wanted.get("private") is True
    with exchange.storage.lock:
        if id in exchange.storage.repositories:
            message = "You already created this model repo"
            exchange.answer(409, {"error": f"{message}: {id}", "url": url}, {"X-Error-Message": message})
            return
        exchange.storage.create_repository(id, private=private, creator=account.name)
    exchange.answer(200, {"url": url, "name": id, "id": id, "private": private})


def delete_repository(exchange: Exchange) -> None:
    """Forget a repository; its content stays."""
    account = known(exchange)
    wanted = exchange.json()
    id = f"{wanted.get('organization') or account.name}/{wanted.get('name')}"
    repository, _ = writable(exchange, id)
    with exchange.storage.lock:
        del exchange.storage.repositories[repository.id]
        exchange.storage.save()
    exchange.answer(200, {})


def change_settings(exchange: Exchange, repo: str) -> None:
    """Change who sees a repository, or who reads it."""
    repository, _ = writable(exchange, repo)
    wanted = exchange.json()
    with exchange.storage.lock:
        if "visibility" in wanted or "private" in wanted:
            repository.private = wanted.get("visibility") == "private" or wanted.get("private") is True
        if "gated" in wanted:
            repository.gated = bool(wanted["gated"])
        exchange.storage.save()
    exchange.answer(200, {"private": repository.private, "gated": "manual" if repository.gated else False})
