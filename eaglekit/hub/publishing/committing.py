"""`commit`: the bytes first, then one commit that is locked to what the plan stands on. Failures are looked into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eaglekit import __version__
from eaglekit.checkpoint.hub_errors import clean
from eaglekit.hub.model import CARD, Outline
from eaglekit.hub.publishing.aftermath import Published, look_into, proposed_already, recorded, trailer
from eaglekit.hub.publishing.sending import Journal, Tell, prepared, send
from eaglekit.hub.remote.client import HubClient, foreign_errors
from eaglekit.hub.remote.listing import entries_at, history
from eaglekit.hub.remote.looking import branch_head, is_public
from eaglekit.hub.remote.words import Doing
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo

FRESH = frozenset({".gitattributes", "README.md"})
"""What a repository can hold that was made a moment ago."""


def commit(planned: Outline, client: HubClient, journal: Journal, tell: Tell) -> Published:
    """The commit with every file that is new or changed. Raises `Refusal`; then nothing was published.

    `journal` is kept up to date for whoever is interrupted.
    """
    wishes, state = planned.wishes, planned.state
    if not planned.sends and state.parent is not None:
        if not state.branch_exists:
            _make_branch(planned, state.parent, client, journal)
        return Published(state.parent, state.parent, recorded=False)
    if (found := proposed_already(planned, client)) is not None:
        return found
    _check_card(planned, client, journal)
    parent = state.parent if state.parent is not None else _create(planned, client, journal)
    if not state.branch_exists and wishes.revision != "main":
        _make_branch(planned, parent, client, journal)
    operations = prepared(planned, tell)
    send(operations, planned, client, journal)
    journal.stage = "recording the commit"
    journal.uncertain = True
    try:
        answer = client.attempt(lambda: _create_commit(operations, planned, parent, client))
    except foreign_errors() as error:
        published = look_into(error, planned, parent, client)
    else:
        published = recorded(answer, planned, parent, client)
    journal.uncertain = False
    journal.commit = published.commit
    return published


def _make_branch(planned: Outline, parent: str, client: HubClient, journal: Journal) -> None:
    """The branch that does not exist yet, at the commit the plan stands on."""
    branch = planned.wishes.revision
    journal.stage = f"making the branch {branch}"
    client.write(Doing.BRANCH, lambda: client.api.create_branch(client.repo, branch=branch, revision=parent))
    client.say(f"made the branch {branch} at {parent[:12]}")


def message(planned: Outline) -> tuple[str, str]:
    """Title and description of the commit."""
    title, _, rest = (
        planned.wishes.message or f"Publish {planned.wishes.repo.rpartition('/')[2]} with eaglekit"
    ).partition("\n")
    own = f"eaglekit {__version__}\n{trailer(planned.files)}"
    return title.strip(), f"{rest.strip()}\n\n{own}".strip()


def _create_commit(operations: list[Any], planned: Outline, parent: str, client: HubClient) -> CommitInfo:
    title, description = message(planned)
    return client.api.create_commit(
        client.repo,
        operations,
        commit_message=title,
        commit_description=description,
        revision=planned.wishes.revision,
        create_pr=planned.wishes.create_pr,
        parent_commit=parent,
    )


def _create(planned: Outline, client: HubClient, journal: Journal) -> str:
    """The first commit of a repository that is made now. Refuses one that somebody else made meanwhile."""
    journal.stage = f"making {client.repo}"
    visibility = "public" if planned.wishes.public else "private"
    client.write(Doing.CREATE, lambda: client.api.create_repo(client.repo, private=visibility == "private"))
    journal.created = True
    client.say(f"made {client.repo} ({visibility})")
    if not planned.wishes.public and is_public(client):
        raise Refusal(_exposed(client))
    head = branch_head(client, "main")
    if head is None:
        raise Refusal(client.connection.wrong("", "a new repository without main", "a first commit"))
    others = set(entries_at(client.connection, client.repo, head)) - FRESH
    if others or len(history(client, head, 2)) > 1:
        raise Refusal(
            Finding(
                "push-rival-commit",
                f"{client.repo} was empty when the plan was made, and is not now",
                place=client.repo,
                got=", ".join(sorted(others)) or "a second commit",
                expected="a repository that was made a moment ago",
                hint="nothing was published; run the same command again, which makes a new plan",
            )
        )
    return head


def _check_card(planned: Outline, client: HubClient, journal: Journal) -> None:
    """Ask the Hub about the card before any weight is sent. A mirror that has no such question is not asked."""
    if not any(file.name == CARD for file in planned.sends):
        return
    nothing: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    errors, remarks = client.read(Doing.CARD, lambda: _card_answer(planned.card, client), missing=nothing)
    if errors:
        raise Refusal(*(_about_card("push-card-refused", text, "correct it; nothing was sent") for text in errors))
    journal.remarks += [_about_card("push-card-remark", text, "read it; the card is accepted") for text in remarks]


def _about_card(code: str, said: str, hint: str) -> Finding:
    verb = "does not accept" if code == "push-card-refused" else "remarks on"
    return Finding(code, f"the Hub {verb} the front matter of README.md", place="README.md", got=said, hint=hint)


def _card_answer(card: str, client: HubClient) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Errors and remarks."""
    from eaglekit.checkpoint.hub_client import build_hf_headers, get_session, hf_raise_for_status

    response = get_session().post(
        f"{client.asked.endpoint}/api/validate-yaml",
        json={"content": card, "repoType": "model"},
        headers=build_hf_headers(token=client.asked.token, library_name="eaglekit", library_version=__version__),
    )
    if response.status_code != 400:
        hf_raise_for_status(response)
        return (), _said(response.json(), "warnings", client)
    return _said(response.json(), "errors", client) or ("HTTP 400",), ()


def _said(answer: Any, key: str, client: HubClient) -> tuple[str, ...]:
    """The sentences under `key` of an answer, whatever else it may be."""
    listed = answer.get(key) if isinstance(answer, dict) else None
    entries = listed if isinstance(listed, list) else []
    words = (entry.get("message", entry) if isinstance(entry, dict) else entry for entry in entries)
    return tuple(clean(str(word), client.asked.token) for word in words)


def _exposed(client: HubClient) -> Finding:
    return Finding(
        "push-visibility-other",
        f"{client.repo} was to be private, and {client.asked.host} has made it public",
        place=client.repo,
        got="public",
        expected="private",
        hint="nothing was sent; make it private on its settings page, or say --public",
    )
