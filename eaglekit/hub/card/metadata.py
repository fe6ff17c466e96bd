"""The front matter that eaglekit sets: what the Hub lists, filters and links by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eaglekit import __version__
from eaglekit.drafter.spec import Attention, Feedback, FusionNorm
from eaglekit.engines.model import Verdict
from eaglekit.hub.card.categories import by_category
from eaglekit.hub.card.matter import CardMatter
from eaglekit.report import Finding
from eaglekit.report.model import Measurement

GUARDED = ("license", "license_name", "license_link", "base_model", "pipeline_tag", "library_name")
"""Keys whose other value in an existing card is a contradiction, not something to replace."""
LIBRARY = "eaglekit"
"""Without one the Hub takes config.json for a model that transformers can load, and shows a snippet that fails."""
ENGINE_TAGS: Mapping[str, str] = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt-llm",
                                  "tokenspeed": "tokenspeed"}  # fmt: skip
"""Engine -> the tag that people filter by; set only when a recipe serves the file as it is."""
TEXTS = "eaglekit-texts"
"""Type of the data set of every result that eaglekit writes: what is replaced, and nothing else."""
CLAIMED = {
    "acceptance length": "greedy",
    "acceptance length, every slot": "greedy",
    "acceptance length, sampled": "sampled",
    "acceptance length, sampled, best drafts": "sampled",
}
"""Measurements that stand in model-index, under their own names -> how the target decodes."""


def is_31(matter: CardMatter) -> bool:
    """Whether the drafter has one of the two changes of EAGLE 3.1."""
    normed = matter.fact("fusion_norm") == FusionNorm.PER_STATE.value
    return bool(normed or matter.fact("feedback") == Feedback.NORMED.value)


def metadata(matter: CardMatter, existing: Mapping[str, Any]) -> dict[str, Any]:
    """Every key that eaglekit sets, in the order of a new card."""
    values: dict[str, Any] = {
        **matter.licence.as_metadata(),
        "base_model": matter.base_model.repo,
        "library_name": LIBRARY,
        "pipeline_tag": "text-generation",
        "inference": False,
        "tags": _tags(matter, existing),
    }
    index = _model_index(matter, existing)
    if index:
        values["model-index"] = index
    base = matter.base_model
    target = {"repo": base.repo, "commit": base.commit, "digest": base.digest, "compared": base.compared}
    ours = {
        # Of whoever writes the card: with the same one, everybody can write its text again.
        "version": __version__,
        "repo": matter.repo,
        "target": {key: value for key, value in target.items() if value},
        "report": f"sha256:{matter.report_sha256}",
    }
    return values | {"eaglekit": {key: value for key, value in ours.items() if value is not None}}


def conflicts(values: Mapping[str, Any], existing: Mapping[str, Any], place: str = "README.md") -> list[Finding]:
    """Where an existing card says something else than what is known now."""
    found = []
    for key in GUARDED:
        stands, ours = existing.get(key), values.get(key)
        if isinstance(stands, list) and len(stands) == 1:
            stands = stands[0]
        if stands is None or ours is None or stands == ours:
            continue
        found.append(
            Finding(
                "card-conflict",
                f"{place} says {key}: {stands}, and for this drafter it is {ours}",
                place=f"{place}: {key}",
                got=str(stands),
                expected=str(ours),
                hint=f"correct {key} in {place}, or take the line out" + _OPTIONS.get(key, ""),
            )
        )
    return found


_OPTIONS = {
    "license": "; --license gives another",
    "license_name": "; --license-name gives another",
    "license_link": "; --license-link gives another",
    "base_model": "; the drafter a training began with belongs into the text",
}


def _tags(matter: CardMatter, existing: Mapping[str, Any]) -> list[str]:
    """The tags of an existing card with ours; an engine that no longer reads the file loses its tag."""
    served = {recipe.engine for recipe in matter.recipes if recipe.text and recipe.verdict in READ}
    ours = ["speculative-decoding", "eagle3"]
    ours += ["eagle3.1"] if is_31(matter) else []
    ours += ["draft-model"]
    ours += ["mla"] if matter.fact("attention") == Attention.MLA.value else []
    ours += [tag for engine, tag in ENGINE_TAGS.items() if engine in served]
    ours += [matter.base_model.name.lower()]
    kept = existing.get("tags")
    kept = [kept] if isinstance(kept, str) else kept if isinstance(kept, list) else []
    if "eaglekit" in existing:
        stale = {"eagle3.1", "mla", *ENGINE_TAGS.values()} - set(ours)
        kept = [tag for tag in kept if not (isinstance(tag, str) and tag in stale)]
    return list(dict.fromkeys([*kept, *ours])) if all(isinstance(tag, str) for tag in kept) else [*kept, *ours]


READ = (Verdict.READS, Verdict.DEGRADED)


def _model_index(matter: CardMatter, existing: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of an existing card without the results that eaglekit wrote, and with today's."""
    name = (matter.repo or matter.base_model.repo + "-drafter").rpartition("/")[2]
    kept: list[Any] = []
    stands = existing.get("model-index")
    for entry in stands if isinstance(stands, list) else []:
        results = entry.get("results") if isinstance(entry, Mapping) else None
        others = [result for result in results if not _ours(result)] if isinstance(results, list) else None
        if others or others is None:
            kept.append(entry if others is None else {**entry, "results": others})
    results = list(_results(matter))
    if not results:
        return kept
    for index, entry in enumerate(kept):
        if isinstance(entry, Mapping) and entry.get("name") == name and isinstance(entry.get("results"), list):
            kept[index] = {**entry, "results": [*entry["results"], *results]}
            return kept
    return [*kept, {"name": name, "results": results}]


