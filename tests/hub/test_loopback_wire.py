"""What the loopback Hub answers on the wire: names, rights, locks and pages as the real one has them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.hub import Hub, Scope
from tests.hub.wire import Answer, ask, batch, commit, header, large, regular, send

OWNER, READER, STRANGER, SCOPED, MEMBER = "hf_owner", "hf_reader", "hf_stranger", "hf_scoped", "hf_member"
REPO = "org/drafter"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub(tmp_path / "hub") as hub:
        hub.account("owner", OWNER, organisations=("org",))
        hub.account("reader", READER, role="read", organisations=("org",))
        hub.account("stranger", STRANGER)
        hub.account("owner", SCOPED, role="fineGrained", organisations=("org",), scopes=[Scope("model", REPO)])
        hub.storage.create_repository(REPO)
        yield hub


def api(hub: Hub, path: str, method: str = "GET", content: Any = None, token: str = OWNER) -> Answer:
    return ask(f"{hub.endpoint}/api/{path}", method, content, token)


def head(hub: Hub) -> str:
    return str(api(hub, f"models/{REPO}").json["sha"])


# Names of content


@pytest.mark.parametrize(
    ("path", "oid"),
    [
        # As `git add .`, `git write-tree` and `git ls-tree -r -t` print them for the same four files.
        ("README.md", "ce013625030ba8dba906f756967f9e9ca394464a"),
        ("a/b/c.json", "9e26dfeeb6e641a33dae4961196235bdb965b21b"),
        ("a/b", "222fa7009e34e6887d266adcd15cdf62d90b90bd"),
        ("a", "d2ab124bada90213385084a881583e09e6ef5e0b"),
        ("a.b", "4a507927e244b807acb6220ef712c71af38a270b"),
    ],
)
def test_files_and_folders_have_the_names_that_git_gives_them(hub: Hub, path: str, oid: str) -> None:
    files = {"README.md": b"hello\n", "a/b/c.json": b"{}", "a.b/y": b"x", "a/z": b"z"}
    assert commit(hub, REPO, OWNER, [header(), *(regular(*item) for item in files.items())]).status == 200
    items = api(hub, f"models/{REPO}/tree/main?recursive=true").json
    assert {item["path"]: item["oid"] for item in items}[path] == oid


def test_a_large_file_is_listed_by_its_sha256_and_by_its_pointer(hub: Hub) -> None:
    content = b"weights" * 1000
    assert send(hub, REPO, OWNER, content).status == 200
    assert commit(hub, REPO, OWNER, [header(), large("model.safetensors", content)]).status == 200
    (_, item) = api(hub, f"models/{REPO}/tree/main").json
    sha256 = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize 7000\n".encode()
    assert item["lfs"] == {"oid": sha256, "size": 7000, "pointerSize": len(pointer)}
    assert item["oid"] == hashlib.sha1(b"blob %d\0" % len(pointer) + pointer, usedforsecurity=False).hexdigest()


def test_what_went_up_is_on_disk_under_its_digest(hub: Hub) -> None:
    content = b"weights" * 1000
    send(hub, REPO, OWNER, content)
    kept = hub.storage.root / "lfs" / hashlib.sha256(content).hexdigest()
    assert kept.read_bytes() == content


def test_expanding_tells_the_last_commit_of_each_file(hub: Hub) -> None:
    commit(hub, REPO, OWNER, [header("first"), regular("a.txt", b"1"), regular("b.txt", b"1")])
    commit(hub, REPO, OWNER, [header("second"), regular("b.txt", b"2")])
    items = api(hub, f"models/{REPO}/tree/main?expand=true").json
    assert [item["lastCommit"]["title"] for item in items] == ["initial commit", "first", "second"]


def test_a_listing_comes_in_pages(hub: Hub) -> None:
    commit(hub, REPO, OWNER, [header(), *(regular(f"{number}.txt", b"x") for number in range(4))])
    hub.page_size = 2
    url, paths = f"{hub.endpoint}/api/models/{REPO}/tree/main", []
    while url:
        answer = ask(url, token=OWNER)
        paths += [item["path"] for item in answer.json]
        url = answer.headers.get("link", "").partition("<")[2].partition(">")[0]
    assert paths == [".gitattributes", "0.txt", "1.txt", "2.txt", "3.txt"]


# Rights


def test_a_new_repository_is_private_when_that_is_asked_for_and_has_one_commit(hub: Hub) -> None:
    wanted = {"name": "new", "organization": "org", "visibility": "private"}
    assert api(hub, "repos/create", "POST", wanted).json["url"] == f"{hub.endpoint}/org/new"
    told = api(hub, "models/org/new").json
    assert (told["private"], [file["rfilename"] for file in told["siblings"]]) == (True, [".gitattributes"])


def test_a_repository_that_is_there_is_a_conflict_that_names_its_address(hub: Hub) -> None:
    answer = api(hub, "repos/create", "POST", {"name": "drafter", "organization": "org"})
    assert (answer.status, answer.json["url"]) == (409, f"{hub.endpoint}/{REPO}")


@pytest.mark.parametrize(
    ("token", "namespace"),
    [
        pytest.param(STRANGER, "org", id="not a member"),
        pytest.param(READER, "org", id="a token that only reads"),
        pytest.param(SCOPED, "org", id="a token for one repository"),
        pytest.param(OWNER, "elsewhere", id="a namespace of nobody"),
    ],
)
def test_creating_is_forbidden_where_the_token_may_not(hub: Hub, token: str, namespace: str) -> None:
    answer = api(hub, "repos/create", "POST", {"name": "new", "organization": namespace}, token)
    assert (answer.status, namespace in answer.json["error"]) == (403, True)


@pytest.mark.parametrize("name", ["", "..", "a..b", "a--b", "-a", "a/b", "a.git", "a\nb", "a" * 97])
def test_a_name_that_is_none_is_refused(hub: Hub, name: str) -> None:
    assert api(hub, "repos/create", "POST", {"name": name, "organization": "org"}).status == 400


@pytest.mark.parametrize(("role", "status"), [("write", 200), ("admin", 200), ("contributor", 403), ("read", 403)])
def test_writing_goes_by_the_role_in_the_organisation(hub: Hub, role: str, status: int) -> None:
    hub.account("member", MEMBER, organisations={"org": role})
    assert api(hub, f"models/{REPO}/auth-check/write", token=MEMBER).status == status
    assert api(hub, "whoami-v2", token=MEMBER).json["orgs"][0]["roleInOrg"] == role


def test_a_contributor_writes_to_what_they_made(hub: Hub) -> None:
    hub.account("member", MEMBER, organisations={"org": "contributor"})
    assert api(hub, "repos/create", "POST", {"name": "own", "organization": "org"}, MEMBER).status == 200
    assert api(hub, "models/org/own/auth-check/write", token=MEMBER).status == 200


@pytest.mark.parametrize(
    ("token", "statuses"),
    [
        pytest.param(OWNER, (200, 200), id="owner"),
        pytest.param(SCOPED, (200, 404), id="a token for the first"),
        pytest.param(STRANGER, (404, 404), id="stranger"),
        pytest.param("", (401, 401), id="nobody"),
        pytest.param("hf_unknown", (401, 401), id="an unknown token"),
    ],
)
def test_a_private_repository_is_there_only_for_its_own(hub: Hub, token: str, statuses: tuple[int, int]) -> None:
    hub.storage.repositories[REPO].private = True
    hub.storage.create_repository("org/other", private=True)
    assert tuple(api(hub, f"models/{repo}", token=token).status for repo in (REPO, "org/other")) == statuses


def test_a_token_for_one_repository_says_so(hub: Hub) -> None:
    access = api(hub, "whoami-v2", token=SCOPED).json["auth"]["accessToken"]
    assert access["role"] == "fineGrained"
    assert access["fineGrained"]["scoped"] == [
        {"entity": {"type": "model", "name": REPO}, "permissions": ["repo.content.read", "repo.write"]}
    ]


@pytest.mark.parametrize("token", [READER, STRANGER])
@pytest.mark.parametrize("route", ["commit/main", "preupload/main", "tag/main", "branch/new"])
def test_who_may_not_write_is_told_so_by_every_route(hub: Hub, token: str, route: str) -> None:
    assert api(hub, f"models/{REPO}/{route}", "POST", {}, token).status == 403


def test_whoever_may_not_commit_is_told_to_open_a_pull_request(hub: Hub) -> None:
    answer = commit(hub, REPO, READER, [header(), regular("a.txt", b"x")])
    assert (answer.status, "create_pr=1" in answer.json["error"]) == (403, True)


# Commits


def test_a_commit_on_top_of_another_head_is_refused(hub: Hub) -> None:
    before = head(hub)
    assert commit(hub, REPO, OWNER, [header(parentCommit=before), regular("a.txt", b"1")]).status == 200
    answer = commit(hub, REPO, OWNER, [header(parentCommit=before), regular("a.txt", b"2")])
    assert (answer.status, answer.json["error"]) == (412, "A commit has happened since. Please refresh and try again.")


def test_a_large_file_that_never_went_up_cannot_be_committed(hub: Hub) -> None:
    before = head(hub)
    assert commit(hub, REPO, OWNER, [header(), large("model.safetensors", b"never sent")]).status == 400
    assert head(hub) == before


def test_a_large_file_of_another_size_cannot_be_committed(hub: Hub) -> None:
    send(hub, REPO, OWNER, b"weights")
    line = large("model.safetensors", b"weights")
    line["value"]["size"] = 8
    assert commit(hub, REPO, OWNER, [header(), line]).status == 400


@pytest.mark.parametrize(
    "path", ["../a", "/a", "a//b", "a/./b", ".git/config", "a/.GIT/x", "", "a\\b", "a\nb", "a/../../b"]
)
def test_a_path_that_leaves_the_repository_is_refused(hub: Hub, path: str) -> None:
    assert commit(hub, REPO, OWNER, [header(), regular(path, b"x")]).status == 400


@pytest.mark.parametrize(
    "body", [b"no json", b"[]", b'{"key": "file"}', b'{"key": "other", "value": {}}', b'{"key": "header", "value": {}}']
)
def test_a_commit_that_cannot_be_read_is_refused(hub: Hub, body: bytes) -> None:
    assert api(hub, f"models/{REPO}/commit/main", "POST", body).status == 400


def test_a_file_is_deleted_and_a_missing_one_cannot_be(hub: Hub) -> None:
    commit(hub, REPO, OWNER, [header(), regular("a/b.txt", b"x")])
    deletion = [header(), {"key": "deletedFile", "value": {"path": "a/b.txt"}}]
    assert [commit(hub, REPO, OWNER, deletion).status for _ in range(2)] == [200, 404]


def test_a_folder_is_deleted_with_what_is_in_it(hub: Hub) -> None:
    commit(hub, REPO, OWNER, [header(), regular("a/b.txt", b"x"), regular("ab.txt", b"x")])
    commit(hub, REPO, OWNER, [header(), {"key": "deletedFolder", "value": {"path": "a/"}}])
    assert [item["path"] for item in api(hub, f"models/{REPO}/tree/main").json] == [".gitattributes", "ab.txt"]


def test_a_file_cannot_lie_below_a_file(hub: Hub) -> None:
    commit(hub, REPO, OWNER, [header(), regular("a/b.txt", b"x")])
    assert [commit(hub, REPO, OWNER, [header(), regular(path, b"x")]).status for path in ("a", "a/b.txt/c")] == [
        400,
        400,
    ]


def test_a_pull_request_that_cannot_be_made_is_not_opened(hub: Hub) -> None:
    deletion = [header(), {"key": "deletedFile", "value": {"path": "none"}}]
    assert commit(hub, REPO, OWNER, deletion, query="?create_pr=1").status == 404
    assert hub.storage.repositories[REPO].discussions == {}


def test_commits_are_listed_newest_first_with_their_descriptions(hub: Hub) -> None:
    commit(hub, REPO, OWNER, [header("First", description="trailer: 1"), regular("a.txt", b"1")])
    told = api(hub, f"models/{REPO}/commits/main").json
    assert [(each["title"], each["message"]) for each in told] == [("First", "trailer: 1"), ("initial commit", "")]


@pytest.mark.parametrize("token", [READER, STRANGER])
def test_anyone_may_open_a_pull_request_that_leaves_main_alone(hub: Hub, token: str) -> None:
    before = head(hub)
    answer = commit(hub, REPO, token, [header(), regular("a.txt", b"x")], query="?create_pr=1")
    assert answer.json["pullRequestUrl"] == f"{hub.endpoint}/{REPO}/discussions/1"
    assert head(hub) == before
    assert api(hub, f"models/{REPO}/revision/{quote('refs/pr/1', safe='')}").json["sha"] == answer.json["commitOid"]


def test_a_pull_request_takes_further_commits_of_its_author_only(hub: Hub) -> None:
    commit(hub, REPO, READER, [header(), regular("a.txt", b"x")], query="?create_pr=1")
    more = [header(), regular("b.txt", b"x")]
    there = quote("refs/pr/1", safe="")
    assert [commit(hub, REPO, token, more, revision=there).status for token in (READER, STRANGER)] == [200, 403]


def test_references_are_listed_with_pull_requests_when_asked_for(hub: Hub) -> None:
    commit(hub, REPO, OWNER, [header(), regular("a.txt", b"x")], query="?create_pr=1")
    api(hub, f"models/{REPO}/tag/main", "POST", {"tag": "v1"})
    told = api(hub, f"models/{REPO}/refs?include_prs=1").json
    assert [each["ref"] for kind in ("branches", "tags", "pullRequests") for each in told[kind]] == [
        "refs/heads/main",
        "refs/tags/v1",
        "refs/pr/1",
    ]


@pytest.mark.parametrize("route", ["tag/main", "branch/v1"])
def test_a_tag_or_branch_that_is_there_is_a_conflict(hub: Hub, route: str) -> None:
    assert [api(hub, f"models/{REPO}/{route}", "POST", {"tag": "v1"}).status for _ in range(2)] == [200, 409]


# Before a commit


@pytest.mark.parametrize(
    ("path", "size", "sample", "mode"),
    [
        pytest.param("model.safetensors", 10, b"text", "lfs", id="by suffix"),
        pytest.param("notes.txt", 11 << 20, b"text", "lfs", id="by size"),
        pytest.param("drift.png", 10, b"\x89PNG\0", "lfs", id="not text"),
        pytest.param("config.json", 10, b"{}", "regular", id="text"),
        pytest.param("model.safetensors", 0, b"", "regular", id="empty"),
    ],
)
def test_how_a_file_goes_up_is_told_before_it_does(hub: Hub, path: str, size: int, sample: bytes, mode: str) -> None:
    file = {"path": path, "size": size, "sample": base64.b64encode(sample).decode()}
    (told,) = api(hub, f"models/{REPO}/preupload/main", "POST", {"files": [file]}).json["files"]
    assert told == {"path": path, "uploadMode": mode, "shouldIgnore": False}


def test_what_is_there_already_is_told_by_its_name(hub: Hub) -> None:
    commit(hub, REPO, OWNER, [header(), regular("README.md", b"hello\n")])
    file = {"path": "README.md", "size": 6, "sample": "aGVsbG8K"}
    (told,) = api(hub, f"models/{REPO}/preupload/main", "POST", {"files": [file]}).json["files"]
    assert told["oid"] == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_what_gitignore_names_is_to_be_left_out(hub: Hub) -> None:
    files = [{"path": path, "size": 1, "sample": ""} for path in ("a.log", "logs/b.txt", "c.txt")]
    wanted = {"files": files, "gitIgnore": "*.log\n# words\nlogs/\n"}
    told = api(hub, f"models/{REPO}/preupload/main", "POST", wanted).json["files"]
    assert [file["shouldIgnore"] for file in told] == [True, True, False]


@pytest.mark.parametrize(
    ("matter", "problem"),
    [
        pytest.param("- a", "must be of type object", id="a list"),
        pytest.param("license: [", "Invalid YAML", id="not YAML"),
        pytest.param("license:", '"license" must not be null', id="null"),
        pytest.param("license: mine", '"license" must be one of', id="no licence"),
        pytest.param("base_model: ./here", "Use a model id", id="a path for a model"),
        pytest.param("tags: [1]", '"tags[0]" must be a string', id="a number for a tag"),
        pytest.param("pipeline_tag: 3", '"pipeline_tag" must be a string', id="a number for a text"),
        pytest.param("model-index: [{name: a, results: [{}]}]", "task.type", id="a result of nothing"),
    ],
)
def test_a_card_with_wrong_front_matter_is_refused_by_the_check_and_by_the_commit(
    hub: Hub, matter: str, problem: str
) -> None:
    card = f"---\n{matter}\n---\nWords.\n"
    answer = api(hub, "validate-yaml", "POST", {"content": card, "repoType": "model"})
    assert (answer.status, problem in answer.json["errors"][0]["message"]) == (400, True)
    assert commit(hub, REPO, OWNER, [header(), regular("README.md", card.encode())]).status == 400


def test_a_card_without_front_matter_is_a_warning(hub: Hub) -> None:
    answer = api(hub, "validate-yaml", "POST", {"content": "Words.", "repoType": "model"})
    assert (answer.status, answer.json["errors"], len(answer.json["warnings"])) == (200, [], 1)


# Large files


def test_a_large_file_goes_up_once(hub: Hub) -> None:
    send(hub, REPO, OWNER, b"weights")
    (told,) = batch(hub, REPO, OWNER, b"weights").json["objects"]
    assert "actions" not in told


def test_bytes_that_are_not_the_ones_announced_are_refused_and_not_kept(hub: Hub) -> None:
    (wanted,) = batch(hub, REPO, OWNER, b"weights").json["objects"]
    assert ask(wanted["actions"]["upload"]["href"], "PUT", b"Weights").status == 400
    assert list((hub.storage.root / "lfs").iterdir()) == list((hub.storage.root / "incoming").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "token", "status"),
    [
        pytest.param(("signature=", "signature=0"), "", 403, id="another signature"),
        pytest.param(("size=7", "size=8"), "", 403, id="another size"),
        pytest.param(("", ""), OWNER, 400, id="an account as well"),
    ],
)
def test_an_address_to_upload_to_opens_for_what_it_was_given_out_for(
    hub: Hub, change: tuple[str, str], token: str, status: int
) -> None:
    (wanted,) = batch(hub, REPO, OWNER, b"weights").json["objects"]
    href = wanted["actions"]["upload"]["href"].replace(*change)
    assert ask(href, "PUT", b"weights", token).status == status


def test_uploading_to_a_branch_needs_the_right_to_write(hub: Hub) -> None:
    assert batch(hub, REPO, READER, b"weights", ref={"name": "main"}).status == 403
    assert batch(hub, REPO, READER, b"weights").status == 200


def test_a_file_above_the_limit_goes_up_in_parts(hub: Hub) -> None:
    hub.multipart_bytes, hub.part_bytes = 10, 8
    content = bytes(range(20))
    (wanted,) = batch(hub, REPO, OWNER, content).json["objects"]
    upload = wanted["actions"]["upload"]
    parts = [
        {"partNumber": number, "etag": ask(upload["header"][f"{number:05d}"], "PUT", piece).headers["etag"]}
        for number, piece in enumerate([content[:8], content[8:16], content[16:]], 1)
    ]
    assert ask(upload["href"], "POST", {"oid": wanted["oid"], "parts": parts[:2]}).status == 400
    assert ask(upload["href"], "POST", {"oid": wanted["oid"], "parts": parts}).status == 200
    verified = ask(wanted["actions"]["verify"]["href"], "POST", {"oid": wanted["oid"], "size": 20}, OWNER)
    assert verified.status == 200
    assert (hub.storage.root / "lfs" / wanted["oid"]).read_bytes() == content


def test_an_object_that_is_not_there_does_not_verify(hub: Hub) -> None:
    (wanted,) = batch(hub, REPO, OWNER, b"weights").json["objects"]
    answer = ask(wanted["actions"]["verify"]["href"], "POST", {"oid": wanted["oid"], "size": 7}, OWNER)
    assert answer.status == 404


def test_a_body_in_chunks_is_taken_too(hub: Hub) -> None:
    (wanted,) = batch(hub, REPO, OWNER, b"weights").json["objects"]
    chunks = b"3\r\nwei\r\n4\r\nghts\r\n0\r\n\r\n"
    answer = ask(wanted["actions"]["upload"]["href"], "PUT", chunks, headers={"Transfer-Encoding": "chunked"})
    assert answer.status == 200


# Collections


def test_a_model_goes_into_a_collection_once(hub: Hub) -> None:
    slug = api(hub, "collections", "POST", {"title": "EAGLE drafters", "namespace": "org"}).json["slug"]
    item = {"item": {"type": "model", "id": REPO}, "note": "measured"}
    assert [api(hub, f"collections/{slug}/items", "POST", item).status for _ in range(2)] == [200, 409]
    assert [each["id"] for each in api(hub, f"collections/{slug}", token="").json["items"]] == [REPO]


@pytest.mark.parametrize("token", [READER, STRANGER, SCOPED])
def test_a_collection_is_changed_by_those_who_may_write(hub: Hub, token: str) -> None:
    slug = api(hub, "collections", "POST", {"title": "EAGLE drafters", "namespace": "org"}).json["slug"]
    item = {"item": {"type": "model", "id": REPO}}
    assert api(hub, f"collections/{slug}/items", "POST", item, token).status == 403


# What a request may not do


@pytest.mark.parametrize(
    "path",
    [
        "/api/models/..%2F..%2Fx/tree/main",
        "/org/drafter/resolve/main/..%2F..%2Fstate.json",
        "/org/drafter/resolve/main/../../../state.json",
        "/cdn/..%2F..%2Fstate.json",
    ],
)
def test_no_path_leads_out_of_the_repository(hub: Hub, path: str) -> None:
    assert ask(hub.endpoint + path, token=OWNER).status == 404


def test_what_is_said_in_a_header_adds_no_header(hub: Hub) -> None:
    revision = quote("a\r\nX-Added: 1", safe="")
    answer = api(hub, f"models/{REPO}/tree/{revision}")
    assert (answer.status, "x-added" in answer.headers) == (404, False)


def test_a_request_under_another_name_is_misdirected(hub: Hub) -> None:
    url = f"{hub.endpoint}/api/models/{REPO}"
    assert ask(url, headers={"Host": "elsewhere.example"}).status == 421


def test_both_ports_listen_on_loopback_only(hub: Hub) -> None:
    assert {server.server_address[0] for server in hub._servers} == {"127.0.0.1"}
