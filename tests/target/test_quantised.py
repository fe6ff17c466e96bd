"""Targets that real quantisers wrote: streamed states are those of the weights that the quantisers' own code makes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.nn.functional import linear

from eaglekit.report import Refusal
from eaglekit.target.formats.fake_quantise import Order
from eaglekit.target.loading import load
from eaglekit.target.model import TargetModel
from eaglekit.target.reading import Reader
from eaglekit.target.settings import Settings
from eaglekit.target.streaming import run
from eaglekit.target.texts import Text
from tests.target.models import FIXTURES, codes, edit_config, edit_weights, expected, fixture, opened

NAMES = sorted(path.name for path in FIXTURES.iterdir())
WITH_LOGITS = [name for name in NAMES if name.startswith("llmcompressor")]


def recorded_text(name: str) -> Text:
    """The text that the fixture's script ran."""
    return Text("recorded", "", tuple(expected(name)["tokens"].tolist()), 1)


def opened_eager(folder: Path) -> TargetModel:
    """The target with the attention that the records were made with: which product adds up how decides the last bit."""
    model = opened(folder)
    model.skeleton.model.set_attn_implementation("eager")
    return model


def logits_of(model: TargetModel, text: Text, settings: Settings) -> torch.Tensor:
    """Logits over the whole vocabulary."""
    captured = run(model, [text], boundaries=[], settings=settings).texts[0]
    return linear(captured.final, model.head("cpu", settings.compute_dtype))


def plain_copy(model: TargetModel, folder: Path, dtype: torch.dtype) -> Path:
    """A folder with the weights of `model` dequantised to `dtype`, and its config."""
    folder.mkdir()
    tensors = {}
    with Reader(model.source) as reader:
        cpu = torch.device("cpu")
        for number, block in enumerate(model.blocks):
            for filling in block.fillings:
                kind = torch.float32 if filling.float32 else dtype
                tensors[f"model.layers.{number}.{filling.parameter}"] = load(filling.source, reader, kind, cpu)
            for expert, weights in enumerate(block.experts):
                for part, source in zip(("gate", "up", "down"), weights.sources, strict=True):
                    name = f"model.layers.{number}.{block.experts_path}.{expert}.{part}_proj.weight"
                    tensors[name] = load(source, reader, dtype, cpu)
        for filling in model.norm.fillings:
            tensors["model.norm.weight"] = load(filling.source, reader, dtype, cpu)
        tensors["model.embed_tokens.weight"] = load(model.embedding_source, reader, dtype, cpu)
        tensors["lm_head.weight"] = load(model.head_source, reader, dtype, cpu)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    source = model.source.local_path("config.json")
    assert source is not None
    (folder / "config.json").write_bytes(source.read_bytes())
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_dequantised_to_bf16_it_computes_what_transformers_computes_of_the_quantisers_own_weights(
    name: str, tmp_path: Path
) -> None:
    model = opened(fixture(name, tmp_path / "quantised"))
    recorded = expected(name)
    plain = opened_eager(plain_copy(model, tmp_path / "plain", torch.bfloat16))
    captured = run(plain, [recorded_text(name)], boundaries=range(plain.num_layers + 1)).texts[0]
    # Experts of a text are one product here and in the record, but not the same one; states are about 10.
    allowed = 2e-6 if model.skeleton.experts else 0.0
    states = recorded["w4a16/float32/hidden_states"]
    for boundary in range(plain.num_layers):
        torch.testing.assert_close(captured.states[:, boundary], states[boundary], rtol=0, atol=allowed)
    torch.testing.assert_close(captured.final, states[-1], rtol=0, atol=allowed)
    logits = linear(captured.final, plain.head("cpu", torch.float32))
    torch.testing.assert_close(logits, recorded["w4a16/float32/logits"], rtol=0, atol=allowed)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", NAMES)
