"""GGUF drafters: what the gguf library writes is read with its meaning, its rows in a drafter's order."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from eaglekit.checkpoint.head_rows import halved, paired
from eaglekit.checkpoint.model import Tensor
from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import Read, read
from eaglekit.dialects.writing import impossible, write
from eaglekit.drafter import Attention, Feedback, Fusion, FusionNorm, Residual, Rope, Spec
from eaglekit.drafter.parts import Role
from eaglekit.report import Refusal
from tests.dialects.folders import Stored, differences
from tests.dialects.gguf_files import GGUF, gguf_of, meant
from tests.dialects.strategies import PLAIN, fitted, specs

UNSAID = ("target_architecture", "speculative_tokens")
"""Facts that a GGUF file has no place for."""


def contents(outcome: Read) -> dict[Role, Stored]:
    """What the roles of a reading hold, with their rows as a drafter has them."""
    return {
        role: Stored(tensor.dtype, tensor.shape, b"".join(outcome.checkpoint.pieces(tensor)))
        for role, tensor in outcome.drafter_or_refuse().tensors.items()
    }


@settings(max_examples=40)
@given(some.data())
def test_a_marked_file_says_everything_about_its_drafter_in_the_drafter_s_order(data):
    spec = fitted(data.draw(specs()), GGUF)
    with tempfile.TemporaryDirectory() as folder:
        outcome = read(open_folder(gguf_of(Path(folder) / "drafter.gguf", spec)))
        stored = contents(outcome)
    assert outcome.dialect.name == "gguf"
    assert [finding.code for finding in outcome.findings] == []
    assert differences(spec, outcome.drafter_or_refuse().spec, UNSAID) == {}
    assert stored == {role: meant(role, spec) for role in write(spec, GGUF).names}


@settings(max_examples=25)
@given(some.data())
def test_a_foreign_file_says_all_that_llama_cpp_is_told(data):
    spec = fitted(data.draw(specs()), GGUF)
    given_ = Given(aux_layers=spec.aux_layers, target_facts={"target_layers": spec.target_layers})
    with tempfile.TemporaryDirectory() as folder:
        outcome = read(open_folder(gguf_of(Path(folder) / "drafter.gguf", spec, mark=False)), given_)
        stored = contents(outcome)
    unsaid = (*UNSAID, "target_name", "target_family", "trained_context_length", "initializer_range", "token_ids")
    assert differences(spec, outcome.drafter_or_refuse().spec, unsaid) == {}
    assert stored == {role: meant(role, spec) for role in write(spec, GGUF).names}


def tensor(rows: int, columns: int) -> Tensor:
    return Tensor("q", "F32", (rows, columns), "a", 0, rows * columns * 4)


def seen(view: Tensor, stored: np.ndarray) -> np.ndarray:
    """What a view shows of `stored`."""
    from eaglekit.checkpoint.gathering import gather

    data = stored.tobytes()
    return np.frombuffer(b"".join(gather(lambda a, b: data[a:b], view, 64)), np.float32).reshape(stored.shape)


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("width", [2, 4, 10])
def test_rows_in_pairs_are_put_in_halves_as_llama_cpp_s_converter_puts_halves_in_pairs(heads, width):
    rows = np.arange(heads * width * 3, dtype=np.float32).reshape(heads * width, 3)
    laid = rows.reshape(heads, 2, width // 2, 3).swapaxes(1, 2).reshape(rows.shape)
    plain = tensor(*rows.shape)
    assert (seen(halved(plain, heads), laid) == rows).all()
    assert (seen(paired(plain, heads), rows) == laid).all()


def test_a_view_turned_back_shows_what_is_stored():
    rows = np.arange(8 * 3, dtype=np.float32).reshape(8, 3)
    assert (seen(paired(halved(tensor(8, 3), 2), 2), rows) == rows).all()


def test_rows_of_a_strided_matrix_are_regrouped_too():
    stored = np.arange(8 * 3, dtype=np.float32).reshape(3, 8)
    turned = replace(tensor(8, 3), strides=(1, 8))
    expected = stored.T.reshape(2, 2, 2, 3).swapaxes(1, 2).reshape(8, 3)
    assert (seen(paired(turned, 2), stored).reshape(8, 3) == expected).all()


CANNOT = {
    "fc_norm": {"fusion_norm": FusionNorm.PER_STATE},
    "norm_output": {"feedback": Feedback.NORMED},
    "two layers": {"num_layers": 2},
    "four states": {"num_aux_states": 4, "aux_layers": (3, 8, 17, 30)},
    "q/k norms": {"qk_norm": True},
    "biases": {"attention_bias": True},
    "a bias of fc": {"fusion_bias": True},
    "parallel drafting": {"parallel_drafting": True, "mask_token_id": 3},
    "the final state": {"fusion": Fusion.FINAL_STATE, "num_aux_states": 1, "aux_layers": ()},
    "another activation": {"hidden_act": "gelu_pytorch_tanh"},
    "yarn": {"rope": Rope(10000.0, "yarn", {"factor": 4.0, "original_max_position_embeddings": 32})},
    "no length": {"max_position_embeddings": None},
    "F64": {"dtype": "F64"},
    "MLA": {"attention": Attention.MLA, "kv_lora_rank": 6, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2,
            "v_head_dim": 5, "q_lora_rank": 5},
}  # fmt: skip


@pytest.mark.parametrize("what", CANNOT)
def test_what_llama_cpp_has_no_code_for_is_refused(what):
    (finding,) = impossible(PLAIN.replacing(**CANNOT[what]), GGUF)
    assert finding.code == "dialect-cannot-hold"


def test_everything_that_cannot_be_said_is_said_at_once():
    spec = PLAIN.replacing(fusion_norm=FusionNorm.PER_STATE, feedback=Feedback.NORMED, num_layers=2)
    assert len(impossible(spec, GGUF)) == 3


@pytest.mark.parametrize(
    "changes", [{"fusion_norm": FusionNorm.WHOLE}, {"residual": Residual.NORMED}, {"own_embedding": False}],
    ids=["norm_before_fc", "norm_before_residual", "the target's embedding"],
)  # fmt: skip
def test_what_llama_cpp_has_code_for_is_written(changes):
    assert impossible(PLAIN.replacing(**changes), GGUF) == []


def reading(folder: Path, metadata: dict[str, object], spec: Spec = PLAIN, **told: object) -> Read:
    return read(open_folder(gguf_of(folder / "drafter.gguf", spec, mark=False, metadata=metadata)), Given(**told))


def codes(outcome: Read) -> list[str]:
    return [finding.code for finding in outcome.findings]


def test_the_vocabulary_is_counted_from_the_tokens_when_nothing_else_says_it(tmp_path):
    spec = PLAIN.replacing(own_embedding=False, vocab_size=80)
    tokens = [f"token {number}" for number in range(80)]
    outcome = reading(tmp_path, {"eagle3.vocab_size": None, "tokenizer.ggml.tokens": tokens}, spec)
    assert outcome.drafter_or_refuse().spec.vocab_size == 80


def test_tokens_and_vocabulary_that_disagree_are_told(tmp_path):
    outcome = reading(tmp_path, {"tokenizer.ggml.tokens": ["a", "b"]})
    assert "config-conflict" in codes(outcome)


def test_a_head_rotated_in_part_is_no_drafter_of_llama_cpp(tmp_path):
    assert "config-conflict" in codes(reading(tmp_path, {"eagle3.rope.dimension_count": 4}))


def test_a_kind_of_rope_scaling_that_is_not_read_is_told_by_its_key(tmp_path):
    outcome = reading(tmp_path, {"eagle3.rope.scaling.type": "yarn", "eagle3.rope.scaling.factor": 4.0})
    assert next(f.place for f in outcome.findings if f.code == "config-wrong-value") == "metadata eagle3.rope.scaling"


@pytest.mark.parametrize("key", ["general.name", "tokenizer.ggml.pre", "quantize.imatrix"])
def test_a_key_that_says_nothing_about_the_drafter_is_left_behind_with_its_reason(tmp_path, key):
    assert key in dict(
        reading(tmp_path, {f"{key}.file" if key == "quantize.imatrix" else key: "something"}).dropped_keys
    )


def test_a_key_of_the_model_that_no_row_knows_is_told(tmp_path):
    assert "config-key-unknown" in codes(reading(tmp_path, {"eagle3.expert_count": 8}))


def test_ids_past_the_vocabulary_are_told(tmp_path):
    outcome = reading(tmp_path, {"eagle3.vocab_size": 22}, PLAIN.replacing(own_embedding=False))
    assert "map-out-of-range" in codes(outcome)


def test_another_of_llama_cpp_s_models_is_no_drafter(tmp_path):
    file = gguf_of(tmp_path / "drafter.gguf", PLAIN, mark=False)
    # The same length, so that every offset stays right.
    file.write_bytes(file.read_bytes().replace(b"eagle3", b"llama3"))
    with pytest.raises(Refusal) as caught:
        read(open_folder(file))
    assert [finding.code for finding in caught.value.findings] == ["is-other-gguf"]
