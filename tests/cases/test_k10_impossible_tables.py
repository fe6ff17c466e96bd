"""K10: vocabulary tables that cannot be right."""

from __future__ import annotations

from tests.cases.builders import DRAFTED, TARGET_IDS, VOCABULARY, d0, full_vocabulary, i64, mask
from tests.cases.running import BOUNDARY, convert, only, refused, target

ZEROS = {"d2t": i64([0] * DRAFTED)}


def test_k10a_zeros_beside_a_filled_mask_do_not_match_it(tmp_path):
    errors = refused(tmp_path, d0().with_tensors(ZEROS), *BOUNDARY, "--target", target(tmp_path))
    message = only(errors, "map-against-mask")["message"]
    assert "ids 0..95 do not match t2d" in message


def test_k10a_the_user_s_word_does_not_outvote_the_mask(tmp_path):
    first = ("--set", "map=first")
    errors = refused(tmp_path, d0().with_tensors(ZEROS), *BOUNDARY, "--target", target(tmp_path), *first)
    only(errors, "map-against-mask")


def test_k10b_zeros_without_a_mask_ask_for_a_word_on_the_first_96_ids(tmp_path):
    draft = d0().with_tensors(ZEROS).without("t2d")
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "map-zeros")
    assert "the first 96 ids" in finding["message"]
    assert "--set map=first" in finding["hint"]


def test_k10b_the_first_96_ids_are_written_once_confirmed(tmp_path):
    draft = d0().with_tensors(ZEROS).without("t2d")
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--set", "map=first")
    assert written.tensors["d2t"] == ZEROS["d2t"]
    assert written.tensors["t2d"] == mask(range(DRAFTED))


def test_k10b_the_confirmation_cannot_contradict_a_map_that_is_filled(tmp_path):
    first = ("--set", "map=first")
    errors = refused(tmp_path, d0().without("t2d"), *BOUNDARY, "--target", target(tmp_path), *first)
    assert "draft id 1 to target id 3" in only(errors, "setting-value")["message"]


def test_k10c_absolute_ids_over_the_full_vocabulary_leave_it(tmp_path):
    draft = full_vocabulary(d0()).with_tensors({"d2t": i64(range(VOCABULARY))})
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "map-absolute")
    assert "draft id 160 maps to target id 320" in finding["message"]
    assert "--set map=absolute" in finding["hint"]


def test_k10c_absolute_ids_are_encoded_anew_once_said(tmp_path):
    draft = d0().with_tensors({"d2t": i64(TARGET_IDS)})
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--set", "map=absolute")
    assert written.tensors["d2t"] == d0().tensors["d2t"]


def test_k10d_two_draft_ids_on_one_target_id_are_named(tmp_path):
    draft = d0().with_tensors({"d2t": i64(7 if row == 5 else 2 * row for row in range(DRAFTED))})
    errors = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))
    assert "draft ids 4 and 5 both map to target id 12" in only(errors, "map-not-unique")["message"]


def test_k10e_a_mask_of_another_vocabulary_is_refused(tmp_path):
    draft = d0().with_tensors({"t2d": mask(TARGET_IDS, 352)})
    errors = refused(tmp_path, draft, *BOUNDARY, "--target-family", "llama")
    message = only(errors, "size-disagrees")["message"]
    assert "352" in message
    assert "320" in message


def test_k10f_a_mask_that_marks_too_few_is_refused(tmp_path):
    draft = d0().with_tensors({"t2d": mask(TARGET_IDS[:95])})
    message = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "mask-count")["message"]
    assert "95 tokens" in message
    assert "96 rows" in message


def test_k10f_a_mask_over_the_full_vocabulary_must_mark_all_of_it(tmp_path):
    draft = full_vocabulary(d0()).with_tensors({"t2d": mask(TARGET_IDS)})
    message = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "mask-count")["message"]
    assert "96 tokens" in message
    assert "320 rows" in message


def test_k10g_a_reduced_head_without_a_map_is_refused(tmp_path):
    draft = d0().without("d2t", "t2d")
    message = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "map-missing")["message"]
    assert "96 rows for 320 target tokens" in message


def test_k10g_a_map_that_is_too_short_is_no_map(tmp_path):
    draft = d0().with_tensors({"d2t": i64(2 * row for row in range(95))}).without("t2d")
    message = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "tensor-shape")["message"]
    assert "d2t is [95], expected [96]" in message
