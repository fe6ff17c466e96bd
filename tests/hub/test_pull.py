"""`eaglekit pull` as a user calls it, against the Hub on loopback."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eaglekit.checkpoint.copying import Written
from eaglekit.plan.manifest import MANIFEST, manifest_text
from tests.cli.running import Finished, eaglekit
from tests.hub import Client, Fault, Hub

pytestmark = pytest.mark.hub_client

REPO = "org/drafter"
WEIGHTS = random.Random(20_260_103).randbytes(40_000)
FILES: Mapping[str, bytes] = {
    "config.json": b'{"model_type": "llama"}\n',
    "model.safetensors": WEIGHTS,
    "report.json": b"{}\n",
}
CARD = b"---\nlicense: mit\n---\n# A drafter\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sums(files: Mapping[str, bytes]) -> bytes:
    """The manifest of these files."""
    return manifest_text({name: Written(len(data), sha256(data)) for name, data in files.items()}).encode()


def published(files: Mapping[str, bytes] = FILES, **others: bytes) -> dict[str, bytes]:
    """What a push leaves in a repository."""
    return {**files, "README.md": CARD, MANIFEST: sums(files), **others}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub(tmp_path / "hub") as hub:
        hub.account("tester", "a-token", organisations=("org",))
        yield hub


@pytest.fixture
def client(hub: Hub, tmp_path: Path) -> Client:
    return Client(hub, tmp_path / "home")


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Where the drafter is to be pulled to."""
    return tmp_path / "place" / "drafter"


@pytest.fixture(autouse=True)
def place(there: Path) -> None:
    there.parent.mkdir()


def pull(client: Client, *words: object) -> Finished:
    return eaglekit("pull", *words, environment=client.environment)


def refused(client: Client, there: Path, *words: object) -> list[str]:
    """The codes of a pull that fails and leaves nothing behind."""
    done = pull(client, *(words or (REPO,)), there, "--json")
    assert done.code == 1
    assert os.listdir(there.parent) == []  # noqa: PTH208 - names, hidden ones too
    return done.codes


def test_every_listed_file_arrives_byte_for_byte_with_card_and_manifest(hub: Hub, client: Client, there: Path) -> None:
    commit = hub.publish(REPO, published())
    done = pull(client, REPO, there, "--json")
    assert done.code == 0, done.out
    assert {path.name: path.read_bytes() for path in there.iterdir()} == published()
    result = done.document["result"]
    assert (result["commit"], result["manifest"]) == (commit.oid, f"sha256:{sha256(sums(FILES))}")
    assert result["not_taken"] == []


def test_people_are_told_the_commit_the_digests_and_what_to_do_next(hub: Hub, client: Client, there: Path) -> None:
    commit = hub.publish(REPO, published())
    done = pull(client, REPO, there)
    assert done.code == 0, done.err
    assert commit.oid in done.out
    assert sha256(WEIGHTS) in done.out
    assert f"next: eaglekit verify {there}" in done.err


def test_a_revision_names_an_earlier_commit(hub: Hub, client: Client, there: Path) -> None:
    first = hub.publish(REPO, published())
    hub.publish(REPO, published({**FILES, "model.safetensors": b"other"}))
    assert pull(client, f"{REPO}@{first.oid}", there).code == 0
    assert (there / "model.safetensors").read_bytes() == WEIGHTS


def test_a_flipped_byte_is_refused_by_name_with_both_digests(hub: Hub, client: Client, there: Path) -> None:
    hub.publish(REPO, published())
    flipped = bytes([WEIGHTS[0] ^ 1]) + WEIGHTS[1:]
    hub.fail(Fault("/cdn/", status=200, body=flipped))
    done = pull(client, REPO, there, "--json")
    (finding,) = done.document["findings"]
    assert (done.code, finding["code"], finding["place"]) == (1, "pull-bytes-wrong", "model.safetensors")
    assert (sha256(flipped) in finding["got"], sha256(WEIGHTS) in finding["expected"]) == (True, True)
    assert list(there.parent.iterdir()) == []


def test_a_wrong_byte_of_the_card_is_noticed_too(hub: Hub, client: Client, there: Path) -> None:
    hub.publish(REPO, published())
    hub.fail(Fault("/api/resolve-cache/.*README.md", status=200, body=CARD.replace(b"mit", b"tim")))
    assert refused(client, there) == ["pull-bytes-wrong"]


def test_a_repository_without_a_manifest_is_refused_and_the_way_without_proof_named(
    hub: Hub, client: Client, there: Path
) -> None:
    hub.publish(REPO, FILES)
    done = pull(client, REPO, there)
    assert done.code == 1
    assert "pull-manifest-absent" in done.err
    assert f"hf download {REPO}" in done.err


