"""What a dialect writes, it reads back: the same meaning, and the same bytes in every role."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import Read, read
from eaglekit.dialects.tables import DIALECTS
from eaglekit.dialects.writing import as_written, write
from eaglekit.drafter import Attention, Spec
from tests.dialects.folders import content_of, contents, differences, folder_of
from tests.dialects.strategies import PLAIN, fitted, specs

WRITABLE = [d.name for d in DIALECTS.values() if d.writable and d.container == "safetensors"]
"""GGUF has tests of its own: test_gguf.py."""

ABOUT_THE_TARGET = ("target_architecture", "speculative_tokens")
"""Only speculators files have a place for these; elsewhere they are told again when they are needed."""


def written_and_read(spec: Spec, name: str, *, mark: bool = True, given: Given | None = None) -> tuple[Read, dict]:
    """The reading of a folder of `spec` in dialect `name`, and what its roles hold."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = open_folder(folder_of(Path(folder) / "drafter", spec, DIALECTS[name], mark=mark))
        outcome = read(checkpoint, given)
        return outcome, contents(checkpoint, outcome.drafter_or_refuse())


@pytest.mark.parametrize("name", WRITABLE)
@settings(max_examples=40)
@given(some.data())
def test_a_marked_file_says_everything_about_its_drafter(name, data):
    spec = fitted(data.draw(specs()), DIALECTS[name])
    outcome, stored = written_and_read(spec, name)
    assert outcome.dialect.name == name
    unsaid = () if name == "speculators" else ABOUT_THE_TARGET
    assert differences(as_written(spec, DIALECTS[name]), outcome.drafter_or_refuse().spec, unsaid) == {}
    assert stored == {role: content_of(role, spec) for role in write(spec, DIALECTS[name]).names}


@pytest.mark.parametrize("name", WRITABLE)
@settings(max_examples=40)
@given(some.data())
def test_a_marked_file_is_read_without_a_finding(name, data):
    spec = fitted(data.draw(specs()), DIALECTS[name])
    outcome, _ = written_and_read(spec, name)
    # Only a drafter that never said how many positions it has is told so again.
    expected = ["context-unstated"] if spec.max_position_embeddings is None else []
    assert [finding.code for finding in outcome.findings] == expected


@dataclass(frozen=True)
class Told:
    """What must be told beside an unmarked file, because its dialect by nature does not say it."""

    why: str
    options: Any
    """Spec -> fields of `Given`."""
    needed: Any = field(default=lambda spec: True)
    """Whether this drafter needs it."""


