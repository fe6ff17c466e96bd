"""The readers, each as a function of bytes that raises nothing but `Refusal`, with files it reads to begin from."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eaglekit.checkpoint.copying import Written
from eaglekit.checkpoint.gguf_header import parse_gguf
from eaglekit.checkpoint.gguf_layout import gguf_header
from eaglekit.checkpoint.header import parse_header
from eaglekit.checkpoint.index import bind, parse_index
from eaglekit.checkpoint.json_document import read_object
from eaglekit.checkpoint.layout import Entry
from eaglekit.checkpoint.model import Tensor
from eaglekit.checkpoint.opening import open_source
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.hub.card.front_matter import parse
from eaglekit.hub.card.merging import split, written_in
from eaglekit.hub.local.manifest_reading import read_manifest
from eaglekit.hub.local.report_reading import read_validation
from eaglekit.plan.manifest import manifest_text
from eaglekit.plan.saved import load
from eaglekit.report import Report

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CHECKPOINTS = FIXTURES / "checkpoints"


@dataclass(frozen=True)
class Reader:
    """One reader, and where it begins."""

    run: Callable[[bytes], object]
    seeds: Callable[[], Iterator[bytes]]


@dataclass
class Memory:
    """A `Source` whose files are bytes."""

    contents: Mapping[str, bytes]
    label: str = "fuzzed"

    def files(self) -> Mapping[str, int]:
        """Name -> bytes."""
        return {name: len(data) for name, data in self.contents.items()}

    def read(self, name: str, start: int, end: int) -> bytes:
        """Bytes of one file."""
        return self.contents[name][start:end]

    def local_path(self, name: str) -> Path | None:
        """Nowhere on the disk."""
        return None

    def identity(self) -> Mapping[str, Any]:
        """What provenance would say."""
        return {"kind": "memory"}


def _header(data: bytes) -> object:
    return parse_header(lambda start, end: data[start:end], len(data), "fuzzed.safetensors")


def _gguf(data: bytes) -> object:
    return parse_gguf(lambda start, end: data[start:end], len(data), "fuzzed.gguf")


SHARDS = {"model-00001-of-00002.safetensors": 10, "model-00002-of-00002.safetensors": 10}


def _index(data: bytes) -> object:
    index = parse_index(read_object(data, "index"), "model.safetensors.index.json", SHARDS)
    first, second = SHARDS
    return bind(index, {first: {"lm_head.weight": TENSOR}, second: {"fc.weight": TENSOR}})


TENSOR = Tensor("fuzzed", "F32", (), next(iter(SHARDS)), 0, 4)

SHAPE_OF = CHECKPOINTS / "speculators-0.9-llama"
"""The drafter whose config is fuzzed; its weights stay."""


def _config(data: bytes) -> object:
    weights = (SHAPE_OF / "model.safetensors").read_bytes()
    reading = read(open_source(Memory({"config.json": data, "model.safetensors": weights})), Given())
    return reading.findings


@contextmanager
def held(data: bytes) -> Iterator[Path]:
    """Bytes under a path that no disk has."""
    descriptor = os.memfd_create("fuzzed")
    try:
        os.write(descriptor, data)
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _plan(data: bytes) -> object:
    with held(data) as path:
        return load(path)


def _capture(data: bytes) -> object:
    from eaglekit.target.capture_reading import read_capture

    with held(data) as path:
        capture = read_capture(path)
        return list(capture.texts)


def _card(data: bytes) -> object:
    text = data.decode("utf-8", "replace")
    written_in(text)
    card = split(text)
    return parse(card.metadata)


def _front_matter(data: bytes) -> object:
    return parse(data.decode("utf-8", "replace")).values


def _report(data: bytes) -> Report:
    report = read_validation(data)
    # What is read is rendered again: a report that breaks its renderings is no report.
    json.dumps(report.as_json())
    return report


def _manifest(data: bytes) -> object:
    return read_manifest(data, "SHA256SUMS")


def _files(*patterns: str, below: Path = CHECKPOINTS) -> Callable[[], Iterator[bytes]]:
    def seeds() -> Iterator[bytes]:
        for pattern in patterns:
            for path in sorted(below.glob(pattern)):
                if path.stat().st_size < 200_000:
                    yield path.read_bytes()

    return seeds


def _headers() -> Iterator[bytes]:
    """Files cut behind a short header of their own: the fewer bytes, the more runs."""
    yield b"\x02\0\0\0\0\0\0\0{}"
    for document, size in (
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, 4),
        ({"a": {"dtype": "BF16", "shape": [2, 1], "data_offsets": [0, 4]},
          "b": {"dtype": "I64", "shape": [], "data_offsets": [4, 12]}, "__metadata__": {"format": "pt"}}, 12),
        ({"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]},
          "b": {"dtype": "U8", "shape": [0, 3], "data_offsets": [1, 1]}}, 1),
    ):  # fmt: skip
        body = json.dumps(document).encode()
        yield len(body).to_bytes(8, "little") + body + bytes(size)


def _indexes() -> Iterator[bytes]:
    first, second = SHARDS
    yield json.dumps(
        {"metadata": {"total_size": 8}, "weight_map": {"lm_head.weight": first, "fc.weight": second}}
    ).encode()


def _manifests() -> Iterator[bytes]:
    yield manifest_text({"config.json": Written(2, "0" * 64), "a/b": Written(3, "1" * 64)}).encode()


def _ggufs() -> Iterator[bytes]:
    values = {"general.architecture": "eagle3", "eagle3.block_count": 1, "eagle3.target_layers": [1, 2, 3]}
    yield gguf_header([Entry("output.weight", "F32", (2,))], values) + bytes(32)
    yield from _files("refuse-gguf/*.gguf")()


def _plans() -> Iterator[bytes]:
    from eaglekit.checkpoint.opening import open_folder
    from eaglekit.plan.saved import save
    from tests.plan.converting import planned

    with TemporaryDirectory() as folder:
        file = Path(folder) / "plan.json"
        save(planned(SHAPE_OF), file, open_folder(SHAPE_OF), None)
        yield json.dumps(json.loads(file.read_bytes()), separators=(",", ":")).encode()


def _captures() -> Iterator[bytes]:
    from eaglekit.target.capture_file import write_capture
    from tests.target.test_capture_file import made

    with TemporaryDirectory() as folder:
        for number, capture in enumerate((made(), made((1,), (1,), "bfloat16"))):
            path = Path(folder) / str(number)
            write_capture(capture, path)
            yield path.read_bytes()


def _cards() -> Iterator[bytes]:
    from tests.hub.cards import card

    yield card().encode()
    yield b"---\nlicense: mit\n---\n\nProse.\n"


READERS: Mapping[str, Reader] = {
    "header": Reader(_header, _headers),
    "gguf": Reader(_gguf, _ggufs),
    "index": Reader(_index, _indexes),
    "config": Reader(_config, _files("*/config.json")),
    "plan": Reader(_plan, _plans),
    "manifest": Reader(_manifest, _manifests),
    "capture": Reader(_capture, _captures),
    "report": Reader(_report, _files("report.json", below=FIXTURES / "published")),
    "card": Reader(_card, _cards),
    "front matter": Reader(_front_matter, lambda: iter([
        b"license: mit\ntags:\n- a\n- 'b'\nmodel-index:\n- name: x\n  results: []\n", b"a: {b: [1, 2.5, null, true]}\n",
        b"# comment\nbase_model: ORG/NAME\nx: |\n  text\n",
    ])),
}  # fmt: skip
