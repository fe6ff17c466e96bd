"""The storage of a Hub under one folder: content by name, and `state.json`, written anew after each change."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from threading import RLock

from eaglekit.hub.loopback.content import GIT_ATTRIBUTES, ContentStore, Entry, git_oid, tree_oids, write_files
from eaglekit.hub.loopback.model import Account, Collection, Commit, Discussion, Repository, same, token_digest
from eaglekit.hub.loopback.state import State, read_state, write_state


class Storage:
    """Everything one Hub remembers. A root that a Hub left is continued."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.content = ContentStore(root)
        self.lock = RLock()
        """Held while anything is changed."""
        state = read_state(root / "state.json")
        self.accounts: list[Account] = state.accounts
        self.repositories: dict[str, Repository] = state.repositories
        self.collections: dict[str, Collection] = state.collections
        self.xet_hashes: dict[str, str] = state.xet_hashes
        """sha256 of a large file -> what xet calls it, of those that went up that way."""

    def save(self) -> None:
        """Write the state to disk, whole or not at all."""
        with self.lock:
            state = State(self.accounts, self.repositories, self.collections, self.xet_hashes)
            write_state(self.root / "state.json", state)

    def add_account(self, account: Account) -> Account:
        """Remember `account`, in place of an earlier one with the same token."""
        with self.lock:
            self.accounts[:] = [other for other in self.accounts if other.token_sha256 != account.token_sha256]
            self.accounts.append(account)
            self.save()
        return account

    def account_of(self, token: str) -> Account | None:
        """Whoever `token` belongs to."""
        digest = token_digest(token)
        matching = [account for account in self.accounts if same(account.token_sha256, digest)]
        return matching[0] if matching else None

    def create_repository(
        self, id: str, *, private: bool = False, gated: bool = False, creator: str = ""
    ) -> Repository:
        """A new repository; like the Hub's, it already has one commit with `.gitattributes`."""
        with self.lock:
            if id in self.repositories:
                raise FileExistsError(id)
            repository = self.repositories[id] = Repository(id, private=private, gated=gated, creator=creator)
            first = self.content.add(".gitattributes", GIT_ATTRIBUTES.encode())
            self.commit(repository, [first], title="initial commit", author=creator)
        return repository

    def commit(
        self,
        repository: Repository,
        entries: Iterable[Entry],
        *,
        deleted: Iterable[str] = (),
        branch: str = "main",
        onto: Commit | None = None,
        title: str = "Upload",
        description: str = "",
        author: str = "",
    ) -> Commit:
        """The commit that puts `entries` on top of `onto`, or of `branch`; the branch moves to it."""
        with self.lock:
            parent = onto or repository.resolve(branch)
            files = dict(parent.files) if parent else {}
            for path in deleted:
                del files[path]
            files.update({entry.path: entry for entry in entries})
            commit = named(dict(sorted(files.items())), parent, title, description, author or "somebody")
            repository.commits[commit.oid] = commit
            repository.branches[branch] = commit.oid
            self.save()
        return commit

    def open_discussion(
        self,
        repository: Repository,
        title: str,
        description: str,
        author: str,
        *,
        base: str | None = None,
        draft: bool = False,
    ) -> Discussion:
        """A new discussion, or a pull request against `base`; both are counted together."""
        with self.lock:
            num = len(repository.discussions) + 1
            opened = Discussion(num, title, description, author, now(), base, "draft" if draft else "open")
            repository.discussions[num] = opened
            if base is not None and (commit := repository.resolve(base)) is not None:
                repository.branches[opened.reference] = commit.oid
            self.save()
        return opened

    def add_folder(self, folder: Path) -> list[Entry]:
        """Entries for every file of `folder`, their content stored."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return [self.content.add(path.relative_to(folder).as_posix(), path) for path in files]

    def materialise(self, repo: str, revision: str, folder: Path, *, replace: bool = False) -> Commit:
        """Write the files of `repo` at `revision` as a plain folder, new unless `replace`; the commit that was written.

        Large files share their bytes with this storage where the file system allows, and cannot be written to.
        """
        commit = self.repositories[repo].resolve(revision)
        if commit is None:
            raise KeyError(revision)
        if folder.exists() and any(folder.iterdir()) and not replace:
            raise FileExistsError(folder)
        arriving = folder.with_name(f".{folder.name}.arriving")
        shutil.rmtree(arriving, ignore_errors=True)
        arriving.mkdir(parents=True)
        write_files(commit.files, self.content, arriving)
        if folder.exists():
            shutil.rmtree(folder)
        arriving.rename(folder)
        return commit


def named(files: dict[str, Entry], parent: Commit | None, title: str, description: str, author: str) -> Commit:
    """The commit with the name that git gives it."""
    date = datetime.now(timezone.utc).replace(microsecond=0)
    who = f"{author} <{author}@users.noreply.localhost> {int(date.timestamp())} +0000"
    lines = [f"tree {tree_oids(files.values())['']}", *([f"parent {parent.oid}"] if parent else [])]
    message = f"{title}\n\n{description}" if description else title
    text = "\n".join([*lines, f"author {who}", f"committer {who}", "", message, ""])
    oid = git_oid("commit", text.encode())
    return Commit(oid, parent.oid if parent else None, title, files, description, author, stamp(date))


def stamp(date: datetime) -> str:
    """A moment as the Hub writes it."""
    return date.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def now() -> str:
    """This moment as the Hub writes it."""
    return stamp(datetime.now(timezone.utc))