DIGEST = "0" * 64
MANIFESTS = {
    "climbs out": f"# 1 bytes\n{DIGEST}  ../evil\n",
    "absolute": f"# 1 bytes\n{DIGEST}  /etc/evil\n",
    "hidden": f"# 1 bytes\n{DIGEST}  .bashrc\n",
    "in a hidden folder": f"# 1 bytes\n{DIGEST}  .git/hooks/post-checkout\n",
    "listed twice": f"# 1 bytes\n{DIGEST}  a\n# 1 bytes\n{DIGEST}  a\n",
    "itself": f"# 1 bytes\n{DIGEST}  {MANIFEST}\n",
    "steers a terminal": f"# 1 bytes\n{DIGEST}  \x1b[2Ja\n",
    "backslashes": f"# 1 bytes\n{DIGEST}  a\\b\n",
    "a hidden stream": f"# 1 bytes\n{DIGEST}  config.json:evil\n",
    "a device": f"# 1 bytes\n{DIGEST}  nul.json\n",
    "one file in two cases": f"# 1 bytes\n{DIGEST}  a.json\n# 1 bytes\n{DIGEST}  A.json\n",
    "one file with two spellings": f"# 1 bytes\n{DIGEST}  \u00e9.json\n# 1 bytes\n{DIGEST}  e\u0301.json\n",
    "a file and a folder": f"# 1 bytes\n{DIGEST}  a\n# 1 bytes\n{DIGEST}  a/b\n",
    "the card in another case": f"# 1 bytes\n{DIGEST}  readme.md\n",
    "thousands of entries": "".join(f"# 1 bytes\n{DIGEST}  f{number}\n" for number in range(3_000)),
    "no size": f"{DIGEST}  a\n",
    "an endless size": f"# {'9' * 5_000} bytes\n{DIGEST}  a\n",
    "empty": "",
    "prose": "these are my files\n",
}


@pytest.mark.parametrize("text", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_cannot_be_followed_is_refused_before_anything_is_written(
    hub: Hub, client: Client, there: Path, text: str
) -> None:
    hub.publish(REPO, {**published(), MANIFEST: text.encode()})
    hub.forget_requests()
    assert refused(client, there) == ["pull-manifest-invalid"]
    assert [r.path for r in hub.requests() if "model.safetensors" in r.path or r.origin == "cdn"] == []


def test_a_manifest_that_is_no_text_is_refused(hub: Hub, client: Client, there: Path) -> None:
    hub.publish(REPO, {**published(), MANIFEST: b"\xff\xfe\x00"})
    assert refused(client, there) == ["pull-manifest-invalid"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        pytest.param({"model.safetensors": WEIGHTS[:-1]}, "pull-file-differs", id="size of a large file"),
        pytest.param({"model.safetensors": WEIGHTS[:-1] + b"!"}, "pull-file-differs", id="digest of a large file"),
        pytest.param({"config.json": b"{}"}, "pull-file-differs", id="size of a small file"),
        pytest.param({"config.json": b'{"model_type": "qwen3"}\n'}, "pull-bytes-wrong", id="content of a small file"),
    ],
)
def test_a_file_replaced_behind_the_manifest_is_refused(
    hub: Hub, client: Client, there: Path, changed: dict[str, bytes], code: str
) -> None:
    hub.publish(REPO, {**published(), **changed})
    assert refused(client, there) == [code]


def test_everything_that_is_missing_or_replaced_is_told_before_a_large_file_is_asked_for(
    hub: Hub, client: Client, there: Path
) -> None:
    files = {**FILES, "tokenizer.json": b"{}", "LICENSE": b"MIT"}
    hub.publish(REPO, {**FILES, "config.json": b"{}", MANIFEST: sums(files)})
    hub.forget_requests()
    assert sorted(refused(client, there)) == ["pull-file-differs", "pull-file-missing", "pull-file-missing"]
    assert [record for record in hub.requests() if record.origin == "cdn"] == []


def test_a_pickle_that_the_manifest_does_not_list_stays_there_and_is_named(
    hub: Hub, client: Client, there: Path
) -> None:
    hub.publish(REPO, {**published(), "pytorch_model.bin": b"\x80\x04.", "run.py": b"evil()"})
    hub.forget_requests()
    done = pull(client, REPO, there, "--json")
    assert (done.code, done.codes) == (0, ["pull-not-covered"])
    assert done.document["result"]["not_taken"] == ["pytorch_model.bin", "run.py"]
    assert sorted(path.name for path in there.iterdir()) == sorted(published())
    assert [record.path for record in hub.requests() if record.path.endswith((".bin", ".py"))] == []


