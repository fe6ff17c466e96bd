"""K3: what is this thing?"""

from __future__ import annotations

import pytest

from tests.cases.builders import HIDDEN, PROJECTIONS, VOCABULARY, Folder, d0, random, t0
from tests.cases.running import BOUNDARY, convert, only, refused, spoken, target


def copied_depth() -> Folder:
    """D0 with the plain Llama class and a layer count that somebody copied from a target."""
    return d0().config_with(num_hidden_layers=40)


def eagle_1() -> Folder:
    return Folder(
        {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "vocab_size": VOCABULARY},
        {
            "fc.weight": random("fc of EAGLE-1", HIDDEN, 2 * HIDDEN),
            "layers.0.self_attn.q_proj.weight": random("q of EAGLE-1", 192, HIDDEN),
        },
    )


def small_model() -> Folder:
    """An ordinary model of 4 whole blocks, as one serves it for independent drafting."""
    tensors = {name: t0().tensors[name] for name in ("model.embed_tokens.weight", "lm_head.weight")}
    for n in range(4):
        for name, (rows, columns) in PROJECTIONS.items():
            width = HIDDEN if columns == 2 * HIDDEN and name[-6:-5] in "qkv" else columns
            tensors[f"model.layers.{n}.{name}.weight"] = random(f"{name} {n}", rows, width)
    return Folder(t0().config | {"num_hidden_layers": 4}, tensors)


def test_k3a_the_layer_count_is_corrected_to_1_and_reported(tmp_path):
    written = convert(tmp_path, copied_depth(), *BOUNDARY, "--target", target(tmp_path))
    assert written.config["num_hidden_layers"] == 1
    assert "num_hidden_layers 40, the tensors say 1" in written.findings("warning")["size-corrected"]["message"]


@pytest.mark.parametrize(
    ("layout", "architecture"),
    [
        ("portable", "LlamaForCausalLMEagle3"),
        ("vllm", "LlamaForCausalLMEagle3"),
        ("sglang", "LlamaForCausalLMEagle3"),
        ("speculators", "Eagle3DraftModel"),
    ],
)
def test_k3a_the_class_is_the_one_its_reader_registers(tmp_path, layout, architecture):
    named = ("--set", "target_name=org/t0", "--set", "speculative_tokens=3")
    written = convert(tmp_path, copied_depth(), *BOUNDARY, "--target", target(tmp_path), "--to", layout, *named)
    assert written.config["architectures"] == [architecture]


def test_k3a_the_serve_hint_names_the_eagle_3_method_of_each_engine(tmp_path):
    source, model = copied_depth().write(tmp_path / "source"), target(tmp_path)
    code, text = spoken("convert", source, tmp_path / "out", *BOUNDARY, "--target", model)
    assert code == 0
    assert '"method": "eagle3"' in text
    assert "--speculative-algorithm EAGLE3" in text


def test_k3b_an_eagle_1_drafter_needs_its_target_s_head_and_embedding(tmp_path):
    finding = only(refused(tmp_path, eagle_1()), "is-eagle-1")
    assert "EAGLE-1/2" in finding["message"]
    assert "whose head (and embedding, where none is stored)" in finding["hint"]


def test_k3c_a_target_is_refused_as_a_draft(tmp_path):
    finding = only(refused(tmp_path, t0()), "is-target")
    assert "--target" in finding["hint"]


def test_k3d_an_independent_draft_model_is_refused_as_eagle(tmp_path):
    finding = only(refused(tmp_path, small_model()), "is-target")
    assert "small draft model" in finding["message"]
    assert "draft-model method" in finding["hint"]
