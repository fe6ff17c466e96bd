"""What a loopback Hub leaves on disk, and that another one goes on from there."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from tests.hub import Hub, Scope
from tests.hub.wire import ask, commit, header, regular, send

TOKEN, SCOPED = "hf_owner", "hf_scoped"
REPO = "org/drafter"
FILES = {"config.json": b"{}", "sub/model.safetensors": b"weights"}


def filled(root: Path) -> Hub:
    hub = Hub(root)
    hub.account("owner", TOKEN, organisations=("org",))
    hub.account("owner", SCOPED, role="fineGrained", organisations=("org",), scopes=[Scope("model", REPO)])
    hub.publish(REPO, FILES)
    ask(f"{hub.endpoint}/api/models/{REPO}/tag/main", "POST", {"tag": "v1"}, TOKEN)
    commit(hub, REPO, TOKEN, [header("A request"), regular("a.txt", b"x")], query="?create_pr=1")
    ask(f"{hub.endpoint}/api/collections", "POST", {"title": "Drafters"}, TOKEN)
    return hub


def test_a_root_that_was_left_is_continued(tmp_path: Path) -> None:
    with filled(tmp_path / "hub") as first:
        pass
    with Hub(tmp_path / "hub") as second:
        assert second.storage.repositories == first.storage.repositories
        assert second.storage.accounts == first.storage.accounts
        assert second.storage.collections == first.storage.collections
        answer = ask(f"{second.endpoint}/{REPO}/resolve/v1/sub/model.safetensors", token=SCOPED)
        assert ask(answer.headers["location"]).body == b"weights"
        assert commit(second, REPO, SCOPED, [header(), regular("b.txt", b"y")]).status == 200


def test_the_state_holds_no_token(tmp_path: Path) -> None:
    with filled(tmp_path / "hub") as hub:
        send(hub, REPO, TOKEN, b"more weights")
    text = (tmp_path / "hub/state.json").read_text()
    assert not [token for token in (TOKEN, SCOPED) if token in text]


def test_a_state_of_another_version_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"version": 2}')
    with pytest.raises(ValueError, match="version 2"):
        Hub(tmp_path)


def test_a_repository_is_written_as_a_plain_folder(tmp_path: Path) -> None:
    with filled(tmp_path / "hub") as hub:
        hub.storage.materialise(REPO, "main", tmp_path / "org/drafter")
    assert {path: (tmp_path / "org/drafter" / path).read_bytes() for path in FILES} == FILES


def test_a_folder_that_is_there_is_replaced_only_when_asked_for(tmp_path: Path) -> None:
    with filled(tmp_path / "hub") as hub:
        folder = tmp_path / "out"
        folder.mkdir()
        (folder / "mine.txt").write_text("mine")
        with pytest.raises(FileExistsError):
            hub.storage.materialise(REPO, "main", folder)
        assert (folder / "mine.txt").read_text() == "mine"
        hub.storage.materialise(REPO, "main", folder, replace=True)
    assert sorted(path.name for path in folder.iterdir()) == [".gitattributes", "config.json", "sub"]


def test_requests_are_written_to_a_file_without_the_token(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    with Hub(tmp_path / "hub", log=log) as hub:
        hub.account("owner", TOKEN, organisations=("org",))
        hub.storage.create_repository(REPO)
        send(hub, REPO, TOKEN, b"weights")
        hub.requests()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["method"], line["status"], line["received_bytes"], line["is_write"]) for line in lines][1:] == [
        ("PUT", 200, 7, True)
    ]
    assert TOKEN not in log.read_text()


def test_commits_of_many_threads_all_land(tmp_path: Path) -> None:
    with filled(tmp_path / "hub") as hub:
        statuses: list[int] = []

        def add(number: int) -> None:
            statuses.append(commit(hub, REPO, TOKEN, [header(), regular(f"{number}.txt", b"x")]).status)

        threads = [Thread(target=add, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        head = hub.storage.repositories[REPO].resolve("main")
    assert statuses == [200] * 8
    assert head is not None
    assert {f"{number}.txt" for number in range(8)} <= head.files.keys()


def test_an_upload_is_not_held_in_memory(tmp_path: Path) -> None:
    """Run apart, where nothing else takes memory."""
    script = """
