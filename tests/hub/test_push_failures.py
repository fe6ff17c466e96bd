"""What goes wrong on the way, and what a push makes of it: nothing is published twice, or half, or unseen."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from eaglekit.hub.loopback.faults import another_digest
from tests.cli.running import Finished, eaglekit
from tests.hub import Fault
from tests.hub.pushes import COMMITS, REPO, UPLOADS, Pushes

pytestmark = pytest.mark.hub_client

COMMIT = r"/commit/main"
WEIGHTS = "model.safetensors"
TOKENIZER = b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02"
"""What the Hub keeps as a large file, by its name."""


def refused(done: Finished, code: str) -> dict[str, str]:
    """The one finding of a refusal."""
    assert done.code == 1, done.out + done.err
    assert done.codes == [code], done.out
    finding: dict[str, str] = done.document["findings"][0]
    return finding


def published(done: Finished) -> bool:
    assert done.code == 0, done.out + done.err
    return bool(done.document["result"]["outcome"] == "published")


def test_a_rival_commit_between_plan_and_commit_is_not_written_over(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    rival = Fault(COMMIT, "POST", times=1, call=lambda: pushes.hub.publish(REPO, {"notes.md": b"newer"}))
    pushes.hub.fail(rival)
    finding = refused(pushes.push(), "push-rival-commit")
    assert "nothing was published" in finding["hint"]
    assert set(pushes.head().files) == {".gitattributes", "notes.md"}


def test_after_a_rival_commit_the_same_command_works(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    pushes.hub.fail(Fault(COMMIT, "POST", times=1, call=lambda: pushes.hub.publish(REPO, {"notes.md": b"newer"})))
    pushes.push()
    pushes.hub.forget_requests()
    assert published(pushes.push())
    assert pushes.sent("PUT", UPLOADS) == []


def test_a_repository_that_somebody_fills_while_it_is_made_is_left_alone(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(r"/refs", times=1, call=lambda: pushes.hub.publish(REPO, {"theirs.bin": b"x"})))
    refused(pushes.push(), "push-rival-commit")
    assert set(pushes.head().files) == {".gitattributes", "theirs.bin"}


def test_a_repository_that_somebody_makes_first_is_not_written_to(pushes: Pushes) -> None:
    first = Fault(r"/api/repos/create", "POST", times=1, call=lambda: pushes.hub.storage.create_repository(REPO))
    pushes.hub.fail(first)
    refused(pushes.push(), "push-rival-commit")
    assert pushes.count() == 1


@pytest.mark.parametrize(
    "after",
    [{"status": 500}, {"status": 504}, {"cut": True}, {"status": 200, "body": b"<html>"}],
    ids=["500", "a gateway's timeout", "a cut connection", "an answer that is no answer"],
)
def test_a_commit_that_was_recorded_in_spite_of_an_error_is_found(pushes: Pushes, after: dict[str, object]) -> None:
    pushes.hub.fail(Fault(COMMIT, "POST", times=1, after_the_fact=True, **after))  # type: ignore[arg-type]
    done = pushes.push()
    assert published(done)
    assert len(pushes.sent("POST", COMMITS)) == 1
    assert pushes.count() == 2
    assert "after the Hub's answer had failed" in done.document["facts"]["commit"]["origin"]


def test_our_commit_is_found_under_one_that_came_right_after_it(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(COMMIT, "POST", times=1, after_the_fact=True, cut=True))
    look = Fault(r"/refs", after=1, times=1, call=lambda: pushes.hub.publish(REPO, {"notes.md": b"theirs"}))
    pushes.hub.fail(look)
    done = pushes.push()
    assert published(done)
    assert done.document["result"]["commit"] == pushes.head().parent


def test_a_proposal_that_was_recorded_in_spite_of_an_error_is_found(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    pushes.hub.fail(Fault(COMMIT, "POST", times=1, after_the_fact=True, status=500))
    done = pushes.push("--create-pr")
    assert published(done)
    assert done.document["result"]["pull_request"]["number"] == 1
    assert len(pushes.hub.storage.repositories[REPO].discussions) == 1


def test_a_commit_that_was_not_recorded_is_said_not_to_be(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(COMMIT, "POST", times=1, status=502))
    finding = refused(pushes.push(), "push-not-recorded")
    assert "502" in finding["got"]
    assert len(pushes.sent("POST", COMMITS)) == 1
    assert published(pushes.push())


def test_an_error_with_a_rival_commit_behind_it_is_not_taken_for_ours(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    rival = Fault(COMMIT, "POST", times=1, status=500, call=lambda: pushes.hub.publish(REPO, {"notes.md": b"newer"}))
    pushes.hub.fail(rival)
    refused(pushes.push(), "push-rival-commit")


def test_when_nobody_can_say_whether_it_was_recorded_that_is_said(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(COMMIT, "POST", times=1, after_the_fact=True, status=500))
    pushes.hub.fail(Fault(r"/refs", after=1, status=401, headers={"X-Error-Message": "Invalid credentials"}))
    done = pushes.push()
    assert done.code == 1
    assert done.codes[0] == "push-outcome-unknown"
    pushes.hub.faults.clear()
    assert pushes.push().document["result"]["outcome"] == "nothing to do"


def test_the_hub_is_waited_for_as_it_asks_and_gets_one_commit(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(COMMIT, "POST", times=2, status=429, headers={"Retry-After": "1"}))
    done = pushes.push()
    assert published(done)
    assert done.err.count("answered 429: waiting 1 s") == 2
    assert pushes.count() == 2


def test_questions_are_asked_again_when_the_hub_is_busy(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(r"/whoami-v2", times=1, status=429, headers={"Retry-After": "0"}))
    pushes.hub.fail(Fault(r"/refs", times=1, status=503))
    assert published(pushes.push())


def test_a_hub_that_asks_for_hours_is_not_waited_for(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(r"/whoami-v2", status=429, headers={"Retry-After": "86400"}))
    refused(pushes.push(), "hub-rate-limited")


def test_an_upload_that_fails_for_a_moment_is_sent_again(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(UPLOADS, "PUT", times=1, status=503))
    done = pushes.push()
    assert published(done)
    assert "signature" not in done.err


def test_an_upload_whose_connection_breaks_is_sent_again(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(UPLOADS, "PUT", times=1, cut_after_received_bytes=100_000))
    assert published(pushes.push())


def test_an_upload_that_is_refused_publishes_nothing(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(UPLOADS, "PUT", status=403))
    finding = refused(pushes.push(), "push-upload-failed")
    assert WEIGHTS in finding["message"]
    assert pushes.sent("POST", COMMITS) == []


def test_a_file_of_many_parts_arrives_whole(pushes: Pushes) -> None:
    pushes.hub.multipart_bytes, pushes.hub.part_bytes = 100_000, 200_000
    assert published(pushes.push())
    assert len(pushes.sent("PUT", UPLOADS)) == 3


def test_a_file_that_differs_on_the_hub_is_an_error_and_is_not_tagged(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(r"/tree/", after=1, alter=another_digest(WEIGHTS)))
    done = pushes.push("--tag", "v1")
    assert done.code == 1
    assert done.codes == ["push-remote-differs"]
    assert done.document["findings"][0]["got"].startswith("0" * 64)
    assert done.document["result"]["commit"] == pushes.head().oid
    assert pushes.hub.storage.repositories[REPO].tags == {}


def test_a_small_file_that_differs_on_the_hub_is_an_error(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(r"/tree/", after=1, alter=another_digest("config.json")))
    assert pushes.push().codes == ["push-remote-differs"]


def test_a_file_that_is_not_there_afterwards_is_an_error(pushes: Pushes) -> None:
    gone = Fault(r"/tree/", after=1, alter=lambda items: [item for item in items if item["path"] != "config.json"])
    pushes.hub.fail(gone)
    done = pushes.push()
    assert done.codes == ["push-remote-differs"]
    assert done.document["findings"][0]["got"] == "no such file"


def test_a_file_of_others_that_has_gone_is_an_error(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    gone = Fault(r"/tree/", after=1, alter=lambda items: [item for item in items if item["path"] != "notes.md"])
    pushes.hub.fail(gone)
    assert pushes.push().codes == ["push-remote-differs"]


def test_a_header_that_is_served_otherwise_is_an_error(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(r"/cdn/[0-9a-f]{64}$", status=206, body=b"x" * 8, headers={"Content-Range": "bytes 0-7/8"}))
    done = pushes.push()
    assert done.code == 1
    assert done.document["result"]["commit"] == pushes.head().oid


def test_a_commit_that_cannot_be_checked_is_said_to_be_there(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(rf"{REPO}/tree/", after=1, status=404))
    done = pushes.push()
    assert done.code == 1
    assert done.codes[0] == "push-unverified"
    assert pushes.head().oid in done.document["findings"][0]["message"]


def test_a_tag_that_fails_leaves_the_commit(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(r"/tag/", "POST", status=403))
    done = pushes.push("--tag", "v1")
    assert done.code == 1
    assert done.codes[0] == "push-tag-failed"
    assert done.document["result"]["commit"] == pushes.head().oid


def test_a_tag_that_was_set_in_spite_of_an_error_is_found(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(r"/tag/", "POST", times=1, status=500, after_the_fact=True))
    assert published(pushes.push("--tag", "v1"))


def test_the_hubs_own_gitignore_does_not_drop_a_file_silently(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {".gitignore": b"*.safetensors\n"})
    finding = refused(pushes.push(), "push-ignored")
    assert WEIGHTS in finding["message"]
    assert pushes.sent("POST", COMMITS) == []


def test_a_card_that_the_hub_refuses_is_told_before_any_weight_is_sent(pushes: Pushes) -> None:
    said = b'{"errors": [{"message": "\\"license\\" must be one of ours"}], "warnings": []}'
    pushes.hub.fail(Fault(r"/validate-yaml", "POST", status=400, body=said))
    finding = refused(pushes.push(), "push-card-refused")
    assert finding["got"] == '"license" must be one of ours'
    assert pushes.writes() == []


def test_a_file_that_changes_after_the_plan_is_not_published(pushes: Pushes) -> None:
    weights = pushes.folder / WEIGHTS
    altered = bytes([*weights.read_bytes()[:-1], 7])
    pushes.hub.fail(Fault(r"/api/repos/create", "POST", times=1, call=lambda: weights.write_bytes(altered)))
    refused(pushes.push(), "push-file-changed")
    assert pushes.sent("POST", COMMITS) == []


def test_a_small_file_that_changes_after_the_plan_is_not_published(pushes: Pushes) -> None:
    config = pushes.folder / "config.json"
    pushes.hub.fail(Fault(r"/api/repos/create", "POST", times=1, call=lambda: config.write_text("{}")))
    refused(pushes.push(), "push-file-changed")
    assert pushes.writes()[1:] == []


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGKILL], ids=["stopped by hand", "killed"])
def test_an_interrupted_push_goes_on_where_it_stopped(pushes: Pushes, way: signal.Signals) -> None:
    """The tokenizer has been sent when the weights are on their way: only these are sent again."""
    pushes.add("tokenizer.model", TOKENIZER)
    pushes.hub.fail(Fault(UPLOADS, "PUT", after=1, times=1, stall_s=3))
    pushes.interrupt(way, UPLOADS, 2)
    pushes.hub.faults.clear()
    assert pushes.count() == 1
    pushes.hub.forget_requests()
    assert published(pushes.push())
    assert len(pushes.sent("PUT", UPLOADS)) <= 1
    assert pushes.count() == 2


def test_whoever_stops_a_push_is_told_what_has_been_done(pushes: Pushes) -> None:
    pushes.add("tokenizer.model", TOKENIZER)
    pushes.hub.fail(Fault(UPLOADS, "PUT", after=1, times=1, stall_s=3))
    code, printed = pushes.interrupt(signal.SIGINT, UPLOADS, 2)
    assert code == 130
    assert f"stopped while sending {WEIGHTS}" in printed
    assert "the repository acme/drafter has been made" in printed
    assert "tokenizer.model" in printed
    assert "nothing was published" in printed


def test_whoever_stops_a_push_during_the_commit_is_told_to_look(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(COMMIT, "POST", times=1, stall_s=2))
    _, printed = pushes.interrupt(signal.SIGINT, "/commit/main")
    assert "it finds out whether it is there" in printed
    pushes.hub.requests()
    pushes.hub.faults.clear()
    assert pushes.push().document["result"]["outcome"] == "nothing to do"


def test_a_server_without_xet_is_told_with_the_way_out(pushes: Pushes, tmp_path: Path) -> None:
    pushes.more = {"HF_HUB_DISABLE_XET": "0", "HF_XET_CACHE": str(tmp_path / "xet")}
    finding = refused(pushes.push(), "push-without-xet")
    assert "HF_HUB_DISABLE_XET=1" in finding["hint"]
    assert pushes.sent("POST", COMMITS) == []


def test_weights_go_by_xet_where_the_hub_knows_it(pushes: Pushes, tmp_path: Path) -> None:
    pushes.hub.xet = True
    pushes.more = {"HF_HUB_DISABLE_XET": "0", "HF_XET_CACHE": str(tmp_path / "xet")}
    assert published(pushes.push())
    assert pushes.sent("PUT", UPLOADS) == []
    assert pushes.sent("GET", "/xet-write-token/") != []
    assert pushes.push().document["result"]["outcome"] == "nothing to do"


def test_a_repository_that_comes_out_public_gets_no_bytes(pushes: Pushes) -> None:
    public = Fault(rf"/api/models/{REPO}$", after=1, alter=lambda info: {**info, "private": False})
    pushes.hub.fail(public)
    refused(pushes.push(), "push-visibility-other")
    assert pushes.sent("PUT", UPLOADS) == []
    assert pushes.sent("POST", COMMITS) == []


def test_what_the_hub_remarks_on_a_card_is_passed_on(pushes: Pushes) -> None:
    said = {"errors": [], "warnings": [{"message": "a remark on tags"}, "another"]}
    pushes.hub.fail(Fault(r"/api/validate-yaml", "POST", times=1, status=200, body=json.dumps(said).encode()))
    done = pushes.push()
    assert done.code == 0, done.out
    remarks = [finding["got"] for finding in done.document["findings"] if finding["code"] == "push-card-remark"]
    assert remarks == ["a remark on tags", "another"]


def test_what_is_wrong_here_is_told_though_the_hub_refuses_the_token(pushes: Pushes) -> None:
    (pushes.folder / "report.json").unlink()
    (pushes.folder / "SHA256SUMS").unlink()
    words = ("push", pushes.folder, REPO, "--json", "--yes")
    done = eaglekit(*words, environment={**pushes.environment, "HF_TOKEN": "hf_unknown"})
    assert set(done.codes) == {"manifest-missing", "report-missing", "licence-missing", "hub-token-rejected"}
