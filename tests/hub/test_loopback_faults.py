"""What a fault plan makes of the loopback Hub, seen on the wire and by the stock client."""

from __future__ import annotations

import hashlib
import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub import Client, Fault, Hub, another_digest
from tests.hub.wire import ask, batch, commit, header, large, regular, send

TOKEN = "hf_owner"  # noqa: S105 - opens nothing but the server of this test
REPO = "org/drafter"

UPLOAD = f"""
from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.utils import HfHubHTTPError
def upload():
    files = [CommitOperationAdd("model.safetensors", b"weights" * 100), CommitOperationAdd("config.json", b"[]")]
    return HfApi().create_commit("{REPO}", files, commit_message="One")
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub(tmp_path / "hub") as hub:
        hub.account("owner", TOKEN, organisations=("org",))
        hub.storage.create_repository(REPO)
        yield hub


@pytest.fixture
def client(hub: Hub, tmp_path: Path) -> Client:
    return Client(hub, tmp_path / "home", TOKEN)


def titles(hub: Hub) -> list[str]:
    told = ask(f"{hub.endpoint}/api/models/{REPO}/commits/main", token=TOKEN).json
    return [each["title"] for each in told]


def test_storage_that_is_busy_twice_is_asked_a_third_time(hub: Hub, client: Client) -> None:
    hub.fail(Fault("/cdn/upload/", method="PUT", status=503, times=2))
    client.run(f"{UPLOAD}\nupload()")
    assert [record.status for record in hub.requests() if record.method == "PUT"] == [503, 503, 200]
    assert titles(hub) == ["One", "initial commit"]


def test_a_client_that_is_told_to_wait_does(hub: Hub, client: Client) -> None:
    hub.fail(Fault("/preupload/", method="POST", status=429, headers={"Retry-After": "0"}, times=1))
    client.run(f"{UPLOAD}\nupload()")
    assert [record.status for record in hub.requests() if "/preupload/" in record.path] == [429, 200]


def test_a_commit_can_land_and_be_answered_with_an_error(hub: Hub, client: Client) -> None:
    hub.fail(Fault("/commit/", method="POST", status=500, after_the_fact=True, times=1))
    answers = client.run(f"""{UPLOAD}
try:
    upload()
except HfHubHTTPError as error:
    tell(error.response.status_code)
""")
    assert (answers.only, titles(hub)) == (500, ["One", "initial commit"])


@pytest.mark.parametrize("lands", [True, False])
def test_a_connection_can_be_cut_before_a_commit_or_after_it(hub: Hub, lands: bool) -> None:
    hub.fail(Fault("/commit/", method="POST", cut=True, after_the_fact=lands, times=1))
    with pytest.raises(http.client.RemoteDisconnected):
        commit(hub, REPO, TOKEN, [header("One"), regular("a.txt", b"x")])
    assert titles(hub) == (["One"] if lands else []) + ["initial commit"]
    assert [record.status for record in hub.requests() if "/commit/" in record.path] == [0]


def test_a_rival_can_commit_before_a_request_is_handled(hub: Hub) -> None:
    head = hub.storage.repositories[REPO].branches["main"]
    rival = Fault("/commit/", method="POST", call=lambda: hub.publish(REPO, {"b.txt": b"y"}, title="Rival"), times=1)
    hub.fail(rival)
    assert commit(hub, REPO, TOKEN, [header("One", parentCommit=head), regular("a.txt", b"x")]).status == 412
    assert titles(hub) == ["Rival", "initial commit"]


def test_a_listing_can_tell_another_digest(hub: Hub) -> None:
    hub.publish(REPO, {"model.safetensors": b"weights", "config.json": b"{}"})
    hub.fail(Fault("/tree/", alter=another_digest("model.safetensors")))
    items = {item["path"]: item for item in ask(f"{hub.endpoint}/api/models/{REPO}/tree/main", token=TOKEN).json}
    assert items["model.safetensors"]["lfs"]["oid"] == "0" * 64
    assert items["config.json"]["oid"] == "9e26dfeeb6e641a33dae4961196235bdb965b21b"


def test_an_upload_can_be_cut_in_the_middle_and_leaves_nothing(hub: Hub) -> None:
    content = b"weights" * 100_000
    hub.fail(Fault("/cdn/upload/", method="PUT", cut_after_received_bytes=200_000, times=1))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        send(hub, REPO, TOKEN, content)
    assert hub.requests()[-1].status == 0
    assert list((hub.storage.root / "incoming").iterdir()) == list((hub.storage.root / "lfs").iterdir()) == []
    assert send(hub, REPO, TOKEN, content).status == 200
    assert commit(hub, REPO, TOKEN, [header(), large("model.safetensors", content)]).status == 200


def test_a_body_that_is_refused_unread_leaves_the_connection_usable(hub: Hub) -> None:
    content = b"weights" * 100_000
    (wanted,) = batch(hub, REPO, TOKEN, content).json["objects"]
    hub.fail(Fault("/cdn/upload/", method="PUT", status=503, times=1))
    address = wanted["actions"]["upload"]["href"]
    connection = http.client.HTTPConnection(address.split("/")[2])
    statuses = []
    for _ in range(2):
        connection.request("PUT", address.partition("/cdn/")[1] + address.partition("/cdn/")[2], content)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()
    assert statuses == [503, 200]


def test_a_plan_that_is_used_up_leaves_the_hub_sound(hub: Hub) -> None:
    hub.fail(Fault("/tree/", status=500, after=1, times=1))
    url = f"{hub.endpoint}/api/models/{REPO}/tree/main"
    assert [ask(url, token=TOKEN).status for _ in range(3)] == [200, 500, 200]


def test_the_log_tells_reading_from_writing(hub: Hub) -> None:
    content = b"weights"
    ask(f"{hub.endpoint}/api/models/{REPO}/preupload/main", "POST", {"files": []}, TOKEN)
    ask(f"{hub.endpoint}/api/validate-yaml", "POST", {"content": ""}, TOKEN)
    ask(f"{hub.endpoint}/api/models/{REPO}/paths-info/main", "POST", b"paths=a", TOKEN)
    assert not [record for record in hub.requests() if record.is_write]
    send(hub, REPO, TOKEN, content)
    commit(hub, REPO, TOKEN, [header(), large("model.safetensors", content)])
    written = [record.path.partition("?")[0].rpartition("/")[2] for record in hub.requests() if record.is_write]
    assert written == ["batch", hashlib.sha256(content).hexdigest(), "main"]