def test_a_quantised_target_computes_what_its_dequantised_copy_computes(
    name: str, dtype: torch.dtype, tmp_path: Path
) -> None:
    model = opened(fixture(name, tmp_path / "quantised"))
    plain = opened(plain_copy(model, tmp_path / "plain", dtype))
    settings = Settings(dtype=dtype)
    one, other = (
        run(target, [recorded_text(name)], boundaries=[0, 1, 3], settings=settings).texts[0]
        for target in (model, plain)
    )
    assert torch.equal(one.states, other.states)
    assert torch.equal(one.final, other.final)


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_has_the_bytes_that_the_quantisers_own_code_makes(name: str, tmp_path: Path) -> None:
    model = opened(fixture(name, tmp_path))
    digests = {key: value for key, value in expected(name).items() if key.startswith("sha256/bfloat16/")}
    found = 0
    with Reader(model.source) as reader:
        for number, block in enumerate(model.blocks):
            sources = {f"{filling.parameter.removesuffix('.weight')}": filling.source for filling in block.fillings}
            for expert, weights in enumerate(block.experts):
                for part, source in zip(("gate", "up", "down"), weights.sources, strict=True):
                    sources[f"{block.experts_path}.{expert}.{part}_proj"] = source
            for path, source in sources.items():
                key = next((key for key in digests if key.endswith(f"layers.{number}.{path}")), None)
                if key is None:
                    continue
                # ModelOpt's own code has no minus zero.
                weight = load(source, reader, torch.bfloat16, torch.device("cpu")) + 0
                raw = weight.contiguous().view(torch.uint8).numpy().tobytes()
                assert list(hashlib.sha256(raw).digest()) == digests[key].tolist(), path
                found += 1
    assert found == len(digests) > 0


@pytest.mark.parametrize("name", [name for name in WITH_LOGITS if "a16" in name])
def test_weight_only_logits_equal_llmcompressors_own_to_the_last_bit(name: str, tmp_path: Path) -> None:
    model = opened_eager(fixture(name, tmp_path))
    logits = logits_of(model, recorded_text(name), Settings(dtype=torch.bfloat16))
    assert torch.equal(logits, expected(name)["producer/logits"])


@pytest.mark.parametrize("name", ["llmcompressor-llama-nvfp4", "llmcompressor-deepseek-v3-nvfp4"])
def test_w4a4_logits_in_llmcompressors_order_equal_its_own_to_the_last_bit(name: str, tmp_path: Path) -> None:
    model = opened_eager(fixture(name, tmp_path))
    settings = Settings(dtype=torch.bfloat16, activations="w4a4", order=Order.COMPRESSED_TENSORS)
    assert torch.equal(logits_of(model, recorded_text(name), settings), expected(name)["producer/logits"])


def test_w4a4_in_vllms_order_is_as_near_to_llmcompressors_as_two_orders_are(tmp_path: Path) -> None:
    name = "llmcompressor-llama-nvfp4"
    model = opened(fixture(name, tmp_path))
    reference = expected(name)["producer/logits"].float()

    def distance(settings: Settings) -> float:
        logits = logits_of(model, recorded_text(name), settings).float()
        return float((logits - reference).norm() / reference.norm())

    rounded = distance(Settings(dtype=torch.bfloat16, activations="w4a4"))
    kept = distance(Settings(dtype=torch.bfloat16))
    # Both orders flip a few codes of a random tiny model; that still brings it nearer than no rounding at all.
    assert 0 < rounded < kept < 0.25


def test_experts_share_the_largest_input_scale_in_vllms_order(tmp_path: Path) -> None:
    name = "llmcompressor-deepseek-v3-nvfp4"
    model = opened(fixture(name, tmp_path / "own"))
    settings = Settings(dtype=torch.bfloat16, activations="w4a4")
    shared = logits_of(model, recorded_text(name), settings)

    def merge(tensors: dict[str, torch.Tensor]) -> None:
        for part in ("gate_proj", "up_proj", "down_proj"):
            for layer in (1, 2):
                names = [key for key in tensors if f"layers.{layer}.mlp.experts." in key and f"{part}.input_g" in key]
                lowest = torch.stack([tensors[key] for key in names]).min()
                assert len(names) == 8
                tensors.update({key: lowest.reshape(1).clone() for key in names})

    edit_weights(fixture(name, tmp_path / "merged"), merge)
    assert torch.equal(logits_of(opened(tmp_path / "merged"), recorded_text(name), settings), shared)


