"""How it is served, per engine, and how anybody checks what the card claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eaglekit.engines.recipes import Recipe
from eaglekit.hub.card.matter import CardMatter
from eaglekit.hub.card.words import code, fenced, prose, words
from eaglekit.hub.local.signature_reading import Way
from eaglekit.hub.model import SIGNATURE


def serving(matter: CardMatter) -> Iterator[str]:
    """A command for each engine that reads the file, and the others with their reasons."""
    for recipe in matter.recipes:
        if recipe.text:
            yield f"### {words(recipe.title)}{_since(recipe)}"
            yield fenced(recipe.text, recipe.language)
            yield "\n".join(f"- {_sentence(note, recipe.title)}" for note in recipe.notes)
    others = [recipe for recipe in matter.recipes if not recipe.text]
    if others:
        yield "### Not for this file"
        yield "\n".join(f"- **{words(recipe.title)}**: {_reasons(recipe)}" for recipe in others)


def _since(recipe: Recipe) -> str:
    return f", {words(recipe.since)}" if recipe.since else ""


def _reasons(recipe: Recipe) -> str:
    return "; ".join(prose(note) for note in recipe.notes) + "." if recipe.notes else f"it {recipe.verdict.value} it."


def _sentence(note: str, title: str) -> str:
    """A note below the engine's own heading, where "it" is the engine: its name keeps its case."""
    begun = f"It{note[len(title) :]}" if note.startswith(f"{title} ") else f"{note[:1].upper()}{note[1:]}"
    return prose(begun if begun.endswith(".") else f"{begun}.")


def verifying(matter: CardMatter) -> Iterator[str]:
    """The commands that repeat everything; only where the repository is known."""
    if matter.repo is None:
        return
    base = matter.base_model
    name = matter.repo.partition("/")[2]
    material, digest = _material(matter)
    given = f" \\\n  {material}" if material else ""
    yield fenced(
        "pip install 'eaglekit[validate]'\n"
        f"eaglekit pull {matter.repo} ./{name}\n"
        f"eaglekit verify {matter.repo} \\\n  --target {base.repo}@{base.commit}{given}",
        "bash",
    )
    texts = f" The texts are not published here; their file has SHA-256 {code(digest)}." if digest else ""
    yield (
        "`pull` compares every file with SHA256SUMS; `verify` measures again by the protocol in report.json, and "
        f"says of each figure whether it holds within its interval.{texts}"
    )
    if matter.signed is not None:
        by, means, whose = SIGNED[matter.signed]
        yield fenced(
            "pip install 'eaglekit[sign]'\n"
            f"model_signing verify {by} ./{name} \\\n  --signature ./{name}/{SIGNATURE} \\\n  {means} \\\n"
            "  --ignore_unsigned_files",
            "bash",
        )
        yield f"`{SIGNATURE}` is a signature over every file but this text. {whose}"


SIGNED: Mapping[Way, tuple[str, str, str]] = {
    Way.KEY: (
        "key",
        "--public_key PUBLIC.pem",
        "PUBLIC.pem is the publisher's public key: take it from a place that is theirs, and not from this repository.",
    ),
    Way.SIGSTORE: (
        "sigstore",
        "--identity IDENTITY --identity_provider PROVIDER",
        "IDENTITY and PROVIDER are the publisher's account and who vouches for it: ask the publisher for both.",
    ),
}
"""How it is verified -> the command's word, its options, whom to ask for their values."""


def _material(matter: CardMatter) -> tuple[str, str]:
    """The option for the texts, and the digest of their file; empty when they are published."""
    if matter.has_prompts:
        return "", ""
    for kind, option in (("prompts", "--prompts YOUR_COPY.jsonl"), ("capture", "--capture YOUR_COPY.safetensors")):
        digest = matter.result(kind, "sha256")
        if isinstance(digest, str):
            return option, digest
    return "", ""
