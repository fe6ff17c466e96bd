"""What a request may see and do: each of these finds what it names, or refuses as the Hub does."""

from __future__ import annotations

from eaglekit.hub.loopback.content import Entry
from eaglekit.hub.loopback.exchange import Exchange, Refused
from eaglekit.hub.loopback.model import Account, Commit, Repository

FORBIDDEN = "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request"


def known(exchange: Exchange) -> Account:
    """Whoever asks; a stranger is refused."""
    if exchange.account is None:
        invalid = "Invalid credentials in Authorization header" if exchange.token else "Invalid username or password."
        raise Refused(401, invalid)
    return exchange.account


def visible(exchange: Exchange, repo: str) -> Repository:
    """The repository, if this account may know of it."""
    if exchange.token:
        known(exchange)
    repository = exchange.storage.repositories.get(repo)
    if repository is None or not repository.visible_to(exchange.account):
        # The Hub answers 401 to strangers, so that a private name is not betrayed. It leaves the code out;
        # its client then goes by the address being https, which a loopback server cannot offer.
        raise Refused(404 if exchange.account else 401, "Repository not found", "RepoNotFound")
    return repository


def find(exchange: Exchange, repo: str, revision: str) -> tuple[Repository, Commit]:
    """The repository and its commit at `revision`."""
    repository = visible(exchange, repo)
    return repository, at(repository, revision)


def at(repository: Repository, revision: str) -> Commit:
    """The commit at `revision`."""
    commit = repository.resolve(revision)
    if commit is None:
        raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    return commit


def find_file(exchange: Exchange, repo: str, revision: str, file: str) -> tuple[Repository, Commit, Entry]:
    """The file, if this account may read it."""
    repository, commit = find(exchange, repo, revision)
    readable(exchange, repository)
    if file not in commit.files:
        raise Refused(404, "Entry not found", "EntryNotFound", {"X-Repo-Commit": commit.oid})
    return repository, commit, commit.files[file]


def readable(exchange: Exchange, repository: Repository) -> None:
    """Refuse an account that a gated repository has not let in."""
    if not repository.open_to(exchange.account):
        message = f"Access to model {repository.id} is restricted. Ask for access on its page."
        raise Refused(403 if exchange.account else 401, message, "GatedRepo")


def writable(exchange: Exchange, repo: str) -> tuple[Repository, Account]:
    """The repository, if this account may commit to it."""
    repository = visible(exchange, repo)
    account = known(exchange)
    if not account.may_write(repository):
        raise Refused(403, FORBIDDEN)
    return repository, account


def proposable(exchange: Exchange, repo: str) -> tuple[Repository, Account]:
    """The repository, if this account may open a pull request: whoever is known and reads it may, by any token."""
    repository = visible(exchange, repo)
    readable(exchange, repository)
    return repository, known(exchange)


def committable(exchange: Exchange, repo: str, revision: str, *, create_pr: bool) -> tuple[Repository, Account]:
    """The repository, if this account may commit at `revision`: its own pull request is open to it, too."""
    if create_pr:
        return proposable(exchange, repo)
    repository = visible(exchange, repo)
    own = [
        discussion
        for discussion in list(repository.discussions.values())
        if discussion.reference == revision and exchange.account and discussion.author == exchange.account.name
    ]
    return proposable(exchange, repo) if own else writable(exchange, repo)
