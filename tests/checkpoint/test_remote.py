from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eaglekit.checkpoint.hub_errors import clean
from tests.hub import Client, Fault, Hub

pytestmark = pytest.mark.hub_client

REPO = "org/drafter"
TOKEN = "aVerySecretToken0123456789"  # noqa: S105 - opens nothing but the server of this test
CONFIG = b'{"model_type": "llama"}'
OPEN = """
from eaglekit.checkpoint.remote import HubFolder, find_source
from eaglekit.checkpoint.opening import open_source
"""


QUICK = f"""{OPEN}
import eaglekit.checkpoint.hub_http
eaglekit.checkpoint.hub_http.FIRST_PAUSE_S = 0.01
"""
"""For servers that stay broken: the waiting itself is tested with those that recover."""


def safetensors(shapes: Mapping[str, int], *, note: str = "") -> bytes:
    """A safetensors file of U8 vectors, each filled with its own length."""
    entries, start = {}, 0
    for name, length in shapes.items():
        entries[name] = {"dtype": "U8", "shape": [length], "data_offsets": [start, start + length]}
        start += length
    header = json.dumps({"__metadata__": {"note": note}, **entries}).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(bytes([n % 256]) * n for n in shapes.values())


DRAFTER = {"config.json": CONFIG, "model.safetensors": safetensors({"fc.weight": 12, "norm.weight": 4})}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub(tmp_path / "hub") as hub:
        hub.account("tester", TOKEN, organisations=("org",))
        hub.account("stranger", "hf_stranger")
        yield hub


@pytest.fixture
def client(hub: Hub, tmp_path: Path) -> Client:
    return Client(hub, tmp_path / "home")


@pytest.fixture
def large(hub: Hub, tmp_path: Path) -> int:
    """Publishes weights of 64 MiB, nearly all of them zeros; their size in bytes."""
    path = tmp_path / "model.safetensors"
    entry = {"fc.weight": {"dtype": "BF16", "shape": [4096, 8192], "data_offsets": [0, 64 << 20]}}
    header = json.dumps(entry).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + (64 << 20))
    hub.publish(REPO, {"config.json": CONFIG, "model.safetensors": path})
    return path.stat().st_size


def sent_bytes(hub: Hub) -> int:
    return sum(record.sent_bytes for record in hub.requests())


# The server, against the stock client


def test_the_stock_client_downloads_the_bytes_that_were_published(hub: Hub, client: Client) -> None:
    hub.publish(REPO, {**DRAFTER, "sub/odd [1] name.txt": b"text"})
    answers = client.run(f"""
from pathlib import Path
from huggingface_hub import hf_hub_download, snapshot_download
folder = Path(snapshot_download("{REPO}"))
tell({{path.relative_to(folder).as_posix(): path.read_bytes().hex() for path in folder.rglob("*") if path.is_file()}})
tell(Path(hf_hub_download("{REPO}", "model.safetensors", cache_dir="{client.home}/other")).read_bytes().hex())
""")
    snapshot, single = answers.values
    assert bytes.fromhex(snapshot["sub/odd [1] name.txt"]) == b"text"
    assert bytes.fromhex(snapshot["model.safetensors"]) == bytes.fromhex(single) == DRAFTER["model.safetensors"]


