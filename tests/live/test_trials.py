"""What the engine table calls `run here` is run here: no row without a case, no case without a row. Needs no engine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from eaglekit.engines import ENGINES, Confirmation, Feature
from eaglekit.engines.rules import compose
from eaglekit.engines.tables.vllm import TRIALS
from tests.live.cases import CASES
from tests.live.cases.case import MLA
from tests.live.serving import import_vllm

VLLM = ENGINES["vllm"]
TRIED = {row for case in CASES.values() for row in case.rows}
READER = {
    Feature.SPECULATORS_FORMAT, Feature.SPECULATORS_TYPES, Feature.COPIED_KEYS, Feature.COPIED_KEYS_PARALLEL,
    Feature.KEYS_LEFT_INSIDE, Feature.ASSUMED_RESIDUAL,
}  # fmt: skip
"""Rows of the speculators reader, which gives no config to the MLA class."""
HELD = {
    (feature, drafter.name): row
    for drafter in VLLM.classes
    for feature, row in compose(VLLM, TRIALS.version, drafter=drafter.name, families=()).chosen.items()
}
"""What holds at the version that is tried."""


@pytest.mark.parametrize("drafter", [drafter.name for drafter in VLLM.classes])
def test_every_row_that_holds_for_a_class_is_tried_with_it(drafter: str) -> None:
    excused = {*TRIALS.untried, *(READER if drafter == MLA else ())}
    wanted = {feature for feature, to in HELD if to == drafter} - excused
    assert wanted - {feature for feature, to in TRIED if to == drafter} == set()


def test_rows_for_one_family_are_tried_with_a_target_of_it() -> None:
    families = {row.family for row in VLLM.rows if row.family and TRIALS.version in row.span}
    assert families == set(TRIALS.families) == {"deepseek"}
    assert CASES["mla: the target's embeddings"].stored.target == "deepseek"


def test_no_case_tries_a_row_that_is_not_there() -> None:
    features = {feature for feature, _ in HELD}
    assert {feature for feature, _ in TRIED} - features == set()


def test_no_reason_is_given_for_a_row_that_is_tried() -> None:
    assert {feature for feature, _ in TRIED} & set(TRIALS.untried) == set()


def test_what_the_table_calls_run_here_is_what_is_tried() -> None:
    run = {row.feature for row in VLLM.rows if VLLM.confirmation(row) is Confirmation.RUN}
    assert run == {feature for feature, _ in TRIED}


def test_a_row_of_older_versions_is_not_called_run() -> None:
    older = [row for row in VLLM.rows if TRIALS.version not in row.span]
    assert {VLLM.confirmation(row) for row in older} == {Confirmation.READ}


def test_a_row_known_from_a_thread_is_reported_where_not_every_release_was_read() -> None:
    threads = [row for row in ENGINES["tokenspeed"].rows if "#" in row.source]
    assert threads
    assert {ENGINES["tokenspeed"].confirmation(row) for row in threads} == {Confirmation.REPORTED}


@pytest.mark.engine
@pytest.mark.parametrize(
    ("keys", "ids"),
    [
        pytest.param({"eagle_aux_hidden_state_layer_ids": [1, 3, 6]}, (1, 3, 6), id="top level"),
        pytest.param({"eagle_config": {"layer_ids": [1, 3, 6]}}, (1, 3, 6), id="layer_ids in eagle_config"),
        pytest.param({"layer_ids": [1, 3, 6]}, None, id="layer_ids"),
        pytest.param({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 6]}}, None, id="eagle_config"),
    ],
)
def test_the_v2_runner_s_reader_finds_layer_ids_where_the_table_says(
    keys: dict[str, object], ids: tuple[int, ...] | None
) -> None:
    import_vllm()
    from vllm.v1.worker.gpu.spec_decode.eagle.eagle3_utils import get_eagle3_aux_layers_from_config

    config = SimpleNamespace(draft_model_config=SimpleNamespace(hf_config=SimpleNamespace(**keys)), method="eagle3")
    found = get_eagle3_aux_layers_from_config(config)
    assert (found and tuple(found)) == ids
