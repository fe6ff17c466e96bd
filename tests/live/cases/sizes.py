"""Vocabularies, heads, embeddings, activations, rope, and drafting in parallel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy

from eaglekit.engines import Feature
from tests.live.cases.case import BASES, LLAMA, MLA, QWEN3, Case, changed, drafter, rows, weights
from tests.live.material import GROUPED, HIDDEN, VOCABULARY, Recorded, StandIn

F = Feature

_ASCENDING = {"beta_fast": 32.0, "beta_slow": 1.0, "original_max_position_embeddings": 32}
_SCALED = {"rope_type": "yarn", "type": "yarn", "factor": 16.0, **_ASCENDING}
_MASK = weights("mask_hidden", 1, 1, 3 * HIDDEN)
_HOLDS_IDS = {"map": "absolute"}
_PARALLEL = {"parallel_drafting": True}


def _map(ids: Iterable[int], *, stored: Iterable[int]) -> dict[str, StandIn]:
    """`stored` as `d2t` of rows that stand for `ids`."""
    targets, numbers = list(ids), numpy.array(list(stored), "<i8")
    mask = numpy.isin(numpy.arange(VOCABULARY), targets).astype("u1")
    return {
        "d2t": StandIn("I64", (len(targets),), numbers.tobytes()),
        "t2d": StandIn("BOOL", (VOCABULARY,), mask.tobytes()),
    }


def _absolute(ids: range) -> dict[str, StandIn]:
    """A map that holds the ids themselves."""
    return _map(ids, stored=ids)


def _twice() -> dict[str, StandIn]:
    """A map of offsets to every second id."""
    return _map(range(0, 384, 2), stored=range(192))


def _identity(recorded: Recorded) -> Recorded:
    """The same drafter whose rows stand for the first ids."""
    return changed(recorded, add=_map(range(192), stored=[0] * 192))


def _of(to: str) -> list[Case]:
    whole = 512
    sizes = {"drafted": 192} if to == MLA else {}
    pruned = drafter(to, f"table-{to}-192-rows", **sizes)
    full = _full(to)
    zeros = _identity(pruned)
    return [
        Case(f"{to}: a pruned vocabulary", rows(F.PRUNED_HEAD, F.MAP, to=to), pruned),
        Case(f"{to}: a pruned vocabulary without t2d", rows(F.MAP, to=to), changed(pruned, without=["t2d"]),
             truth=pruned),
        Case(f"{to}: a pruned vocabulary that is not said", rows(F.DRAFT_VOCAB_ABSENT, F.PRUNED_HEAD, to=to),
             changed(pruned, keys={"draft_vocab_size": None}), truth=pruned, error="Error"),
        Case(f"{to}: the whole vocabulary", rows(F.HEAD_ABSENT, to=to), full),
        Case(f"{to}: the whole vocabulary, which is not said", rows(F.DRAFT_VOCAB_ABSENT, to=to),
             changed(full, keys={"draft_vocab_size": None}), truth=full),
        Case(f"{to}: the whole vocabulary with a map", rows(F.MAP_AT_FULL_VOCABULARY, to=to),
             changed(full, add={"d2t": StandIn("I64", (whole,), bytes(8 * whole))}), truth=full,
             error="draft_id_to_target_id"),
        Case(f"{to}: a pruned vocabulary without d2t", rows(F.MAP_ABSENT, to=to),
             changed(pruned, without=["d2t", "t2d"]), truth=pruned, taken_for=zeros),
        Case(f"{to}: a pruned vocabulary without d2t that needs none", rows(F.MAP_ABSENT, to=to),
             changed(zeros, without=["d2t", "t2d"]), truth=zeros),
        Case(f"{to}: a map past the vocabulary", rows(F.MAP_PAST_VOCABULARY, to=to),
             changed(pruned, add=_absolute(range(320, 512))), facts=_HOLDS_IDS, error="IndexError"),
        Case(f"{to}: a map of ids, which are taken for offsets", rows(F.MAP, to=to),
             changed(pruned, add=_absolute(range(192))), facts=_HOLDS_IDS, taken_for=changed(pruned, add=_twice())),
        Case(f"{to}: another vocab_size than the target's, all of it drafted", rows(F.VOCAB_SIZE, to=to),
             changed(full, keys={"vocab_size": 576}), truth=full, error="AssertionError"),
        Case(f"{to}: no head", rows(F.HEAD_ABSENT, to=to), changed(full, without=["lm_head."])),
        Case(f"{to}: an embedding of its own", rows(F.EMBEDDING, to=to),
             drafter(to, f"table-{to}-embedding", embedding=True)),
        Case(f"{to}: a rope base", rows(F.ROPE_THETA, to=to), changed(BASES[to], keys={"rope_theta": 700.0})),
        Case(f"{to}: a rope base in rope_parameters", rows(F.ROPE_THETA, to=to),
             changed(BASES[to], keys={"rope_theta": None, "rope_scaling": None,
                                      "rope_parameters": {"rope_type": "default", "rope_theta": 700.0}})),
        Case(f"{to}: rope scaling", rows(F.ROPE_SCALING, to=to),
             changed(BASES[to], keys={"rope_scaling": _SCALED, "max_position_embeddings": 512})),
    ]  # fmt: skip


def _full(to: str) -> Recorded:
    if to == MLA:
        return BASES[MLA]
    return drafter(to, f"table-{to}-whole", sizes=replace(GROUPED, drafted=VOCABULARY))


def _parallel(to: str) -> list[Case]:
    base = changed(drafter(to, f"table-{to}-parallel", embedding=True, parallel=True), add=_MASK)
    told = [
        Case(f"{to}: a mask token under {key}", rows(F.MASK_ID, F.PARALLEL, to=to), changed(base, keys={key: 7}),
             told=_PARALLEL)
        for key in ("mask_token_id", "pard_token", "ptd_token_id")
    ]  # fmt: skip
    both = changed(base, keys={"mask_token_id": 7, "pard_token": 9})
    none = changed(base, keys={"mask_token_id": 7}, without=["mask_hidden"])
    return [
        *told,
        Case(f"{to}: two mask tokens", rows(F.MASK_ID, to=to), both, truth=told[0].stored, told=_PARALLEL),
        Case(f"{to}: no mask token", rows(F.MASK_ID, to=to), base, truth=told[0].stored, told=_PARALLEL,
             error="mask_token_id"),
        Case(f"{to}: a mask token and no mask state, in parallel", rows(F.PARALLEL, to=to), none,
             truth=told[0].stored, told=_PARALLEL, error="mask_hidden"),
    ]  # fmt: skip


CASES = (
    *(case for to in (LLAMA, QWEN3, MLA) for case in _of(to)),
    *(case for to in (LLAMA, QWEN3) for case in _parallel(to)),
    Case("mla: a mask state", rows(F.PARALLEL, to=MLA),
         changed(BASES[MLA], keys={"mask_token_id": 7}, add=_MASK), error="mask_hidden", told=_PARALLEL),
    Case("llama: an activation it has not", rows(F.ACTIVATION, to=LLAMA),
         changed(BASES[LLAMA], keys={"hidden_act": "gelu"}), error="Unsupported activation"),
    Case("llama: a mask token and no mask state, one draft after another", rows(F.PARALLEL, F.MASK_ID, to=LLAMA),
         changed(BASES[LLAMA], keys={"mask_token_id": 7}), truth=BASES[LLAMA]),
)  # fmt: skip
