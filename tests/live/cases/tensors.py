"""Tensors under other names, too many of them, too few of them."""

from __future__ import annotations

from collections.abc import Callable

from eaglekit.engines import Feature
from tests.live.cases.case import BASES, LLAMA, MLA, QWEN3, Case, changed, drafter, rows, weights
from tests.live.material import HIDDEN

F = Feature

_OUTSIDE = ("lm_head", "d2t", "t2d")
_ATTENTION = "layers.0.self_attn"
_LATER, _OTHER = "layers.1.input_layernorm.weight", "layers.1.hidden_norm.weight"


def _layers(spelling: str) -> Callable[[str], str]:
    return lambda name: name.replace("layers.0.", spelling)


def _outer(name: str) -> str:
    return name if name.startswith(_OUTSIDE) else f"model.{name}"


def _own_norm(name: str) -> str:
    return _OTHER if name == _LATER else name


def _of(to: str) -> list[Case]:
    base, two = BASES[to], drafter(to, f"table-{to}-two-layers", layers=2)
    wide = weights("input_norm.weight", 3 * HIDDEN)
    queries, into = ("q_b_proj", "q_b_proj") if to == MLA else ("q_proj", "qkv_proj")
    found = [
        Case(f"{to}: names under model.", rows(F.OUTER_PREFIX, to=to), changed(base, rename=_outer), truth=base,
             error="named 'model' in"),
        Case(f"{to}: midlayer for layer 0", rows(F.LAYER_NAMES, to=to), changed(base, rename=_layers("midlayer.")),
             truth=base),
        Case(f"{to}: midlayer with a number", rows(F.LAYER_NAMES, to=to), changed(base, rename=_layers("midlayer.0.")),
             truth=base, error="layers.0.0"),
        Case(f"{to}: a stranger", rows(F.UNEXPECTED_TENSOR, to=to), changed(base, add=weights("extra.weight", 4)),
             truth=base, error="'extra'"),
        Case(f"{to}: a bias of the MLP nobody asked for", rows(F.UNEXPECTED_BIAS, to=to),
             changed(base, add=weights("layers.0.mlp.up_proj.bias", 80)), truth=base),
        Case(f"{to}: no queries", rows(F.MISSING_TENSOR, to=to), changed(base, without=[f"{_ATTENTION}.{queries}"]),
             truth=base, untouched=(f"model.layers.0.self_attn.{into}.weight",)),
        Case(f"{to}: no fc", rows(F.MISSING_TENSOR, to=to), changed(base, without=["fc."]), truth=base,
             untouched=("model.fc.weight",)),
        Case(f"{to}: no final norm", rows(F.MISSING_TENSOR, to=to), changed(base, without=["norm."]), truth=base,
             untouched=("model.norm.weight",), ones=("model.norm.weight",)),
        Case(f"{to}: two layers", rows(F.DEPTH, F.LATER_NORM, to=to), two),
        Case(f"{to}: two layers said, one stored", rows(F.DEPTH, to=to), changed(base, keys={"num_hidden_layers": 2}),
             truth=base, untouched=("model.layers.1.mlp.down_proj.weight",)),
        Case(f"{to}: one layer said, two stored", rows(F.DEPTH, to=to), changed(two, keys={"num_hidden_layers": 1}),
             truth=two, error="layers.1"),
        Case(f"{to}: the later layer's norm under its other name", rows(F.LATER_NORM, to=to),
             changed(two, rename=_own_norm), truth=two, untouched=(f"model.{_LATER}",), ones=(f"model.{_LATER}",)),
    ]  # fmt: skip
    if to != MLA:
        whole = drafter(to, f"table-{to}-norm_before_fc", norm_before_fc=True)
        found += [
            Case(f"{to}: a bias of the queries nobody asked for", rows(F.UNEXPECTED_BIAS, to=to),
                 changed(base, add=weights(f"{_ATTENTION}.q_proj.bias", 128)), truth=base),
            Case(f"{to}: input_norm nobody asked for", rows(F.UNEXPECTED_INPUT_NORM, to=to),
                 changed(base, add=wide), truth=base),
            Case(f"{to}: input_norm without its flag", rows(F.UNEXPECTED_INPUT_NORM, to=to),
                 changed(whole, keys={"norm_before_fc": None}), truth=whole,
                 taken_for=changed(whole, keys={"norm_before_fc": False}, without=["input_norm"])),
        ]  # fmt: skip
    return found


CASES = tuple(case for to in (LLAMA, QWEN3, MLA) for case in _of(to))
