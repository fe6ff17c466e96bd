"""What vLLM's reader of speculators configs keeps and loses."""

from __future__ import annotations

from dataclasses import replace

from eaglekit.engines import Feature
from tests.live.cases.case import LLAMA, MLA, QWEN3, TOP, Case, changed, rows, weights
from tests.live.material import HIDDEN, KINDS

F = Feature

_BASE, _EAGLE31 = KINDS["speculators-eagle3"], KINDS["speculators-eagle3.1"]
_BOTH = KINDS["speculators-norm_before_fc-norm_before_residual"]
_QWEN3, _PARALLEL = KINDS["speculators-qwen3"], KINDS["speculators-parallel"]
_NORMED = changed(_BASE, keys={"norm_before_residual": True})
_FC_NORMS = {name: one for n in range(3) for name, one in weights(f"fc_norm.{n}.weight", HIDDEN).items()}
_TOLD = {"parallel_drafting": True}
_WIDER = KINDS["llama-wider-than-target"]


def _wider() -> Case:
    flags = {"fc_norm": True, "target_hidden_size": HIDDEN}
    fixture = changed(_BASE, keys=flags, inner={"hidden_size": _WIDER.fixture.config["hidden_size"]}).fixture
    stored = replace(_WIDER, fixture=replace(fixture, tensors=_WIDER.fixture.tensors))
    return Case("speculators: a drafter wider than its target", rows(F.COPIED_KEYS, to=LLAMA), stored, truth=_WIDER)


def _qwen3() -> list[Case]:
    inner = {"model_type": "qwen3"}
    norms = {name: one for name, one in _QWEN3.fixture.tensors.items() if "q_norm" in name or "k_norm" in name}
    later = {name.replace("layers.0", "layers.1"): one for name, one in norms.items()}
    parallel = replace(changed(_PARALLEL, inner=inner, add=norms | later), target="qwen3")
    bare = changed(_QWEN3, keys={"norm_before_residual": None})
    return [
        Case("speculators: a Qwen3 layer in P-EAGLE", rows(F.COPIED_KEYS_PARALLEL, F.ARCHITECTURES, to=QWEN3), parallel,
             told=_TOLD),
        Case("speculators: a Qwen3 layer, norm_before_residual absent", rows(F.ASSUMED_RESIDUAL, to=QWEN3), bare,
             truth=_QWEN3, taken_for=changed(_QWEN3, keys={"norm_before_residual": True})),
        Case("speculators: a Qwen3 layer, layer ids inside its config only", rows(F.KEYS_LEFT_INSIDE, to=QWEN3),
             changed(_QWEN3, keys={TOP: None}, inner={TOP: [1, 3, 5]}), truth=_QWEN3, layers=(1, 3, 5)),
    ]  # fmt: skip


