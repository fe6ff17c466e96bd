"""Codes for checkpoints that are no EAGLE-3 drafter."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

_HOW = "The shapes say what it is; config keys and folder names are often copied and do not count."


def _stranger(name: str, title: str, story: str) -> Code:
    return Code(name, Severity.ERROR, title, f"{story} {_HOW}", "The finding's hint says where to go with it.")


CODES: tuple[Code, ...] = (
    _stranger("is-lora", "a LoRA adapter", "It changes a model and is none."),
    _stranger("is-dflash", "a DFlash or DSpark drafter", "It drafts whole blocks and reads other states."),
    _stranger("is-medusa", "Medusa heads", "They have no attention and no captured states."),
    _stranger(
        "is-mtp", "a multi-token-prediction block", "It belongs to its target and is served from its checkpoint."
    ),
    _stranger("is-low-rank", "a drafter with a factored head", "No engine has such a module."),
    _stranger("is-moe-drafter", "a drafter with experts", "No engine has such a module."),
    _stranger("is-kimi-k3", "a Kimi K3 drafter", "Its attention has an output gate and no positions."),
    _stranger("is-enorm-eagle", "NVIDIA's older EAGLE variant", "It merges embedding and state before the layer."),
    _stranger(
        "is-eagle-1", "an EAGLE-1/2 drafter", "It reads one state through an fc of 2H and uses the target's head."
    ),
    _stranger(
        "is-other-gguf", "a GGUF file of another of llama.cpp's models", "Its general.architecture is not eagle3."
    ),
    _stranger("is-target", "an ordinary language model", "It has blocks, an embedding and a head, and no fc."),
)
