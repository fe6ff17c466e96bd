"""Conversions to and from GGUF: the same drafter, byte for byte where the container allows, on disk and in a plan."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.dialects.tables import DIALECTS
from eaglekit.drafter import FusionNorm, Spec
from eaglekit.drafter.parts import NORMS, Part, Role
from eaglekit.plan.apply import apply
from eaglekit.plan.diff import diff
from eaglekit.plan.manifest import MANIFEST, parse_manifest
from eaglekit.plan.saved import load, save, verify
from eaglekit.report import Refusal
from tests.dialects.folders import Stored, content_of, differences, files_of, folder_of
from tests.dialects.gguf_files import GGUF, as_laid, gguf_of
from tests.dialects.strategies import PLAIN, fitted, specs
from tests.plan.converting import FAST, applied, converted, planned, refused

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FROM_LLAMA_CPP = FIXTURES / "llamacpp" / "drafter.gguf"
"""What llama.cpp's own converter makes of `fixtures/trained/llama-eagle3`."""
UNSAID = ("target_architecture", "speculative_tokens")


@dataclass(frozen=True)
class Written:
    """A drafter, its folder, and the folder with its GGUF file."""

    spec: Spec
    source: Path
    result: Path

    @property
    def file(self) -> Path:
        return self.result / "drafter.gguf"


@contextmanager
def written(data: some.DataObject) -> Iterator[Written]:
    """A random drafter that GGUF can hold, in vLLM's layout and in GGUF."""
    spec = data.draw(specs())
    for name in ("gguf", "vllm", "gguf"):
        spec = fitted(spec, DIALECTS[name])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder_of(folder / "source", spec, DIALECTS["vllm"], shards=data.draw(some.integers(1, 3)))
        yield Written(spec, source, converted(source, folder / "result", to="gguf"))


def in_f32(stored: Stored) -> Stored:
    """The same numbers in F32."""
    if stored.dtype == "BF16":
        wide = np.frombuffer(stored.data, "<u2").astype("<u4") << 16
    elif stored.dtype == "F16":
        with np.errstate(invalid="ignore"):
            wide = np.frombuffer(stored.data, "<f2").astype("<f4")
    else:
        wide = np.frombuffer(stored.data, "<f4")
    return Stored("F32", stored.shape, wide.tobytes())


@settings(max_examples=20)
@given(some.data())
def test_the_gguf_library_finds_every_tensor_as_llama_cpp_s_converter_lays_it(data):
    with written(data) as done:
        found = {tensor.name: bytes(tensor.data.tobytes()) for tensor in gguf.GGUFReader(done.file).tensors}
        expected = {}
        for row in GGUF.rows:
            role = Role(row.part, 0 if "{n}" in row.template else None)
            if row.name(0) not in found or role.part is Part.DRAFT_TO_TARGET:
                continue
            stored = content_of(role, done.spec)
            stored = in_f32(stored) if role.part in NORMS else stored
            expected[row.name(0)] = as_laid(role, stored, done.spec).tobytes()
        if done.spec.target_ids is not None:
            expected["d2t"] = np.array(done.spec.target_ids, "<i8").tobytes()
        assert found == expected


@settings(max_examples=20)
@given(some.data())
def test_what_was_written_is_read_as_the_same_drafter(data):
    with written(data) as done:
        outcome = read(open_folder(done.result))
        assert [finding.code for finding in outcome.findings] == []
        assert differences(done.spec, outcome.drafter_or_refuse().spec, UNSAID) == {}
        assert diff(read(open_folder(done.source)), outcome).ok


@settings(max_examples=12)
@given(some.data())
def test_there_and_back_gives_the_same_bytes_but_for_norms_which_stay_in_f32(data):
    with written(data) as done:
        back = converted(done.result, done.result.with_name("back"), to="vllm")
        first, second = (read(open_folder(folder)) for folder in (done.source, back))
        for role, tensor in first.drafter_or_refuse().tensors.items():
            stored = Stored(tensor.dtype, tensor.shape, b"".join(first.checkpoint.pieces(tensor)))
            other = second.drafter_or_refuse().tensors[role]
            found = Stored(other.dtype, other.shape, b"".join(second.checkpoint.pieces(other)))
            assert found == (in_f32(stored) if role.part in NORMS else stored)


