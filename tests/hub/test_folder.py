"""What lies in a folder decides whether it may be published; everything that speaks against it is told at once."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from eaglekit.dialects.given import Given
from eaglekit.dialects.tables import DIALECTS
from eaglekit.hub.local.folder import Folder, inspect_folder
from eaglekit.hub.local.manifesting import full_manifest
from eaglekit.hub.model import LocalFile
from eaglekit.plan.manifest import parse_manifest
from eaglekit.report import Finding
from tests.hub.published import SOURCE, TARGET, converted, validated
from tests.plan.converting import converted as convert

TOKEN = "hf_" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0UvWx"  # no real one


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validated(tmp_path_factory.mktemp("published"))


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "drafter"))


def found(folder: Path) -> list[Finding]:
    return inspect_folder(folder)[1]


def told(folder: Path) -> set[tuple[str, str]]:
    """Code and place of every finding."""
    return {(finding.code, finding.place) for finding in found(folder)}


def rewrite(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    """Change a JSON file, and the manifest with it."""
    document = json.loads((folder / name).read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))
    list_anew(folder)


def list_anew(folder: Path) -> None:
    """The manifest over what lies there now."""
    files = [LocalFile.made(path.name, path.read_bytes()) for path in folder.iterdir() if path.name != "SHA256SUMS"]
    (folder / "SHA256SUMS").write_bytes(full_manifest(files).read())


def test_a_converted_folder_may_be_published(folder: Path) -> None:
    opened, findings = inspect_folder(folder)
    assert findings == []
    assert opened is not None
    assert [file.name for file in opened.files] == ["config.json", "model.safetensors", "provenance.json"]
    assert sorted(opened.beside) == ["SHA256SUMS", "report.json"]
    assert opened.report_data == (folder / "report.json").read_bytes()
    assert opened.card_text is None
    assert opened.provenance["to"] == "portable"


def test_every_file_is_known_by_its_size_and_digest(folder: Path) -> None:
    opened, _ = inspect_folder(folder)
    assert opened is not None
    for file in opened.files:
        data = (folder / file.name).read_bytes()
        assert (file.size_bytes, file.sha256) == (len(data), hashlib.sha256(data).hexdigest())
        assert file.read() == data


@pytest.mark.parametrize("dialect", [name for name, dialect in DIALECTS.items() if dialect.writable])
def test_every_layout_that_is_written_may_be_published(dialect: str, tmp_path: Path) -> None:
    given = Given(facts={"target_name": "org/target", "speculative_tokens": 3})
    assert (
        found(convert(SOURCE.parent / "llama-eagle3", tmp_path / "out", target=TARGET, given=given, to=dialect)) == []
    )


def test_a_secret_in_the_metadata_of_a_gguf_file_is_found(tmp_path: Path) -> None:
    given = Given(facts={"target_name": "org/target"})
    out = convert(SOURCE.parent / "llama-eagle3", tmp_path / "out", target=TARGET, given=given, to="gguf")
    file = out / "drafter.gguf"
    # As long as what it replaces, so that every offset stays right.
    file.write_bytes(file.read_bytes().replace(b"org/target", b"/home/an/x"))
    assert "local-path-found" in {finding.code for finding in found(out)}


def test_shards_and_their_index_may_be_published(tmp_path: Path) -> None:
    out = convert(SOURCE, tmp_path / "out", target=TARGET, max_shard_bytes=200_000)
    opened, findings = inspect_folder(out)
    assert findings == []
    assert opened is not None
    assert "model.safetensors.index.json" in {file.name for file in opened.files}


def test_tokenizer_and_licence_may_be_added_after_the_conversion(folder: Path) -> None:
    shutil.copy(TARGET / "tokenizer.json", folder)
    (folder / "LICENSE").write_text("Apache License")
    opened, findings = inspect_folder(folder)
    assert findings == []
    assert opened is not None
    assert {"LICENSE", "tokenizer.json"} < {file.name for file in opened.files}


def test_what_a_push_makes_may_lie_there_already(folder: Path) -> None:
    (folder / "README.md").write_text("# A drafter")
    for name in ("drift.png", "model.sig", "prompts.jsonl"):
        (folder / name).write_bytes(b"x")
    opened, findings = inspect_folder(folder)
    assert findings == []
    assert opened is not None
    assert opened.card_text == "# A drafter"
    assert "README.md" not in {file.name for file in opened.files}


def test_the_digests_are_told_as_they_are_made(folder: Path) -> None:
    asked: list[tuple[str, int, str]] = []
    done: list[int] = []

    @contextmanager
    def bar(title: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
        asked.append((title, total, unit))
        yield done.append

    inspect_folder(folder, bar=bar)
    assert asked == [("digest", sum(path.stat().st_size for path in folder.iterdir()), "bytes")]
    assert sum(done) == asked[0][1]


# The manifest.


def test_a_folder_without_a_manifest_is_refused(folder: Path) -> None:
    (folder / "SHA256SUMS").unlink()
    assert told(folder) == {("manifest-missing", f"{folder}/SHA256SUMS")}


@pytest.mark.parametrize(
    "text",
    [
        b"neither size nor digest\n",
        b"\xff\xfe",
        b"# 99999999999999999999999999 bytes\n" + b"a" * 64 + b"  config.json\n",
        b"# 1 bytes\n" + b"a" * 64 + b"  ../config.json\n",
        (b"# 1 bytes\n" + b"a" * 64 + b"  config.json\n") * 2,
        b"",
        b"#" * (2 << 20),
    ],
    ids=["line", "bytes", "size", "path", "twice", "empty", "large"],
)
def test_a_manifest_that_cannot_be_read_is_refused(folder: Path, text: bytes) -> None:
    (folder / "SHA256SUMS").write_bytes(text)
    codes = {code for code, _ in told(folder)}
    assert codes & {"manifest-invalid", "manifest-mismatch"}, codes


def test_an_edited_config_is_refused(folder: Path) -> None:
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace('"norm_output": true', '"norm_output": false'))
    (finding,) = (finding for finding in found(folder) if finding.code == "manifest-mismatch")
    assert finding.place == "config.json"
    assert "--set" in finding.hint


def test_one_changed_byte_of_the_weights_is_refused(folder: Path) -> None:
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 1
    weights.write_bytes(data)
    assert told(folder) == {("manifest-mismatch", "model.safetensors")}


def test_a_file_that_is_gone_is_named(folder: Path) -> None:
    (folder / "provenance.json").unlink()
    assert told(folder) == {
        ("manifest-file-missing", "provenance.json"),
        ("provenance-missing", f"{folder}/provenance.json"),
    }


def test_a_file_of_the_drafter_that_the_manifest_does_not_know_is_refused(folder: Path) -> None:
    lines = (folder / "SHA256SUMS").read_text().splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if line.endswith("  config.json\n"))
    (folder / "SHA256SUMS").write_text("".join(lines[: at - 1] + lines[at + 1 :]))
    assert told(folder) == {("manifest-unlisted", "config.json")}


# Names.

STRANGERS = (
    ".env", ".gitattributes", "config.py", "modeling.ipynb", "pytorch_model.pt", "training_args.bin", "optimizer.pkl",
    "train.log", "nohup.out", "events.out.tfevents.1", "weights.gguf", "backup.tar.gz", "LICENSE.py", "NOTICE.pkl",
    "notes.md", "optimizer.safetensors", "data.jsonl", "model.safetensors.tmp", "a b.txt",
    "readme.txt", "CONFIG.JSON", "sha256sums.txt", "hf_quant_config.json",
)  # fmt: skip


@pytest.mark.parametrize("name", STRANGERS)
def test_a_file_that_is_not_on_the_list_is_refused_by_name(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"")
    told_of = [finding for finding in found(folder) if finding.place == name and finding.code == "publish-not-allowed"]
    assert len(told_of) == 1
    assert told_of[0].hint


def test_weights_that_the_index_does_not_name_are_refused(tmp_path: Path) -> None:
    out = convert(SOURCE, tmp_path / "out", target=TARGET, max_shard_bytes=200_000)
    shutil.copy(SOURCE / "model.safetensors", out / "other.safetensors")
    assert told(out) == {("publish-not-allowed", "other.safetensors")}


def test_two_weight_files_without_an_index_are_refused(folder: Path) -> None:
    shutil.copy(folder / "model.safetensors", folder / "other.safetensors")
    assert {code for code, _ in told(folder)} == {"several-weight-files", "manifest-unlisted"}


def test_a_pickle_under_the_name_of_a_licence_is_refused(folder: Path) -> None:
    (folder / "LICENSE-MODEL").write_bytes(pickle.dumps({"a": 1}))
    assert told(folder) == {("publish-not-text", "LICENSE-MODEL")}


def test_a_folder_inside_is_refused(folder: Path) -> None:
    (folder / ".cache").mkdir()
    (folder / "checkpoint-100").mkdir()
    assert told(folder) == {("publish-subfolder", ".cache/"), ("publish-subfolder", "checkpoint-100/")}


def test_names_that_differ_in_case_only_are_refused(folder: Path) -> None:
    (folder / "LICENSE-a").write_text("x")
    (folder / "LICENSE-A").write_text("x")
    assert told(folder) == {("publish-name-clash", "LICENSE-a")}


def test_names_that_differ_in_the_spelling_of_accents_only_are_refused(folder: Path) -> None:
    (folder / "LICENSE-e\u0301").write_text("x")
    (folder / "LICENSE-\u00e9").write_text("x")
    assert ("publish-name-clash", "LICENSE-\u00e9") in told(folder)


@pytest.mark.parametrize("ending", ["ü", " ", "\n", "a:b", "a*", "a\\b", "x" * 240, "."])
def test_a_name_that_not_every_disk_can_hold_is_refused(folder: Path, ending: str) -> None:
    (folder / f"LICENSE-{ending}").write_text("x")
    assert {code for code, _ in told(folder)} == {"publish-name"}


def test_a_name_that_is_no_utf8_is_refused(folder: Path) -> None:
    (folder / os.fsdecode(b"NOTICE.\xff")).write_text("x")
    assert ("publish-name", "NOTICE.\\udcff") in told(folder)


# Links and what is no file.


def test_a_link_that_leaves_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    (folder / "LICENSE").symlink_to(tmp_path / "outside")
    assert ("link-leaves-folder", "LICENSE") in told(folder)


def test_weights_behind_a_link_that_leaves_the_folder_are_refused(folder: Path, tmp_path: Path) -> None:
    shutil.move(folder / "model.safetensors", tmp_path / "elsewhere")
    (folder / "model.safetensors").symlink_to(tmp_path / "elsewhere")
    opened, findings = inspect_folder(folder)
    assert opened is None
    assert [finding.code for finding in findings] == ["link-leaves-folder"]


def test_a_link_inside_the_folder_is_the_file_it_leads_to(folder: Path) -> None:
    (folder / "LICENSE").write_text("terms")
    (folder / "NOTICE").symlink_to("LICENSE")
    opened, findings = inspect_folder(folder)
    assert findings == []
    assert opened is not None
    assert {file.name: file.read() for file in opened.files}["NOTICE"] == b"terms"


def test_a_folder_behind_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder / "NOTICE").symlink_to(tmp_path / "elsewhere")
    assert ("link-leaves-folder", "NOTICE") in told(folder)


def test_a_link_that_leads_nowhere_is_refused(folder: Path) -> None:
    (folder / "LICENSE").symlink_to("gone")
    (folder / "NOTICE").symlink_to("NOTICE")
    assert {("broken-link", "LICENSE"), ("broken-link", "NOTICE")} <= told(folder)


def test_a_pipe_is_refused_and_never_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "LICENSE")
    assert ("special-file", "LICENSE") in told(folder)


def test_a_socket_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # the name of a socket may have 108 bytes only
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("NOTICE")
        assert ("special-file", "NOTICE") in told(folder)


def test_a_link_that_leaves_does_not_hide_a_changed_file(folder: Path) -> None:
    (folder / "LICENSE").symlink_to("/")
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-1])
    assert {("link-leaves-folder", "LICENSE"), ("manifest-mismatch", "model.safetensors")} <= told(folder)


def test_a_snapshot_of_the_hub_cache_is_a_folder_like_any_other(folder: Path, tmp_path: Path) -> None:
    repo = tmp_path / "models--org--name"
    snapshot = repo / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    shutil.copytree(folder, repo / "blobs")
    for path in folder.iterdir():
        (snapshot / path.name).symlink_to(repo / "blobs" / path.name)
    opened, findings = inspect_folder(snapshot)
    assert findings == []
    assert isinstance(opened, Folder)


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    opened, findings = inspect_folder(tmp_path / name)
    assert opened is None
    assert [finding.code for finding in findings] in (["folder-missing"], ["not-a-folder"])


# What the files say.


@pytest.mark.parametrize("to", ["nosuch", "../config.portable", "angelslim"])
def test_a_layout_that_nobody_writes_is_no_provenance(folder: Path, to: str) -> None:
    rewrite(folder, "provenance.json", lambda document: document.update(to=to))
    assert told(folder) == {("provenance-invalid", "provenance.json")}


@pytest.mark.parametrize(
    "change",
    [{"schema": "eaglekit/provenance/2"}, {"host": "box7"}, {"source": None}, {"plan": "sha256:0"}],
    ids=["schema", "more", "source", "digest"],
)
def test_a_provenance_that_breaks_its_schema_is_refused(folder: Path, change: dict[str, Any]) -> None:
    rewrite(folder, "provenance.json", lambda document: document.update(change))
    assert told(folder) == {("provenance-invalid", "provenance.json")}


def test_a_provenance_that_is_no_json_is_refused(folder: Path) -> None:
    (folder / "provenance.json").write_text("[" * 100_000)
    list_anew(folder)
    assert told(folder) == {("provenance-invalid", "provenance.json")}


def test_a_key_that_the_layout_does_not_have_is_refused(folder: Path) -> None:
    rewrite(folder, "config.json", lambda document: document.update(note=1))
    assert ("publish-config-invalid", "config.json") in told(folder)


def test_a_config_that_contradicts_its_weights_is_refused(folder: Path) -> None:
    rewrite(folder, "config.json", lambda document: document.update(fc_norm=False))
    assert "flag-against-tensors" in {code for code, _ in told(folder)}


@pytest.mark.parametrize("auto_map", [{"AutoModel": "eagle.Drafter"}, {"AutoTokenizer": ["eagle.Drafter", None]}])
def test_code_that_the_config_names_and_the_folder_lacks_is_refused(folder: Path, auto_map: dict[str, Any]) -> None:
    rewrite(folder, "config.json", lambda document: document.update(auto_map=auto_map))
    (finding,) = (finding for finding in found(folder) if finding.code == "auto-map-missing")
    assert "eagle.py" in finding.message
    assert "not here" in finding.message


def test_code_of_another_repository_is_named(folder: Path) -> None:
    rewrite(
        folder, "config.json", lambda d: d["eagle_config"].update(auto_map={"AutoModel": "org/repo--eagle.Drafter"})
    )
    (finding,) = (finding for finding in found(folder) if finding.code == "auto-map-missing")
    assert "org/repo" in finding.message
    assert finding.place == "config.json: eagle_config.auto_map"


def test_a_verifier_that_is_a_path_must_become_a_hub_id(tmp_path: Path) -> None:
    given = Given(facts={"target_name": "org/target", "speculative_tokens": 3})
    out = convert(SOURCE, tmp_path / "out", target=TARGET, given=given, to="speculators")
    assert found(out) == []
    rewrite(out, "config.json", lambda d: d["speculators_config"]["verifier"].update(name_or_path="/data/run7/model"))
    (finding,) = (finding for finding in found(out) if finding.code == "local-path-found")
    assert finding.got == "/data/run7/model"
    assert "--set target_name=ORG/NAME" in finding.hint


def test_a_token_in_the_config_is_found_and_never_shown(folder: Path) -> None:
    rewrite(folder, "config.json", lambda document: document.update({TOKEN: TOKEN, "model_type": TOKEN}))
    findings = found(folder)
    assert "secret-found" in {finding.code for finding in findings}
    assert TOKEN[6:] not in "".join(map(repr, findings))


def test_everything_that_is_wrong_is_told_at_once(folder: Path) -> None:
    (folder / ".env").write_text("X=1")
    (folder / "provenance.json").write_text("{}")
    (folder / "README.md").write_text("trained in /home/ann/run")
    (folder / "LICENSE").symlink_to("gone")
    (folder / "wandb").mkdir()
    (folder / "model.safetensors").write_bytes(b"short")
    assert {code for code, _ in told(folder)} >= {
        "publish-not-allowed", "provenance-invalid", "local-path-found", "broken-link", "publish-subfolder",
        "manifest-mismatch",
    }  # fmt: skip


def test_a_folder_whose_weights_cannot_be_opened_is_none_and_still_looked_through(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"short")
    (folder / "LICENSE").write_text(TOKEN)
    opened, findings = inspect_folder(folder)
    assert opened is None
    assert {"file-truncated", "manifest-mismatch", "secret-found"} <= {finding.code for finding in findings}


# The manifest of a repository.


def test_the_published_manifest_covers_what_computes_and_what_proves() -> None:
    names = ("config.json", "README.md", "report.json", "drift.png", "model.sig", "SHA256SUMS", "LICENSE")
    made = full_manifest(LocalFile.made(name, name.encode()) for name in names)
    assert made.name == "SHA256SUMS"
    assert list(parse_manifest(made.read().decode())) == ["LICENSE", "config.json", "drift.png", "report.json"]


def test_the_published_manifest_does_not_depend_on_the_order_of_files(whole: Path, tmp_path: Path) -> None:
    opened, _ = inspect_folder(whole)
    assert opened is not None
    assert full_manifest(opened.files) == full_manifest(reversed(opened.files))
    assert full_manifest(opened.files).read() == (converted(tmp_path) / "SHA256SUMS").read_bytes()


@pytest.mark.parametrize("name", ["tokenizer.json", "README.md", "report.json", "SHA256SUMS", "model.safetensors"])
def test_a_file_of_a_terabyte_of_nothing_is_not_read_through(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as stream:
        stream.truncate(1 << 40)
    assert any(name in finding.place for finding in found(folder))