def test_the_stock_client_verifies_every_checksum_of_the_listing(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    answers = client.run(f"""
from huggingface_hub import HfApi, snapshot_download
snapshot_download("{REPO}")
found = HfApi().verify_repo_checksums("{REPO}")
tell([found.checked_count, found.mismatches, found.missing_paths])
""")
    assert answers.only == [3, [], []]


def test_the_content_names_of_the_server_are_git_s_and_sha256(hub: Hub) -> None:
    files = hub.publish(REPO, {"README.md": b"hello\n", "model.safetensors": b"weights"}).files
    assert files["README.md"].oid == "ce013625030ba8dba906f756967f9e9ca394464a"  # printf 'hello\n' | git hash-object
    assert files["model.safetensors"].sha256 == hashlib.sha256(b"weights").hexdigest()


def test_the_stock_client_walks_a_listing_of_several_pages(hub: Hub, client: Client) -> None:
    hub.publish(REPO, {f"file-{number}.txt": b"x" for number in range(5)})
    hub.page_size = 2
    answers = client.run(f"""
from huggingface_hub import HfApi
tell([file.path for file in HfApi().list_repo_tree("{REPO}")])
""")
    assert answers.only == [".gitattributes", *(f"file-{number}.txt" for number in range(5))]


def test_the_stock_client_sees_a_private_repository_with_the_right_token_only(hub: Hub, client: Client) -> None:
    hub.storage.create_repository(REPO, private=True)
    answers = client.run(f"""
from huggingface_hub import HfApi
tell([HfApi(token=token).repo_exists("{REPO}") for token in ("{TOKEN}", "hf_stranger", False)])
""")
    assert answers.only == [True, False, False]


# Reading headers


def test_opening_a_checkpoint_of_64_mib_transfers_its_header_only(hub: Hub, client: Client, large: int) -> None:
    answers = client.run(f"""{OPEN}
opened = open_source(HubFolder("{REPO}"))
tell({{name: [tensor.dtype, tensor.shape, tensor.end] for name, tensor in opened.tensors.items()}})
""")
    assert answers.only == {"fc.weight": ["BF16", [4096, 8192], large]}
    assert sent_bytes(hub) < 300_000


def test_a_header_costs_one_request(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    client.run(f"""{OPEN}
folder = HubFolder("{REPO}")
folder.read("model.safetensors", 0, 8)
folder.read("model.safetensors", 8, 100)
""")
    assert [record.method for record in hub.requests() if record.origin == "cdn"] == ["GET"]


def test_a_header_longer_than_the_read_ahead_is_read_whole(hub: Hub, client: Client) -> None:
    hub.publish(REPO, {"config.json": CONFIG, "model.safetensors": safetensors({"x": 3}, note="n" * 300_000)})
    answers = client.run(f"""{OPEN}
tell(len(open_source(HubFolder("{REPO}")).metadata["note"]))
""")
    assert answers.only == 300_000


def test_tensor_bytes_are_read_exactly(hub: Hub, client: Client) -> None:
    hub.publish(REPO, {"config.json": CONFIG, "model.safetensors": safetensors({"a": 200_000, "b": 70_001})})
    answers = client.run(f"""{OPEN}
opened = open_source(HubFolder("{REPO}"))
tell([opened.read(name) == bytes([length % 256]) * length for name, length in (("a", 200_000), ("b", 70_001))])
""")
    assert answers.only == [True, True]


def test_a_sharded_checkpoint_is_opened_through_its_index(hub: Hub, client: Client) -> None:
    shards = {"model-1-of-2.safetensors": safetensors({"a": 1}), "model-2-of-2.safetensors": safetensors({"b": 2})}
    index = {
        "metadata": {"total_size": 3},
        "weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"},
    }
    hub.publish(REPO, {"config.json": CONFIG, "model.safetensors.index.json": json.dumps(index).encode(), **shards})
    answers = client.run(f"""{OPEN}
opened = open_source(HubFolder("{REPO}"))
tell([opened.layout, sorted(opened.tensors)])
""")
    assert answers.only == ["sharded", ["a", "b"]]


def test_a_listing_of_several_pages_is_read_to_its_end(hub: Hub, client: Client) -> None:
    hub.publish(REPO, {**DRAFTER, ".cache/seen.txt": b"x", "sub/more.txt": b"xyz"})
    hub.page_size = 1
    answers = client.run(f"""{OPEN}
tell(HubFolder("{REPO}").files())
""")
    sizes = {name: len(content) for name, content in DRAFTER.items()}
    assert answers.only == {".gitattributes": answers.only[".gitattributes"], **sizes, "sub/more.txt": 3}


def test_reading_past_the_end_of_a_file_is_refused_before_asking(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    answers = client.run(f"""{OPEN}
folder = HubFolder("{REPO}")
tell(refusal(lambda: folder.read("config.json", 0, 1000)))
""")
    assert answers.codes == ["file-truncated"]
    assert not [record for record in hub.requests() if "resolve" in record.path]


# One commit


def test_what_is_pushed_after_opening_changes_nothing_that_is_read(hub: Hub, client: Client) -> None:
    first = hub.publish(REPO, DRAFTER)
    answers = client.run(
        f"""{OPEN}
folder = HubFolder("{REPO}")
pause()
opened = open_source(folder)
tell([opened.config, sorted(opened.tensors), folder.commit])
""",
        during=lambda: hub.publish(REPO, {"config.json": b"{}", "model.safetensors": safetensors({"other": 9})}),
    )
    assert answers.only == [{"model_type": "llama"}, ["fc.weight", "norm.weight"], first.oid]


def test_the_revision_is_resolved_once(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    client.run(f"""{OPEN}
open_source(HubFolder("{REPO}"))
""")
    assert len([record for record in hub.requests() if "main" in record.path]) == 1


def test_a_branch_that_has_moved_is_read_at_its_new_commit(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    second = hub.publish(REPO, {"config.json": b'{"model_type": "qwen3"}'})
    answers = client.run(f"""{OPEN}
folder = HubFolder("{REPO}", "main")
tell([open_source(folder).config, dict(folder.identity())])
""")
    assert answers.only == [{"model_type": "qwen3"}, {"kind": "hub", "repo": REPO, "commit": second.oid}]


@pytest.mark.parametrize("revision", ["v1.0", "refs/pr/7", "commit"])
def test_a_revision_may_be_a_tag_a_pull_request_or_a_commit(hub: Hub, client: Client, revision: str) -> None:
    commit = hub.publish(REPO, DRAFTER, branch="main" if revision == "commit" else revision)
    hub.publish(REPO, {"config.json": b"{}"})
    answers = client.run(f"""{OPEN}
tell(find_source("{REPO}@{commit.oid if revision == "commit" else revision}").commit)
""")
    assert answers.only == commit.oid


def test_a_server_that_answers_from_another_commit_is_refused(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    hub.fail(Fault("/resolve/", headers={"X-Repo-Commit": "0" * 40}))
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}").read("model.safetensors", 0, 8)))
""")
    assert answers.codes == ["hub-answer-wrong"]
    assert answers.only[0]["got"] == "commit " + "0" * 40


def test_a_renamed_repository_is_read_and_identified_under_its_present_name(hub: Hub, client: Client) -> None:
    commit = hub.publish(REPO, DRAFTER)
    moved = {"Location": f"/api/models/{REPO}/revision/main"}
    hub.fail(Fault("/org/old-name/", status=307, headers=moved))
    answers = client.run(f"""{OPEN}
folder = HubFolder("org/old-name")
tell([folder.label, dict(folder.identity()), sorted(open_source(folder).tensors)])
""")
    identity = {"kind": "hub", "repo": REPO, "commit": commit.oid}
    assert answers.only == ["org/old-name", identity, ["fc.weight", "norm.weight"]]


# Who may read


def test_a_private_repository_opens_with_its_token(hub: Hub, client: Client) -> None:
    hub.storage.create_repository(REPO, private=True)
    hub.publish(REPO, DRAFTER)
    client.token = TOKEN
    answers = client.run(f"""{OPEN}
tell(sorted(open_source(find_source("{REPO}")).tensors))
""")
    assert answers.only == ["fc.weight", "norm.weight"]


@pytest.mark.parametrize(
    ("token", "advice"),
    [pytest.param("", "hf auth login", id="no token"), pytest.param("hf_stranger", "hf auth whoami", id="of another")],
)
def test_a_private_repository_is_not_found_without_its_token(hub: Hub, client: Client, token: str, advice: str) -> None:
    hub.storage.create_repository(REPO, private=True)
    client.token = token
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}")))
""")
    assert answers.codes == ["hub-repository-not-found"]
    assert advice in answers.only[0]["hint"]


@pytest.mark.parametrize("token", [pytest.param("", id="no token"), pytest.param("hf_stranger", id="not let in")])
def test_a_gated_repository_is_listed_and_its_files_are_refused(hub: Hub, client: Client, token: str) -> None:
    hub.storage.create_repository(REPO, gated=True)
    hub.publish(REPO, DRAFTER)
    client.token = token
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}").read("config.json", 0, 2)))
""")
    assert answers.codes == ["hub-repository-gated"]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        pytest.param(Fault("/revision/", status=401), "hub-repository-not-found", id="401 without a code"),
        pytest.param(Fault("/revision/", status=403), "hub-access-denied", id="403"),
        pytest.param(Fault("/revision/", status=418), "hub-answer-wrong", id="a status nobody expects"),
        pytest.param(
            Fault("/revision/", status=403, headers={"X-Error-Message": "Access to this resource is disabled."}),
            "hub-repository-disabled",
            id="disabled",
        ),
        pytest.param(Fault("/revision/", status=200, body=b"<html>"), "hub-answer-wrong", id="a page, not JSON"),
        pytest.param(Fault("/revision/", status=200, body=b'{"sha": "main"}'), "hub-answer-wrong", id="no commit"),
        pytest.param(Fault("/tree/", status=200, body=b"{}"), "hub-answer-wrong", id="no listing"),
        pytest.param(Fault("/tree/", status=200, body=b'[{"path": "a", "type": "file"}]'),
                     "hub-answer-wrong", id="no size"),
        pytest.param(Fault("/resolve/", status=404, headers={"X-Error-Code": "EntryNotFound"}),
                     "hub-file-not-found", id="listed, not served"),
        pytest.param(Fault("/cdn/", status=403), "hub-server-error", id="storage refuses"),
        pytest.param(Fault("/cdn/", headers={"Content-Encoding": "gzip"}), "hub-answer-wrong", id="encoded"),
        pytest.param(Fault("/cdn/", shift_range_bytes=1, times=1), "hub-answer-wrong", id="another range"),
        pytest.param(Fault("/cdn/", status=206, body=b"x" * 99), "hub-answer-wrong", id="a range that is not named"),
        pytest.param(Fault("/cdn/", status=200, body=b"x" * 99), "hub-answer-wrong", id="another size"),
        pytest.param(Fault("/cdn/", status=416), "hub-answer-wrong", id="416"),
    ],
)  # fmt: skip
def test_each_wrong_answer_has_its_own_finding(hub: Hub, client: Client, fault: Fault, code: str) -> None:
    hub.publish(REPO, DRAFTER)
    hub.fail(fault)
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}").read("model.safetensors", 0, 8)))
""")
    assert answers.codes == [code]


def test_a_revision_that_does_not_exist_is_named(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}", "v9")))
""")
    assert answers.codes == ["hub-revision-not-found"]
    assert "v9" in answers.only[0]["message"]


@pytest.mark.parametrize("path", ["../evil.safetensors", "/etc/passwd", "a/./b", "a\\b", "a\nb"])
def test_a_listing_with_a_path_that_leaves_the_folder_is_refused(hub: Hub, client: Client, path: str) -> None:
    hub.publish(REPO, {**DRAFTER, path: b"x"})
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}").files()))
""")
    assert answers.codes == ["hub-answer-wrong"]


