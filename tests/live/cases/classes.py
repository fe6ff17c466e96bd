"""Which class vLLM picks, by name and by model_type."""

from __future__ import annotations

from eaglekit.engines import Feature
from tests.live.cases.case import BASES, LLAMA, MLA, QWEN3, Case, changed, rows, weights
from tests.live.material import HIDDEN

F = Feature

_NAMES = {
    LLAMA: (
        "Eagle3LlamaForCausalLM", "LlamaForCausalLMEagle3", "Eagle3MiniMaxM2ForCausalLM", "Eagle3Qwen2_5vlForCausalLM",
        "Eagle3Qwen3vlForCausalLM",
    ),
    QWEN3: ("Eagle3Qwen3ForCausalLM",),
    MLA: ("Eagle3DeepseekV2ForCausalLM", "Eagle3DeepseekV3ForCausalLM"),
}  # fmt: skip
_PREFIXED = {LLAMA: "LlamaForCausalLM", QWEN3: "Qwen3ForCausalLM", MLA: "DeepseekV3ForCausalLM"}


def _direct_queries() -> Case:
    layer, base = "layers.0.self_attn", BASES[MLA]
    without = [f"{layer}.{name}" for name in ("q_a_proj", "q_a_layernorm", "q_b_proj")]
    stored = changed(base, without=without, add=weights(f"{layer}.q_proj.weight", 2 * (128 + 64), 2 * HIDDEN))
    stored.fixture.config["q_lora_rank"] = None  # type: ignore[index]
    return Case("an MLA drafter without a query rank", rows(F.QUERY_RANK, to=MLA), stored, error="fused_qkv_a_proj")


CASES = (
    *(
        Case(f"{to} by the name {name}", rows(F.ARCHITECTURES, to=to),
             changed(BASES[to], keys={"architectures": [name]}))
        for to, names in _NAMES.items()
        for name in names
    ),
    *(
        Case(f"{to} by the name {name}, before which Eagle3 is put", rows(F.LOOKUP, to=to),
             changed(BASES[to], keys={"architectures": [name]}))
        for to, name in _PREFIXED.items()
    ),
    *(
        Case(f"the name {name}, which Eagle3 before it spoils", rows(F.LOOKUP, to=LLAMA),
             changed(BASES[LLAMA], keys={"architectures": [name]}), error=f"Eagle3{name}")
        for name in ("PEagleDraftModel", "PeagleLlamaForCausalLM")
    ),
    *(
        Case(f"the name {name}, which is no model's without Eagle3", rows(F.LOOKUP, to=LLAMA),
             changed(BASES[LLAMA], keys={"architectures": [name]}), error=f"['{name}'] are not supported")
        for name in ("LlamaEagle3DraftModel", "Qwen3vlForCausalLM")
    ),
    *(
        Case(f"an MLA drafter of model_type {name}", rows(F.MODEL_TYPES, to=MLA),
             changed(BASES[MLA], keys={"model_type": name}))
        for name in ("kimi_k2", "axk1", "deepseek_v2")
    ),
    *(
        Case(f"an MLA drafter of model_type {name}", rows(F.OTHER_MODEL_TYPES, to=MLA),
             changed(BASES[MLA], keys={"model_type": name}), error=words)
        for name, words in (
            ("deepseek_v3", "MTP"), ("deepseek_v32", "MTP"), ("glm_moe_dsa", "MTP"),
            ("deepseek_mtp", "does not recognize"),
        )
    ),
    _direct_queries(),
)  # fmt: skip