@settings(max_examples=8)
@given(some.data())
def test_converting_again_gives_the_same_file(data):
    with written(data) as done:
        again = converted(done.source, done.result.with_name("again"), to="gguf")
        assert files_of(again) == files_of(done.result)
        from_itself = converted(done.result, done.result.with_name("itself"), to="gguf")
        assert (from_itself / "drafter.gguf").read_bytes() == done.file.read_bytes()


def folder(tmp_path: Path, spec: Spec = PLAIN) -> Path:
    return folder_of(tmp_path / "source", spec, DIALECTS["vllm"])


def test_a_gguf_folder_holds_the_file_its_manifest_and_its_provenance(tmp_path):
    result = converted(folder(tmp_path), tmp_path / "result", to="gguf")
    assert sorted(files_of(result)) == [MANIFEST, "drafter.gguf", "provenance.json"]
    listed = parse_manifest((result / MANIFEST).read_text())
    assert listed["drafter.gguf"].size_bytes == (result / "drafter.gguf").stat().st_size
    assert json.loads((result / "provenance.json").read_text())["function"] == "preserved"


def test_the_rows_of_a_strided_pickle_are_put_in_pairs_too(tmp_path):
    of_bin = converted(FIXTURES / "checkpoints" / "safeailab-llama-bin", tmp_path / "one", to="gguf", **TOLD)
    of_safetensors = converted(FIXTURES / "checkpoints" / "safeailab-llama", tmp_path / "two", to="gguf", **TOLD)
    assert (of_bin / "drafter.gguf").read_bytes() == (of_safetensors / "drafter.gguf").read_bytes()


TOLD = {"target": FIXTURES / "checkpoints" / "target-llama", "given": Given(aux_layers=(2, 4, 5))}


def test_norms_of_bf16_become_f32_and_nothing_is_rounded(tmp_path):
    plan = planned(folder(tmp_path), to="gguf")
    cast = {step.name: step.steps for step in plan.files["drafter.gguf"] if step.dtype == "F32"}
    assert set(cast.values()) == {("cast BF16 to F32",)}
    assert "dtype-cast" not in {finding.code for finding in plan.report.findings}


def test_rows_in_pairs_are_a_step_of_the_plan(tmp_path):
    steps = {step.name: step.steps for step in planned(folder(tmp_path), to="gguf").files["drafter.gguf"]}
    assert steps["blk.0.attn_q.weight"] == ("pair rows of 2 heads",)
    assert steps["blk.0.attn_k.weight"] == ("pair rows of 1 heads",)
    assert steps["blk.0.attn_v.weight"] == ()


def test_sorted_rows_and_ids_go_together(tmp_path):
    spec = replace(PLAIN, target_ids=(20, 1, 5, 8, 13, 2, 23))
    result = converted(folder(tmp_path, spec), tmp_path / "result", to="gguf", sort_vocabulary=True)
    outcome = read(open_folder(result))
    assert outcome.drafter_or_refuse().spec.target_ids == (1, 2, 5, 8, 13, 20, 23)
    assert diff(read(open_folder(tmp_path / "source")), outcome).ok


def test_another_dtype_is_cast_on_the_way(tmp_path):
    result = converted(folder(tmp_path), tmp_path / "result", to="gguf", dtype="F32")
    assert {tensor.dtype for tensor in open_folder(result).tensors.values()} == {"F32", "I64"}


def test_the_embedding_of_the_target_is_copied_in(tmp_path):
    source = FIXTURES / "trained" / "llama-eagle3"
    result = converted(source, tmp_path / "result", to="gguf", target=FIXTURES / "trained" / "llama", embedding="copy")
    assert "token_embd.weight" in open_folder(result).tensors


def test_a_size_of_shards_is_refused(tmp_path):
    findings = refused(lambda: planned(folder(tmp_path), to="gguf", max_shard_bytes=1000))
    assert findings["dialect-cannot-hold"].place == "--max-shard-size"


def test_what_gguf_cannot_say_is_refused_with_everything_else(tmp_path):
    spec = replace(PLAIN, fusion_norm=FusionNorm.PER_STATE, num_layers=2)
    with pytest.raises(Refusal) as caught:
        planned(folder_of(tmp_path / "source", spec, DIALECTS["vllm"]), to="gguf")
    assert [finding.code for finding in caught.value.report.errors] == ["dialect-cannot-hold"] * 2


