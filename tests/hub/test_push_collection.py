"""A model that is put into a collection once its commit has been checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglekit.hub.loopback.model import Collection
from tests.cli.running import eaglekit
from tests.hub import Fault, Scope
from tests.hub.pushes import REPO, WORDS, Pushes

pytestmark = pytest.mark.hub_client
SLUG = f"acme/drafters-{'a1' * 12}"
ITEMS = f"/api/collections/{SLUG}/items"


@pytest.fixture
def collection(pushes: Pushes) -> Collection:
    made = Collection(SLUG, "Drafters", "acme")
    pushes.hub.storage.collections[SLUG] = made
    return made


def models(collection: Collection) -> list[str]:
    return [id for _, id, _ in collection.items]


def test_the_model_is_in_the_collection_after_the_commit(pushes: Pushes, collection: Collection) -> None:
    done = pushes.push("--collection", SLUG)
    assert done.code == 0, done.out
    assert models(collection) == [REPO]
    assert done.document["facts"]["collection"]["value"] == SLUG
    writes = [record.path for record in pushes.writes()]
    assert writes[-1] == ITEMS


def test_a_second_push_does_nothing(pushes: Pushes, collection: Collection) -> None:
    pushes.push("--collection", SLUG)
    pushes.hub.forget_requests()
    done = pushes.push("--collection", SLUG)
    assert done.document["result"]["outcome"] == "nothing to do"
    assert pushes.writes() == []


def test_a_model_can_be_put_into_a_collection_later(pushes: Pushes, collection: Collection) -> None:
    pushes.push()
    pushes.hub.forget_requests()
    assert pushes.push("--collection", SLUG).code == 0
    assert models(collection) == [REPO]
    assert [record.path for record in pushes.writes()] == [ITEMS]


def test_a_dry_run_only_looks(pushes: Pushes, collection: Collection) -> None:
    assert pushes.push("--collection", SLUG, "--dry-run").code == 0
    assert models(collection) == []
    assert pushes.writes() == []


def test_a_collection_that_is_not_there_is_told_before_anything_is_sent(pushes: Pushes) -> None:
    done = pushes.push("--collection", SLUG)
    assert done.codes == ["push-collection-unfit"]
    assert pushes.writes() == []


def test_a_collection_of_others_is_told_before_anything_is_sent(pushes: Pushes) -> None:
    slug = SLUG.replace("acme", "others")
    pushes.hub.storage.collections[slug] = Collection(slug, "Drafters", "others")
    done = pushes.push("--collection", slug)
    assert done.codes == ["push-collection-unfit"]
    assert "acme" in done.document["findings"][0]["got"]
    assert pushes.writes() == []


@pytest.mark.parametrize(
    ("permissions", "code"), [((), 1), (("collection.write",), 0)], ids=["without the right", "with it"]
)
def test_a_fine_grained_token_needs_the_right_to_collections(
    pushes: Pushes, collection: Collection, permissions: tuple[str, ...], code: int
) -> None:
    pushes.token = "hf_fineGrainedTokenOfTheTests"  # noqa: S105
    scope = Scope("org", "acme", ("repo.content.read", "repo.write", *permissions))
    pushes.hub.account("publisher", pushes.token, role="fineGrained", organisations=("acme",), scopes=(scope,))
    done = pushes.push("--collection", SLUG)
    assert done.code == code, done.out
    assert models(collection) == [REPO] * (code == 0)


def test_everything_that_is_wrong_is_told_with_the_collection(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"config.json": b"{}"})
    assert set(pushes.push("--collection", SLUG).codes) == {"push-collection-unfit", "push-would-overwrite"}


def test_a_failure_at_the_end_leaves_the_commit_and_says_so(pushes: Pushes, collection: Collection) -> None:
    pushes.hub.fail(Fault(ITEMS, "POST", status=403))
    done = pushes.push("--collection", SLUG)
    assert done.code == 1
    assert done.codes == ["push-collection-failed", "push-not-allowed"]
    assert done.document["result"]["commit"] == pushes.head().oid


def test_an_answer_that_gets_lost_is_looked_into(pushes: Pushes, collection: Collection) -> None:
    pushes.hub.fail(Fault(ITEMS, "POST", status=500, times=1, after_the_fact=True))
    done = pushes.push("--collection", SLUG)
    assert done.code == 0, done.out
    assert models(collection) == [REPO]


@pytest.mark.parametrize("slug", ["drafters", "acme/drafters", f"https://huggingface.co/collections/{SLUG}", "a/../b"])
def test_what_is_no_name_of_a_collection_is_wrong_usage(tmp_path: Path, slug: str) -> None:
    done = eaglekit("push", tmp_path, REPO, "--dry-run", "--collection", slug)
    assert done.code == 2
    assert "OWNER/TITLE-ID" in done.err


def test_a_pull_request_is_put_into_no_collection(tmp_path: Path) -> None:
    assert eaglekit("push", tmp_path, REPO, "--dry-run", "--create-pr", "--collection", SLUG).code == 2


def test_a_rehearsal_has_the_collection(pushes: Pushes) -> None:
    words = ("push", pushes.folder, REPO, *WORDS, "--no-figure", "--json", "--collection", SLUG)
    done = eaglekit(*words, "--rehearse", pushes.home / "stage")
    assert done.code == 0, done.out + done.err
    assert done.document["facts"]["collection"]["value"] == SLUG
