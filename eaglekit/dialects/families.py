"""Target families, and how each engine spells a captured layer of one. Boundary k inside, their spelling outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from eaglekit.report import Finding, Refusal


@dataclass(frozen=True, slots=True)
class IdRule:
    """How one reader understands a list of layer ids."""

    name: str
    encode: Callable[[Sequence[int], int | None], tuple[int, ...]]
    """Boundary indices, target depth -> ids. Raises `Inexpressible`."""
    decode: Callable[[Sequence[int], int | None], tuple[int, ...]]
    """Ids, target depth -> boundary indices."""
    says: str
    """What an id means, in one sentence."""
    source: str


class Inexpressible(ValueError):  # noqa: N818 - reads as what it says
    """These states cannot be asked for under this rule; the text says which and why."""


def _boundary(ids: Sequence[int], depth: int | None) -> tuple[int, ...]:
    return tuple(ids)


def _output_encode(boundaries: Sequence[int], depth: int | None) -> tuple[int, ...]:
    if 0 in boundaries:
        raise Inexpressible("boundary 0, the embeddings, is the output of no block")
    return tuple(k - 1 for k in boundaries)


def _output_decode(ids: Sequence[int], depth: int | None) -> tuple[int, ...]:
    return tuple(i + 1 for i in ids)


def _sglang_encode(boundaries: Sequence[int], depth: int | None) -> tuple[int, ...]:
    if depth is not None and depth in boundaries:
        raise Inexpressible(f"SGLang never captures boundary {depth}, the output of the last block, of such a target")
    return _output_encode(boundaries, depth)


def _sglang_deepseek_encode(boundaries: Sequence[int], depth: int | None) -> tuple[int, ...]:
    if depth is not None and depth in boundaries:
        raise Inexpressible(f"SGLang never captures boundary {depth}, the output of the last block, of such a target")
    if boundaries and boundaries[0] == 1:
        raise Inexpressible("an SGLang list that starts with 1 is shifted by one, so boundary 1 cannot come first")
    return tuple(boundaries)


def _sglang_deepseek_decode(ids: Sequence[int], depth: int | None) -> tuple[int, ...]:
    return tuple(i + 1 for i in ids) if ids and ids[0] == 1 else tuple(ids)


def _sglang_gpt_oss_encode(boundaries: Sequence[int], depth: int | None) -> tuple[int, ...]:
    if depth is not None and depth in boundaries:
        return tuple(boundaries)
    return _output_encode(boundaries, depth)


def _sglang_gpt_oss_decode(ids: Sequence[int], depth: int | None) -> tuple[int, ...]:
    return tuple(ids) if depth is not None and ids and max(ids) == depth else tuple(i + 1 for i in ids)


def _tokenspeed_encode(boundaries: Sequence[int], depth: int | None) -> tuple[int, ...]:
    if 0 in boundaries:
        raise Inexpressible("boundary 0, the embeddings, is the output of no block")
    return tuple(k if k == depth else k - 1 for k in boundaries)


def _tokenspeed_decode(ids: Sequence[int], depth: int | None) -> tuple[int, ...]:
    return tuple(i if i == depth else i + 1 for i in ids)


def _tokenspeed_deepseek_encode(boundaries: Sequence[int], depth: int | None) -> tuple[int, ...]:
    if depth is not None and depth in boundaries:
        raise Inexpressible(f"tokenspeed cannot capture boundary {depth} of such a target")
    return _output_encode(boundaries, depth)


BOUNDARY = IdRule(
    "boundary", _boundary, _boundary,
    "id k is the input of block k, so the state after k blocks; 0 = embeddings",
    "vllm/model_executor/models/interfaces.py EagleModelMixin",
)  # fmt: skip
OUTPUT_OF = IdRule(
    "output-of", _output_encode, _output_decode,
    "id j is the output of 0-based block j, which is boundary j+1",
    "SpecForge model_providers.py resolve_eagle_capture_layers; Model-Optimizer hf_eagle.py",
)  # fmt: skip
SGLANG = IdRule(
    "sglang", _sglang_encode, _output_decode,
    "explicit id j is the output of block j; the last block's output is never captured",
    "sglang/srt/models/llama.py set_eagle3_layers_to_capture",
)  # fmt: skip
SGLANG_DEEPSEEK = IdRule(
    "sglang-deepseek", _sglang_deepseek_encode, _sglang_deepseek_decode,
    "a list that starts with 1 is output-of, any other list is boundary indices (0.5.13 and later)",
    "sglang/srt/models/deepseek_v2.py set_eagle3_layers_to_capture; sgl-project/sglang#25454",
)  # fmt: skip
SGLANG_GPT_OSS = IdRule(
    "sglang-gpt-oss", _sglang_gpt_oss_encode, _sglang_gpt_oss_decode,
    "a list whose largest id is the target's depth is boundary indices (0.5.17 and later), any other is output-of",
    "sglang/srt/models/gpt_oss.py; sgl-project/sglang#32334",
)  # fmt: skip
TOKENSPEED = IdRule(
    "tokenspeed", _tokenspeed_encode, _tokenspeed_decode,
    "id j is the output of block j, except that the depth itself names the last block's output",
    "tokenspeed runtime/models/base/transformer_model.py",
)  # fmt: skip
TOKENSPEED_DEEPSEEK = IdRule(
    "tokenspeed-deepseek", _tokenspeed_deepseek_encode, _output_decode,
    "id j is the output of block j; the last block's output cannot be captured",
    "tokenspeed runtime/models/deepseek_v3.py",
)  # fmt: skip
TOKENSPEED_K3 = IdRule(
    "tokenspeed-kimi-k3", _boundary, _boundary,
    "id k is the state after k blocks",
    "tokenspeed runtime/models/kimi_k3.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Family:
    """Targets whose captured layers engines treat alike."""

    name: str
    model_types: tuple[str, ...]
    """transformers `model_type` of the text model."""
    sglang: IdRule = SGLANG
    tokenspeed: IdRule = TOKENSPEED


FAMILIES: Mapping[str, Family] = MappingProxyType({
    family.name: family
    for family in (
        Family("llama", ("llama", "mllama_text_model")),
        Family("llama4", ("llama4", "llama4_text")),
        Family("qwen2", ("qwen2", "qwen2_moe", "qwen2_5_vl", "qwen2_5_vl_text", "qwen2_vl_text")),
        Family("qwen3", ("qwen3", "qwen3_moe", "qwen3_next", "qwen3_5", "qwen3_5_moe", "qwen3_5_text", "qwen3_vl",
                         "qwen3_vl_text", "qwen3_vl_moe", "qwen3_vl_moe_text")),
        Family("deepseek", ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_k25"),
               SGLANG_DEEPSEEK, TOKENSPEED_DEEPSEEK),
        Family("kimi_k3", ("kimi_k3",), SGLANG, TOKENSPEED_K3),
        Family("glm4_moe_lite", ("glm4_moe_lite",), SGLANG_DEEPSEEK),
        Family("glm4", ("glm4", "glm4_moe")),
        Family("gpt_oss", ("gpt_oss",), SGLANG_GPT_OSS),
        Family("minimax_m2", ("minimax_m2",)),
        Family("minimax_m3", ("minimax_m3", "minimax_m3_text", "minimax_m3_vl")),
        Family("gemma", ("gemma2", "gemma3", "gemma3_text", "gemma4", "gemma4_text")),
        Family("mistral", ("mistral", "mixtral", "mistral3", "ministral3")),
        Family("phi3", ("phi3", "phi4")),
        Family("longcat", ("longcat_flash",), SGLANG, TOKENSPEED_DEEPSEEK),
        Family("other", ("hunyuan_v1_dense", "hunyuan_v1_moe", "ernie4_5", "ernie4_5_moe", "seed_oss", "bailing_moe",
                         "step3", "mimo", "olmo2", "olmo3", "granite", "deepseek_v4")),
    )
})  # fmt: skip
"""Family name -> family: a row of its own where some engine treats it differently, or where many look for it."""

ARCHITECTURES: Mapping[str, str] = MappingProxyType({
    "LlamaForCausalLM": "llama",
    "MllamaForConditionalGeneration": "llama",
    "Llama4ForCausalLM": "llama4",
    "Llama4ForConditionalGeneration": "llama4",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen2MoeForCausalLM": "qwen2_moe",
    "Qwen2_5_VLForConditionalGeneration": "qwen2_5_vl",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3MoeForCausalLM": "qwen3_moe",
    "Qwen3NextForCausalLM": "qwen3_next",
    "Qwen3VLForConditionalGeneration": "qwen3_vl",
    "Qwen3VLMoeForConditionalGeneration": "qwen3_vl_moe",
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "KimiK25ForConditionalGeneration": "kimi_k2",
    "Glm4MoeForCausalLM": "glm4_moe",
    "Glm4MoeLiteForCausalLM": "glm4_moe_lite",
    "GptOssForCausalLM": "gpt_oss",
    "MiniMaxM2ForCausalLM": "minimax_m2",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3_text",
    "Gemma3ForConditionalGeneration": "gemma3",
    "MistralForCausalLM": "mistral",
    "MixtralForCausalLM": "mixtral",
    "Mistral3ForConditionalGeneration": "mistral3",
    "Phi3ForCausalLM": "phi3",
    "LongcatFlashForCausalLM": "longcat_flash",
})  # fmt: skip
"""Class of a target, as speculators files name their verifier's -> its `model_type`."""

