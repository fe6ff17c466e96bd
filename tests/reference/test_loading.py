"""From a checkpoint to a drafter in memory, and what is refused on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.drafter import Drafter, Part, Role, Rope, Spec
from eaglekit.drafter.sizes import expected_shape, roles_of
from eaglekit.reference.drafting import draft_everywhere
from eaglekit.reference.loading import load
from eaglekit.report import Finding, Refusal
from tests.reference.drafters import GROUPED, LATENT, drafter_of, text_of

CHECKPOINTS = Path(__file__).parents[2] / "fixtures" / "checkpoints"
SAVED = "producer-speculators-0.9-saved"


def opened(name: str) -> tuple[Drafter, Checkpoint]:
    checkpoint = open_folder(CHECKPOINTS / name)
    drafter = read(checkpoint, Given(aux_layers=(2, 4, 5), facts={"rope_theta": 1e4})).drafter
    assert drafter is not None
    return drafter, checkpoint


def refused(drafter: Drafter, checkpoint: Checkpoint, shared: Mapping[Part, torch.Tensor]) -> list[Finding]:
    with pytest.raises(Refusal) as refusal:
        load(drafter, checkpoint, shared=shared)
    return list(refusal.value.findings)


def lent(spec: Spec, *parts: Part) -> dict[Part, torch.Tensor]:
    return {part: torch.randn(expected_shape(Role(part), spec)) for part in parts}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_every_weight_is_what_the_file_holds_in_the_dtype_asked_for(dtype: torch.dtype) -> None:
    drafter, checkpoint = opened(SAVED)
    loaded = load(drafter, checkpoint, dtype=dtype)
    stored = load_file(CHECKPOINTS / SAVED / "model.safetensors")
    assert loaded.dtype == dtype
    for role, weight in loaded.weights.items():
        assert torch.equal(weight, stored[drafter.tensors[role].name].to(dtype)), role


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_any_stored_dtype_is_read(tmp_path: Path, stored: torch.dtype) -> None:
    weights = {role: weight.to(stored) for role, weight in drafter_of(GROUPED).weights.items()}
    loaded = load(*written(tmp_path, GROUPED, weights), dtype=torch.float64)
    for role, weight in weights.items():
        assert torch.equal(loaded.weights[role], weight.double()), role


def written(folder: Path, spec: Spec, weights: Mapping[Role, torch.Tensor]) -> tuple[Drafter, Checkpoint]:
    """A drafter whose tensors are named after their roles, and the checkpoint they lie in."""
    save_file({str(role): weight.contiguous() for role, weight in weights.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text("{}")
    checkpoint = open_folder(folder)
    return Drafter(spec, {role: checkpoint.tensors[str(role)] for role in weights}), checkpoint


def test_a_pickle_loads_as_its_safetensors_twin_does() -> None:
    shared = {Part.EMBEDDING: torch.zeros(320, 64)}
    twins = [load(*opened(name), shared=shared) for name in ("safeailab-llama", "safeailab-llama-bin")]
    for role, weight in twins[0].weights.items():
        assert torch.equal(weight, twins[1].weights[role]), role


def test_a_tensor_that_lies_strided_is_read_in_its_own_order(tmp_path: Path) -> None:
    spec, weights = GROUPED, {role: weight.float() for role, weight in drafter_of(GROUPED).weights.items()}
    turned = {str(role): weight.t().contiguous().t() for role, weight in weights.items() if weight.ndim == 2}
    torch.save({str(role): weight for role, weight in weights.items()} | turned, tmp_path / "pytorch_model.bin")
    (tmp_path / "config.json").write_text("{}")
    checkpoint = open_folder(tmp_path)
    loaded = load(Drafter(spec, {role: checkpoint.tensors[str(role)] for role in weights}), checkpoint)
    for role, weight in weights.items():
        assert torch.equal(loaded.weights[role], weight), role


def test_a_mask_state_with_leading_ones_is_flattened() -> None:
    drafter, checkpoint = opened("speculators-peagle")
    assert drafter.tensors[Role(Part.MASK_STATE)].shape == (1, 1, 96)
    loaded = load(drafter, checkpoint)
    assert loaded.weight(Part.MASK_STATE).shape == (96,)
    tokens, states = text_of(drafter.spec, 6)
    assert [step.depth for step in draft_everywhere(loaded, tokens, states, steps=3)] == [1, 2, 3]


def test_what_the_target_lends_is_used_where_the_drafter_has_none(tmp_path: Path) -> None:
    spec = replace(GROUPED, own_embedding=False, own_head=False)
    own = {role: weight for role, weight in drafter_of(spec).weights.items() if role in set(roles_of(spec))}
    shared = lent(spec, Part.EMBEDDING, Part.HEAD)
    loaded = load(*written(tmp_path, spec, own), shared=shared, dtype=torch.float64)
    assert torch.equal(loaded.weight(Part.EMBEDDING), shared[Part.EMBEDDING].double())
    assert torch.equal(loaded.weight(Part.HEAD), shared[Part.HEAD].double())


def test_what_the_drafter_has_itself_is_not_borrowed() -> None:
    drafter, checkpoint = opened(SAVED)
    loaded = load(drafter, checkpoint, shared=lent(drafter.spec, Part.EMBEDDING, Part.HEAD))
    stored = load_file(CHECKPOINTS / SAVED / "model.safetensors")
    assert torch.equal(loaded.weight(Part.EMBEDDING), stored["embed_tokens.weight"].float())
    assert torch.equal(loaded.weight(Part.HEAD), stored["lm_head.weight"].float())


def test_a_missing_embedding_and_head_are_asked_for_together() -> None:
    drafter, checkpoint = opened(SAVED)
    alone = replace(drafter, spec=replace(drafter.spec, own_embedding=False, own_head=False, target_ids=None))
    findings = refused(alone, checkpoint, {})
    assert [(finding.code, finding.place) for finding in findings] == [
        ("shared-part-needed", "embedding"),
        ("shared-part-needed", "head"),
    ]
    assert findings[0].message == "the drafter uses its target's embedding, and no target is given"


def test_an_embedding_of_another_target_is_refused() -> None:
    drafter, checkpoint = opened("safeailab-llama")
    [finding] = refused(drafter, checkpoint, {Part.EMBEDDING: torch.zeros(320, 32)})
    assert finding.code == "shared-part-shape"
    assert finding.got == "[320, 32]"
    assert finding.expected == "[V, H] = [320, 64]"


def test_every_weight_that_is_missing_is_named() -> None:
    drafter, checkpoint = opened(SAVED)
    gone = {Role(Part.QUERY, 0), Role(Part.FINAL_NORM)}
    kept = {role: stored for role, stored in drafter.tensors.items() if role not in gone}
    findings = refused(replace(drafter, tensors=kept), checkpoint, {})
    assert [(finding.code, finding.place) for finding in findings] == [
        ("weight-missing", "query 0"),
        ("weight-missing", "final norm"),
    ]


def test_a_weight_of_another_shape_is_refused() -> None:
    drafter, checkpoint = opened(SAVED)
    wide = replace(drafter, spec=replace(drafter.spec, intermediate_size=48))
    findings = refused(wide, checkpoint, {})
    assert {finding.code for finding in findings} == {"weight-shape"}
    assert [finding.got for finding in findings] == ["[40, 64]", "[40, 64]", "[64, 40]"]


def test_a_quantised_weight_is_refused() -> None:
    drafter, checkpoint = opened(SAVED)
    gate = Role(Part.GATE, 0)
    narrow = replace(drafter.tensors[gate], dtype="F8_E4M3")
    [finding] = refused(replace(drafter, tensors={**drafter.tensors, gate: narrow}), checkpoint, {})
    assert (finding.code, finding.got) == ("weight-dtype", "F8_E4M3")


@pytest.mark.parametrize(
    ("changes", "code", "place"),
    [
        pytest.param({"hidden_act": "situ"}, "activation-unknown", "hidden_act", id="activation"),
        pytest.param({"head_dim": 5}, "rotation-impossible", "head_dim", id="odd head"),
        pytest.param(
            {"rope": Rope(1e4, "llama3", {"factor": 2.0}), "max_position_embeddings": None},
            "fact-unknown", "rope original_max_position_embeddings", id="scaling from nowhere",
        ),
        pytest.param(
            {"rope": Rope(1e4, "longrope", {"short_factor": (1.0,) * 3, "long_factor": (1.0,) * 4})},
            "rotation-impossible", "rope long_factor", id="longrope of other heads",
        ),
        pytest.param({"parallel_drafting": True}, "mask-token", "mask_token_id", id="no mask token"),
        pytest.param(
            {"parallel_drafting": True, "mask_token_id": 40}, "mask-token", "mask_token_id", id="mask token outside"
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_is_refused_before_anything_is_read(
    tmp_path: Path, changes: dict[str, object], code: str, place: str
) -> None:
    spec = replace(GROUPED, **changes)
    drafter, checkpoint = written(tmp_path, spec, drafter_of(spec).weights)
    [finding] = refused(drafter, checkpoint, {})
    assert (finding.code, finding.place) == (code, place)


def test_an_odd_rotated_slice_of_latent_attention_is_refused(tmp_path: Path) -> None:
    spec = replace(LATENT, qk_rope_head_dim=3)
    [finding] = refused(*written(tmp_path, spec, drafter_of(spec).weights), {})
    assert (finding.code, finding.place) == ("rotation-impossible", "qk_rope_head_dim")


def test_a_tensor_is_cast_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drafter, checkpoint = written(tmp_path, GROUPED, drafter_of(GROUPED).weights)
    pieces = Checkpoint.chunks
    monkeypatch.setattr(Checkpoint, "chunks", lambda self, name: pieces(self, name, size_bytes=64))
    loaded = load(drafter, checkpoint, dtype=torch.float64)
    for role, weight in drafter_of(GROUPED).weights.items():
        assert torch.equal(loaded.weights[role], weight), role
