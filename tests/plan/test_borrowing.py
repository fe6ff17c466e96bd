"""Embedding and head: kept, left out, or the target's own bytes; never anything else."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.lookup import open_library
from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.tables import DIALECTS
from eaglekit.plan.checking import check
from eaglekit.plan.saved import load, save, verify
from tests.dialects.folders import Stored, files_of, folder_of, named_contents, put
from tests.dialects.strategies import PLAIN
from tests.plan.converting import applied, converted, planned, refused, target_in, tensors_of

TARGET_CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8, "vocab_size": 24,
    "num_hidden_layers": 32, "max_position_embeddings": 2048, "rope_theta": 500000.0, "tie_word_embeddings": False,
}  # fmt: skip
EMBEDDING = Stored("BF16", (24, 8), bytes(range(200)) + bytes(184))
HEAD = Stored("BF16", (24, 8), bytes(reversed(EMBEDDING.data)))
FULL = replace(PLAIN, draft_vocab_size=24, target_ids=None)
BARE = replace(FULL, own_embedding=False, own_head=False)
"""A drafter that shares both with its target."""


def target_folder(path: Path, *, head: bool = True, tied: bool = False, hidden: int = 8) -> Path:
    """A target with nothing but embedding and head."""
    config = {**TARGET_CONFIG, "tie_word_embeddings": tied, "hidden_size": hidden}
    shape = (24, hidden)
    tensors = {"model.embed_tokens.weight": Stored("BF16", shape, EMBEDDING.data[: 48 * hidden].ljust(48 * hidden))}
    if head:
        tensors["lm_head.weight"] = Stored("BF16", shape, HEAD.data[: 48 * hidden].ljust(48 * hidden))
    return put(path, config, tensors)


@pytest.fixture
def target(tmp_path):
    """An untied target with a head."""
    return target_folder(tmp_path / "target")


def source_of(tmp_path: Path, spec, **changed: Stored) -> Path:
    """A vLLM folder of `spec`, with some tensors replaced."""
    config = folder_of(tmp_path / "plain", spec, DIALECTS["vllm"])
    names = {"embedding": "embed_tokens.weight"}
    tensors = named_contents(spec, DIALECTS["vllm"]) | {names[part]: stored for part, stored in changed.items()}
    return put(tmp_path / "source", json.loads((config / "config.json").read_text()), tensors)


def test_an_own_embedding_is_kept(tmp_path):
    source = source_of(tmp_path, PLAIN)
    out = converted(source, tmp_path / "out")
    assert tensors_of(out)["embed_tokens.weight"] == tensors_of(source)["embed_tokens.weight"]


def test_a_copy_of_the_target_s_embedding_is_kept_too(tmp_path, target):
    out = converted(source_of(tmp_path, PLAIN, embedding=EMBEDDING), tmp_path / "out", target=target)
    assert tensors_of(out)["embed_tokens.weight"] == EMBEDDING


def test_an_embedding_is_left_out_when_that_is_said(tmp_path):
    out = converted(source_of(tmp_path, PLAIN), tmp_path / "out", embedding="drop")
    assert "embed_tokens.weight" not in tensors_of(out)
    assert json.loads((out / "config.json").read_text())["eaglekit"]["embedding"] == "shared with the target"


def test_what_is_left_out_is_told_in_the_provenance(tmp_path):
    out = converted(source_of(tmp_path, PLAIN), tmp_path / "out", embedding="drop")
    left = {row["name"]: row["why"] for row in json.loads((out / "provenance.json").read_text())["left"]}
    assert left["embed_tokens.weight"] == "the target's embedding is shared"


def test_the_target_s_embedding_is_copied_byte_for_byte(tmp_path, target):
    out = converted(source_of(tmp_path, BARE), tmp_path / "out", target=target, embedding="copy")
    assert tensors_of(out)["embed_tokens.weight"] == EMBEDDING


def test_the_target_s_head_is_copied_byte_for_byte(tmp_path, target):
    out = converted(source_of(tmp_path, BARE), tmp_path / "out", target=target, head="copy")
    assert tensors_of(out)["lm_head.weight"] == HEAD


def test_the_embedding_of_a_tied_target_is_its_head(tmp_path):
    tied = target_folder(tmp_path / "target", head=False, tied=True)
    out = converted(source_of(tmp_path, BARE), tmp_path / "out", target=tied, head="copy")
    assert tensors_of(out)["lm_head.weight"] == EMBEDDING


def test_an_untied_target_without_a_head_is_a_question(tmp_path):
    headless = target_folder(tmp_path / "target", head=False)
    source = source_of(tmp_path, BARE)
    assert set(refused(lambda: converted(source, tmp_path / "out", target=headless, head="copy"))) == {
        "target-head-question"
    }


def test_the_question_is_answered_by_taking_the_embedding(tmp_path):
    headless = target_folder(tmp_path / "target", head=False)
    out = converted(source_of(tmp_path, BARE), tmp_path / "out", target=headless, head="embedding")
    assert tensors_of(out)["lm_head.weight"] == EMBEDDING


def test_a_layout_that_needs_both_takes_both_from_the_target(tmp_path, target):
    out = converted(source_of(tmp_path, BARE), tmp_path / "out", target=target, to="torchspec")
    assert (tensors_of(out)["embed_tokens.weight"], tensors_of(out)["lm_head.weight"]) == (EMBEDDING, HEAD)


def test_a_layout_that_needs_both_refuses_without_a_target(tmp_path):
    source = source_of(tmp_path, BARE)
    found = refused(lambda: converted(source, tmp_path / "out", to="torchspec"))
    assert "target-needed" in found


def test_a_copied_tensor_is_cast_with_the_others(tmp_path, target):
    out = converted(source_of(tmp_path, BARE), tmp_path / "out", target=target, embedding="copy", dtype="F32")
    assert tensors_of(out)["embed_tokens.weight"].dtype == "F32"


@pytest.mark.parametrize("option", ["embedding", "head"])
def test_nothing_of_the_drafter_s_own_is_replaced(option, tmp_path, target):
    source = source_of(tmp_path, FULL, embedding=EMBEDDING)
    found = refused(lambda: converted(source, tmp_path / "out", target=target, **{option: "copy"}))
    assert set(found) == {"nothing-to-copy"}


def test_a_layout_without_embeddings_does_not_lose_a_trained_one(tmp_path):
    source = source_of(tmp_path, PLAIN)
    assert set(refused(lambda: converted(source, tmp_path / "out", to="modelopt"))) == {"embedding-lost"}


def test_a_layout_without_embeddings_leaves_out_a_proven_copy(tmp_path, target):
    source = source_of(tmp_path, PLAIN, embedding=EMBEDDING)
    out = converted(source, tmp_path / "out", target=target, to="modelopt")
    assert "embed_tokens.weight" not in tensors_of(out)


def test_one_other_byte_is_no_copy(tmp_path, target):
    other = Stored("BF16", (24, 8), EMBEDDING.data[:-1] + b"\1")
    source = source_of(tmp_path, PLAIN, embedding=other)
    found = refused(lambda: converted(source, tmp_path / "out", target=target, to="modelopt"))
    assert set(found) == {"embedding-lost"}


def test_a_drafter_of_another_width_keeps_its_embedding(tmp_path):
    source = source_of(tmp_path, replace(PLAIN, target_hidden_size=10))
    found = refused(lambda: converted(source, tmp_path / "out", embedding="drop"))
    assert set(found) == {"embedding-needed"}


@pytest.mark.parametrize("option", ["embedding", "head"])
def test_a_tensor_of_another_width_is_not_copied(option, tmp_path):
    wide = target_folder(tmp_path / "target", hidden=10)
    spec = replace(BARE, target_hidden_size=10, own_embedding=option == "head", own_head=option == "embedding")
    source = source_of(tmp_path, spec)
    found = refused(lambda: converted(source, tmp_path / "out", target=wide, **{option: "copy"}))
    assert "widths-differ" in found


@pytest.fixture
def saved(tmp_path, target):
    """A folder with a saved plan that copies from a target."""
    source = source_of(tmp_path, BARE)
    library = target_in(target).library
    save(planned(source, target=target, embedding="copy", head="copy"), tmp_path / "plan.json", open_folder(source),
         library)  # fmt: skip
    return tmp_path


def apply_saved(folder: Path) -> Path:
    plan = load(folder / "plan.json")
    verify(plan, open_folder(folder / "source"), open_library(LocalFolder(folder / "target")))
    applied(plan, folder / "source", folder / "out", target=folder / "target")
    return folder / "out"


def test_a_saved_plan_copies_from_the_target_as_convert_does(saved):
    straight = converted(
        saved / "source", saved / "straight", target=saved / "target", embedding="copy", head="copy"
    )  # fmt: skip
    assert files_of(apply_saved(saved)) == files_of(straight)


def test_a_changed_target_is_refused(saved):
    shutil.rmtree(saved / "target")
    put(saved / "target", TARGET_CONFIG, {"model.embed_tokens.weight": HEAD, "lm_head.weight": EMBEDDING})
    assert set(refused(lambda: apply_saved(saved))) == {"source-changed"}
    assert not (saved / "out").exists()


@pytest.mark.parametrize("tensor", ["lm_head.weight", "model.norm.weight"])
def test_an_edited_plan_takes_no_other_tensor_of_the_target(tensor, saved):
    document = json.loads((saved / "plan.json").read_text())
    for step in document["files"]["model.safetensors"]:
        if step["name"] == "embed_tokens.weight":
            step["tensor"] = tensor
    (saved / "plan.json").write_text(json.dumps(document))
    assert set(refused(lambda: apply_saved(saved))) == {"plan-invalid"}


def test_a_plan_that_copies_passes_the_check_of_edited_plans(saved):
    plan = load(saved / "plan.json")
    assert check(plan, open_folder(saved / "source"), open_library(LocalFolder(saved / "target"))) == []


def test_leaving_out_an_embedding_that_is_not_known_to_be_a_copy_is_told_as_another_function(tmp_path: Path) -> None:
    from tests.cli.running import CHECKPOINTS, eaglekit

    out = tmp_path / "out"
    done = eaglekit("convert", CHECKPOINTS / "speculators-0.9-llama", out, "--embedding", "drop", "--json")
    assert done.code == 0
    assert "embedding-replaced" in done.codes
    assert "another function" in done.document["findings"][0]["message"]
    assert "the target's embedding" in (out / "provenance.json").read_text()


def test_leaving_out_a_proved_copy_keeps_the_function(tmp_path: Path) -> None:
    from tests.cli.running import CHECKPOINTS, eaglekit

    out = tmp_path / "out"
    done = eaglekit(
        "convert", CHECKPOINTS / "speculators-0.9-llama", out, "--embedding", "drop",
        "--target", CHECKPOINTS / "target-llama", "--json",
    )  # fmt: skip
    assert done.code == 0
    assert "embedding-replaced" not in done.codes
    assert '"function": "preserved"' in (out / "provenance.json").read_text()