_BY_MODEL_TYPE = {model_type: family for family in FAMILIES.values() for model_type in family.model_types}


def family_of(model_type: str) -> Family | None:
    """The family of a transformers `model_type`, or of a family's own name; None when no row covers it."""
    return _BY_MODEL_TYPE.get(model_type) or FAMILIES.get(model_type)


def sglang_rule(spec_family: str | None) -> IdRule:
    """How SGLang reads explicit ids for this target. Raises `Refusal` when the family is not known."""
    return _family(spec_family, "SGLang").sglang


def tokenspeed_rule(spec_family: str | None) -> IdRule:
    """How tokenspeed reads ids for this target. Raises `Refusal` when the family is not known."""
    return _family(spec_family, "tokenspeed").tokenspeed


def _family(model_type: str | None, engine: str) -> Family:
    if model_type is None:
        raise Refusal(
            Finding(
                "target-family-unknown",
                f"how {engine} reads layer ids depends on the target's family, and the source does not say which it is",
                place="target",
                got="nothing",
                expected="a family: " + ", ".join(FAMILIES),
                hint="add --target PATH_OR_ID, or --target-family NAME",
            )
        )
    family = family_of(model_type)
    if family is None:
        raise Refusal(
            Finding(
                "target-family-unknown",
                f"no row says how {engine} reads layer ids for a target of model_type {model_type!r}",
                place="target",
                got=model_type,
                expected="a family: " + ", ".join(FAMILIES),
                hint="if the target's blocks are ordinary decoder layers, say --target-family other",
            )
        )
    return family