import hashlib, http.client, sys, tracemalloc
from pathlib import Path
from eaglekit.hub.loopback import Hub
from tests.hub.wire import ask
hub = Hub(Path(sys.argv[1]))
hub.account("owner", "hf_owner", organisations=("org",))
hub.storage.create_repository("org/drafter")
piece, count = b"w" * (1 << 20), 200
digest = hashlib.sha256()
for _ in range(count):
    digest.update(piece)
wanted = {"oid": digest.hexdigest(), "size": len(piece) * count}
url = hub.endpoint + "/org/drafter.git/info/lfs/objects/batch"
(told,) = ask(url, "POST", {"operation": "upload", "objects": [wanted]}, "hf_owner").json["objects"]
href = told["actions"]["upload"]["href"]
tracemalloc.start()
connection = http.client.HTTPConnection(href.split("/")[2])
headers = {"Content-Length": str(wanted["size"])}
connection.request("PUT", "/" + href.split("/", 3)[3], (piece for _ in range(count)), headers)
print(connection.getresponse().status, tracemalloc.get_traced_memory()[1] >> 20)
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "hub")], cwd=root, capture_output=True, text=True, check=True
    )
    status, grown_mib = map(int, done.stdout.split())
    assert status == 200
    assert grown_mib < 20


@pytest.mark.parametrize("kept", [".", "hub"], ids=["the root itself", "beside what a rehearsal left"])
def test_serving_a_kept_root_prints_the_environment_that_leads_to_it(tmp_path: Path, kept: str) -> None:
    with filled(tmp_path / "place" / kept):
        pass
    command = [sys.executable, "-m", "eaglekit.hub.loopback", str(tmp_path / "place")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        lines = [server.stdout.readline() for _ in range(7)]
        exported = dict(line.removeprefix("export ").strip().split("=", 1) for line in lines[:3])
        told = ask(f"{exported['HF_ENDPOINT']}/api/models/{REPO}", token=exported["HF_TOKEN"]).json
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 0
        assert server.stderr.read() == ""
    assert lines[3] == f"# {REPO} main {told['sha']}\n"
    assert "Ctrl-C" in lines[5]
    assert lines[6].endswith("unset HF_ENDPOINT HF_TOKEN HF_HUB_DISABLE_XET\n")


def test_a_folder_is_published_and_served(tmp_path: Path) -> None:
    folder = tmp_path / "drafter"
    folder.mkdir()
    (folder / "config.json").write_bytes(b"{}")
    command = [sys.executable, "-m", "eaglekit.hub.loopback", str(tmp_path / "place"), REPO, str(folder), "--private"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        exported = dict(server.stdout.readline().removeprefix("export ").strip().split("=", 1) for _ in range(3))
        url = f"{exported['HF_ENDPOINT']}/api/models/{REPO}/tree/main"
        statuses = [ask(url).status, ask(url, token=exported["HF_TOKEN"]).status]
        server.send_signal(signal.SIGINT)
    assert statuses == [401, 200]
    kept = hashlib.sha1(b"blob 2\0{}", usedforsecurity=False).hexdigest()
    assert (tmp_path / "place/blobs" / kept).read_bytes() == b"{}"


def serve(*words: object) -> subprocess.CompletedProcess[str]:
    """The module, where it does not come to serving."""
    command = [sys.executable, "-m", "eaglekit.hub.loopback", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


def test_a_folder_of_something_else_is_not_served_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    done = serve(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "holds something else than a Hub" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_folder_that_is_not_there_is_not_made_into_an_empty_hub(tmp_path: Path) -> None:
    done = serve(tmp_path / "rehearsl")
    assert done.returncode == 1
    assert "does not exist" in done.stderr
    assert not (tmp_path / "rehearsl").exists()