def _is_default(spec: Spec) -> bool:
    """Whether the layers are the default list of some reader: then the list alone speaks for that reader."""
    depth = spec.target_layers or 0
    default = (2, depth // 2, depth - 3)
    return spec.aux_layers in (default, tuple(k - 1 for k in default), tuple(k + 1 for k in default))


_LAYERS = lambda spec: {"aux_layers": spec.aux_layers}  # noqa: E731
TOLD: Mapping[str, tuple[Told, ...]] = {
    "portable": (
        Told("the list is the default of one reader in another's ids", _LAYERS, _is_default),
    ),
    "vllm": (
        Told("where the list stands is weak evidence: others write theirs there too",
             lambda spec: {"aux_convention": "boundary"}),
    ),
    "sglang": (Told("how SGLang reads the list depends on the target's family", _LAYERS),),
    "tokenspeed": (Told("how tokenspeed reads the list depends on the target's family", _LAYERS),),
    "trtllm": (Told("the list is the default of one reader in another's ids", _LAYERS, _is_default),),
    "modelopt": (Told("the list is the default of one reader in another's ids", _LAYERS, _is_default),),
    "torchspec": (Told("the list is the default of one reader in another's ids", _LAYERS, _is_default),),
    "speculators": (Told("the list is the default of one reader in another's ids", _LAYERS, _is_default),),
    "specforge": (
        Told("the list is the default of one reader in another's ids", _LAYERS, _is_default),
        Told("releases of some weeks wrote norm_output without meaning it",
             lambda spec: {"facts": {"feedback": spec.feedback}}),
    ),
}  # fmt: skip
"""Dialect -> options that its unmarked files need. The target's own facts come from the target, for all of them."""


def given_for(spec: Spec, name: str) -> Given:
    """The options that an unmarked file of `spec` needs, and the facts its target states."""
    of_target = ("target_family", "target_layers", "target_name", "target_architecture")
    told = Given(
        dialect=name, target_facts={fact: getattr(spec, fact) for fact in of_target if getattr(spec, fact) is not None}
    )
    for row in TOLD[name]:
        if row.needed(spec):
            told = replace(told, **row.options(spec))
    if spec.target_ids == tuple(range(spec.draft_vocab_size)) and not DIALECTS[name].writes_mask:
        # Offsets of zero, with no mask beside them, look like a map that was never filled.
        told = replace(told, facts={**told.facts, "map": "first"})
    return told


@pytest.mark.parametrize("name", WRITABLE)
@settings(max_examples=40)
@given(some.data())
def test_an_unmarked_file_says_everything_that_its_dialect_can_say(name, data):
    spec = fitted(data.draw(specs()), DIALECTS[name])
    outcome, stored = written_and_read(spec, name, mark=False, given=given_for(spec, name))
    meant = replace(as_written(spec, DIALECTS[name]), trained_context_length=spec.max_position_embeddings)
    unsaid = () if name == "speculators" else ("speculative_tokens",)
    assert differences(meant, outcome.drafter_or_refuse().spec, unsaid) == {}
    assert stored == {role: content_of(role, spec) for role in write(spec, DIALECTS[name], mark=False).names}


LOOK_ALIKE: Mapping[str, str] = {
    "portable": "is vLLM's folder with SGLang's keys; only our mark tells it from either",
    "trtllm": "is SGLang's folder with another class",
    "tokenspeed": "is SGLang's folder of one layer",
    "sglang": "an MLA drafter without a list, or with one, looks like TorchSpec's export",
    "vllm": "an MLA drafter without a list looks like TorchSpec's export",
    "torchspec": "writes the version of the release that trained it, which a conversion must not invent",
}
"""Dialects whose unmarked files need `--from` at least for some drafters, and why."""


@pytest.mark.parametrize("name", sorted(set(WRITABLE) - LOOK_ALIKE.keys()))
@settings(max_examples=40)
@given(some.data())
def test_an_unmarked_file_of_a_dialect_with_signs_of_its_own_is_recognised(name, data):
    spec = fitted(data.draw(specs()), DIALECTS[name])
    outcome, _ = written_and_read(spec, name, mark=False, given=replace(given_for(spec, name), dialect=None))
    assert outcome.dialect.name == name


@pytest.mark.parametrize("name", ["vllm", "sglang"])
@settings(max_examples=40)
@given(some.data())
def test_an_unmarked_gqa_drafter_with_a_list_is_recognised_as_its_reader_s(name, data):
    ordinary = specs().filter(lambda spec: spec.attention is Attention.GQA and spec.aux_layers != ())
    spec = fitted(data.draw(ordinary), DIALECTS[name])
    outcome, _ = written_and_read(spec, name, mark=False, given=replace(given_for(spec, name), dialect=None))
    assert outcome.dialect.name == name


def test_a_mark_that_a_trainer_carried_along_does_not_outweigh_the_tensors(tmp_path):
    folder = folder_of(tmp_path / "drafter", PLAIN, DIALECTS["specforge"])
    config = json.loads((folder / "config.json").read_text())
    config["eaglekit"]["dialect"] = "vllm"
    (folder / "config.json").write_text(json.dumps(config))
    assert read(open_folder(folder)).dialect.name == "specforge"
