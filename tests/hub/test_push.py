"""What a push does when all is well, and what it refuses before a byte is sent."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest

from tests.cli.running import Finished, eaglekit
from tests.hub.published import PROMPTS
from tests.hub.pushes import COMMITS, REPO, UPLOADS, Pushes

pytestmark = pytest.mark.hub_client

OURS = {"README.md", "SHA256SUMS", "config.json", "model.safetensors", "provenance.json", "report.json"}


def outcome(done: Finished) -> str:
    assert done.code == 0, done.err + done.out
    word: str = done.document["result"]["outcome"]
    return word


def test_a_push_is_one_commit_with_every_file(pushes: Pushes) -> None:
    done = pushes.push()
    assert outcome(done) == "published"
    assert len(pushes.sent("POST", COMMITS)) == 1
    assert pushes.count() == 2
    assert set(pushes.head().files) == {*OURS, ".gitattributes"}


def test_the_report_names_commit_url_digests_and_the_next_command(pushes: Pushes) -> None:
    document = pushes.push().document
    result, head = document["result"], pushes.head().oid
    assert result["commit"] == document["facts"]["commit"]["value"] == head
    assert result["url"] == f"{pushes.hub.endpoint}/{REPO}/commit/{head}"
    assert result["next"] == [f"eaglekit pull {REPO}@{head} ./drafter", f"eaglekit verify {REPO}@{head} --prompts FILE"]
    large = next(file for file in result["files"] if file["name"] == "model.safetensors")
    assert large["sha256"] == pushes.head().files["model.safetensors"].sha256


def test_the_published_manifest_has_the_digest_that_the_report_says(pushes: Pushes) -> None:
    said = pushes.push().document["result"]["manifest"]
    stored = pushes.hub.storage.content.path(pushes.head().files["SHA256SUMS"]).read_bytes()
    assert hashlib.sha256(stored).hexdigest() == said


def test_a_second_push_sends_nothing(pushes: Pushes) -> None:
    pushes.push()
    pushes.hub.forget_requests()
    assert outcome(pushes.push()) == "nothing to do"
    assert pushes.writes() == []


def test_a_dry_run_shows_the_plan_and_sends_nothing(pushes: Pushes) -> None:
    done = pushes.push("--dry-run", "--tag", "v1", yes=False)
    assert outcome(done) == "planned"
    assert {row["change"] for row in done.document["tables"]["files"]} == {"new"}
    assert done.document["result"]["card"].startswith("---\n")
    assert pushes.writes() == []
    assert REPO not in pushes.hub.storage.repositories


def test_a_dry_run_tells_people_what_would_be_sent(pushes: Pushes) -> None:
    done = pushes.run(REPO, "--no-figure", "--dry-run")
    assert done.code == 0
    assert "6 new" in done.out
    assert "private, a new repository" in done.out
    assert "nothing was sent" in done.err


def test_the_card_is_shown_when_it_is_asked_for(pushes: Pushes) -> None:
    assert "## Serving" in pushes.run(REPO, "--no-figure", "--dry-run", "--show-card").out


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["for people", "as JSON"])
def test_nobody_is_asked_where_there_is_no_terminal(pushes: Pushes, options: tuple[str, ...]) -> None:
    done = pushes.run(REPO, *options)
    assert done.code == 2
    assert "--yes" in done.out + done.err
    assert pushes.hub.requests() == []


@pytest.mark.parametrize(
    ("options", "private"), [((), True), (("--public",), False)], ids=["private unless asked", "public when asked"]
)
def test_a_new_repository_is_private_unless_it_is_to_be_public(
    pushes: Pushes, options: tuple[str, ...], private: bool
) -> None:
    done = pushes.push(*options)
    assert pushes.hub.storage.repositories[REPO].private is private
    assert done.document["result"]["private"] is private


def test_an_existing_repository_keeps_its_visibility(pushes: Pushes) -> None:
    pushes.push()
    done = pushes.push("--public")
    assert done.codes == ["push-visibility-kept"]
    assert pushes.hub.storage.repositories[REPO].private


def test_a_file_with_other_content_is_not_replaced_unasked(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"config.json": b"{}", "model.safetensors": b"other", "notes.md": b"mine"})
    pushes.hub.forget_requests()
    done = pushes.push()
    assert done.code == 1
    (finding,) = done.document["findings"]
    assert finding["code"] == "push-would-overwrite"
    assert finding["message"].endswith("config.json, model.safetensors")
    for side in ("got", "expected"):
        assert re.findall(r"(\S+): (git|sha256) [0-9a-f]{12}, ", finding[side]) == [
            ("config.json", "git"), ("model.safetensors", "sha256"),
        ]  # fmt: skip
    assert pushes.writes() == []


def test_overwriting_replaces_and_deletes_nothing(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"config.json": b"{}", "notes.md": b"mine"})
    assert outcome(pushes.push("--overwrite")) == "published"
    assert set(pushes.head().files) == {*OURS, ".gitattributes", "notes.md"}


def test_other_weights_on_the_hub_are_a_warning_that_names_them(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"old.safetensors": b"x", "training_state.pt": b"y"})
    done = pushes.push()
    assert done.code == 0
    assert done.codes == ["push-remote-weights"] * 2
    assert {finding["place"] for finding in done.document["findings"]} == {
        f"{REPO}: old.safetensors",
        f"{REPO}: training_state.pt",
    }


def test_what_people_wrote_into_the_card_on_the_hub_stays(pushes: Pushes) -> None:
    pushes.push()
    storage = pushes.hub.storage
    card = storage.content.path(pushes.head().files["README.md"]).read_text(encoding="utf-8")
    pushes.hub.publish(REPO, {"README.md": f"{card}\n## By hand\n".replace("3.07", "9.99").encode()})
    assert outcome(pushes.push()) == "published"
    merged = storage.content.path(pushes.head().files["README.md"]).read_text(encoding="utf-8")
    assert merged == f"{card}\n## By hand\n"


def test_a_card_without_a_place_for_ours_is_not_touched(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"README.md": b"# Mine alone\n"})
    done = pushes.push("--overwrite")
    assert done.code == 1
    assert done.codes == ["card-markers"]


def test_a_tag_is_set_at_the_commit_and_not_a_second_time(pushes: Pushes) -> None:
    pushes.push("--tag", "v1.0")
    assert pushes.hub.storage.repositories[REPO].tags == {"v1.0": pushes.head().oid}
    pushes.hub.forget_requests()
    assert outcome(pushes.push("--tag", "v1.0")) == "nothing to do"
    assert pushes.writes() == []


def test_a_tag_can_be_set_later(pushes: Pushes) -> None:
    pushes.push()
    assert "nothing was sent, every file compared with its digest; tag v1.0: set now" in again(pushes)
    assert pushes.hub.storage.repositories[REPO].tags == {"v1.0": pushes.head().oid}
    assert "v1.0: was there" in again(pushes)


def again(pushes: Pushes) -> str:
    return " ".join(pushes.run(REPO, "--no-figure", "--yes", "--tag", "v1.0").out.split())


def test_a_proposal_ends_with_its_number(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"mine"})
    done = pushes.run(REPO, "--no-figure", "--yes", "--create-pr")
    assert "proposed as pull request 1; " in done.out


def test_the_next_command_names_what_a_receiver_has_to_bring(pushes: Pushes) -> None:
    done = pushes.push("--dry-run")
    assert done.document["facts"]["prompts"]["value"].startswith("not published")
    result = outcome_of(pushes.push("--with-prompts", PROMPTS))
    assert result["tag_set"] is False
    assert result["next"][1] == f"eaglekit verify {REPO}@{result['commit']}"


def outcome_of(done: Finished) -> dict[str, Any]:
    result: dict[str, Any] = done.document["result"]
    return result


def test_a_tag_that_stands_elsewhere_is_refused(pushes: Pushes) -> None:
    pushes.push("--tag", "v1.0")
    pushes.hub.publish(REPO, {"notes.md": b"later"})
    done = pushes.push("--tag", "v1.0")
    assert done.codes == ["push-tag-taken"]


def test_a_branch_that_is_absent_is_in_the_plan_and_then_made(pushes: Pushes) -> None:
    pushes.push()
    main = pushes.head().oid
    planned = pushes.push("--revision", "v2", "--dry-run").document
    assert planned["facts"]["branch"]["value"] == f"v2, a new branch from main at {main[:12]}"
    pushes.add("LICENSE", b"do as you like\n")
    assert outcome(pushes.push("--revision", "v2", "--overwrite")) == "published"
    assert pushes.head().oid == main
    assert pushes.head("v2").parent == main


def test_a_new_repository_can_begin_with_a_branch(pushes: Pushes) -> None:
    assert outcome(pushes.push("--revision", "v2")) == "published"
    assert set(pushes.head().files) == {".gitattributes"}
    assert set(pushes.head("v2").files) >= OURS


@pytest.mark.parametrize("revision", ["v1", "c" * 40, "refs/pr/7"], ids=["a tag", "a commit", "an absent pull request"])
def test_a_revision_that_is_no_branch_is_refused(pushes: Pushes, revision: str) -> None:
    pushes.push("--tag", "v1")
    done = pushes.push("--revision", revision)
    assert done.code == 1
    assert done.codes == ["push-revision-unfit"]


def test_a_pull_request_leaves_main_alone(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    before = pushes.head().oid
    document = pushes.push("--create-pr").document
    assert pushes.head().oid == before
    assert document["result"]["pull_request"]["number"] == 1
    assert document["result"]["pull_request"]["url"] == f"{pushes.hub.endpoint}/{REPO}/discussions/1"
    assert pushes.head("refs/pr/1").oid == document["result"]["commit"]


def test_the_same_pull_request_is_not_opened_twice(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    pushes.push("--create-pr")
    pushes.hub.forget_requests()
    done = pushes.push("--create-pr")
    assert outcome(done) == "nothing to do"
    assert done.document["result"]["pull_request"]["number"] == 1
    assert pushes.writes() == []


def test_a_pull_request_can_be_pushed_to_again(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    pushes.push("--create-pr")
    pushes.add("LICENSE", b"do as you like\n")
    assert outcome(pushes.push("--revision", "refs/pr/1", "--overwrite")) == "published"
    assert "LICENSE" in pushes.head("refs/pr/1").files


def test_the_commit_has_the_title_that_was_asked_for(pushes: Pushes) -> None:
    pushes.push("--message", "Release 1.0\nwith notes")
    head = pushes.head()
    assert head.title == "Release 1.0"
    assert head.description.startswith("with notes\n\neaglekit ")


def test_the_report_is_also_written_to_a_file(pushes: Pushes) -> None:
    file = pushes.home.parent / "push.json"
    done = pushes.push("-o", file)
    assert json.loads(file.read_text()) == done.document


def test_everything_that_is_wrong_is_told_at_once_and_nothing_is_sent(pushes: Pushes) -> None:
    """The folder's, the report's and the Hub's objections in one refusal."""
    (pushes.folder / "report.json").unlink()
    (pushes.folder / ".env").write_text("A=1\n")
    pushes.hub.account("reader", "hf_reader", role="read", organisations=("acme",))
    pushes.token = "hf_reader"  # noqa: S105
    done = pushes.push()
    assert done.code == 1
    assert {"report-missing", "publish-not-allowed", "push-not-allowed"} <= {*done.codes}, done.codes
    assert pushes.writes() == []


