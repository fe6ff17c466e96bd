"""What lies beside the weights: side files, provenance and manifest; and that nothing private is in any byte."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from eaglekit.dialects.tables import DIALECTS
from eaglekit.plan.manifest import parse_manifest
from eaglekit.report.schemas import problems
from tests.dialects.folders import files_of, folder_of
from tests.dialects.strategies import PLAIN
from tests.plan.converting import converted, planned, refused, tensors_of

COMES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
    "LICENSE",
    "NOTICE",
)
STAYS = (
    "README.md", "modeling.py", "model.gguf", "hf_quant_config.json", "SHA256SUMS", "provenance.json", "token_map.pt",
    ".gitattributes", "training_args.json", "sub/tokenizer.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A source with many files beside its weights, in a folder whose name must not get out, and its conversion."""
    folder = tmp_path_factory.mktemp("private-name-of-a-folder")
    source = folder_of(folder / "secret-source", PLAIN, DIALECTS["vllm"], shards=2)
    for name in (*COMES, *STAYS):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(f"content of {name}")
    converted(source, folder / "out", max_shard_bytes=1000)
    return folder


@pytest.fixture(scope="module")
def written(shop):
    """Every file of the conversion."""
    return files_of(shop / "out")


def test_exactly_the_files_of_the_rules_come_along(written):
    made = {"config.json", "provenance.json", "SHA256SUMS", "model.safetensors.index.json"}
    assert {name for name in written if not name.endswith(".safetensors")} - made == set(COMES)


@pytest.mark.parametrize("name", COMES)
def test_a_file_that_comes_along_is_the_same(name, shop, written):
    assert written[name] == (shop / "secret-source" / name).read_bytes()


@pytest.mark.parametrize("name", STAYS)
def test_a_file_that_stays_is_told_with_a_reason(name, shop):
    left = {item.name: item.why for item in planned(shop / "secret-source").left if item.kind == "file"}
    assert left[name] != ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("LICENSE-a:b", "a character that Windows keeps for itself", id="a hidden stream"),
        pytest.param("LICENSE.", "ends in a dot or space", id="a dot at the end"),
        pytest.param("LICENSE-b", "one file with LICENSE-B on macOS or Windows", id="a twin in another case"),
    ],
)
def test_a_side_file_that_not_every_disk_can_hold_stays(name, why, tmp_path):
    source = folder_of(tmp_path / "source", PLAIN, DIALECTS["vllm"])
    for side in ("LICENSE-B", name):
        (source / side).write_text("x")
    plan = planned(source)
    assert (plan.copied, [why in item.why for item in plan.left if item.name == name]) == (("LICENSE-B",), [True])


def test_no_byte_tells_where_it_was_made(shop, written):
    private = {
        str(shop),
        shop.name,
        "secret-source",
        socket.gethostname(),
        f"/home/{getpass.getuser()}",
        str(Path.cwd()),
    }
    private = {text for text in private if len(text) > 3}
    assert {(name, text) for name, data in written.items() for text in private if text.encode() in data} == set()


def test_the_same_drafter_at_another_place_and_time_gives_the_same_bytes(shop, written, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(shop / "secret-source", elsewhere)
    for file in elsewhere.rglob("*"):
        os.utime(file, (12345, 12345))
    assert files_of(converted(elsewhere, tmp_path / "out", max_shard_bytes=1000)) == written


def test_the_provenance_is_valid(written):
    assert problems(json.loads(written["provenance.json"]), "provenance") == []


def test_the_provenance_names_tool_dialects_and_plan(shop, written):
    told = json.loads(written["provenance.json"])
    plan = planned(shop / "secret-source", max_shard_bytes=1000)
    assert (told["tool"]["name"], told["from"], told["to"], told["plan"]) == (
        "eaglekit", "vllm", "portable", plan.digest(),
    )  # fmt: skip


def test_the_provenance_tells_every_file_that_stayed(written):
    left = {row["name"] for row in json.loads(written["provenance.json"])["left"] if row["kind"] == "file"}
    assert left == set(STAYS)


def test_sha256sum_agrees_with_the_manifest(shop):
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=shop / "out",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_sha256sum_finds_one_changed_byte(shop, tmp_path):
    folder = shutil.copytree(shop / "out", tmp_path / "out")
    data = bytearray((folder / "config.json").read_bytes())
    data[10] ^= 1
    (folder / "config.json").write_bytes(data)
    done = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert "config.json: FAILED" in done.stdout


def test_the_manifest_lists_every_other_file_with_its_size(written):
    listed = parse_manifest(written["SHA256SUMS"].decode())
    assert {name: entry.size_bytes for name, entry in listed.items()} == {
        name: len(data) for name, data in written.items() if name != "SHA256SUMS"
    }


def test_the_parsed_manifest_is_valid(written):
    listed = parse_manifest(written["SHA256SUMS"].decode())
    document = {name: {"size_bytes": e.size_bytes, "sha256": e.sha256} for name, e in listed.items()}
    assert problems(document, "manifest") == []


@pytest.mark.parametrize("line", ["nonsense", "0" * 64 + "  model.safetensors", "# many bytes"])
def test_a_line_that_is_none_of_a_manifest_is_an_error(line):
    with pytest.raises(ValueError, match="no line of a manifest"):
        parse_manifest(line)


def test_every_weight_file_says_for_whom_it_is_laid_out(written):
    for name in [name for name in written if name.endswith(".safetensors")]:
        length = int.from_bytes(written[name][:8], "little")
        assert json.loads(written[name][8 : 8 + length])["__metadata__"] == {"format": "pt"}


def test_the_source_is_left_as_it_was(tmp_path):
    source = folder_of(tmp_path / "source", PLAIN, DIALECTS["vllm"])
    before = files_of(source), {path: path.stat().st_mtime_ns for path in source.rglob("*")}
    converted(source, tmp_path / "out")
    assert (files_of(source), {path: path.stat().st_mtime_ns for path in source.rglob("*")}) == before


@pytest.mark.parametrize("place", [".", "inside", "inside/deeper", ".."])
def test_a_destination_that_touches_the_source_is_refused(place, tmp_path):
    source = folder_of(tmp_path / "above" / "source", PLAIN, DIALECTS["vllm"])
    found = refused(lambda: converted(source, source / place))
    assert set(found) <= {"destination-inside-source", "destination-exists"}
    assert sorted(path.name for path in source.iterdir()) == ["config.json", "model.safetensors"]


def test_a_destination_behind_a_link_to_the_source_is_refused(tmp_path):
    source = folder_of(tmp_path / "source", PLAIN, DIALECTS["vllm"])
    Path(tmp_path / "link").symlink_to(source)
    assert set(refused(lambda: converted(source, tmp_path / "link" / "out"))) == {"destination-inside-source"}


def test_a_source_with_an_index_of_its_own_is_written_without_it(tmp_path):
    source = folder_of(tmp_path / "source", PLAIN, DIALECTS["vllm"], shards=3)
    out = converted(source, tmp_path / "out", to="vllm")
    assert "model.safetensors.index.json" not in files_of(out)
    assert tensors_of(out) == tensors_of(source)
