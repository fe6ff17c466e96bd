"""The loopback Hub as its stock client sees it: the `hf` command and huggingface_hub, neither written here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.hub import Client, Hub

pytestmark = pytest.mark.hub_client

OWNER, READER = "hf_owner", "hf_reader"
REPO = "org/drafter"
WEIGHTS = bytes(range(256)) * 2000
CARD = b"---\nlicense: mit\ntags:\n- eagle3\n---\nA drafter.\n"

STORAGES = ("plain LFS", "xet") if find_spec("hf_xet") else ("plain LFS",)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub(tmp_path / "hub", xet=True) as hub:
        hub.account("owner", OWNER, organisations=("org",))
        hub.account("reader", READER, role="read")
        yield hub


@pytest.fixture
def client(hub: Hub, tmp_path: Path) -> Client:
    return Client(hub, tmp_path / "home", OWNER)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "drafter"
    (made / "sub").mkdir(parents=True)
    (made / "README.md").write_bytes(CARD)
    (made / "config.json").write_bytes(b"{}")
    (made / "model.safetensors").write_bytes(WEIGHTS)
    (made / "sub/empty.bin").write_bytes(b"")
    return made


def names(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("storage", STORAGES)
def test_hf_uploads_a_folder_downloads_the_same_and_verifies_it(
    client: Client, hub: Hub, folder: Path, tmp_path: Path, storage: str
) -> None:
    client.more["HF_HUB_DISABLE_XET"] = "0" if storage == "xet" else "1"
    done = client.hf("upload", REPO, folder, "--private")
    assert done.returncode == 0, done.stderr
    there = tmp_path / "there"
    done = client.hf("download", REPO, "--local-dir", there)
    assert done.returncode == 0, done.stderr
    assert {**names(folder), ".gitattributes": names(there)[".gitattributes"]} == names(there)
    verify = ("cache", "verify", REPO, "--local-dir", there, "--fail-on-missing-files")
    done = client.hf(*verify)
    assert done.returncode == 0, done.stdout + done.stderr
    (there / "model.safetensors").write_bytes(b"other weights")
    assert client.hf(*verify).returncode == 1
    paths = [record.path for record in hub.requests()]
    assert any("xet-write-token" in path for path in paths) == (storage == "xet")
    assert any("/cdn/upload/" in path for path in paths) == (storage == "plain LFS")


@pytest.mark.parametrize("storage", STORAGES)
def test_what_is_kept_has_the_digest_of_the_file(client: Client, hub: Hub, folder: Path, storage: str) -> None:
    client.more["HF_HUB_DISABLE_XET"] = "0" if storage == "xet" else "1"
    done = client.hf("upload", REPO, folder)
    assert done.returncode == 0, done.stderr
    assert (hub.storage.root / "lfs" / hashlib.sha256(WEIGHTS).hexdigest()).read_bytes() == WEIGHTS


def test_hf_makes_repositories_branches_and_tags_and_changes_settings(client: Client, hub: Hub) -> None:
    for words in (
        ("repos", "create", REPO, "--private"),
        ("repos", "branch", "create", REPO, "next"),
        ("repos", "tag", "create", REPO, "v1", "-m", "first"),
        ("repos", "settings", REPO, "--public"),
    ):
        done = client.hf(*words)
        assert done.returncode == 0, done.stderr
    repository = hub.storage.repositories[REPO]
    head = repository.branches["main"]
    assert (repository.private, repository.branches["next"], repository.tags["v1"]) == (False, head, head)


def test_hf_refuses_what_the_hub_refuses(client: Client, hub: Hub, folder: Path) -> None:
    hub.storage.create_repository(REPO)
    assert client.hf("repos", "create", REPO).returncode == 1
    client.token = READER
    done = client.hf("upload", REPO, folder)
    assert done.returncode == 1
    assert "403" in done.stderr
    assert len(hub.storage.repositories[REPO].commits) == 1


def test_hf_opens_a_pull_request_with_a_token_that_only_reads(client: Client, hub: Hub, folder: Path) -> None:
    hub.storage.create_repository(REPO)
    client.token = READER
    done = client.hf("upload", REPO, folder, "--create-pr")
    assert done.returncode == 0, done.stderr
    told = client.hf("discussions", "list", REPO, "--json")
    (request,) = json.loads(told.stdout)
    assert (request["num"], request["status"]) == (1, "open")
    repository = hub.storage.repositories[REPO]
    proposed = repository.resolve("refs/pr/1")
    assert proposed is not None
    assert "model.safetensors" in proposed.files
    client.token = OWNER
    done = client.hf("discussions", "merge", REPO, 1, "--yes")
    assert done.returncode == 0, done.stderr
    merged = repository.resolve("main")
    assert merged is not None
    assert merged.files == proposed.files


def test_a_large_file_goes_up_in_parts(client: Client, hub: Hub, folder: Path) -> None:
    hub.multipart_bytes, hub.part_bytes = 100_000, 60_000
    done = client.hf("upload", REPO, folder)
    assert done.returncode == 0, done.stderr
    puts = [record.received_bytes for record in hub.requests() if record.method == "PUT"]
    assert (len(puts), sum(puts)) == (-(-len(WEIGHTS) // 60_000), len(WEIGHTS))
    assert (hub.storage.root / "lfs" / hashlib.sha256(WEIGHTS).hexdigest()).read_bytes() == WEIGHTS


def test_the_same_folder_again_sends_no_bytes_and_makes_no_commit(client: Client, hub: Hub, folder: Path) -> None:
    assert client.hf("upload", REPO, folder).returncode == 0
    before = dict(hub.storage.repositories[REPO].branches)
    hub.forget_requests()
    assert client.hf("upload", REPO, folder).returncode == 0
    assert hub.storage.repositories[REPO].branches == before
    assert not [record for record in hub.requests() if record.method == "PUT" or "/commit/" in record.path]


def test_the_client_reads_every_kind_of_answer(client: Client, hub: Hub) -> None:
    """Each call parses its answer, and fails on a key that is not there."""
    answers = client.run(f"""
