"""A plan on disk: applied it gives what `convert` gives; a changed source or an edited plan is refused at once."""

from __future__ import annotations

import copy
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.tables import DIALECTS
from eaglekit.plan.apply import apply
from eaglekit.plan.saved import load, save, verify
from eaglekit.report import Refusal
from eaglekit.report.schemas import problems
from tests.dialects.folders import files_of, folder_of, safetensors_file
from tests.dialects.strategies import PLAIN
from tests.plan.converting import FAST, applied, converted, planned, refused, tensors_of

UNSORTED = replace(PLAIN, target_ids=(8, 1, 23, 5, 2, 20, 13))
"""A vocabulary in frequency order: TorchSpec's layout sorts it, and the head's rows with it."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with a source, and its plan; tests work on copies."""
    folder = tmp_path_factory.mktemp("shop")
    source = folder_of(folder / "source", UNSORTED, DIALECTS["vllm"])
    (source / "tokenizer.json").write_text("{}")
    save(planned(source, to="torchspec"), folder / "plan.json", open_folder(source), None)
    converted(source, folder / "converted", to="torchspec")
    return folder


@pytest.fixture
def work(shop, tmp_path):
    """A copy of the shop whose files may be spoilt; times are kept."""
    return Path(shutil.copytree(shop, tmp_path / "work"))


def apply_file(work: Path) -> Path:
    """The plan of `work` carried out, with every check that the command line makes."""
    plan = load(work / "plan.json")
    verify(plan, open_folder(work / "source"), None)
    applied(plan, work / "source", work / "out")
    return work / "out"


def refused_without_a_trace(work: Path, call: Callable[[], object]) -> set[str]:
    """The codes of the refusal of `call`, which must leave everything as it was."""
    before = files_of(work)
    codes = set(refused(call))
    assert files_of(work) == before
    return codes


def test_a_saved_plan_gives_the_folder_that_convert_gives(work):
    assert files_of(apply_file(work)) == files_of(work / "converted")


def test_the_vocabulary_of_the_plan_is_sorted_with_the_head(work):
    rows = {token: row for row, token in enumerate(UNSORTED.target_ids)}
    old, new = tensors_of(work / "source")["lm_head.weight"], tensors_of(apply_file(work))["lm_head.weight"]
    width = len(old.data) // 7
    assert new.data == b"".join(old.data[rows[t] * width : (rows[t] + 1) * width] for t in sorted(rows))


def test_a_plan_is_read_as_it_was_saved(shop):
    plan = load(shop / "plan.json")
    again = planned(shop / "source", to="torchspec")
    assert (plan.digest(), plan.files, plan.config) == (again.digest(), again.files, again.config)


def test_a_saved_plan_is_valid(shop):
    assert problems(json.loads((shop / "plan.json").read_text()), "plan") == []


def test_a_plan_is_never_written_over_a_file(work):
    plan = planned(work / "source")
    codes = refused_without_a_trace(work, lambda: save(plan, work / "plan.json", open_folder(work / "source"), None))
    assert codes == {"destination-exists"}


def test_a_source_whose_times_alone_have_changed_is_the_same(work):
    for file in (work / "source").iterdir():
        os.utime(file, (1, 1))
    assert files_of(apply_file(work)) == files_of(work / "converted")


def _one_byte(source: Path) -> None:
    file = source / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def _one_byte_at_the_same_time(source: Path) -> None:
    stamp = (source / "model.safetensors").stat()
    _one_byte(source)
    os.utime(source / "model.safetensors", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def _config(source: Path) -> None:
    file = source / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "rms_norm_eps": 1e-6}))


def _config_spacing(source: Path) -> None:
    file = source / "config.json"
    file.write_text(file.read_text() + "\n")


def _header(source: Path) -> None:
    (source / "model.safetensors").write_bytes(safetensors_file(tensors_of(source), {"format": "np"}))


def _other_order(source: Path) -> None:
    tensors = dict(reversed(tensors_of(source).items()))
    (source / "model.safetensors").write_bytes(safetensors_file(tensors, {"format": "pt"}))


def _tokenizer(source: Path) -> None:
    (source / "tokenizer.json").write_text("[]")


def _no_tokenizer(source: Path) -> None:
    (source / "tokenizer.json").unlink()


