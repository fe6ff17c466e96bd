"""A row is called `run here` when a test of ours tries it on the engine. For vLLM: tests/live/test_trials.py."""

from __future__ import annotations

import ast
from pathlib import Path

from eaglekit.engines import ENGINES, Confirmation
from tests.llamacpp.tried import TRIED

LLAMA_CPP = ENGINES["llama.cpp"]
SERVED = Path(__file__).parents[1] / "llamacpp"


def test_what_the_table_calls_run_on_llama_cpp_is_what_its_suite_tries() -> None:
    run = {row.feature for row in LLAMA_CPP.rows if LLAMA_CPP.confirmation(row) is Confirmation.RUN}
    assert run == set(TRIED)


def test_every_trial_on_llama_cpp_is_there() -> None:
    trees = [ast.parse((SERVED / name).read_text()) for name in ("test_served.py", "variants.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    keys = {key.value for node in nodes if isinstance(node, ast.Dict) for key in node.keys
            if isinstance(key, ast.Constant)}  # fmt: skip
    assert set(TRIED.values()) <= names | keys


def test_a_row_for_targets_that_are_not_tried_is_not_called_run() -> None:
    rows = [row for row in LLAMA_CPP.rows if row.family]
    assert rows
    assert {LLAMA_CPP.confirmation(row) for row in rows} == {Confirmation.READ}