# Bad lines


def test_two_failures_of_the_server_are_waited_out(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    hub.fail(Fault("/cdn/", status=503, times=2))
    answers = client.run(f"""{OPEN}
tell(sorted(open_source(HubFolder("{REPO}")).tensors))
""")
    assert answers.only == ["fc.weight", "norm.weight"]
    assert [record.status for record in hub.requests() if record.origin == "cdn"] == [503, 503, 206]


def test_the_pause_that_a_rate_limit_asks_for_is_kept(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    hub.fail(Fault("/revision/", status=429, headers={"Retry-After": "0"}, times=1))
    answers = client.run(f"""{OPEN}
import time
start = time.monotonic()
HubFolder("{REPO}")
tell(time.monotonic() - start)
""")
    assert answers.only >= 1.0  # huggingface_hub adds a second to what the server says


@pytest.mark.parametrize(
    ("status", "code"), [(429, "hub-rate-limited"), (503, "hub-server-error"), (408, "hub-unreachable")]
)
def test_a_failure_that_stays_is_refused(hub: Hub, client: Client, status: int, code: str) -> None:
    hub.publish(REPO, DRAFTER)
    hub.fail(Fault("/revision/", status=status))
    answers = client.run(f"""{QUICK}
tell(refusal(lambda: HubFolder("{REPO}")))
""")
    assert answers.codes == [code]
    assert answers.only[0]["got"].startswith(f"HTTP {status}")


def test_a_broken_connection_is_taken_up_where_it_stopped(hub: Hub, client: Client) -> None:
    hub.publish(REPO, {"config.json": CONFIG, "model.safetensors": safetensors({"a": 100_000})})
    hub.fail(Fault("/cdn/", cut_after_bytes=30_000, times=2))
    answers = client.run(f"""{OPEN}
tell(open_source(HubFolder("{REPO}")).read("a") == bytes([100_000 % 256]) * 100_000)
""")
    assert answers.only is True
    starts = [record.range.partition("-")[0] for record in hub.requests() if record.origin == "cdn"]
    assert starts == ["bytes=0", "bytes=30000", "bytes=60000"]


def test_a_connection_that_always_breaks_is_refused(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    hub.fail(Fault("/cdn/", cut_after_bytes=2))
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}").read("model.safetensors", 0, 100)))
""")
    assert answers.codes == ["hub-transfer-broken"]


def test_a_server_that_ignores_ranges_is_cut_off_after_the_header(hub: Hub, client: Client, large: int) -> None:
    hub.fail(Fault("/cdn/", ignore_range=True))
    answers = client.run(f"""{OPEN}
tell(sorted(open_source(HubFolder("{REPO}")).tensors))
""")
    assert answers.only == ["fc.weight"]
    assert sent_bytes(hub) < large // 4  # the header, and what the buffers of loopback swallow


def test_a_far_range_of_a_server_that_ignores_ranges_is_refused(hub: Hub, client: Client, large: int) -> None:
    hub.fail(Fault("/cdn/", ignore_range=True))
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}").read("model.safetensors", {large - 10}, {large})))
""")
    assert answers.codes == ["hub-range-ignored"]
    assert sent_bytes(hub) < large // 4


def test_offline_mode_is_named_and_the_cached_snapshot_offered(hub: Hub, client: Client) -> None:
    commit = hub.publish(REPO, DRAFTER)
    client.run(f"""
from huggingface_hub import snapshot_download
snapshot_download("{REPO}")
""")
    client.more["HF_HUB_OFFLINE"] = "1"
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}")))
""")
    assert answers.codes == ["hub-offline"]
    assert f"snapshots/{commit.oid}" in answers.only[0]["hint"]


def test_a_hub_nobody_answers_for_is_unreachable(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    client.more["HF_ENDPOINT"] = f"http://user:password@127.0.0.1:{port}"
    answers = client.run(f"""{QUICK}
