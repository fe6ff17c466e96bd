"""Captures come back from a file as they went in, and a file that is anything else is refused."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from eaglekit.report import Refusal
from eaglekit.report.schemas import problems
from eaglekit.target.capture_file import read_capture, write_capture
from eaglekit.target.capture_writing import describe, outline
from eaglekit.target.captured import Capture, CapturedText
from eaglekit.target.texts import Text
from tests.target.models import codes

TARGET = {
    "label": "tiny", "digest": "sha256:" + "0" * 64, "activations": "w4a16", "dtype": "float32", "device": "cpu",
}  # fmt: skip


def made(
    lengths: tuple[int, ...] = (3, 1, 5), boundaries: tuple[int, ...] = (0, 2, 4), dtype: str = "float32"
) -> Capture:
    """A capture of random numbers."""
    torch.manual_seed(1)
    kind = getattr(torch, dtype)
    texts = [
        CapturedText(
            Text(f"text {number}", "reasoning" if number else "", tuple(torch.randint(0, 50, (n,)).tolist()), 1),
            torch.randn(n, len(boundaries), 8).to(kind),
            torch.randn(n, 8).to(kind),
            torch.randint(0, 50, (n,)),
        )
        for number, n in enumerate(lengths)
    ]
    return Capture(boundaries, 4, 8, 50, {**TARGET, "dtype": dtype}, texts)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("boundaries", [(0, 2, 4), (1,), ()], ids=["three", "one", "none"])
def test_what_was_written_is_read_again(dtype: str, boundaries: tuple[int, ...], tmp_path: Path) -> None:
    capture = made(boundaries=boundaries, dtype=dtype)
    size_bytes = write_capture(capture, tmp_path / "capture")
    again = read_capture(tmp_path / "capture")
    assert size_bytes == (tmp_path / "capture").stat().st_size
    assert describe(outline(again)) == describe(outline(capture))
    for one, other in zip(capture.texts, again.texts, strict=True):
        assert one.text == other.text
        assert one.states.dtype == other.states.dtype
        for kind in ("states", "final", "argmax"):
            assert torch.equal(getattr(one, kind), getattr(other, kind)), kind


def test_texts_are_reached_by_index_and_by_slice(tmp_path: Path) -> None:
    capture = made()
    write_capture(capture, tmp_path / "capture")
    texts = read_capture(tmp_path / "capture").texts
    assert len(texts) == 3
    assert texts[-1].text == capture.texts[2].text
    assert [one.text.identity for one in texts[1:]] == ["text 1", "text 2"]
    assert torch.equal(texts[1:][1].final, capture.texts[2].final)
    with pytest.raises(IndexError):
        texts[3]


def test_other_readers_of_safetensors_read_it(tmp_path: Path) -> None:
    capture = made()
    write_capture(capture, tmp_path / "capture")
    tensors = load_file(tmp_path / "capture")
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == {
        "tokens": (9,), "argmax": (9,), "states": (9, 3, 8), "final": (9, 8),
    }  # fmt: skip
    assert torch.equal(tensors["states"], torch.cat([text.states for text in capture.texts]))


def test_the_description_follows_its_schema_and_the_same_capture_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_capture(made(), tmp_path / name)
    assert problems(describe(outline(made())), "capture") == []
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_file_that_exists_is_left_alone_unless_it_may_be_replaced(tmp_path: Path) -> None:
    write_capture(made((4,)), tmp_path / "capture")
    before = (tmp_path / "capture").read_bytes()
    with pytest.raises(Refusal) as caught:
        write_capture(made(), tmp_path / "capture")
    assert codes(caught.value.findings) == {"capture-exists"}
    assert (tmp_path / "capture").read_bytes() == before
    write_capture(made(), tmp_path / "capture", overwrite=True)
    assert len(read_capture(tmp_path / "capture").texts) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["capture"]


def test_what_is_no_capture_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text("hours of work")
    with pytest.raises(Refusal) as caught:
        write_capture(made(), tmp_path / "prompts.jsonl", overwrite=True)
    assert codes(caught.value.findings) == {"capture-exists"}
    assert (tmp_path / "prompts.jsonl").read_text() == "hours of work"


def test_states_that_are_not_finite_are_not_written(tmp_path: Path) -> None:
    capture = made()
    capture.texts[1].states[0, 0, 0] = torch.nan
    capture.texts[2].final[0, 0] = torch.inf
    with pytest.raises(Refusal) as caught:
        write_capture(capture, tmp_path / "capture")
    assert [(f.code, f.place) for f in caught.value.findings] == [
        ("capture-not-finite", "text 1"),
        ("capture-not-finite", "text 2"),
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_finding_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Refusal) as caught:
        write_capture(made(), tmp_path / "capture")
    assert codes(caught.value.findings) == {"disk-full"}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        write_capture(made(), tmp_path / "absent" / "capture")
    assert codes(caught.value.findings) == {"destination-parent"}


Tensors = dict[str, torch.Tensor]
Change = Callable[[Tensors, dict[str, Any]], object]


def rewritten(folder: Path, change: Change) -> Path:
    """A capture whose tensors and description were changed by hand."""
    file = folder / "capture"
    write_capture(made(), file)
    with safe_open(file, "pt") as stream:
        description = json.loads(stream.metadata()["eaglekit"])
    tensors = load_file(file)
    change(tensors, description)
    save_file(tensors, file, {"eaglekit": json.dumps(description), "format": "pt"})
    return file


def _set(tensors: Tensors, name: str, index: tuple[int, ...], value: float) -> None:
    tensors[name][index] = value


HOSTILE: dict[str, tuple[Change, set[str]]] = {
    "a NaN in the states": (lambda t, d: _set(t, "states", (8, 2, 7), torch.nan), {"capture-not-finite"}),
    "an infinity in the final states": (lambda t, d: _set(t, "final", (0, 0), torch.inf), {"capture-not-finite"}),
    "a token outside": (lambda t, d: _set(t, "tokens", (4,), 50), {"text-token-outside"}),
    "a negative token": (lambda t, d: _set(t, "tokens", (4,), -1), {"text-token-outside"}),
    "an argmax outside": (lambda t, d: _set(t, "argmax", (4,), 50), {"capture-invalid"}),
    "a negative argmax": (lambda t, d: _set(t, "argmax", (8,), -7), {"capture-invalid"}),
    "states of another width": (lambda t, d: t.update(states=t["states"][..., :7].clone()), {"capture-invalid"}),
    "states of another dtype": (lambda t, d: t.update(states=t["states"].half()), {"capture-invalid"}),
    "final states of another dtype": (lambda t, d: t.update(final=t["final"].bfloat16()), {"capture-invalid"}),
    "tokens of another dtype": (lambda t, d: t.update(tokens=t["tokens"].int()), {"capture-invalid"}),
    "a row too few": (lambda t, d: t.update(final=t["final"][:-1].clone()), {"capture-invalid"}),
    "no argmax": (lambda t, d: t.pop("argmax"), {"capture-invalid"}),
    "another tensor": (lambda t, d: t.update(extra=torch.zeros(2)), {"capture-invalid"}),
    "a dtype that the description denies": (lambda t, d: d["target"].update(dtype="bfloat16"), {"capture-invalid"}),
    "a boundary too many": (lambda t, d: d["boundaries"].insert(1, 1), {"capture-invalid"}),
    "a boundary behind the last block": (lambda t, d: d.update(boundaries=[0, 2, 5]), {"aux-layers-range"}),
    "boundaries that descend": (lambda t, d: d.update(boundaries=[4, 2, 0]), {"aux-layers-order"}),
    "a prompt longer than its text": (lambda t, d: d["texts"][1].update(prompt_length=2), {"text-prompt-length"}),
    "two texts of one name": (lambda t, d: d["texts"][1].update(identity="text 0"), {"text-identity-twice"}),
    "a text too long": (lambda t, d: d["texts"][1].update(length=10**9), {"capture-invalid"}),
    "no texts": (lambda t, d: d.update(texts=[]), {"capture-invalid"}),
    "another schema": (lambda t, d: d.update(schema="eaglekit/capture/2"), {"capture-invalid"}),
    "a key nobody knows": (lambda t, d: d.update(path="/home/me"), {"capture-invalid"}),
    "a digest that is none": (lambda t, d: d["target"].update(digest="abc"), {"capture-invalid"}),
    "a vocabulary as text": (lambda t, d: d.update(vocab_size="50"), {"capture-invalid"}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_not_what_it_says_is_refused(name: str, tmp_path: Path) -> None:
    change, expected = HOSTILE[name]
    with pytest.raises(Refusal) as caught:
        read_capture(rewritten(tmp_path, change))
    assert codes(caught.value.findings) == expected
    assert len(caught.value.findings) == 1


def test_a_file_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "capture"
    write_capture(made(), file)
    whole = file.read_bytes()
    for length in (0, 5, 100, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(Refusal) as caught:
            read_capture(file)
        assert codes(caught.value.findings) <= {"file-truncated", "json-invalid", "capture-invalid"}


def test_a_safetensors_file_that_is_no_capture_is_refused(tmp_path: Path) -> None:
    save_file({"weight": torch.ones(2)}, tmp_path / "weights", {"format": "pt"})
    with pytest.raises(Refusal) as caught:
        read_capture(tmp_path / "weights")
    assert codes(caught.value.findings) == {"capture-invalid"}


@pytest.mark.parametrize("kind", ["absent", "a folder", "a named pipe"])
def test_what_is_no_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "capture"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a named pipe":
        os.mkfifo(path)
    with pytest.raises(Refusal) as caught:
        read_capture(path)
    assert codes(caught.value.findings) == {"file-unreadable" if kind == "absent" else "capture-invalid"}


def test_states_for_boundaries_are_concatenated_in_the_order_asked() -> None:
    capture = made()
    text = capture.texts[0]
    assert torch.equal(capture.states_for(text, (4, 0)), torch.cat([text.states[:, 2], text.states[:, 0]], dim=-1))
