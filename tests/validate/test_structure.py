"""The first stage: embedding and head beside the target's, and what leaves only the layers in doubt."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from eaglekit.checkpoint import open_folder
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.dialects.given import Given
from eaglekit.dialects.target import read_target
from eaglekit.dialects.target_checks import given_with
from eaglekit.report import Refusal, Severity
from eaglekit.validate.structure import Structure, examine
from tests.cases.builders import (
    HIDDEN,
    TARGET_IDS,
    VOCABULARY,
    Folder,
    Stored,
    bf16,
    d0,
    headless,
    random,
    stored_in,
    t0,
)

EMBEDDING, HEAD = (t0().tensors[name] for name in ("model.embed_tokens.weight", "lm_head.weight"))
BOUNDARY = Given(aux_convention="boundary")


def examined(tmp_path: Path, draft: Folder, model: Folder | None = None, *, keep: bool = False,
             given: Given = BOUNDARY) -> Structure:  # fmt: skip
    """A drafter beside a target, T0 unless another one is given."""
    target = read_target(LocalFolder((model or t0()).write(tmp_path / "target")))
    return examine(open_folder(draft.write(tmp_path / "draft")), given_with(given, target), target, keep_embedding=keep)


def shared(structure: Structure) -> dict[str, tuple[str, str]]:
    """Part -> whose it is, and how it stands beside the target's."""
    table = next(table for table in structure.report.tables if table.name == "shared-parts")
    return {row[0]: (row[1], row[2]) for row in table.rows}


def codes(structure: Structure, severity: Severity | None = None) -> list[str]:
    return [f.code for f in structure.report.findings if severity in (None, f.severity)]


def rows(table: Stored, places: list[int]) -> Stored:
    """Some rows of a table as a table."""
    return bf16(table.values[places])


def with_embedding(values: Stored) -> Folder:
    return d0().with_tensors({"embed_tokens.weight": values})


def noise(seed: int) -> Stored:
    return bf16(numpy.random.default_rng(seed).standard_normal((VOCABULARY, HIDDEN)))


def trained_along() -> Stored:
    return bf16(EMBEDDING.values + random("a little training", VOCABULARY, HIDDEN).values * 0.5)


@pytest.mark.parametrize(
    ("draft", "whose", "verdict"),
    [
        pytest.param(with_embedding(EMBEDDING), "own", "a copy", id="a copy"),
        pytest.param(with_embedding(trained_along()), "own", "trained along: similar rows", id="trained along"),
        pytest.param(with_embedding(noise(18)), "own", "random-looking", id="noise"),
        pytest.param(d0(), "the target's", "shared", id="none"),
    ],
)
def test_the_embedding_is_told_beside_the_target_s(tmp_path: Path, draft: Folder, whose: str, verdict: str) -> None:
    assert shared(examined(tmp_path, draft))["embedding"] == (whose, verdict)


def test_an_embedding_of_noise_ends_the_stage(tmp_path: Path) -> None:
    structure = examined(tmp_path, with_embedding(noise(18)))
    assert codes(structure, Severity.ERROR) == ["embedding-untrained"]
    assert (structure.clean, structure.drafter) == (False, None)


def test_an_embedding_of_noise_is_accepted_on_the_user_s_word(tmp_path: Path) -> None:
    structure = examined(tmp_path, with_embedding(noise(18)), keep=True)
    assert structure.clean
    assert "embedding-untrained" in codes(structure, Severity.WARNING)


@pytest.mark.parametrize(
    ("head", "verdict"),
    [
        pytest.param(rows(HEAD, list(TARGET_IDS)), "a copy, by sampled rows", id="the target's rows"),
        pytest.param(
            bf16(rows(HEAD, list(TARGET_IDS)).values + random("more", len(TARGET_IDS), HIDDEN).values * 0.5),
            "trained along: similar rows",
            id="trained from the target's rows",
        ),
        pytest.param(d0().tensors["lm_head.weight"], "random-looking, or trained from scratch", id="from scratch"),
    ],
)
def test_the_head_is_told_beside_the_target_s_rows(tmp_path: Path, head: Stored, verdict: str) -> None:
    structure = examined(tmp_path, d0().with_tensors({"lm_head.weight": head}))
    assert shared(structure)["head"] == ("own", verdict)
    assert structure.clean


@pytest.mark.parametrize(
    ("places", "words"),
    [
        pytest.param(
            [t - r for r, t in enumerate(TARGET_IDS)], "row r from the map's offset of r", id="offsets as ids"
        ),
        pytest.param(list(range(len(TARGET_IDS))), "row r from the target's row r", id="the first rows"),
    ],
)
def test_a_head_cut_at_wrong_rows_is_an_error(tmp_path: Path, places: list[int], words: str) -> None:
    structure = examined(tmp_path, d0().with_tensors({"lm_head.weight": rows(HEAD, places)}))
    assert codes(structure, Severity.ERROR) == ["head-misplaced"]
    assert words in structure.report.errors[0].message


def test_a_head_that_is_shared_needs_a_target_that_has_one(tmp_path: Path) -> None:
    model = t0().without("lm_head.weight")
    del model.shards["lm_head.weight"]
    assert codes(examined(tmp_path, headless(d0()), model), Severity.ERROR) == ["target-head-question"]


def test_a_tied_target_lends_its_embedding_as_the_head(tmp_path: Path) -> None:
    model = t0().config_with(tie_word_embeddings=True).with_tensors({"lm_head.weight": EMBEDDING})
    structure = examined(tmp_path, headless(d0()), model)
    assert structure.clean
    assert shared(structure)["head"] == ("the target's", "shared")


def test_a_tied_target_that_ships_another_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="target-tie-contradiction"):
        examined(tmp_path, d0(), t0().config_with(tie_word_embeddings=True))


def test_a_copied_tie_flag_is_told_and_does_not_end_the_stage(tmp_path: Path) -> None:
    structure = examined(tmp_path, d0().config_with(tie_word_embeddings=True))
    assert structure.clean
    assert "tie-corrected" in codes(structure)


def test_a_target_of_another_size_ends_the_stage_without_comparing_tables(tmp_path: Path) -> None:
    model = t0().config_with(vocab_size=VOCABULARY + 1)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        model.tensors[name] = random(name, VOCABULARY + 1, HIDDEN)
    structure = examined(tmp_path, d0(), model)
    assert codes(structure, Severity.ERROR) == ["target-size"]
    assert shared(structure)["head"] == ("own", "not compared")


@pytest.mark.parametrize(
    ("draft", "doubtful"),
    [
        pytest.param(d0().config_with(eagle_aux_hidden_state_layer_ids=[1, 4, 5]), True, id="two readings"),
        pytest.param(d0().config_with(eagle_aux_hidden_state_layer_ids=...), True, id="no list"),
        pytest.param(d0().without("midlayer.mlp.up_proj.weight"), False, id="another error"),
        pytest.param(
            d0().config_with(eagle_aux_hidden_state_layer_ids=...).without("midlayer.mlp.up_proj.weight"), False,
            id="no list and another error",
        ),
    ],
)  # fmt: skip
def test_only_doubt_about_the_layers_leaves_a_drafter_to_measure(tmp_path: Path, draft: Folder, doubtful: bool) -> None:
    structure = examined(tmp_path, draft, given=Given())
    assert not structure.clean
    assert structure.layers_in_doubt is doubtful


def test_the_files_are_not_written_to(tmp_path: Path) -> None:
    examined(tmp_path, d0())
    assert stored_in(tmp_path / "draft") == d0().tensors
