"""The target that a publisher names, beside the Hub's own files at that commit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import eaglekit
from tests.hub import Fault
from tests.hub.published import TARGET
from tests.hub.pushes import REPO, TARGET_COMMIT, TARGET_REPO, WORDS, Pushes, publish_target

pytestmark = pytest.mark.hub_client
THEIR_WORD, COMPARED = "repository and commit are the publisher's word", "the Hub's files at that commit have it, too"


def card(pushes: Pushes) -> str:
    return pushes.hub.storage.content.path(pushes.head().files["README.md"]).read_text(encoding="utf-8")


def forget_target(pushes: Pushes) -> None:
    del pushes.hub.storage.repositories[TARGET_REPO]


def test_a_target_with_the_digest_of_the_report_is_no_mere_word(pushes: Pushes) -> None:
    done = pushes.push()
    assert done.codes == []
    assert COMPARED in card(pushes)
    assert THEIR_WORD not in card(pushes)
    assert "have the digest of the report" in done.document["facts"]["base model"]["origin"]


def test_its_weights_are_not_downloaded(pushes: Pushes) -> None:
    pushes.push()
    size_bytes = sum(path.stat().st_size for path in TARGET.glob("*.safetensors"))
    asked = [record for record in pushes.hub.requests() if TARGET_REPO in record.path and "/resolve/" in record.path]
    assert asked
    assert sum(record.sent_bytes for record in asked) < size_bytes


@pytest.mark.parametrize("options", [(), ("--dry-run",)], ids=["a push", "a dry run"])
def test_another_target_is_refused_before_anything_is_sent(pushes: Pushes, options: tuple[str, ...]) -> None:
    config = json.loads((TARGET / "config.json").read_text())
    files: dict[str, bytes | Path] = {path.name: path for path in TARGET.iterdir()}
    forget_target(pushes)
    publish_target(pushes.hub, {**files, "config.json": json.dumps({**config, "rope_theta": 1.0}).encode()})
    done = pushes.push(*options)
    assert done.codes == ["base-model-other"]
    assert done.document["findings"][0]["got"].startswith("sha256:")
    assert pushes.writes() == []


def gated(pushes: Pushes) -> None:
    headers = {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted."}
    pushes.hub.fail(Fault(f"{TARGET_REPO}/resolve/", "*", status=403, headers=headers))


def unreachable(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(f"{TARGET_REPO}/tree/", cut=True))


@pytest.mark.parametrize("hide", [forget_target, gated, unreachable], ids=["not there", "gated", "unreachable"])
def test_a_target_that_cannot_be_read_stays_the_publishers_word(pushes: Pushes, hide: Callable[[Pushes], None]) -> None:
    hide(pushes)
    done = pushes.push()
    assert done.code == 0, done.out
    assert done.codes == ["base-model-unchecked"]
    assert THEIR_WORD in card(pushes)


def test_what_was_compared_once_is_kept_where_it_cannot_be_compared_again(pushes: Pushes) -> None:
    pushes.push()
    forget_target(pushes)
    pushes.hub.forget_requests()
    done = pushes.push()
    assert done.codes == ["base-model-unchecked"]
    assert done.document["result"]["outcome"] == "nothing to do"
    assert pushes.writes() == []


def test_so_it_is_where_the_folder_has_a_card_of_its_own(pushes: Pushes) -> None:
    written = pushes.folder / "README.md"
    assert eaglekit("card", pushes.folder, *WORDS, "--repo", REPO, "--no-figure", "-o", written).code == 0
    assert THEIR_WORD in written.read_text(encoding="utf-8")
    pushes.push()
    assert COMPARED in card(pushes)
    forget_target(pushes)
    assert pushes.push().document["result"]["outcome"] == "nothing to do"


def test_what_was_compared_with_another_commit_is_not_kept(pushes: Pushes) -> None:
    pushes.push()
    forget_target(pushes)
    other = "f" * 40
    words = ("push", pushes.folder, REPO, "--license", "apache-2.0", "--base-model", f"{TARGET_REPO}@{other}")
    done = eaglekit(*words, "--no-figure", "--json", "--dry-run", environment=pushes.environment)
    assert TARGET_COMMIT not in done.document["result"]["card"]
    assert THEIR_WORD in done.document["result"]["card"]


def test_a_rehearsal_says_that_it_is_the_publishers_word(pushes: Pushes) -> None:
    words = ("push", pushes.folder, REPO, *WORDS, "--no-figure", "--json", "--rehearse", pushes.home / "stage")
    done = eaglekit(*words)
    assert done.code == 0, done.out
    origins = {name: fact["origin"] for name, fact in done.document["facts"].items()}
    assert done.codes == []
    assert origins["base model"] == "given: --base-model; a rehearsal has no target, the real push compares it"
    assert origins["hub"] == "given: --rehearse"