def test_a_pickle_that_the_manifest_lists_is_refused(hub: Hub, client: Client, there: Path) -> None:
    hub.publish(REPO, published({**FILES, "training_state.pt": b"\x80\x04."}))
    assert refused(client, there) == ["pull-pickle"]


def test_the_announced_digest_is_held_against_the_manifest(hub: Hub, client: Client, there: Path) -> None:
    hub.publish(REPO, published())
    assert refused(client, there, REPO, "--expect", f"sha256:{DIGEST}") == ["pull-manifest-unexpected"]
    assert pull(client, REPO, there, "--expect", f"sha256:{sha256(sums(FILES))}").code == 0


def test_a_takeover_that_replaces_files_and_manifest_does_not_meet_the_announcement(
    hub: Hub, client: Client, there: Path
) -> None:
    hub.publish(REPO, published())
    hub.publish(REPO, published({**FILES, "config.json": b"{}"}))
    assert refused(client, there, REPO, "--expect", sha256(sums(FILES))) == ["pull-manifest-unexpected"]


def test_a_malformed_announcement_is_a_usage_error(client: Client, there: Path) -> None:
    assert pull(client, REPO, there, "--expect", "sha256:abc").code == 2


def test_a_dry_run_downloads_and_writes_nothing(hub: Hub, client: Client, there: Path) -> None:
    hub.publish(REPO, published())
    hub.forget_requests()
    done = pull(client, REPO, there, "--dry-run", "--json")
    assert done.code == 0
    assert [row["file"] for row in done.document["tables"]["files"]] == [*FILES, "README.md"]
    assert done.document["result"]["written"] is None
    assert list(there.parent.iterdir()) == []
    assert {record.method for record in hub.requests()} == {"GET"}
    assert [record for record in hub.requests() if record.origin == "cdn"] == []


def test_a_place_that_is_taken_is_told_before_anything_is_asked(hub: Hub, client: Client, there: Path) -> None:
    there.mkdir()
    (there / "mine").write_text("mine")
    done = pull(client, REPO, there, "--json")
    assert (done.code, done.codes) == (1, ["destination-exists"])
    assert [path.name for path in there.iterdir()] == ["mine"]
    assert hub.requests() == []


def test_a_connection_that_breaks_is_taken_up_where_it_stopped(hub: Hub, client: Client, there: Path) -> None:
    data = random.Random(20_260_104).randbytes(24 << 20)
    hub.publish(REPO, published({**FILES, "model.safetensors": data}))
    hub.fail(Fault("/cdn/", cut_after_bytes=16 << 20, times=1))
    assert pull(client, REPO, there).code == 0
    assert (there / "model.safetensors").read_bytes() == data
    _, second = [record for record in hub.requests() if record.origin == "cdn" and record.method == "GET"]
    assert int(second.range.removeprefix("bytes=").partition("-")[0]) >= 8 << 20


def test_an_interrupted_pull_leaves_nothing_and_the_next_one_fetches_only_what_was_not_there(
    hub: Hub, client: Client, there: Path
) -> None:
    shards = {"model-00001-of-00002.safetensors": WEIGHTS, "model-00002-of-00002.safetensors": WEIGHTS[::-1]}
    hub.publish(REPO, published({"config.json": b"{}", **shards}))
    hub.fail(Fault("/cdn/", status=403, after=1, times=1))
    refused(client, there)
    hub.forget_requests()
    assert pull(client, REPO, there).code == 0
    assert {name: (there / name).read_bytes() for name in shards} == shards
    (record,) = [record for record in hub.requests() if record.origin == "cdn" and record.method == "GET"]
    assert sha256(WEIGHTS[::-1]) in record.path


def test_a_second_pull_downloads_nothing_again(hub: Hub, client: Client, there: Path) -> None:
    hub.publish(REPO, published())
    assert pull(client, REPO, there).code == 0
    hub.forget_requests()
    assert pull(client, REPO, there.with_name("again")).code == 0
    assert [record for record in hub.requests() if record.origin == "cdn"] == []


def test_a_folder_name_is_no_repository(client: Client, there: Path) -> None:
    assert pull(client, "./drafter", there, "--json").codes == ["hub-id-invalid"]


def test_a_signature_comes_along(hub: Hub, client: Client, there: Path) -> None:
    hub.publish(REPO, {**published(), "model.sig": b'{"mediaType": "x"}'})
    assert pull(client, REPO, there).code == 0
    assert (there / "model.sig").read_bytes() == b'{"mediaType": "x"}'