def saved(tmp_path: Path) -> tuple[Path, Path]:
    """A source and the file of a saved plan that converts it to GGUF."""
    source = folder(tmp_path)
    save(planned(source, to="gguf"), tmp_path / "plan.json", open_folder(source), None)
    return source, tmp_path / "plan.json"


def test_a_saved_plan_writes_the_same_file(tmp_path):
    source, file = saved(tmp_path)
    plan, checkpoint = load(file), open_folder(source)
    verify(plan, checkpoint, None)
    apply(plan, tmp_path / "applied", source=checkpoint, wishes=FAST)
    at_once = converted(source, tmp_path / "at-once", to="gguf")
    assert (tmp_path / "applied" / "drafter.gguf").read_bytes() == (at_once / "drafter.gguf").read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [("pair rows of 2 heads", "pair rows of 3 heads"), ('"pair rows of 2 heads"', '"make contiguous"')],
    ids=["other heads", "no pairs"],
)
def test_a_plan_that_would_lay_rows_otherwise_is_refused(tmp_path, before, after):
    source, file = saved(tmp_path)
    plan = load(file)
    changed = tuple(
        replace(step, steps=tuple(json.loads(json.dumps(list(step.steps)).replace(before, after))))
        for step in plan.files["drafter.gguf"]
    )
    edited = replace(plan, files={"drafter.gguf": changed})
    with pytest.raises(Refusal, match="plan-invalid"):
        verify(edited, open_folder(source), None)


def test_a_plan_that_copies_offsets_where_ids_belong_is_refused(tmp_path):
    source, file = saved(tmp_path)
    plan = load(file)
    changed = tuple(
        replace(step, tensor="offsets") if step.origin == "map" else step for step in plan.files["drafter.gguf"]
    )
    with pytest.raises(Refusal, match="plan-invalid"):
        verify(replace(plan, files={"drafter.gguf": changed}), open_folder(source), None)


def test_a_plan_from_a_gguf_file_is_saved_and_applied(tmp_path):
    source = gguf_of(tmp_path / "source" / "any-name.gguf", PLAIN).parent
    save(planned(source, to="portable"), tmp_path / "plan.json", open_folder(source), None)
    plan = load(tmp_path / "plan.json")
    verify(plan, open_folder(source), None)
    applied(plan, source, tmp_path / "result")
    assert differences(PLAIN, read(open_folder(tmp_path / "result")).drafter_or_refuse().spec, UNSAID) == {}


def test_a_gguf_file_that_changes_while_it_is_converted_is_noticed(tmp_path):
    source = gguf_of(tmp_path / "source" / "any-name.gguf", PLAIN).parent
    plan, checkpoint = planned(source, to="portable"), open_folder(source)
    (source / "any-name.gguf").write_bytes((source / "any-name.gguf").read_bytes())
    findings = refused(lambda: apply(plan, tmp_path / "result", source=checkpoint, wishes=FAST))
    assert list(findings) == ["source-changed"]


def test_a_destination_beside_a_gguf_file_is_no_part_of_its_folder(tmp_path):
    source = gguf_of(tmp_path / "source" / "drafter.gguf", PLAIN)
    plan = planned(source.parent, to="portable")
    inside = source.parent / "result"
    assert list(refused(lambda: applied(plan, source.parent, inside))) == ["destination-inside-source"]


def test_llama_cpp_s_own_converter_makes_the_file_that_we_make(tmp_path):
    ours = converted(FIXTURES / "trained" / "llama-eagle3", tmp_path / "ours", to="gguf")
    first, second = open_folder(FROM_LLAMA_CPP), open_folder(ours)
    assert first.tensors.keys() == second.tensors.keys()
    for name, tensor in first.tensors.items():
        other = second.tensors[name]
        assert (name, tensor.dtype, tensor.shape) == (name, other.dtype, other.shape)
        assert b"".join(first.chunks(name)) == b"".join(second.chunks(name))
    said = first.config["eagle3"]
    assert {key: second.config["eagle3"][key] for key in said if key != "rope"} == {
        key: value for key, value in said.items() if key != "rope"
    }
    assert said["rope"].items() <= second.config["eagle3"]["rope"].items()


def test_llama_cpp_s_own_file_is_the_drafter_it_was_made_from():
    assert diff(read(open_folder(FROM_LLAMA_CPP)), read(open_folder(FIXTURES / "trained" / "llama-eagle3"))).ok