CHANGES: Mapping[str, Callable[[Path], None]] = {
    "one byte of the weights": _one_byte,
    "one byte, with the size and the time of before": _one_byte_at_the_same_time,
    "a config key": _config,
    "a line feed in the config": _config_spacing,
    "the metadata": _header,
    "the same tensors in another order": _other_order,
    "a copied file": _tokenizer,
    "no copied file": _no_tokenizer,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_source_is_refused(change, work):
    CHANGES[change](work / "source")
    assert refused_without_a_trace(work, lambda: apply_file(work)) == {"source-changed"}


Document = dict[str, Any]


def steps_of(document: Document) -> dict[str, Document]:
    """The steps of a plan document by the name they write."""
    return {step["name"]: step for steps in document["files"].values() for step in steps}


def _swap(first: str, second: str) -> Callable[[Document], None]:
    def edit(document: Document) -> None:
        steps = steps_of(document)
        one, two = steps[first], steps[second]
        one["tensor"], two["tensor"] = two["tensor"], one["tensor"]

    return edit


def _step(written: str, /, **changes: Any) -> Callable[[Document], None]:
    return lambda document: steps_of(document)[written].update(changes)


def _rename_file(name: str) -> Callable[[Document], None]:
    return lambda document: document.update(files={name: document["files"]["model.safetensors"]})


def _set(path: str, value: Any) -> Callable[[Document], None]:
    def edit(document: Document) -> None:
        *parents, last = path.split("/")
        for part in parents:
            document = document[part]
        document[last] = value

    return edit


def _without_step(name: str) -> Callable[[Document], None]:
    def edit(document: Document) -> None:
        file = document["files"]["model.safetensors"]
        file[:] = [step for step in file if step["name"] != name]

    return edit


def _twice(document: Document) -> None:
    file = document["files"]["model.safetensors"]
    file.append(copy.deepcopy(file[-1]))


def _reordered(document: Document) -> None:
    document["files"]["model.safetensors"].reverse()


def _no_digest(file: str) -> Callable[[Document], None]:
    return lambda document: document["source"]["digests"].pop(file)


QUERY = "midlayer.self_attn.q_proj.weight"
EDITS: Mapping[str, Callable[[Document], None]] = {
    "a file above the folder": _rename_file("../model.safetensors"),
    "a file with a path": _rename_file("sub/model.safetensors"),
    "a file of another name": _rename_file("weights.safetensors"),
    "one shard of two": _rename_file("model-00001-of-00002.safetensors"),
    "the second shard alone": _rename_file("model-00002-of-00002.safetensors"),
    "another tensor of the same shape": _swap("midlayer.self_attn.k_proj.weight", "midlayer.self_attn.v_proj.weight"),
    "another norm": _swap("midlayer.input_layernorm.weight", "midlayer.hidden_norm.weight"),
    "a tensor that is not there": _step(QUERY, tensor="no.such.weight"),
    "another name": _step(QUERY, name="midlayer.self_attn.query.weight"),
    "a name of another role": _step(QUERY, name="midlayer.mlp.gate_proj.weight"),
    "another role": _step(QUERY, role="key 0"),
    "no role at all": _step(QUERY, role="ornament"),
    "another shape": _step(QUERY, shape=[12, 15]),
    "the shape of the transpose": _step(QUERY, shape=[16, 12]),
    "an enormous shape": _step(QUERY, shape=[1 << 40, 1 << 40]),
    "another dtype without a cast": _step(QUERY, dtype="F16"),
    "a cast from a dtype it has not": _step(QUERY, dtype="F16", steps=["cast F32 to F16"]),
    "a cast that does not happen": _step(QUERY, steps=["cast BF16 to F16"]),
    "two casts": _step(QUERY, dtype="F16", steps=["cast BF16 to F32", "cast F32 to F16"]),
    "an unknown step": _step(QUERY, steps=["shuffle"]),
    "sorted rows of another tensor": _step(QUERY, steps=["sort rows"]),
    "an unsorted head": _step("lm_head.weight", steps=[]),
    "an unknown origin": _step(QUERY, origin="internet"),
    "a target that is none": _step("embed_tokens.weight", origin="target"),
    "weights made from the vocabulary": _step("embed_tokens.weight", origin="map", tensor="mask"),
    "a map from nowhere": _step("d2t", origin="source", tensor="nowhere"),
    "the source's unsorted map": _step("d2t", origin="source", tensor="d2t"),
    "a mask of another size": _step("t2d", shape=[25]),
    "an enormous mask": _step("t2d", origin="map", tensor="mask", shape=[1 << 50]),
    "no tensor": _without_step(QUERY),
    "no map": _without_step("d2t"),
    "a tensor twice": _twice,
    "tensors in another order": _reordered,
    "a row order that repeats": _set("row_order", [0, 1, 2, 3, 4, 5, 5]),
    "a row order that leaves the head": _set("row_order", [1, 4, 3, 0, 6, 5, 7]),
    "a row order that is too short": _set("row_order", [1, 4, 3, 0]),
    "another row order": _set("row_order", [0, 1, 2, 3, 4, 5, 6]),
    "no row order": _set("row_order", None),
    "target ids out of range": _set("target_ids", [1, 2, 5, 8, 13, 20, 24]),
    "negative target ids": _set("target_ids", [-1, 2, 5, 8, 13, 20, 23]),
    "target ids that repeat": _set("target_ids", [1, 2, 5, 8, 13, 20, 20]),
    "other target ids": _set("target_ids", [1, 2, 5, 8, 13, 20, 22]),
    "fewer target ids": _set("target_ids", [1, 2, 5]),
    "no target ids": _set("target_ids", None),
    "a config of another dialect": _set("config/eaglekit", {"dialect": "vllm", "aux_layers": [3, 17, 30]}),
    "a config key that no row writes": _set("config/trust_remote_code", True),
    "a config that contradicts the tensors": _set("config/hidden_size", 12),
    "a config with a flag and no norms": _set("config/fc_norm", True),
    "a config without a class": _set("config/architectures", []),
    "another dialect": _set("to", "specforge"),
    "a dialect that is only read": _set("to", "nemo"),
    "no dialect": _set("to", "no-such-dialect"),
    "another source dialect": _set("from", "nemo"),
    "no source dialect": _set("from", "no-such-dialect"),
    "a copied file above the folder": _set("copied", ["../secret"]),
    "a copied file that never comes along": _set("copied", ["config.json"]),
    "a copied manifest": _set("copied", ["SHA256SUMS"]),
    "a copied file that is not there": _set("copied", ["merges.txt"]),
    "no digest of the weights": _no_digest("model.safetensors"),
    "no digest of the config": _no_digest("config.json"),
    "another schema": _set("schema", "eaglekit/plan/2"),
    "another key": _set("run", "rm -rf"),
    "a report that is none": _set("report", {}),
    "a finding that nobody knows": _set(
        "report/findings", [{"code": "no-such-code", "severity": "note", "message": "hello"}]
    ),
    "a report with a crooked table": _set("report/tables", {"crooked": [{"a": 1}, {"b": 2}]}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_plan_is_refused(edit, work):
    document = json.loads((work / "plan.json").read_text())
    EDITS[edit](document)
    (work / "plan.json").write_text(json.dumps(document))
    assert refused_without_a_trace(work, lambda: apply_file(work)) - {"source-changed"} <= EXPECTED_CODES


EXPECTED_CODES = {
    "plan-invalid", "tensor-missing", "tensor-shape", "tensor-superfluous", "size-disagrees", "flag-against-tensors",
    "map-missing", "map-out-of-range", "mask-count", "map-against-mask", "tensor-unknown", "config-key-unknown",
}  # fmt: skip


EDITABLE = ("files", "target_ids", "row_order", "copied", "from", "to")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything in a JSON value that holds nothing further, and to lists."""
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [path, *(found for key, inner in enumerate(value) for found in leaves(inner, (*path, key)))]
    return [path]


@settings(max_examples=300)
@given(some.data())
def test_whatever_is_edited_a_plan_writes_what_was_planned_or_nothing(shop, data):
    document = json.loads((shop / "plan.json").read_text())
    texts = sorted({step["tensor"] for step in steps_of(document).values()} | {"sort rows", "source", "map", "F16"})
    values = some.one_of(
        some.none(), some.booleans(), some.integers(-1, 30), some.sampled_from(texts), some.lists(some.integers(0, 25))
    )
    paths = [path for name in EDITABLE for path in leaves(document[name], (name,)) if path[-1] != "why"]
    *parents, last = data.draw(some.sampled_from(paths))
    holder = document
    for part in parents:
        holder = holder[part]
    holder[last] = data.draw(values)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "source").symlink_to(shop / "source")
        (work / "plan.json").write_text(json.dumps(document))
        try:
            written = files_of(apply_file(work))
        except Refusal:
            assert not (work / "out").exists()
        else:
            assert weights_and_config(written) == weights_and_config(files_of(shop / "converted"))


def weights_and_config(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What engines read of a folder."""
    return {name: data for name, data in files.items() if name.startswith(("model", "config"))}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": "eaglekit/plan/1"}', "\x00" * 9])
def test_what_is_no_plan_is_refused(text, tmp_path):
    (tmp_path / "plan.json").write_text(text)
    assert len(refused(lambda: load(tmp_path / "plan.json"))) >= 1


def test_a_plan_that_is_not_there_is_refused(tmp_path):
    assert set(refused(lambda: load(tmp_path / "plan.json"))) == {"file-unreadable"}


def test_weights_that_change_while_they_are_copied_are_refused(work):
    opened = open_folder(work / "source")
    plan = planned(work / "source", to="vllm")
    _one_byte(work / "source")
    assert set(refused(lambda: apply(plan, work / "out", source=opened, wishes=FAST))) == {"source-changed"}
    assert not (work / "out").exists()