@pytest.mark.parametrize("name", ["llmcompressor-qwen3-nvfp4a16", "modelopt-llama-fp8", "modelopt-llama-w4a16-nvfp4"])
def test_w4a4_of_a_target_without_input_scales_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        run(
            opened(fixture(name, tmp_path)),
            [recorded_text(name)],
            boundaries=[1],
            settings=Settings(activations="w4a4"),
        )
    assert codes(caught.value.findings) == {"activations-not-quantised"}


def test_w4a4_with_one_input_scale_missing_is_refused_by_name(tmp_path: Path) -> None:
    name = "modelopt-llama-nvfp4"
    edit_weights(fixture(name, tmp_path), lambda tensors: tensors.pop("model.layers.1.mlp.up_proj.input_scale"))
    with pytest.raises(Refusal) as caught:
        run(opened(tmp_path), [recorded_text(name)], boundaries=[1], settings=Settings(activations="w4a4"))
    (finding,) = caught.value.findings
    assert "layers.1.mlp.up_proj" in finding.message


def test_an_input_scale_of_zero_is_refused(tmp_path: Path) -> None:
    name = "modelopt-llama-nvfp4"
    edit_weights(
        fixture(name, tmp_path), lambda tensors: tensors["model.layers.1.mlp.up_proj.input_scale"].zero_() and None
    )
    with pytest.raises(Refusal) as caught:
        run(opened(tmp_path), [recorded_text(name)], boundaries=[1], settings=Settings(activations="w4a4"))
    assert codes(caught.value.findings) == {"quantisation-scale-invalid"}


@pytest.mark.parametrize("layout", ["kimi-k25-hub-layout", "kimi-k25-nvidia-layout"])
def test_every_layout_of_kimi_is_the_same_model(layout: str, tmp_path: Path) -> None:
    native, other = (opened(fixture(name, tmp_path / name)) for name in ("modelopt-kimi-k25-nvfp4-experts", layout))
    text = recorded_text(layout)
    one, two = (run(model, [text], boundaries=[0, 3]).texts[0] for model in (native, other))
    assert torch.equal(one.states, two.states)
    assert torch.equal(one.final, two.final)


def test_a_list_of_ignored_modules_decides_nothing(tmp_path: Path) -> None:
    name = "llmcompressor-llama-nvfp4"
    before = run(opened(fixture(name, tmp_path)), [recorded_text(name)], boundaries=[]).texts[0].final
    edit_config(tmp_path, quantization_config=None)
    after = run(opened(tmp_path), [recorded_text(name)], boundaries=[]).texts[0].final
    assert torch.equal(before, after)


def test_a_quantised_head_and_embedding_are_read_by_rows(tmp_path: Path) -> None:
    name = "modelopt-llama-nvfp4"
    model = opened(fixture(name, tmp_path))
    height = model.vocab_size

    def quantise(tensors: dict[str, torch.Tensor]) -> None:
        for table in ("model.embed_tokens", "lm_head"):
            del tensors[f"{table}.weight"]
            for suffix in ("weight", "weight_scale", "weight_scale_2"):
                part = tensors[f"model.layers.0.mlp.up_proj.{suffix}"]
                rows = [part] * -(-height // part.shape[0]) if part.ndim else []
                tensors[f"{table}.{suffix}"] = torch.cat(rows)[:height].clone() if rows else part.clone()

    edit_weights(tmp_path, quantise)
    model = opened(tmp_path)
    assert (model.embedding_source.format.name, model.head_source.format.name) == ("nvfp4-modelopt",) * 2
    captured = run(model, [recorded_text(name)], boundaries=[0]).texts[0]
    table = model.embedding("cpu", torch.float32)
    assert torch.equal(captured.states[:, 0], table[list(captured.text.tokens)])
    assert captured.argmax.tolist() == linear(captured.final, table).argmax(dim=-1).tolist()
