"""The vocabulary map on its way: dropped where it maps nothing, encoded anew where it must be, sorted with the head."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as some

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.dialects.tables import DIALECTS
from tests.dialects.folders import Stored, folder_of, named_contents, put
from tests.dialects.strategies import PLAIN
from tests.plan.converting import converted, refused, tensors_of

FULL = replace(PLAIN, draft_vocab_size=24, target_ids=None)
IDS = PLAIN.target_ids


def integers(*values: int) -> Stored:
    return Stored("I64", (len(values),), struct.pack(f"<{len(values)}q", *values))


def source_with(path: Path, spec, tensors: dict[str, Stored | None], *, mark: bool = False) -> Path:
    """A vLLM folder of `spec` with tensors added, replaced, or (None) left out."""
    config = folder_of(path.with_name("plain"), spec, DIALECTS["vllm"], mark=mark) / "config.json"
    found = named_contents(spec, DIALECTS["vllm"]) | tensors
    kept = {name: stored for name, stored in found.items() if stored is not None}
    return put(path, json.loads(config.read_text()), kept)


SAID = {"dialect": "vllm", "aux_layers": PLAIN.aux_layers, "target_family": "llama"}


def test_a_map_that_maps_nothing_is_left_out(tmp_path):
    source = folder_of(tmp_path / "source", FULL, DIALECTS["specforge"])
    assert {"d2t", "t2d"} <= tensors_of(source).keys()
    assert not {"d2t", "t2d"} & tensors_of(converted(source, tmp_path / "out", to="vllm")).keys()


def test_a_layout_that_always_stores_a_map_gets_one_that_maps_nothing(tmp_path):
    source = folder_of(tmp_path / "source", FULL, DIALECTS["vllm"])
    out = tensors_of(converted(source, tmp_path / "out", to="specforge"))
    assert out["d2t"] == integers(*[0] * 24)
    assert out["t2d"] == Stored("BOOL", (24,), b"\1" * 24)


def test_a_permutation_of_the_whole_vocabulary_becomes_no_map_and_a_sorted_head(tmp_path):
    order = [*range(12, 24), *range(12)]
    offsets = integers(*(token - row for row, token in enumerate(order)))
    source = source_with(tmp_path / "source", FULL, {"d2t": offsets})
    out = tensors_of(converted(source, tmp_path / "out", given=Given(**SAID), to="vllm"))
    old = tensors_of(source)["lm_head.weight"].data
    width = len(old) // 24
    assert "d2t" not in out
    assert out["lm_head.weight"].data == old[12 * width :] + old[: 12 * width]


def test_a_map_of_absolute_ids_is_refused_with_the_way_out(tmp_path):
    source = source_with(tmp_path / "source", PLAIN, {"d2t": integers(*IDS), "t2d": None})
    found = refused(lambda: converted(source, tmp_path / "out", given=Given(**SAID)))
    assert "--set map=absolute" in found["map-absolute"].hint


def test_a_map_of_absolute_ids_is_encoded_as_offsets_when_that_is_said(tmp_path):
    source = source_with(tmp_path / "source", PLAIN, {"d2t": integers(*IDS), "t2d": None})
    out = tensors_of(converted(source, tmp_path / "out", given=Given(**SAID, facts={"map": "absolute"}), to="vllm"))
    assert out["d2t"] == integers(*(token - row for row, token in enumerate(IDS)))


def test_a_head_beside_an_absolute_map_keeps_its_rows(tmp_path):
    source = source_with(tmp_path / "source", PLAIN, {"d2t": integers(*IDS), "t2d": None})
    out = tensors_of(converted(source, tmp_path / "out", given=Given(**SAID, facts={"map": "absolute"}), to="vllm"))
    assert out["lm_head.weight"] == tensors_of(source)["lm_head.weight"]


def test_zeros_that_are_meant_are_read_again_without_a_question(tmp_path):
    spec = replace(PLAIN, target_ids=tuple(range(7)))
    source = source_with(tmp_path / "source", spec, {"t2d": None})
    assert "map-zeros" in refused(lambda: converted(source, tmp_path / "none", given=Given(**SAID)))
    out = converted(source, tmp_path / "out", given=Given(**SAID, facts={"map": "first"}), to="modelopt",
                    embedding="drop")  # fmt: skip
    assert read(open_folder(out)).drafter_or_refuse().spec.target_ids == tuple(range(7))


def test_a_missing_mask_is_made_from_the_map(tmp_path):
    source = source_with(tmp_path / "source", PLAIN, {"t2d": None})
    out = tensors_of(converted(source, tmp_path / "out", given=Given(**SAID), to="torchspec"))
    assert out["t2d"] == Stored("BOOL", (24,), bytes(token in IDS for token in range(24)))


@settings(max_examples=20)
@given(some.permutations(IDS))
def test_a_sorted_vocabulary_keeps_the_row_of_every_token(tmp_path_factory, order):
    folder = tmp_path_factory.mktemp("sorted")
    source = folder_of(folder / "source", replace(PLAIN, target_ids=tuple(order)), DIALECTS["vllm"])
    out = converted(source, folder / "out", to="vllm", sort_vocabulary=True)
    old, new = (tensors_of(path)["lm_head.weight"].data for path in (source, out))
    width = len(old) // 7
    rows = {token: old[row * width : (row + 1) * width] for row, token in enumerate(order)}
    assert new == b"".join(rows[token] for token in sorted(order))
    assert read(open_folder(out)).drafter_or_refuse().spec.target_ids == IDS


def test_a_vocabulary_in_frequency_order_stays_in_it_where_the_layout_allows(tmp_path):
    order = tuple(reversed(IDS))
    source = folder_of(tmp_path / "source", replace(PLAIN, target_ids=order), DIALECTS["vllm"])
    out = converted(source, tmp_path / "out")
    assert tensors_of(out)["d2t"] == tensors_of(source)["d2t"]
    assert tensors_of(out)["lm_head.weight"] == tensors_of(source)["lm_head.weight"]
