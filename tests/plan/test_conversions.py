"""Between any two dialects: bytes out are bytes in, the meaning stays, and the same input gives the same output."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.dialects.tables import DIALECTS
from eaglekit.dialects.tables.groups import NEEDS_EMBEDDING
from eaglekit.dialects.writing import as_written, write
from eaglekit.drafter import Spec
from eaglekit.drafter.parts import Part, Role
from eaglekit.plan.checking import check
from eaglekit.report.schemas import problems
from tests.dialects.folders import content_of, contents, differences, files_of, folder_of
from tests.dialects.strategies import fitted, specs
from tests.plan.converting import converted, planned, tensors_of

ONLY_SPECULATORS = ("target_architecture", "speculative_tokens")
"""Facts that no other dialect stores."""
NESTED = {"eagle_config", "eaglekit", "transformer_layer_config", "speculators_config"}
"""Objects inside configs whose keys are rows of their own."""
WRITABLE = [d.name for d in DIALECTS.values() if d.writable and d.container == "safetensors"]
"""GGUF has tests of its own: test_gguf.py."""


@dataclass(frozen=True)
class Conversion:
    """A drafter, its folder, and the folder it was converted to."""

    spec: Spec
    source: Path
    result: Path
    to: str
    options: dict[str, Any]
    """What the conversion was asked for."""


@contextmanager
def conversion(data: some.DataObject, to: str) -> Iterator[Conversion]:
    """A random drafter, written in a random dialect and converted to `to`."""
    # Of files that never hold an embedding nothing that needs one can be made without a target.
    needs_embedding = NEEDS_EMBEDDING in DIALECTS[to].limits
    starts = [name for name in WRITABLE if DIALECTS[name].writes_embedding or not needs_embedding]
    start = data.draw(some.sampled_from(starts))
    spec = data.draw(specs())
    for name in (start, to, start, to):
        spec = fitted(spec, DIALECTS[name])
    spec = as_written(spec, DIALECTS[start])
    options: dict[str, Any] = {"to": to}
    if not DIALECTS[to].writes_embedding and spec.own_embedding:
        options["embedding"] = "drop"
    if to == "speculators":
        options["given"] = Given(facts={"speculative_tokens": spec.speculative_tokens})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder_of(folder / "source", spec, DIALECTS[start], shards=data.draw(some.integers(1, 3)))
        yield Conversion(spec, source, converted(source, folder / "result", **options), to, options)


def kept_order(spec: Spec, to: str) -> bool:
    """Whether the rows of the head stay in their order."""
    ids = spec.target_ids
    return ids is None or not DIALECTS[to].map_must_ascend or list(ids) == sorted(ids)


@pytest.mark.parametrize("to", WRITABLE)
@settings(max_examples=15)
@given(some.data())
def test_every_byte_that_is_written_was_read(to, data):
    with conversion(data, to) as done:
        names = write(as_written(done.spec, DIALECTS[to]), DIALECTS[to]).names
        made = {Role(Part.DRAFT_TO_TARGET), Role(Part.TARGET_MASK)}
        made |= set() if kept_order(done.spec, to) else {Role(Part.HEAD)}
        expected = {name: content_of(role, done.spec) for role in names.keys() - made for name in names[role]}
        found = tensors_of(done.result)
        assert {name: found[name] for name in expected} == expected
        assert found.keys() - expected.keys() == {name for role in names.keys() & made for name in names[role]}


@pytest.mark.parametrize("to", WRITABLE)
@settings(max_examples=15)
@given(some.data())
def test_the_result_means_what_the_source_meant(to, data):
    with conversion(data, to) as done:
        before, after = (read(open_folder(folder)).drafter_or_refuse().spec for folder in (done.source, done.result))
        changing = () if kept_order(done.spec, to) else ("target_ids",)
        assert differences(as_written(before, DIALECTS[to]), after, (*changing, *ONLY_SPECULATORS)) == {}


@pytest.mark.parametrize("to", WRITABLE)
@settings(max_examples=12)
@given(some.data())
def test_every_draft_token_keeps_the_row_of_its_target_token(to, data):
    with conversion(data, to) as done:
        rows = []
        for folder in (done.source, done.result):
            checkpoint = open_folder(folder)
            drafter = read(checkpoint).drafter_or_refuse()
            rows.append(rows_by_token(drafter.spec, contents(checkpoint, drafter).get(Role(Part.HEAD))))
        assert rows[0] == rows[1]


def rows_by_token(spec, head):
    """Target token -> the bytes of its row of the head."""
    if head is None:
        return {}
    width = len(head.data) // head.shape[0]
    ids = spec.target_ids or range(spec.draft_vocab_size)
    return {token: head.data[row * width : (row + 1) * width] for row, token in enumerate(ids)}


@pytest.mark.parametrize("to", WRITABLE)
@settings(max_examples=8)
@given(some.data())
def test_converting_twice_gives_the_same_folder(to, data):
    with conversion(data, to) as done:
        again = converted(done.source, done.result.with_name("again"), **done.options)
        assert files_of(again) == files_of(done.result)


@pytest.mark.parametrize("to", WRITABLE)
@settings(max_examples=12)
@given(some.data())
def test_converting_the_result_again_changes_neither_config_nor_weights(to, data):
    with conversion(data, to) as done:
        again = converted(done.result, done.result.with_name("again"), to=to)
        first, second = files_of(done.result), files_of(again)
        assert {name: second[name] for name in ("config.json", "model.safetensors")} == {
            name: first[name] for name in ("config.json", "model.safetensors")
        }


@pytest.mark.parametrize("to", WRITABLE)
@settings(max_examples=8)
@given(some.data())
def test_the_written_config_is_valid_and_one_more_key_makes_it_invalid(to, data):
    with conversion(data, to) as done:
        config = json.loads((done.result / "config.json").read_text())
        assert problems(config, f"config.{to}") == []
        assert problems({**config, "surprise": 1}, f"config.{to}") != []
        for name in NESTED & config.keys():
            assert problems({**config, name: {**config[name], "surprise": 1}}, f"config.{to}") != []


@pytest.mark.parametrize("to", WRITABLE)
@settings(max_examples=25)
@given(some.data())
def test_a_plan_as_it_was_made_passes_the_check_of_edited_plans(to, data):
    with conversion(data, to) as done:
        more = {
            "dtype": data.draw(some.sampled_from((None, "F32", "BF16"))),
            "max_shard_bytes": data.draw(some.sampled_from((None, 100, 1000))),
            "sort_vocabulary": data.draw(some.booleans()),
        }
        plan = planned(done.source, **{**done.options, **more})
        assert check(plan, open_folder(done.source), None) == []