def _ours(result: Any) -> bool:
    dataset = result.get("dataset") if isinstance(result, Mapping) else None
    return isinstance(dataset, Mapping) and dataset.get("type") == TEXTS


def _results(matter: CardMatter) -> Iterator[dict[str, Any]]:
    """The lengths over all texts, then those by category; values with every digit, for `eaglekit verify`."""
    lengths = [each for each in map(matter.measurement, CLAIMED) if each is not None]
    if lengths:
        yield _result(matter, None, [_metric(matter, each) for each in lengths])
    for category, each in by_category(matter.report).items():
        yield _result(matter, category, [_metric(matter, each)])


def _result(matter: CardMatter, category: str | None, metrics: Sequence[dict[str, Any]]) -> dict[str, Any]:
    schema, digest = matter.result("prompts", "schema"), matter.result("prompts", "sha256")
    digest = digest or matter.result("capture", "sha256")
    count = matter.result("texts", "count")
    parts = [f"{count} texts" if count else "texts", schema, f"sha256 {digest[:12]}" if digest else None]
    dataset = {"name": ", ".join(str(part) for part in parts if part), "type": TEXTS, "config": category,
               "revision": matter.result("texts", "digest")}  # fmt: skip
    return {
        "task": {"type": "text-generation", "name": "speculative decoding"},
        "dataset": {key: value for key, value in dataset.items() if value is not None},
        "metrics": list(metrics),
    }


def _metric(matter: CardMatter, each: Measurement) -> dict[str, Any]:
    decoding = CLAIMED[each.name]
    drafts = matter.draft_tokens
    arguments = {
        "decoding": decoding,
        "temperature": matter.result("settings", "temperature") if decoding == "sampled" else None,
        "draft_tokens": drafts,
        "ceiling": drafts + 1 if drafts is not None else None,
        "low": each.low,
        "high": each.high,
        "count": each.count,
    }
    return {
        "type": "acceptance-length",
        "name": each.name,
        "value": each.value,
        "args": {key: value for key, value in arguments.items() if value is not None},
    }