from huggingface_hub import CommitOperationAdd, HfApi

api = HfApi()
api.create_repo("{REPO}")
head = api.model_info("{REPO}", files_metadata=True).sha
files = [CommitOperationAdd("a/b.txt", b"text"), CommitOperationAdd("c.bin", b"weights")]
made = api.create_commit("{REPO}", files, commit_message="One", parent_commit=head)
tell(made.oid == api.list_repo_commits("{REPO}")[0].commit_id)
tell([item.path for item in api.list_repo_tree("{REPO}", recursive=True, expand=True)])
tell([item.path for item in api.get_paths_info("{REPO}", ["a", "c.bin", "none"], expand=True)])
request = api.create_pull_request("{REPO}", title="A request")
tell([request.num, request.status, request.target_branch])
api.change_discussion_status("{REPO}", request.num, "open")
refs = api.list_repo_refs("{REPO}", include_pull_requests=True)
tell([ref.ref for ref in refs.branches + refs.pull_requests])
collection = api.create_collection("Drafters", namespace="org")
collection = api.add_collection_item(collection.slug, "{REPO}", "model", note="measured")
api.add_collection_item(collection.slug, "{REPO}", "model", exists_ok=True)
tell([[item.item_id, item.note] for item in api.get_collection(collection.slug).items])
api.auth_check("{REPO}", write=True)
tell(api.whoami()["auth"]["accessToken"]["role"])
""")
    assert answers.values == [
        True,
        [".gitattributes", "a", "a/b.txt", "c.bin"],
        ["a", "c.bin"],
        [1, "draft", "refs/heads/main"],
        ["refs/heads/main", "refs/pr/1"],
        [[REPO, "measured"]],
        "write",
    ]
