"""From a checkpoint to a drafter in memory: every part read, cast once, and checked before anything is computed."""

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

import torch
from torch import Tensor

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint import Tensor as Stored
from eaglekit.drafter import PARTS, Attention, Drafter, Part, Role, Spec
from eaglekit.drafter.parts import Kind
from eaglekit.drafter.sizes import expected_shape, roles_of, shape_in_symbols
from eaglekit.reference.frequencies import ORIGINAL
from eaglekit.reference.layer import ACTIVATIONS
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.rope import rotated_channels
from eaglekit.report import Finding
from eaglekit.report.model import refuse_if

FLOATS: Mapping[str, torch.dtype] = MappingProxyType({
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
})  # fmt: skip
"""Stored dtype -> torch's, of the weights a drafter may have."""

SHARED = (Part.EMBEDDING, Part.HEAD)
"""Parts that a drafter may leave to its target."""

NO_PARTS: Mapping[Part, Tensor] = MappingProxyType({})


def load(
    drafter: Drafter,
    checkpoint: Checkpoint,
    *,
    shared: Mapping[Part, Tensor] = NO_PARTS,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> ReferenceDrafter:
    """The drafter with every weight it needs, on `device` in `dtype`, whatever dtype the file has.

    `shared` holds the target's embedding and head; only what the drafter has not itself is taken from there. Raises
    `Refusal` with everything that is missing, has another shape than the spec says, or cannot be computed here.
    """
    spec = drafter.spec
    needed = [role for role in roles_of(spec) if PARTS[role.part].kind is Kind.FLOAT]
    borrowed = [part for part in SHARED if Role(part) not in needed]
    refuse_if(
        [
            *(finding for role in needed for finding in _check_stored(role, drafter)),
            *(finding for part in borrowed for finding in _check_shared(part, spec, shared)),
            *_check_computable(spec),
        ]
    )
    weights = {role: _read(checkpoint, drafter.tensors[role], role, spec, device, dtype) for role in needed}
    weights |= {Role(part): shared[part].to(device=device, dtype=dtype) for part in borrowed}
    return ReferenceDrafter(spec, MappingProxyType(weights))


def _read(
    checkpoint: Checkpoint, stored: Stored, role: Role, spec: Spec, device: torch.device | str, dtype: torch.dtype
) -> Tensor:
    """One tensor, cast piece by piece: never two whole copies of it."""
    weight = torch.empty(prod(stored.shape), dtype=dtype, device=device)
    filled = 0
    for chunk in checkpoint.pieces(stored):
        piece = torch.frombuffer(bytearray(chunk), dtype=FLOATS[stored.dtype])
        weight[filled : filled + len(piece)] = piece.to(device)
        filled += len(piece)
    return weight.view(expected_shape(role, spec))


def _check_stored(role: Role, drafter: Drafter) -> list[Finding]:
    """A part that the file must hold: there, in floating point, in the size that the spec gives it."""
    stored, expected = drafter.tensors.get(role), expected_shape(role, drafter.spec)
    symbols = f"{shape_in_symbols(role.part)} = {list(expected)}"
    if stored is None:
        return [
            Finding(
                "weight-missing", f"the drafter has no {role}", place=str(role), got="no tensor", expected=symbols,
                hint="`eaglekit inspect` says what the checkpoint lacks",
            )
        ]  # fmt: skip
    if stored.dtype not in FLOATS:
        return [
            Finding(
                "weight-dtype", f"{stored.name} is {stored.dtype}", place=stored.name, got=stored.dtype,
                expected=", ".join(FLOATS), hint="the reference drafter computes with plain weights only",
            )
        ]  # fmt: skip
    # The mask state is stored with leading ones; engines flatten it.
    if (stored.shape if role.part is not Part.MASK_STATE else (prod(stored.shape),)) == expected:
        return []
    return [
        Finding(
            "weight-shape", f"{stored.name} is {list(stored.shape)}, the spec makes {role} {list(expected)}",
            place=stored.name, got=str(list(stored.shape)), expected=symbols,
            hint="`eaglekit inspect` says which size the config and the tensors disagree about",
        )
    ]  # fmt: skip


def _check_shared(part: Part, spec: Spec, shared: Mapping[Part, Tensor]) -> list[Finding]:
    """A part that the target lends: given, and as wide as the drafter."""
    given, expected = shared.get(part), expected_shape(Role(part), spec)
    symbols = f"{shape_in_symbols(part)} = {list(expected)}"
    if given is None:
        return [
            Finding(
                "shared-part-needed", f"the drafter uses its target's {part.value}, and no target is given",
                place=part.value, got="neither stored nor lent", expected=symbols,
                hint="give the target it was trained for: --target PATH_OR_ID",
            )
        ]  # fmt: skip
    if tuple(given.shape) == expected:
        return []
    return [
        Finding(
            "shared-part-shape",
            f"the target's {part.value} is {list(given.shape)}, and the drafter, which has none of its own, "
            f"needs {list(expected)}",
            place=part.value, got=str(list(given.shape)), expected=symbols,
            hint="this is not the target the drafter was trained for, or the drafter has lost its own",
        )
    ]  # fmt: skip


def _check_computable(spec: Spec) -> list[Finding]:
    """What the spec may say and no definition covers."""
    findings = []
    if spec.hidden_act not in ACTIVATIONS:
        findings.append(
            Finding(
                "activation-unknown", f"the MLP's activation is {spec.hidden_act!r}", place="hidden_act",
                got=spec.hidden_act, expected=", ".join(sorted(ACTIVATIONS)),
                hint="take the name from the training run: --set hidden_act=NAME",
            )
        )  # fmt: skip
    channels = rotated_channels(spec)
    if channels % 2 or channels == 0:
        size = "qk_rope_head_dim" if spec.attention is Attention.MLA else "head_dim"
        findings.append(
            Finding(
                "rotation-impossible", f"{channels} channels of a head cannot be rotated in pairs", place=size,
                got=str(channels), expected="an even number", hint="one of the head sizes in the config is wrong",
            )
        )  # fmt: skip
    findings += _check_rope(spec, channels // 2)
    if spec.parallel_drafting and not 0 <= (-1 if spec.mask_token_id is None else spec.mask_token_id) < spec.vocab_size:
        findings.append(
            Finding(
                "mask-token", f"the mask token of parallel drafting is {spec.mask_token_id}", place="mask_token_id",
                got=str(spec.mask_token_id), expected=f"0..{spec.vocab_size - 1}",
                hint="take it from the training run: --set mask_token_id=N",
            )
        )  # fmt: skip
    return findings


def _check_rope(spec: Spec, pairs: int) -> list[Finding]:
    """Scalings that lack a number, or have a list of another length than there are pairs."""
    numbers, kind = spec.rope.parameters, spec.rope.kind
    findings = []
    if kind in ("yarn", "llama3", "longrope") and not numbers.get(ORIGINAL) and not spec.max_position_embeddings:
        findings.append(
            Finding(
                "fact-unknown", f"nothing says which length the {kind} rope starts from", place=f"rope {ORIGINAL}",
                got="neither the original length nor a position table", expected="a number of positions",
                hint="take it from the training run: --set max_position_embeddings=N",
            )
        )  # fmt: skip
    for key in ("short_factor", "long_factor") if kind == "longrope" else ():
        if len(numbers[key]) != pairs:
            findings.append(
                Finding(
                    "rotation-impossible", f"{key} has {len(numbers[key])} divisors for {pairs} pairs of channels",
                    place=f"rope {key}", got=str(len(numbers[key])), expected=str(pairs),
                    hint="the rope was copied from a model with other heads: take it from the training run",
                )
            )  # fmt: skip
    return findings