tell(refusal(lambda: HubFolder("{REPO}")))
""")
    assert answers.codes == ["hub-unreachable"]
    assert answers.only[0]["message"] == f"127.0.0.1:{port} cannot be reached"


@pytest.mark.parametrize("endpoint", ["huggingface.co", "http://[::1", "ftp://127.0.0.1"])
def test_an_endpoint_that_is_no_address_is_refused(client: Client, endpoint: str) -> None:
    client.more["HF_ENDPOINT"] = endpoint
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}")))
""")
    assert answers.codes == ["hub-unreachable"]


# The token


def test_the_token_is_sent_to_the_hub_and_never_to_its_storage(hub: Hub, client: Client) -> None:
    hub.storage.create_repository(REPO, private=True)
    hub.publish(REPO, DRAFTER)
    client.token = TOKEN
    client.run(f"""{OPEN}
folder = HubFolder("{REPO}")
open_source(folder)
folder.download(["model.safetensors"])
""")
    told = {(record.origin, record.had_authorization) for record in hub.requests() if "agent" not in record.path}
    assert told == {("hub", True), ("cdn", False)}


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        pytest.param(
            Fault("/revision/", status=401, headers={"X-Error-Message": "Invalid credentials in Authorization header"}),
            "hub-token-rejected",
            id="rejected",
        ),
        pytest.param(
            Fault("/revision/", status=403, headers={"X-Error-Message": f"Bearer {TOKEN} may not"}),
            "hub-access-denied",
            id="echoed in a header",
        ),
        pytest.param(
            Fault("/resolve/", status=403, body=json.dumps({"error": f"token={TOKEN}"}).encode()),
            "hub-access-denied",
            id="echoed in a body",
        ),
        pytest.param(Fault("/resolve/", headers={"X-Repo-Commit": TOKEN}), "hub-answer-wrong", id="echoed as a commit"),
        pytest.param(
            Fault("/revision/", status=200, body=json.dumps({"sha": TOKEN}).encode()),
            "hub-answer-wrong",
            id="echoed in JSON",
        ),
    ],
)
def test_the_token_is_never_shown(hub: Hub, client: Client, fault: Fault, code: str) -> None:
    hub.publish(REPO, DRAFTER)
    hub.fail(fault)
    client.token = TOKEN
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}").read("config.json", 0, 2)))
""")
    assert answers.codes == [code]
    assert TOKEN not in answers.printed


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("hf_abcdef0123 is expired", id="another token"),
        pytest.param("http://user:abcdef0123@mirror/x", id="credentials in an address"),
        pytest.param("https://cdn/file?Signature=abcdef0123", id="signed address"),
        pytest.param("Authorization: Bearer abcdef0123", id="header"),
    ],
)
def test_what_else_opens_a_door_is_taken_out_of_foreign_words(text: str) -> None:
    assert "abcdef0123" not in clean(text, "")


@pytest.mark.parametrize("token", ["hf_secret\x01part", "hf_secret part", "hf_secret€part"])
def test_a_token_that_cannot_be_sent_is_refused_unseen(hub: Hub, client: Client, token: str) -> None:
    hub.publish(REPO, DRAFTER)
    client.token = token
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}")))
""")
    assert answers.codes == ["hub-token-unusable"]
    assert "hf_secret" not in answers.printed


