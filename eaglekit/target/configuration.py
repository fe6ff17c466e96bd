"""From a target's config.json to the config class of transformers, without running anything the folder brings."""

from collections.abc import Iterator, Mapping
from typing import Any

from huggingface_hub.errors import StrictDataclassError
from transformers import CONFIG_MAPPING, PretrainedConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from eaglekit.dialects.target import text_part
from eaglekit.report import Finding, Refusal

SAME_AS: Mapping[str, str] = {
    # Kimi K2 is DeepSeek V3 with other sizes; its own class is remote code.
    "kimi_k2": "deepseek_v3",
    "kimi_k25": "deepseek_v3",
}
"""Model types of text configs that transformers builds under another name."""

IGNORED = (
    "auto_map",
    "quantization_config",
    "compression_config",
    "torch_dtype",
    "dtype",
    "transformers_version",
    "name_or_path",
    "attn_implementation",
    "experts_implementation",
    "use_kernels",
    "model_type",
)
"""Keys that say how somebody stored or ran the model: code, kernels and dtypes are chosen here, not by the folder."""

ONLY: Mapping[str, Mapping[str, str]] = {"deepseek_v3": {"scoring_func": "sigmoid", "topk_method": "noaux_tc"}}
"""Keys that a class of transformers does not read -> the one value that its code stands for."""

BUILDING = (
    StrictDataclassError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RuntimeError,
)
"""What the config and model classes of transformers raise for values that cannot be."""

LARGEST = 1 << 31
"""Above every size a model has; a larger one would only be an allocation that fails later."""

COUNTED = ("layer", "layers", "experts", "labels")
"""Words of keys that count parts: config classes make lists of so many entries, whatever the weights hold."""
MOST_COUNTED = 10_000
"""Above every such count: a hundred times the blocks of the deepest model."""


def text_config(config: Mapping[str, Any], label: str) -> Mapping[str, Any]:
    """The part of a config that describes the text model, with the tie flag of the top level where it has none."""
    part, _ = text_part(config, label)
    inherited = {key: config[key] for key in ("tie_word_embeddings", "model_type") if key in config}
    return {**inherited, **part}


def transformers_config(text: Mapping[str, Any], label: str) -> PretrainedConfig:
    """The config as transformers' class for it. Raises `Refusal` for a family it has no causal LM of, or wrong values.

    Not one of the folder's own files is imported: what a config says about code and kernels is left out.
    """
    stated = text.get("model_type")
    name = SAME_AS.get(stated, stated) if isinstance(stated, str) else None
    other = [key for key, only in ONLY.get(str(name), {}).items() if text.get(key, only) not in (only, None)]
    if other:
        raise Refusal(*(config_refused(label, f"transformers knows no other {key}", text[key]) for key in other))
    if name is None or name not in CONFIG_MAPPING or name not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise Refusal(_unknown_family(stated, label))
    values = {key: value for key, value in text.items() if key not in IGNORED and not key.startswith("_")}
    try:
        made: PretrainedConfig = CONFIG_MAPPING[name].from_dict(values)
    except BUILDING as error:
        raise Refusal(config_refused(label, f"transformers refuses it ({type(error).__name__})", error)) from error
    return made


def refuse_large(config: Mapping[str, Any], label: str) -> None:
    """Raise `Refusal` for numbers larger than any model's, in whatever part of a config: nothing is built of them."""
    large = list(_large(config))
    if large:
        raise Refusal(
            *(config_refused(label, f"{key} is {value}, larger than any model's", value) for key, value in large)
        )


def _large(config: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, int]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _large(value, f"{inside}{key}.")
        elif type(value) is int:
            counts = not set(COUNTED).isdisjoint(key.split("_"))
            if abs(value) > (MOST_COUNTED if counts else LARGEST):
                yield f"{inside}{key}", value


def _unknown_family(stated: object, label: str) -> Finding:
    return Finding(
        "target-family-unsupported",
        f"transformers has no causal language model of type {stated!r}",
        place=f"{label} config.json model_type",
        got=repr(stated)[:80],
        expected="a model_type that transformers knows as a causal language model, or kimi_k2, kimi_k25",
        hint="upgrade transformers if the family is new; code that the folder brings is never run",
    )


def config_refused(label: str, what: str, got: object) -> Finding:
    """The finding for a config that the classes of transformers do not take."""
    return Finding(
        "target-config-refused",
        f"the config of target {label} cannot be built: {what}",
        place=f"{label} config.json",
        got=" ".join(str(got).split())[:200],
        hint="compare it with the config of the original model",
    )
