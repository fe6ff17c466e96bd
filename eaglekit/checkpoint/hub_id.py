"""`HubId`: ORG/NAME with an optional @REVISION, told apart from a folder before anything is sent anywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from eaglekit.report import Finding, Refusal

NAME_LIMIT = 96
NAME = re.compile(r"[A-Za-z0-9_](?:[\w.-]*[A-Za-z0-9_])?", re.ASCII)
REVISION = re.compile(r"(?![-/.])[^\s~^:?*\[\\\x00-\x1f\x7f]{1,250}(?<![/.])")
"""What git lets a branch, tag or commit be called (git-check-ref-format), without what only confuses."""
PAGE = re.compile(
    r"(?:https?://[^/]+/|hf://)(?:models/)?(?P<repo>[^/@\s]+/[^/@\s]+)(?:(?:/(?:tree|blob|resolve)/|@)(?P<revision>[^/\s]+))?"
)
"""A web page or `hf://` address of a model: refused, with the id that it holds."""


@dataclass(frozen=True, slots=True)
class HubId:
    """One repository of the Hub, at one revision."""

    repo: str
    """ORG/NAME."""
    revision: str | None = None
    """Branch, tag, commit or refs/pr/NUMBER as the user wrote it; None means the default branch."""

    def __str__(self) -> str:
        return self.repo if self.revision is None else f"{self.repo}@{self.revision}"


def is_hub_id(text: str) -> bool:
    """Whether `text` leads to the Hub: spelled ORG/NAME[@REVISION], and nothing on this machine has that name."""
    return not is_local(text) and not _problem(*_split(text))


def is_repo(text: str) -> bool:
    """Whether `text` is a name the Hub could give a repository: ORG/NAME."""
    return not _problem(text, None)


def is_local(text: str) -> bool:
    """Whether `text` means a folder here: it exists, or is spelled as only a path is."""
    repo, revision = _split(text)
    spelled = text.startswith((".", "/", "~")) or "\\" in text or repo.endswith("/") or "/" not in repo
    deep = revision is None and repo.count("/") > 1 and "://" not in text
    return spelled or deep or _exists(text)


def parse_hub_id(text: str) -> HubId:
    """The repository and revision that `text` names. Raises `Refusal` when the Hub can have no such name."""
    repo, revision = _split(text)
    if problem := _problem(repo, revision):
        raise Refusal(
            Finding(
                "hub-id-invalid",
                f"{text!r} is no folder here and no Hub id: {problem}",
                place=text,
                got=repr(text),
                expected="ORG/NAME or ORG/NAME@REVISION",
                hint=_advice(text),
            )
        )
    return HubId(repo, revision)


def parse_repo(text: str, expected: str = "ORG/NAME") -> HubId:
    """The repository that `text` names, where neither a folder nor a revision can be meant. Raises `Refusal`.

    A revision is read nevertheless, for whoever has a better word for it than that it is wrong.
    """
    repo, revision = _split(text)
    if problem := _problem(repo, revision):
        raise Refusal(
            Finding(
                "hub-id-invalid",
                f"{text!r} is no name of a repository: {problem}",
                place=text,
                got=repr(text),
                expected=expected,
                hint=_advice(text) if PAGE.match(text) else "write the account or organisation, a slash, and the name",
            )
        )
    return HubId(repo, revision)


def is_spelled_id(text: str) -> bool:
    """Whether `text` is ORG/NAME[@REVISION] by its spelling, whatever lies on this machine."""
    return not _problem(*_split(text))


def _split(text: str) -> tuple[str, str | None]:
    repo, at, revision = text.partition("@")
    return repo, revision if at else None


def _problem(repo: str, revision: str | None) -> str:
    """What the Hub would object to, or nothing. Its rules: huggingface_hub, utils/_validators.py."""
    names = repo.split("/")
    if len(names) != 2:
        return "an id is an organisation and a name with one slash between them"
    wrong = next((name for name in names if len(name) > NAME_LIMIT or not NAME.fullmatch(name)), None)
    if wrong is not None:
        return f"{wrong!r} is not 1 to {NAME_LIMIT} letters, digits, '-', '_' or '.', with '-' and '.' only inside"
    if "--" in repo or ".." in repo or repo.endswith(".git"):
        return "a name never holds '--' or '..' and never ends on '.git'"
    if revision is not None and (".." in revision or not REVISION.fullmatch(revision)):
        return f"{revision!r} cannot be a branch, tag or commit"
    return ""


def _advice(text: str) -> str:
    if page := PAGE.match(text):
        return f"give the id alone: {HubId(page['repo'], page['revision'])}"
    return "check the spelling; write a folder with ./ before it"


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a file name, or holding a zero byte
        return False