def test_a_token_file_that_cannot_be_read_is_named(hub: Hub, client: Client) -> None:
    client.home.write_text("a file where the folder with the token should be")
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}")))
""")
    assert answers.codes == ["hub-token-unusable"]


def test_an_unknown_token_is_rejected_even_for_a_public_repository(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    client.token = "hf_revoked"  # noqa: S105
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}")))
""")
    assert answers.codes == ["hub-token-rejected"]


# Downloading


def test_a_download_brings_the_named_files_of_the_opened_commit(hub: Hub, client: Client) -> None:
    first = hub.publish(REPO, DRAFTER)
    answers = client.run(
        f"""{OPEN}
folder = HubFolder("{REPO}")
pause()
heard = []
local = folder.download(["config.json", "model.safetensors"], progress=lambda *news: heard.append(news))
tell([sorted(local.files()), dict(local.identity()), local.label, sorted(open_source(local).tensors)])
tell([news for news in heard if news[1] == news[2]])
""",
        during=lambda: hub.publish(REPO, {"model.safetensors": safetensors({"other": 9})}),
    )
    identity = {"kind": "hub", "repo": REPO, "commit": first.oid}
    size = len(DRAFTER["model.safetensors"])
    assert answers.values[0] == [["config.json", "model.safetensors"], identity, REPO, ["fc.weight", "norm.weight"]]
    assert ["model.safetensors", size, size] in answers.values[1]


