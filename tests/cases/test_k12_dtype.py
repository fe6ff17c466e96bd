"""K12: dtype."""

from __future__ import annotations

import numpy
import pytest

from tests.cases.builders import Folder, bf16, d0, f32, norm, random
from tests.cases.running import BOUNDARY, convert, only, refused, target

DOWN = "midlayer.mlp.down_proj.weight"


def large(count: int = 1) -> Folder:
    """D0 with weights that BF16 holds as 70144 and F16 cannot hold."""
    values = random("mlp.down_proj", 64, 128).values.copy()
    values.reshape(-1)[:count] = 70000
    rounded = bf16(values)
    assert rounded.values.max() >= 65536
    return d0().with_tensors({DOWN: rounded})


@pytest.mark.parametrize(
    "said", [{"torch_dtype": ..., "dtype": "bfloat16"}, {"torch_dtype": "float32"}], ids=["a", "b"]
)
def test_k12a_and_b_bf16_tensors_stay_bf16_under_both_keys(tmp_path, said):
    written = convert(tmp_path, d0().config_with(**said), *BOUNDARY, "--target", target(tmp_path))
    assert (written.config["torch_dtype"], written.config["dtype"]) == ("bfloat16", "bfloat16")
    floats = {tensor.dtype for name, tensor in written.tensors.items() if name not in ("d2t", "t2d")}
    assert floats == {"BF16"}


def test_k12b_the_correction_is_reported(tmp_path):
    written = convert(tmp_path, d0().config_with(torch_dtype="float32"), *BOUNDARY, "--target", target(tmp_path))
    assert "config says F32, the tensors are BF16" in written.findings("warning")["dtype-corrected"]["message"]


def test_k12c_one_norm_in_f32_is_kept_and_reported(tmp_path):
    wide = f32(norm("norm").values)
    written = convert(tmp_path, d0().with_tensors({"norm.weight": wide}), *BOUNDARY, "--target", target(tmp_path))
    assert written.tensors["norm.weight"] == wide
    assert "norm.weight is F32 among BF16" in written.findings("note")["dtype-mixed"]["message"]


@pytest.mark.parametrize("count", [1, 3])
def test_k12d_values_that_overflow_are_counted_and_refused(tmp_path, count):
    options = (*BOUNDARY, "--target", target(tmp_path), "--dtype", "float16")
    finding = only(refused(tmp_path, large(count), *options), "cast-overflow")
    assert finding["message"].startswith(f"{count} value")
    assert DOWN in finding["message"]
    assert "--force-overflow" in finding["hint"]


def test_k12d_force_writes_infinities_and_says_how_many(tmp_path):
    options = (*BOUNDARY, "--target", target(tmp_path), "--dtype", "float16", "--force-overflow")
    written = convert(tmp_path, large(), *options)
    cast = written.tensors["layers.0.mlp.down_proj.weight"]
    assert (cast.dtype, numpy.isinf(cast.values).sum()) == ("F16", 1)
    assert '"midlayer.mlp.down_proj.weight": 1' in (written.folder / "provenance.json").read_text()


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_k12d_maps_and_masks_are_never_cast(tmp_path, dtype):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path), "--dtype", dtype).tensors
    assert {name: written[name] for name in ("d2t", "t2d")} == {name: d0().tensors[name] for name in ("d2t", "t2d")}