def test_a_card_with_impossible_fields_is_refused_with_each_of_them_named(pushes: Pushes) -> None:
    (pushes.folder / "README.md").write_text("---\nbase_model: null\nlicense: 3\n---\n")
    words = ("push", pushes.folder, REPO, "--no-figure", "--json", "--yes")
    done = eaglekit(*words, environment=pushes.environment)
    assert done.code == 1
    assert {*done.codes} == {"base-model-missing", "licence-unknown"}
    assert pushes.writes() == []


def test_code_and_paths_in_the_config_are_refused(pushes: Pushes) -> None:
    config = json.loads((pushes.folder / "config.json").read_text())
    config |= {"auto_map": {"AutoModel": "modeling_drafter.Drafter"}, "verifier": "/data/run7/model"}
    pushes.add("config.json", json.dumps(config).encode())
    done = pushes.push()
    assert done.code == 1
    assert "modeling_drafter" in done.out
    assert "/data/run7/model" in done.out
    assert pushes.writes() == []


def test_the_texts_of_the_report_can_be_published_too(pushes: Pushes) -> None:
    pushes.push("--with-prompts", PROMPTS)
    assert "prompts.jsonl" in pushes.head().files


def test_other_texts_than_the_reports_are_refused(pushes: Pushes) -> None:
    other = pushes.home.parent / "other.jsonl"
    other.write_text("{}\n")
    done = pushes.push("--with-prompts", other)
    assert done.codes == ["prompts-unfit"]
    assert pushes.writes() == []


def test_the_figure_goes_along_unless_it_is_left_out(pushes: Pushes) -> None:
    assert pushes.run(REPO, "--yes").code == 0
    assert pushes.head().files["drift.png"].size_bytes > 1000
    assert len(pushes.sent("PUT", UPLOADS)) == 2


@pytest.mark.parametrize(
    "options",
    [
        ("--create-pr", "--tag", "v1"),
        ("--create-pr", "--public"),
        ("--message", " "),
        ("--tag", "a..b"),
        ("--revision", "-x"),
    ],
    ids=["tagging a proposal", "a public proposal", "an empty message", "an impossible tag", "an impossible branch"],
)
def test_options_that_cannot_be_are_a_usage_error(pushes: Pushes, options: tuple[str, ...]) -> None:
    assert pushes.push(*options).code == 2
    assert pushes.hub.requests() == []


def test_a_listing_of_many_pages_is_read_to_its_end(pushes: Pushes) -> None:
    pushes.hub.page_size = 2
    assert outcome(pushes.push()) == "published"
    assert outcome(pushes.push()) == "nothing to do"