def test_a_download_draws_no_bars_of_its_own(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    answers = client.run(f"""{OPEN}
HubFolder("{REPO}").download(["config.json", "model.safetensors"])
""")
    assert answers.printed == ""


def test_a_cut_file_in_the_cache_is_noticed(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    answers = client.run(f"""{OPEN}
folder = HubFolder("{REPO}")
path = folder.download(["model.safetensors"]).local_path("model.safetensors")
path.write_bytes(path.read_bytes()[:-1])
tell(refusal(lambda: folder.download(["model.safetensors"])))
""")
    assert answers.codes == ["hub-cache-damaged"]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        pytest.param(Fault("/resolve/", method="HEAD", status=403), "hub-access-denied", id="no metadata"),
        pytest.param(
            Fault("/resolve/", method="HEAD", status=403, headers={"X-Error-Code": "GatedRepo"}),
            "hub-repository-gated",
            id="gated",
        ),
    ],
)
def test_a_download_that_fails_is_a_finding(hub: Hub, client: Client, fault: Fault, code: str) -> None:
    hub.publish(REPO, DRAFTER)
    hub.fail(fault)
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}").download(["model.safetensors"])))
""")
    assert answers.codes == [code]


def test_a_cache_that_cannot_be_written_is_a_finding(hub: Hub, client: Client) -> None:
    hub.publish(REPO, DRAFTER)
    client.home.write_text("a file where the cache should be")
    client.more["HF_HUB_CACHE"] = f"{client.home}/hub"
    client.token = TOKEN
    answers = client.run(f"""{OPEN}
tell(refusal(lambda: HubFolder("{REPO}").download(["model.safetensors"])))
""")
    assert answers.codes == ["hub-download-failed"]


# Beside it


def test_reading_a_local_folder_never_imports_huggingface_hub(client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "local"
    folder.mkdir()
    for name, content in DRAFTER.items():
        (folder / name).write_bytes(content)
    answers = client.run(f"""{OPEN}
open_source(find_source("{folder}"))
tell("huggingface_hub" in sys.modules)
""")
    assert answers.only is False
