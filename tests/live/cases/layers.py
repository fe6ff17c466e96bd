"""Which layers are captured, and what fc is built for."""

from __future__ import annotations

from dataclasses import replace

from eaglekit.engines import Feature, Verdict
from tests.live.cases.case import BASES, LLAMA, MLA, QWEN3, TOP, Case, changed, drafter, rows
from tests.live.material import GROUPED, HIDDEN

F = Feature

_COUNT = "num_aux_hidden_states"
_OTHER = (1, 3, 6)


def _nested(ids: tuple[int, ...]) -> dict[str, object]:
    return {TOP: None, "eagle_config": {TOP: list(ids), "use_aux_hidden_state": True}}


def _of(to: str) -> list[Case]:
    base, four = BASES[to], drafter(to, f"table-{to}-four-states", states=(1, 3, 5, 7))
    plain_four = changed(four, keys={_COUNT: None})
    return [
        Case(f"{to}: ids at the top", rows(F.IDS, to=to), changed(base, keys={TOP: list(_OTHER)}), layers=_OTHER),
        Case(f"{to}: ids in eagle_config", rows(F.IDS, to=to), changed(base, keys=_nested(_OTHER)), truth=base,
             layers=_OTHER, on_v1=Verdict.READS),
        Case(f"{to}: ids at both levels", rows(F.IDS, to=to),
             changed(base, keys=_nested((2, 4, 5)) | {TOP: list(_OTHER)}), truth=base, layers=_OTHER),
        Case(f"{to}: layer_ids in eagle_config", rows(F.IDS, to=to),
             changed(base, keys={TOP: None, "eagle_config": {"layer_ids": list(_OTHER)}}),
             truth=base, layers=_OTHER, captured=(2, 4, 5), on_v1=Verdict.MISREADS),
        Case(f"{to}: ids one block early", rows(F.IDS, to=to), changed(base, keys={TOP: [1, 3, 4]}), truth=base,
             captured=(1, 3, 4)),
        Case(f"{to}: ids in no order, one of them twice", rows(F.IDS, to=to), changed(base, keys={TOP: [5, 2, 4, 2]}),
             truth=base),
        Case(f"{to}: no ids", rows(F.DEFAULT_IDS, to=to), changed(base, keys={TOP: None}), truth=base),
        Case(f"{to}: no ids where others are meant", rows(F.DEFAULT_IDS, to=to), changed(base, keys={TOP: None}),
             truth=base, layers=_OTHER, captured=(2, 4, 5)),
        Case(f"{to}: the last block's output", rows(F.LAST_BOUNDARY, to=to), changed(base, keys={TOP: [2, 4, 8]}),
             layers=(2, 4, 8)),
        Case(f"{to}: an id past the target", rows(F.IDS, to=to), changed(base, keys={TOP: [2, 4, 20]}), truth=base,
             error="RuntimeError"),
        Case(f"{to}: the target's embeddings", rows(F.FIRST_BOUNDARY, to=to), changed(base, keys={TOP: [0, 4, 5]}),
             layers=(0, 4, 5), error="TypeError" if to == MLA else ""),
        Case(f"{to}: four states and their number", rows(F.WIDTH, to=to), four, layers=(1, 3, 5, 7)),
        Case(f"{to}: four states, their number not said", rows(F.WIDTH, to=to), plain_four, truth=four,
             layers=(1, 3, 5, 7), error="" if to == QWEN3 else "AssertionError"),
        Case(f"{to}: four states, counted in eagle_config", rows(F.WIDTH, to=to),
             changed(four, keys=_nested((1, 3, 5, 7)) | {_COUNT: None}), truth=four, layers=(1, 3, 5, 7),
             on_v1=Verdict.READS),
        Case(f"{to}: four states said, three ids", rows(F.WIDTH, to=to), changed(four, keys={TOP: [1, 3, 5]}),
             truth=four, layers=(1, 3, 5, 7), error="RuntimeError"),
        Case(f"{to}: one state as wide as the drafter", rows(F.FC_BY_WIDTH, to=to),
             drafter(to, f"table-{to}-one-state", states=(4,)), layers=(4,)),
    ]  # fmt: skip


def _wider(to: str) -> list[Case]:
    size = replace(GROUPED, hidden=96)
    wide = drafter(to, f"table-{to}-wider", sizes=size, embedding=True, target_hidden_size=HIDDEN, fc_norm=True)
    return [
        Case(f"{to}: a drafter wider than its target", rows(F.TARGET_WIDTH, to=to), wide),
        Case(f"{to}: a drafter wider than its target, which is not said", rows(F.TARGET_WIDTH, to=to),
             changed(wide, keys={"target_hidden_size": None}), truth=wide, error="AssertionError"),
    ]  # fmt: skip


CASES = (
    *(case for to in (LLAMA, QWEN3) for case in _wider(to)),
    *(case for to in (LLAMA, QWEN3, MLA) for case in _of(to)),
    Case("qwen3: four states, counted by num_aux_layers", rows(F.WIDTH, to=QWEN3),
         changed(drafter(QWEN3, "table-qwen3-four-states", states=(1, 3, 5, 7)),
                 keys={_COUNT: None, "num_aux_layers": 4}), layers=(1, 3, 5, 7),
         truth=drafter(QWEN3, "table-qwen3-four-states", states=(1, 3, 5, 7))),
    Case("mla: target_hidden_size as wide as the drafter", rows(F.TARGET_WIDTH, to=MLA),
         changed(BASES[MLA], keys={"target_hidden_size": HIDDEN}), truth=BASES[MLA]),
)  # fmt: skip
