"""K15: parallel drafts. P-EAGLE is converted; DFlash and DSpark are named and refused."""

from __future__ import annotations

import pytest

from tests.cases.builders import HIDDEN, Folder, d0, norm, random
from tests.cases.running import BOUNDARY, convert, only, refused, target

MASK = {"mask_hidden": random("mask state", 1, 3 * HIDDEN)}


def dflash(**dflash_config: object) -> Folder:
    """A DFlash draft: block size 8, ids and mask id in a block of their own."""
    return Folder(
        {
            "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "hidden_size": HIDDEN, "vocab_size": 320,
            "num_hidden_layers": 1, "block_size": 8,
            "dflash_config": {"target_layer_ids": [1, 3, 5], "mask_token_id": 319} | dflash_config,
        },
        {"fc.weight": random("fc", HIDDEN, 3 * HIDDEN), "hidden_norm.weight": norm("h"), "norm.weight": norm("n")},
    )  # fmt: skip


def p_eagle(**config: object) -> Folder:
    """D0 as a P-EAGLE draft, its mask id under one name only."""
    return d0().config_with(**{"parallel_drafting": True, "mask_token_id": 319, **config}).with_tensors(MASK)


DFLASH = {
    "a": dflash(),
    "b": dflash(mask_token_id=None),
    "c": dflash(mask_token_id=320),
    "d": dflash().config_with(eos_token_id=319),
    "e": dflash(block_size=16),
}


@pytest.mark.parametrize("case", list(DFLASH))
def test_k15a_to_e_a_dflash_draft_is_named_and_refused(tmp_path, case):
    finding = only(refused(tmp_path, DFLASH[case]), "is-dflash")
    assert "DFlash" in finding["message"]


def test_k15e_a_block_size_alone_is_enough_to_know_it(tmp_path):
    draft = dflash().config_with(dflash_config=...)
    assert "DFlash or DSpark" in only(refused(tmp_path, draft), "is-dflash")["message"]


def test_k15f_the_mask_id_is_written_under_every_name_vllm_reads(tmp_path):
    written = convert(tmp_path, p_eagle(), *BOUNDARY, "--target", target(tmp_path), "--to", "vllm")
    names = ("mask_token_id", "pard_token", "ptd_token_id")
    assert {name: written.config[name] for name in names} == dict.fromkeys(names, 319)
    assert written.config["parallel_drafting"] is True


def test_k15f_the_mask_state_comes_along_byte_for_byte(tmp_path):
    written = convert(tmp_path, p_eagle(), *BOUNDARY, "--target", target(tmp_path), "--to", "vllm").tensors
    assert written["mask_hidden"] == MASK["mask_hidden"]


@pytest.mark.parametrize("layout", ["portable", "sglang"])
def test_k15f_a_runtime_that_cannot_draft_in_parallel_refuses_it(tmp_path, layout):
    errors = refused(tmp_path, p_eagle(), *BOUNDARY, "--target", target(tmp_path), "--to", layout)
    assert "P-EAGLE" in only(errors, "dialect-cannot-hold")["message"]


def test_k15f_a_mask_id_that_is_not_stated_is_asked_for(tmp_path):
    options = (*BOUNDARY, "--target", target(tmp_path), "--to", "vllm")
    finding = only(refused(tmp_path, p_eagle(mask_token_id=...), *options), "mask-token")
    assert "--set mask_token_id=N" in finding["hint"]


def test_k15f_a_mask_id_outside_the_vocabulary_is_refused(tmp_path):
    options = (*BOUNDARY, "--target", target(tmp_path), "--to", "vllm")
    message = only(refused(tmp_path, p_eagle(mask_token_id=320), *options), "mask-token")["message"]
    assert "320 is outside 0..319" in message


@pytest.mark.parametrize("eos", [319, [2, 319]], ids=["one", "several"])
def test_k15f_a_mask_id_that_ends_texts_is_refused(tmp_path, eos):
    options = (*BOUNDARY, "--target", target(tmp_path), "--to", "vllm")
    message = only(refused(tmp_path, p_eagle(eos_token_id=eos), *options), "mask-token")["message"]
    assert "319 is the end-of-text token" in message


def test_k15f_two_names_with_two_mask_ids_are_refused(tmp_path):
    options = (*BOUNDARY, "--target", target(tmp_path), "--to", "vllm")
    message = only(refused(tmp_path, p_eagle(pard_token=318), *options), "config-conflict")["message"]
    assert "mask_token_id = 319" in message
    assert "pard_token = 318" in message


def test_k15g_parallel_drafting_without_its_mask_state_is_refused(tmp_path):
    options = (*BOUNDARY, "--target", target(tmp_path), "--to", "vllm")
    message = only(refused(tmp_path, p_eagle().without("mask_hidden"), *options), "mask-state-missing")["message"]
    assert "mask_hidden" in message


def test_k15h_a_recurrent_head_is_named_and_refused(tmp_path):
    draft = dflash().with_tensors({"prefix_gru.weight": random("gru", HIDDEN, HIDDEN)})
    only(refused(tmp_path, draft), "is-dflash")


def test_k15h_a_recurrent_head_on_an_eagle_3_draft_is_named_and_refused(tmp_path):
    draft = d0().with_tensors({"prefix_gru.weight": random("gru", HIDDEN, HIDDEN)})
    assert "recurrent head" in only(refused(tmp_path, draft), "is-dflash")["message"]
