"""Switches at the level vLLM reads and at the other, and parts that need one."""

from __future__ import annotations

from typing import Any

from eaglekit.engines import Feature, Verdict
from tests.live.cases.case import BASES, EAGLE31, LLAMA, MLA, QWEN3, TOP, Case, changed, drafter, rows, weights
from tests.live.material import HIDDEN, KINDS, Recorded, StandIn

F = Feature

_OLD = {f"fc_norm.{n}.": f"aux_norm_{name}." for n, name in enumerate(("low", "mid", "high"))}
_NORMS = tuple(f"model.fc_norm.{number}.weight" for number in range(3))
_ATTENTION_BIASES = {
    name: one
    for part, width in (("q", 128), ("k", 64), ("v", 64), ("o", HIDDEN))
    for name, one in weights(f"layers.0.self_attn.{part}_proj.bias", width).items()
}
_MLP_BIASES = {
    name: one
    for part, width in (("gate", 80), ("up", 80), ("down", HIDDEN))
    for name, one in weights(f"layers.0.mlp.{part}_proj.bias", width).items()
}


def _nested(**flags: bool) -> dict[str, Any]:
    """Flags in eagle_config, and not at the top."""
    return dict.fromkeys(flags) | {"eagle_config": dict(flags)}


def _old(name: str) -> str:
    for new, before in _OLD.items():
        name = name.replace(new, before)
    return name


def _final(to: str) -> Recorded:
    keys = {TOP: None, "num_aux_hidden_states": None, "eagle_config": {"use_aux_hidden_state": False}}
    return changed(BASES[to], keys=keys, without=["fc."])


def _of(to: str) -> list[Case]:
    base, new = BASES[to], EAGLE31[to]
    output = drafter(to, f"table-{to}-norm_output", norm_output=True)
    residual = drafter(to, f"table-{to}-norm_before_residual", norm_before_residual=True)
    biased = changed(base, keys={"mlp_bias": True}, add=_MLP_BIASES)
    return [
        Case(f"{to}: EAGLE 3.1", rows(F.FC_NORM, F.NORM_OUTPUT, to=to), new),
        Case(f"{to}: fc_norm in eagle_config", rows(F.FC_NORM, to=to), changed(new, keys=_nested(fc_norm=True)),
             truth=new, error="'fc_norm'"),
        Case(f"{to}: fc_norm without weights", rows(F.FC_NORM, F.MISSING_TENSOR, to=to),
             changed(new, without=["fc_norm."]), truth=new, untouched=_NORMS, ones=_NORMS),
        Case(f"{to}: state norms under their old names", rows(F.OLD_STATE_NORMS, to=to), changed(new, rename=_old),
             truth=new, error="aux_norm"),
        Case(f"{to}: norm_output", rows(F.NORM_OUTPUT, to=to), output),
        Case(f"{to}: norm_output in eagle_config", rows(F.NORM_OUTPUT, to=to),
             changed(output, keys=_nested(norm_output=True)), truth=output,
             taken_for=changed(output, keys={"norm_output": False})),
        Case(f"{to}: norm_before_residual", rows(F.NORM_BEFORE_RESIDUAL, to=to), residual),
        Case(f"{to}: norm_before_residual in eagle_config", rows(F.NORM_BEFORE_RESIDUAL, to=to),
             changed(residual, keys=_nested(norm_before_residual=True)), truth=residual,
             taken_for=changed(residual, keys={"norm_before_residual": False})),
        Case(f"{to}: MLP biases", rows(F.MLP_BIAS, to=to), biased, taken_for=biased if to == LLAMA else base),
        Case(f"{to}: a bias of fc", rows(F.FC_BIAS, to=to),
             changed(base, add=weights("fc.bias", HIDDEN)), taken_for=base),
        Case(f"{to}: the final state", rows(F.USE_AUX, to=to), _final(to), layers=(),
             on_v1=Verdict.REJECTS if to == MLA else Verdict.READS, error="is invalid for input" if to == MLA else ""),
    ]  # fmt: skip


def _whole(to: str) -> list[Case]:
    whole = drafter(to, f"table-{to}-norm_before_fc", norm_before_fc=True)
    contradicted = changed(whole, keys={"eagle_config": {"norm_before_fc": False}})
    biased = changed(BASES[to], keys={"attention_bias": True}, add=_ATTENTION_BIASES)
    nothing = StandIn("BF16", (HIDDEN,), bytes(2 * HIDDEN))
    unbiased_output = changed(biased, add={"layers.0.self_attn.o_proj.bias": nothing})
    without = changed(whole, keys={"norm_before_fc": False}, without=["input_norm"])
    return [
        Case(f"{to}: norm_before_fc", rows(F.NORM_BEFORE_FC, to=to), whole),
        Case(f"{to}: norm_before_fc in eagle_config", rows(F.NORM_BEFORE_FC, to=to),
             changed(whole, keys=_nested(norm_before_fc=True)), truth=whole),
        Case(f"{to}: norm_before_fc that eagle_config contradicts", rows(F.NORM_BEFORE_FC, to=to), contradicted,
             truth=whole, taken_for=without),
        Case(f"{to}: attention biases", rows(F.ATTENTION_BIAS, F.OUTPUT_BIAS, to=to), biased,
             taken_for=biased if to == LLAMA else unbiased_output),
    ]  # fmt: skip


CASES = (
    *(case for to in (LLAMA, QWEN3, MLA) for case in _of(to)),
    *(case for to in (LLAMA, QWEN3) for case in _whole(to)),
    Case("mla: norm_before_fc", rows(F.NORM_BEFORE_FC, to=MLA),
         changed(BASES[MLA], keys={"norm_before_fc": True}, add=weights("input_norm.weight", 3 * HIDDEN)),
         error="input_norm"),
    Case("llama: q/k norms", rows(F.QK_NORM, to=LLAMA),
         changed(BASES[QWEN3], keys={"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama"}),
         truth=BASES[QWEN3], error="_norm"),
    Case("qwen3: q/k norms", rows(F.QK_NORM, to=QWEN3), KINDS["qwen3-normed-queries"]),
    Case("qwen3: no q/k norms", rows(F.QK_NORM, to=QWEN3),
         changed(KINDS["qwen3-target"], keys={"architectures": ["Eagle3Qwen3ForCausalLM"], "model_type": "qwen3"}),
         truth=KINDS["qwen3-target"], ones=("model.layers.0.self_attn.q_norm.weight",)),
)  # fmt: skip
