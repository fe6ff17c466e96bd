"""`CardMatter`: everything a card is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eaglekit.checkpoint.hub_id import is_repo
from eaglekit.dialects.target_checks import embedding_is_copy
from eaglekit.engines.recipes import Recipe
from eaglekit.hub.card.licences import Licence
from eaglekit.hub.local.signature_reading import Way
from eaglekit.report import Finding, Refusal, Report
from eaglekit.report.model import Measurement

COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class BaseModel:
    """The target that the drafter drafts for."""

    repo: str
    """ORG/NAME."""
    commit: str
    """40 hexadecimal digits."""
    digest: str
    """What the report says the target's config and headers are, as `sha256:...`; empty without a target."""
    stated: bool
    """True when repository and commit are the publisher's word: the report was made from a local folder."""
    compared: bool = False
    """Of a stated one: the Hub's own files at that commit were found to have the digest."""

    @property
    def name(self) -> str:
        """The repository's own name."""
        return self.repo.partition("/")[2]


@dataclass(frozen=True, slots=True)
class CardMatter:
    """What a card says, and where from."""

    report: Report
    report_sha256: str
    """Of report.json, byte for byte as it is published; hex."""
    base_model: BaseModel
    licence: Licence
    repo: str | None = None
    """ORG/NAME of the drafter; None when nobody said."""
    provenance: Mapping[str, Any] | None = None
    """provenance.json of the folder."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """config.json of the folder."""
    recipes: tuple[Recipe, ...] = ()
    has_prompts: bool = False
    """Whether the texts that were measured on are published too, as prompts.jsonl."""
    has_figure: bool = False
    """Whether drift.png stands beside the card."""
    signed: Way | None = None
    """How model.sig is verified; None when there is none."""

    def with_recipes(self, recipes: tuple[Recipe, ...]) -> CardMatter:
        """The same with these recipes."""
        return replace(self, recipes=recipes)

    def fact(self, name: str) -> Any:
        """The value of a fact of the report, or None."""
        return next((fact.value for fact in self.report.facts if fact.name == name), None)

    def measurement(self, name: str) -> Measurement | None:
        """A measurement of the report, or None."""
        return next((each for each in self.report.measurements if each.name == name), None)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table of the report; none when it is not there."""
        return next((table.as_json() for table in self.report.tables if table.name == name), [])

    def result(self, *path: str) -> Any:
        """A value of the report's result by its path, or None."""
        value: Any = self.report.result
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    @property
    def embedding_is_copy(self) -> bool | None:
        """Whether the drafter's embedding is the target's, as far as the report proves it."""
        return embedding_is_copy(self.report.findings)

    @property
    def draft_tokens(self) -> int | None:
        """Drafts per round that acceptance was measured with."""
        value = self.result("settings", "draft_tokens")
        return value if isinstance(value, int) else None


def base_model_of(report: Report, stated: str | None) -> BaseModel:
    """The target's place on the Hub: what the report knows, or what the publisher states as ORG/NAME@COMMIT.

    Raises `Refusal` when neither says it, or both do and differ.
    """
    target = report.result.get("target")
    target = target if isinstance(target, Mapping) else {}
    digest = str(target.get("digest", ""))
    known = (str(target["repo"]), str(target["commit"])) if {"repo", "commit"} <= target.keys() else None
    if stated is None:
        if known is None:
            raise Refusal(_missing())
        return BaseModel(*known, digest, stated=False)
    repo, _, commit = stated.partition("@")
    if not is_repo(repo) or not COMMIT.fullmatch(commit):
        raise Refusal(_invalid(stated))
    if known is not None and known != (repo, commit):
        raise Refusal(_contradiction(stated, known))
    return BaseModel(repo, commit, digest, stated=known is None)


def _missing() -> Finding:
    return Finding(
        "base-model-missing",
        "the report was made with a target that lies in a folder: it does not know where on the Hub the target is",
        place="report: result.target",
        got="no repository and commit",
        expected="the target's repository and commit",
        hint="add --base-model ORG/NAME@COMMIT, with the 40 digits of the commit that lies in the folder",
    )


def _invalid(stated: str) -> Finding:
    return Finding(
        "base-model-invalid",
        f"{stated!r} names no commit of a repository",
        place="--base-model",
        got=repr(stated),
        expected="ORG/NAME@COMMIT, the commit with all its 40 hexadecimal digits",
        hint="`git ls-remote https://huggingface.co/ORG/NAME` prints the commits of its branches",
    )


def _contradiction(stated: str, known: Sequence[str]) -> Finding:
    return Finding(
        "base-model-contradicts",
        f"the report was made with {known[0]} at {known[1]}, and {stated} is another target",
        place="--base-model",
        got=stated,
        expected="@".join(known),
        hint="leave --base-model out: the report knows its target",
    )