CASES = (
    *_qwen3(),
    Case("speculators: a Kimi layer", rows(F.SPECULATORS_CLASSES, to=MLA),
         changed(_BASE, inner={"model_type": "kimi_k2"}), truth=_BASE, error="Unsupported model_type kimi_k2"),
    Case("speculators", rows(F.SPECULATORS_FORMAT, F.SPECULATORS_TYPES, F.SPECULATORS_CLASSES, F.COPIED_KEYS, to=LLAMA),
         _BASE),
    Case("speculators: a key at the top that is not kept", rows(F.SPECULATORS_FORMAT, to=LLAMA),
         changed(_BASE, keys={"num_aux_hidden_states": 4}), truth=_BASE),
    Case("speculators: an unknown type", rows(F.SPECULATORS_TYPES, to=LLAMA),
         changed(_BASE, keys={"speculators_model_type": "eagle"}), truth=_BASE, error="Expected one of"),
    Case("speculators: a Qwen3 layer", rows(F.SPECULATORS_CLASSES, F.SPECULATORS_FORMAT, F.SPECULATORS_TYPES,
         F.COPIED_KEYS, to=QWEN3), _QWEN3),
    Case("speculators: a Mistral layer", rows(F.SPECULATORS_CLASSES, to=LLAMA),
         changed(_BASE, inner={"model_type": "mistral"}), truth=_BASE, error="Unsupported model_type mistral"),
    Case("speculators: no model_type", rows(F.SPECULATORS_CLASSES, to=LLAMA),
         changed(_BASE, inner={"model_type": None}), truth=_BASE),
    _wider(),
    Case("speculators: other layers", rows(F.COPIED_KEYS, to=LLAMA), changed(_BASE, keys={TOP: [1, 3, 5]}),
         layers=(1, 3, 5)),
    Case("speculators: both norms before", rows(F.COPIED_KEYS, to=LLAMA), _BOTH),
    Case("speculators: EAGLE 3.1", rows(F.COPIED_KEYS, to=LLAMA), _EAGLE31),
    Case("speculators: fc_norm inside the layer's config only", rows(F.KEYS_LEFT_INSIDE, to=LLAMA),
         changed(_EAGLE31, keys={"fc_norm": None}, inner={"fc_norm": True}), truth=_EAGLE31, error="'fc_norm'"),
    Case("speculators: norm_output inside the layer's config only", rows(F.KEYS_LEFT_INSIDE, to=LLAMA),
         changed(_EAGLE31, keys={"norm_output": None}, inner={"norm_output": True}), truth=_EAGLE31,
         taken_for=changed(_EAGLE31, keys={"norm_output": False})),
    Case("speculators: draft_vocab_size inside the layer's config only", rows(F.KEYS_LEFT_INSIDE, to=LLAMA),
         changed(_BASE, keys={"draft_vocab_size": None}, inner={"draft_vocab_size": 192}), truth=_BASE,
         error="draft_id_to_target_id"),
    Case("speculators: layer ids inside the layer's config only", rows(F.KEYS_LEFT_INSIDE, to=LLAMA),
         changed(_BASE, keys={TOP: None}, inner={TOP: [1, 3, 5]}), truth=_BASE, layers=(1, 3, 5)),
    Case("speculators: norm_before_residual absent, and meant", rows(F.ASSUMED_RESIDUAL, to=LLAMA),
         changed(_BASE, keys={"norm_before_residual": None}), truth=_NORMED),
    Case("speculators: norm_before_residual absent, and not meant", rows(F.ASSUMED_RESIDUAL, to=LLAMA),
         changed(_BASE, keys={"norm_before_residual": None}), truth=_BASE, taken_for=_NORMED),
    Case("speculators: P-EAGLE", rows(F.COPIED_KEYS_PARALLEL, F.SPECULATORS_TYPES, F.SPECULATORS_FORMAT, F.PARALLEL,
         F.ARCHITECTURES, to=LLAMA), _PARALLEL, told=_TOLD),
    Case("speculators: P-EAGLE with other layers", rows(F.COPIED_KEYS_PARALLEL, to=LLAMA),
         changed(_PARALLEL, keys={TOP: [1, 3, 5]}), layers=(1, 3, 5), told=_TOLD),
    Case("speculators: P-EAGLE with norm_before_residual", rows(F.COPIED_KEYS_PARALLEL, to=LLAMA),
         changed(_PARALLEL, keys={"norm_before_residual": True}), told=_TOLD),
    Case("speculators: P-EAGLE with norm_before_fc", rows(F.COPIED_KEYS_PARALLEL, to=LLAMA),
         changed(_PARALLEL, keys={"norm_before_fc": True}, add=weights("input_norm.weight", 3 * HIDDEN)), told=_TOLD),
    Case("speculators: P-EAGLE with state norms", rows(F.COPIED_KEYS_PARALLEL, to=LLAMA),
         changed(_PARALLEL, keys={"fc_norm": True}, add=_FC_NORMS), error="'fc_norm'", told=_TOLD),
    Case("speculators: P-EAGLE with state norms, said inside", rows(F.COPIED_KEYS_PARALLEL, to=LLAMA),
         changed(_PARALLEL, keys={"fc_norm": True}, inner={"fc_norm": True}, add=_FC_NORMS), told=_TOLD),
    Case("speculators: P-EAGLE with norm_output", rows(F.COPIED_KEYS_PARALLEL, to=LLAMA),
         changed(_PARALLEL, keys={"norm_output": True}), truth=_PARALLEL, told=_TOLD),
)  # fmt: skip
