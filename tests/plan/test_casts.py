"""Casts against references that share nothing with them: exact arithmetic, and the `struct` module's half floats."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import replace

import numpy as np
import pytest

from eaglekit.checkpoint.numbers import cast
from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.reading import read
from eaglekit.dialects.tables import DIALECTS
from eaglekit.plan.apply import apply
from tests.dialects.folders import Stored, folder_of, named_contents, put
from tests.dialects.strategies import PLAIN
from tests.plan.converting import FAST, converted, planned, refused, tensors_of

ALL_HALVES = np.arange(1 << 16, dtype="<u4")
LOWER = [0x0000, 0x0001, 0x3FFF, 0x7FFF, 0x8000, 0x8001, 0xBFFF, 0xFFFF]
"""Lower halves of a float32: nothing, just below half way, half way, just above, nearly the next."""


def widened(halves: np.ndarray) -> np.ndarray:
    """The numbers that BF16 bits stand for, exactly."""
    with np.errstate(invalid="ignore"):  # signalling NaNs among all bit patterns
        return (halves.astype("<u4") << 16).view("<f4").astype("<f8")


def nearest_bf16(values: np.ndarray) -> np.ndarray:
    """BF16 bits of float32 values by exact arithmetic: the nearer neighbour, the even one half way between two."""
    with np.errstate(invalid="ignore"):
        exact = values.astype("<f8")
    below = (values.view("<u4") >> 16).astype("<u4")
    above = below + 1
    down = np.abs(widened(below))
    # The neighbour above the largest number is where it would be if the exponent went on.
    up = np.where((above & 0x7FFF) == 0x7F80, 2.0**128, np.abs(widened(above)))
    to_down, to_up = np.abs(exact) - down, up - np.abs(exact)
    even = np.where(below & 1, above, below)
    return np.where(to_down < to_up, below, np.where(to_up < to_down, above, even)).astype("<u2")


@pytest.mark.parametrize("lower", LOWER, ids=hex)
def test_float32_becomes_the_nearest_bfloat16(lower):
    values = ((ALL_HALVES << 16) | lower).astype("<u4").view("<f4")
    finite = np.isfinite(values)
    got = np.frombuffer(cast(values.tobytes(), "F32", "BF16")[0], "<u2")
    assert np.array_equal(got[finite], nearest_bf16(values[finite]))


@pytest.mark.parametrize("lower", LOWER, ids=hex)
def test_infinities_and_nans_stay_what_they_are_as_bfloat16(lower):
    values = ((ALL_HALVES << 16) | lower).astype("<u4").view("<f4")
    got = (np.frombuffer(cast(values.tobytes(), "F32", "BF16")[0], "<u2").astype("<u4") << 16).view("<f4")
    assert np.array_equal(np.isnan(got), np.isnan(values))
    infinite = np.isinf(values)
    assert np.array_equal(got[infinite], values[infinite])


@pytest.mark.parametrize("lower", LOWER, ids=hex)
def test_finite_values_that_become_infinite_are_counted(lower):
    values = ((ALL_HALVES << 16) | lower).astype("<u4").view("<f4")
    finite = values[np.isfinite(values)]
    expected = int(np.count_nonzero(nearest_bf16(finite) & 0x7FFF == 0x7F80))
    assert cast(values.tobytes(), "F32", "BF16")[1] == expected


def half(value: float) -> bytes:
    """A half float by the struct module, infinite where that refuses."""
    try:
        return struct.pack("<e", value)
    except OverflowError:
        return struct.pack("<e", math.copysign(math.inf, value))


def test_every_bfloat16_becomes_the_nearest_float16():
    values = widened(ALL_HALVES)
    plain = ~np.isnan(values)
    got = np.frombuffer(cast(ALL_HALVES.astype("<u2").tobytes(), "BF16", "F16")[0], "<u2")
    assert got[plain].tobytes() == b"".join(half(value) for value in values[plain].tolist())


def test_every_bfloat16_that_overflows_float16_is_counted():
    values = widened(ALL_HALVES)
    expected = sum(math.isfinite(v) and half(v) in (half(math.inf), half(-math.inf)) for v in values.tolist())
    assert cast(ALL_HALVES.astype("<u2").tobytes(), "BF16", "F16")[1] == expected
    assert expected > 0


def test_every_float16_becomes_the_same_number_as_float32():
    halves = ALL_HALVES.astype("<u2").tobytes()
    values = [value for (value,) in struct.iter_unpack("<e", halves)]
    got = [value for (value,) in struct.iter_unpack("<f", cast(halves, "F16", "F32")[0])]
    assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(values, got, strict=True))


def test_every_float16_becomes_the_nearest_bfloat16():
    halves = ALL_HALVES.astype("<u2").tobytes()
    values = np.array([value for (value,) in struct.iter_unpack("<e", halves)], "<f4")
    finite = np.isfinite(values)
    got = np.frombuffer(cast(halves, "F16", "BF16")[0], "<u2")
    assert np.array_equal(got[finite], nearest_bf16(values[finite]))


def test_every_bfloat16_becomes_the_same_number_as_float32():
    got = np.frombuffer(cast(ALL_HALVES.astype("<u2").tobytes(), "BF16", "F32")[0], "<u4")
    assert np.array_equal(got, ALL_HALVES << 16)


@pytest.mark.parametrize("lower", LOWER, ids=hex)
def test_float64_becomes_the_nearest_float32(lower):
    values = ((ALL_HALVES << 16) | lower).astype("<u4").view("<f4")
    values = values[np.isfinite(values)].astype("<f8") * (1 + 2.0**-26)
    expected = b"".join(struct.pack("<f", v) for v in values.tolist() if abs(v) < 2.0**127)
    assert cast(values[np.abs(values) < 2.0**127].tobytes(), "F64", "F32")[0] == expected


FULL = replace(PLAIN, dtype="F32")


def with_values(folder, spec, values):
    """A folder of `spec` in which every floating tensor counts through `values`."""
    tensors = {}
    for name, stored in named_contents(spec, DIALECTS["vllm"]).items():
        if stored.dtype == "F32":
            count = len(stored.data) // 4
            stored = Stored("F32", stored.shape, np.resize(np.array(values, "<f4"), count).tobytes())
        tensors[name] = stored
    folder_of(folder.with_name("config"), spec, DIALECTS["vllm"])
    return put(folder, json.loads((folder.with_name("config") / "config.json").read_text()), tensors)


@pytest.mark.parametrize(("dtype", "name"), [("BF16", "bfloat16"), ("F16", "float16"), ("F32", "float32")])
def test_a_cast_drafter_says_its_dtype(dtype, name, tmp_path):
    source = with_values(tmp_path / "source", FULL, [0.1, -1.5, 3.0])
    config = json.loads((converted(source, tmp_path / "out", to="vllm", dtype=dtype) / "config.json").read_text())
    assert (config["torch_dtype"], config["dtype"]) == (name, name)


def test_every_floating_tensor_is_cast_and_nothing_else(tmp_path):
    source = with_values(tmp_path / "source", FULL, [0.1, -1.5, 1e-40, 65504.0])
    before = tensors_of(source)
    after = tensors_of(converted(source, tmp_path / "out", to="vllm", dtype="F16"))
    for name, stored in before.items():
        if stored.dtype == "F32":
            halves = b"".join(half(value) for (value,) in struct.iter_unpack("<f", stored.data))
            assert after[name] == Stored("F16", stored.shape, halves)
        else:
            assert after[name] == stored


def test_a_cast_to_the_same_dtype_is_a_copy(tmp_path):
    source = folder_of(tmp_path / "source", FULL, DIALECTS["vllm"])
    steps = [step for file in planned(source, to="vllm", dtype="F32").files.values() for step in file]
    assert [step.name for step in steps if not step.is_copy and step.origin != "map"] == []


def test_overflow_is_refused_with_the_number_of_values(tmp_path):
    source = with_values(tmp_path / "source", FULL, [1.0, 70000.0, -1e9, 2.0])
    found = refused(lambda: converted(source, tmp_path / "out", to="vllm", dtype="F16"))
    assert set(found) == {"cast-overflow"}
    assert not (tmp_path / "out").exists()


def test_every_tensor_that_overflows_is_told_with_its_count(tmp_path):
    source = with_values(tmp_path / "source", FULL, [1.0, 70000.0, -1e9, 2.0])
    plan = planned(source, to="vllm", dtype="F16")
    with pytest.raises(Exception, match="cast-overflow") as caught:
        apply(plan, tmp_path / "out", source=open_folder(source), wishes=FAST)
    expected = {
        name: str(np.count_nonzero(np.abs(np.frombuffer(stored.data, "<f4")) > 65519))
        for name, stored in tensors_of(source).items()
        if stored.dtype == "F32"
    }
    assert {finding.place: finding.got for finding in caught.value.findings} == expected


def test_overflow_that_is_forced_is_written_as_infinity_and_told(tmp_path):
    source = with_values(tmp_path / "source", FULL, [1.0, 70000.0])
    out = converted(source, tmp_path / "out", to="vllm", dtype="F16", force_overflow=True)
    values = np.frombuffer(tensors_of(out)["norm.weight"].data, "<f2")
    assert values.tolist() == [1.0, math.inf] * 4
    told = json.loads((out / "provenance.json").read_text())["overflows"]
    assert told["norm.weight"] == 4


def test_a_cast_is_told_as_another_function_in_the_provenance(tmp_path):
    source = with_values(tmp_path / "source", FULL, [0.5])
    functions = {
        dtype: json.loads(
            (converted(source, tmp_path / dtype, to="vllm", dtype=dtype) / "provenance.json").read_text()
        )["function"]
        for dtype in ("F32", "BF16")
    }
    assert functions == {"F32": "preserved", "BF16": "rounded to another dtype"}


def test_mixed_dtypes_are_kept_as_stored(tmp_path):
    tensors = named_contents(PLAIN, DIALECTS["vllm"])
    tensors["norm.weight"] = Stored("F32", (8,), bytes(range(32)))
    folder_of(tmp_path / "config", PLAIN, DIALECTS["vllm"])
    source = put(tmp_path / "source", json.loads((tmp_path / "config" / "config.json").read_text()), tensors)
    assert [finding.code for finding in read(open_folder(source)).findings] == ["dtype-mixed"]
    assert tensors_of(converted(source, tmp_path / "out", to="vllm"))["norm.weight"] == tensors["norm.weight"]


def test_a_cast_from_f64_to_bf16_rounds_once() -> None:
    # Just above the tie between 1 and the next BF16: rounded to F32 first, it would become the tie and go to even.
    value = 1 + 2.0**-8 + 2.0**-40
    narrow, overflowed = cast(np.array([value, -value, 1.0, np.inf, 1e300]).tobytes(), "F64", "BF16")
    assert np.frombuffer(narrow, "<u2").tolist() == [0x3F81, 0xBF81, 0x3F80, 0x7F80, 0x7F80]
    assert overflowed == 1
