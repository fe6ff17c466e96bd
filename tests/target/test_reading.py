"""Bytes reach tensors whole, small ones and rows of large ones, and reading ahead changes nothing."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from eaglekit.checkpoint import LocalFolder, Tensor
from eaglekit.checkpoint.lookup import Library, open_library
from eaglekit.report import Refusal
from eaglekit.target import reading
from eaglekit.target.reading import Reader
from tests.target.models import codes

VALUES = {
    "large": torch.randn(300, 64, generator=torch.Generator().manual_seed(0)),
    "half": torch.randn(300, 64, generator=torch.Generator().manual_seed(1)).bfloat16(),
    "number": torch.tensor(2.5),
}


def library(folder: Path) -> Library:
    """A file with `VALUES`."""
    save_file(VALUES, folder / "model.safetensors")
    return open_library(LocalFolder(folder))


@pytest.mark.parametrize("name", VALUES)
def test_raw_bytes_are_those_of_the_file(name: str, tmp_path: Path) -> None:
    found = library(tmp_path)
    with Reader(found.source) as reader:
        data = reader.raw(found.tensor(name))
    assert torch.equal(data.view(VALUES[name].dtype).view(VALUES[name].shape), VALUES[name])


@pytest.mark.parametrize("piece", [64, 1000, 1 << 20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["large", "half", "number"])
def test_plain_tensors_are_converted_piece_by_piece(
    name: str, dtype: torch.dtype, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PIECE_BYTES", piece)
    found = library(tmp_path)
    with Reader(found.source) as reader:
        values = reader.plain(found.tensor(name), VALUES[name].dtype, dtype, torch.device("cpu"))
    assert torch.equal(values, VALUES[name].to(dtype))


@pytest.mark.parametrize("rows", [[0], [299], [0, 1, 2], [7, 8, 200], [5, 3, 3, 4], list(range(300)), []])
def test_rows_come_in_the_order_asked(rows: list[int], tmp_path: Path) -> None:
    found = library(tmp_path)
    with Reader(found.source) as reader:
        data = reader.rows(found.tensor("half"), rows)
    assert torch.equal(data.view(torch.bfloat16).view(-1, 64), VALUES["half"][rows])


def test_what_was_read_is_told_in_bytes(tmp_path: Path) -> None:
    found, told = library(tmp_path), []
    with Reader(found.source, told.append) as reader:
        reader.raw(found.tensor("large"))
        reader.plain(found.tensor("half"), torch.bfloat16, torch.float32, torch.device("cpu"))
    assert told == [300 * 64 * 4, 300 * 64 * 2]


def test_a_file_that_became_shorter_is_refused(tmp_path: Path) -> None:
    found = library(tmp_path)
    tensor = found.tensor("large")
    os.truncate(tmp_path / "model.safetensors", tensor.start + 100)
    with Reader(found.source) as reader, pytest.raises(Refusal) as caught:
        reader.raw(tensor)
    assert codes(caught.value.findings) == {"file-truncated"}


def test_a_source_that_is_not_on_this_machine_is_refused() -> None:
    class Far:
        label = "org/model"

    with pytest.raises(Refusal) as caught:
        Reader(Far())  # type: ignore[arg-type]
    assert codes(caught.value.findings) == {"target-not-local"}


def patiently(reached: object) -> bool:
    """Whether `reached()` becomes true within some seconds."""
    assert callable(reached)
    for _ in range(500):
        if reached():
            return True
        time.sleep(0.01)
    return False


def test_reading_ahead_stops_at_its_lead_and_goes_on_when_tensors_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES", 1)
    found = library(tmp_path)
    large = found.tensor("large")
    pieces = [
        Tensor("", "F32", (64,), large.file, large.start + 256 * row, large.start + 256 * (row + 1))
        for row in range(300)
    ]
    monkeypatch.setattr(reading, "LEAD_BYTES", 1000)
    with Reader(found.source) as reader:
        ahead = reader.ahead
        ahead.soon(pieces)
        assert patiently(lambda: ahead._lead >= 1000)
        assert len(ahead._waiting) == 296
        for piece in pieces[:100]:
            reader.used(piece)
        assert patiently(lambda: len(ahead._waiting) == 196)


def test_what_is_used_before_it_was_fetched_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LEAD_BYTES", 0)
    found = library(tmp_path)
    with Reader(found.source) as reader:
        reader.ahead.soon([found.tensor("large"), found.tensor("half")])
        reader.used(found.tensor("large"))
        monkeypatch.setattr(reading, "LEAD_BYTES", 1 << 30)
        reader.ahead.soon([])
        assert patiently(lambda: reader.ahead._lead == 300 * 64 * 2)


def test_reading_ahead_of_a_file_that_is_gone_ends_quietly_and_the_reader_says_it(tmp_path: Path) -> None:
    found = library(tmp_path)
    tensor = found.tensor("large")
    (tmp_path / "model.safetensors").unlink()
    with Reader(found.source) as reader:
        reader.ahead.soon([tensor])
        with pytest.raises(Refusal) as caught:
            reader.raw(tensor)
    assert codes(caught.value.findings) == {"file-unreadable"}


def test_leaving_a_reader_closes_its_files_and_ends_its_thread(tmp_path: Path) -> None:
    found = library(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with Reader(found.source) as reader:
        reader.ahead.soon([found.tensor("large")])
        reader.raw(found.tensor("half"))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert not [thread for thread in threading.enumerate() if thread.name == "eaglekit-read-ahead"]
