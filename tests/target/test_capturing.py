"""What would stop a capture later is refused before anything is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglekit.checkpoint import LocalFolder
from eaglekit.report import Refusal
from eaglekit.target.capturing import agreement, capture, prepare, report
from eaglekit.target.settings import Settings
from tests.target.models import codes, make


def prompts(folder: Path, **row: Any) -> Path:
    """One text of token ids."""
    file = folder / "prompts.jsonl"
    file.write_text(json.dumps({"prompt_token_ids": [5, 6, 7], "response_token_ids": [8, 9], **row}) + "\n")
    return file


@pytest.mark.parametrize(
    ("wishes", "code"),
    [
        pytest.param({"settings": Settings(memory_limit_bytes=10_000)}, "memory-limit-too-low", id="a low limit"),
        pytest.param(
            {"settings": Settings(activations="w4a4")}, "activations-not-quantised", id="w4a4 of plain weights"
        ),
        pytest.param({"new_tokens": 300}, "text-too-long", id="more new tokens than positions"),
        pytest.param({"layers": (1, 9)}, "aux-layers-range", id="a layer behind the last"),
        pytest.param({"layers": "default"}, "aux-layers-range", id="default layers of a shallow target"),
    ],
)
def test_what_cannot_be_is_refused(wishes: dict[str, Any], code: str, tmp_path: Path) -> None:
    make(tmp_path / "target")
    layers, settings = wishes.pop("layers", (1,)), wishes.pop("settings", Settings())
    with pytest.raises(Refusal) as caught:
        prepare(LocalFolder(tmp_path / "target"), prompts(tmp_path), layers, settings, **wishes)
    assert codes(caught.value.findings) == {code}


def test_prompts_of_another_vocabulary_are_refused(tmp_path: Path) -> None:
    make(tmp_path / "target")
    with pytest.raises(Refusal) as caught:
        prepare(LocalFolder(tmp_path / "target"), prompts(tmp_path, prompt_token_ids=[500]), (1,), Settings())
    assert caught.value.findings


def test_agreement_counts_response_tokens_that_are_the_targets_own(tmp_path: Path) -> None:
    make(tmp_path / "target")
    ready = prepare(LocalFolder(tmp_path / "target"), prompts(tmp_path), (1,), Settings(), new_tokens=5)
    made = capture(ready)
    assert agreement(made) == (5, 5)
    tokens = [*made.texts[0].text.tokens]
    tokens[4] = (tokens[4] + 1) % 160
    row = {"prompt_token_ids": tokens[:3], "response_token_ids": tokens[3:5]}
    given = prepare(LocalFolder(tmp_path / "target"), prompts(tmp_path, **row), (1,), Settings())
    assert agreement(capture(given)) == (1, 2)


def test_the_report_counts_what_is_left_behind(tmp_path: Path) -> None:
    import torch

    from tests.target.models import edit_weights

    make(tmp_path / "target")
    edit_weights(
        tmp_path / "target",
        lambda tensors: tensors.update({f"vision_tower.{n}.weight": torch.ones(1) for n in range(3)}),
    )
    made = report(prepare(LocalFolder(tmp_path / "target"), prompts(tmp_path), (1,), Settings()))
    (table,) = [table for table in made.tables if table.name == "left-behind"]
    assert table.rows == (("vision: texts have no images", 3),)
