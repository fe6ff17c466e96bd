"""Dtypes that a config, a file and a target state differently."""

from __future__ import annotations

import pytest

from tests.cases.builders import Folder, Stored, d0, t0
from tests.cases.running import BOUNDARY, convert, target


def halved(draft: Folder, *names: str) -> Folder:
    """The draft with tensors in F16: those named, or every one in BF16."""
    for name, tensor in draft.tensors.items():
        if tensor.dtype == "BF16" and (not names or name in names):
            data = tensor.values.astype("<f2")
            draft.tensors[name] = Stored("F16", data.shape, data.tobytes())
    return draft


def test_half_precision_under_the_name_of_bfloat16_is_told(tmp_path):
    written = convert(tmp_path, halved(d0()), *BOUNDARY, "--target", target(tmp_path))
    assert "config says BF16, the tensors are F16" in written.findings("warning")["dtype-corrected"]["message"]


@pytest.mark.parametrize("spelling", ["bfloat16", "torch.bfloat16"])
def test_both_spellings_of_a_dtype_are_read_and_the_bare_one_is_written(tmp_path, spelling):
    written = convert(tmp_path, d0().config_with(torch_dtype=spelling), *BOUNDARY, "--target", target(tmp_path))
    assert (written.config["torch_dtype"], written.config["dtype"]) == ("bfloat16", "bfloat16")


def test_another_dtype_than_the_target_s_is_told(tmp_path):
    draft = halved(d0()).config_with(torch_dtype="float16")
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))
    finding = written.findings("note")["dtype-differs"]
    assert "the drafter is F16, the target's embedding BF16" in finding["message"]


def test_the_target_s_own_dtype_is_no_matter(tmp_path):
    assert "dtype-differs" not in convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path)).findings()


@pytest.mark.parametrize(("wish", "stored"), [((), "F16"), (("--dtype", "float32"), "F32")])
def test_an_embedding_in_half_precision_is_kept_or_cast(tmp_path, wish, stored):
    draft = d0().with_tensors({"embed_tokens.weight": t0().tensors["model.embed_tokens.weight"]})
    halved(draft, "embed_tokens.weight")
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), *wish)
    assert written.tensors["embed_tokens.weight"].dtype == stored
