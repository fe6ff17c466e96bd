"""What `inspect` tells the engines beyond the file: the target's vocabulary, and that a map holds token ids."""

from __future__ import annotations

from pathlib import Path

from tests.cases.builders import TARGET_IDS, VOCABULARY, Folder, d0, full_vocabulary, i64
from tests.cases.running import BOUNDARY, run, target


def newest_vllm(tmp_path: Path, draft: Folder, *options: str | Path) -> tuple[str, str]:
    """The verdict on the newest vLLM, and the reasons."""
    rows = run("inspect", draft.write(tmp_path / "draft"), *BOUNDARY, *options).rows("engines")
    newest = [row for row in rows if row["engine"] == "vllm"][-1]
    return newest["verdict"], newest["because"]


def test_a_vocabulary_is_compared_with_that_of_the_target(tmp_path: Path) -> None:
    draft = full_vocabulary(d0()).config_with(vocab_size=VOCABULARY + 64)
    verdict, because = newest_vllm(tmp_path, draft, "--target", target(tmp_path))
    assert verdict == "rejects"
    assert "vLLM fails on vocab_size 384 for a target vocabulary of 320" in because


def test_a_map_of_token_ids_past_the_vocabulary_is_rejected(tmp_path: Path) -> None:
    draft = full_vocabulary(d0()).with_tensors({"d2t": i64(range(VOCABULARY))})
    verdict, because = newest_vllm(tmp_path, draft)
    assert verdict == "rejects"
    assert "vLLM reads d2t as offsets, which send draft id 319 to target id 638 of 320" in because


def test_a_map_that_the_user_calls_absolute_is_rejected_as_it_is(tmp_path: Path) -> None:
    draft = d0().with_tensors({"d2t": i64(TARGET_IDS)})
    verdict, because = newest_vllm(tmp_path, draft, "--set", "map=absolute")
    assert verdict == "rejects"
    assert f"send draft id 95 to target id {TARGET_IDS[95] + 95} of 320" in because


def test_the_spelling_of_our_own_folder_is_not_called_its_writer(tmp_path: Path) -> None:
    facts = run("inspect", d0().write(tmp_path / "draft"), *BOUNDARY).document["facts"]
    assert "spelling of" in facts
    assert "written by" not in facts
