"""A signed push: the stock verifier accepts what anybody downloads, and what is signed already is not signed again."""

from __future__ import annotations

import os
import subprocess
import termios
from pathlib import Path

import pytest

from eaglekit.hub.local.signature_reading import Way, way_of
from tests.cli.running import PROGRAM, eaglekit
from tests.hub.pushes import REPO, WORDS, Pushes, wait_for
from tests.hub.test_signing import PASSWORD, key, verified

pytestmark = pytest.mark.hub_client
SIGNED = {"README.md", "model.sig"}


def received(pushes: Pushes, folder: Path) -> Path:
    """The files of the branch, as anybody would get them."""
    pushes.hub.storage.materialise(REPO, pushes.head().oid, folder)
    return folder


def card(pushes: Pushes) -> str:
    return pushes.hub.storage.content.path(pushes.head().files["README.md"]).read_text(encoding="utf-8")


def test_the_stock_verifier_accepts_what_was_pushed_and_no_other_byte(pushes: Pushes, tmp_path: Path) -> None:
    signer = key(tmp_path)
    done = pushes.push("--sign", signer.key)
    assert done.code == 0, done.out + done.err
    folder = received(pushes, tmp_path / "received")
    assert verified(folder, tmp_path / "key.pem.pub").returncode == 0
    (folder / "config.json").write_bytes(b"{}")
    assert verified(folder, tmp_path / "key.pem.pub").returncode == 1


def test_the_signature_is_in_plan_files_and_report(pushes: Pushes, tmp_path: Path) -> None:
    document = pushes.push("--sign", key(tmp_path).key).document
    assert "model.sig" in {row["file"] for row in document["tables"]["files"]}
    assert "model.sig" in {file["name"] for file in document["result"]["files"]}
    assert document["facts"]["signature"]["value"] == "model.sig"
    assert "model.sig" in pushes.head().files


def test_whoever_signs_is_told_how_others_come_to_check_it(pushes: Pushes, tmp_path: Path) -> None:
    signer = key(tmp_path)
    done = pushes.run(REPO, "--no-figure", "--yes", "--sign", signer.key)
    assert f"openssl ec -in {signer.key} -pubout -out public.pem" in done.err
    assert "model_signing verify key ./drafter --signature ./drafter/model.sig --public_key public.pem" in done.err


def test_the_manifest_leaves_the_signature_out(pushes: Pushes, tmp_path: Path) -> None:
    pushes.push("--sign", key(tmp_path).key)
    listed = pushes.hub.storage.content.path(pushes.head().files["SHA256SUMS"]).read_text()
    assert not any(name in listed for name in SIGNED)


def test_a_second_signed_push_sends_nothing(pushes: Pushes, tmp_path: Path) -> None:
    signer = key(tmp_path)
    pushes.push("--sign", signer.key)
    pushes.hub.forget_requests()
    done = pushes.push("--sign", signer.key)
    assert done.document["result"]["outcome"] == "nothing to do"
    assert done.document["facts"]["signature"]["value"] == "model.sig, which holds and stays"
    assert pushes.writes() == []


def test_a_push_by_another_key_is_a_replacement_and_must_be_asked_for(pushes: Pushes, tmp_path: Path) -> None:
    pushes.push("--sign", key(tmp_path).key)
    other = key(tmp_path, name="other.pem")
    done = pushes.push("--sign", other.key)
    assert done.codes == ["push-would-overwrite"]
    assert pushes.push("--sign", other.key, "--overwrite").code == 0
    assert verified(received(pushes, tmp_path / "received"), tmp_path / "other.pem.pub").returncode == 0


def test_an_unsigned_push_of_what_is_signed_already_changes_nothing(pushes: Pushes, tmp_path: Path) -> None:
    pushes.push("--sign", key(tmp_path).key)
    assert pushes.push().document["result"]["outcome"] == "nothing to do"


def test_an_unsigned_push_beside_a_signature_of_other_files_is_refused(pushes: Pushes, tmp_path: Path) -> None:
    pushes.push("--sign", key(tmp_path).key)
    pushes.add("LICENSE", b"do as you like\n")
    pushes.hub.forget_requests()
    done = pushes.push("--overwrite")
    assert done.codes == ["signing-left-out"]
    assert pushes.writes() == []


def test_the_card_says_how_the_signature_is_checked_by_a_command_that_works(pushes: Pushes, tmp_path: Path) -> None:
    pushes.push("--sign", key(tmp_path).key)
    words = [line.strip().removesuffix("\\").split() for line in card(pushes).splitlines()]
    start = next(index for index, line in enumerate(words) if line[:2] == ["model_signing", "verify"])
    command = [word for line in words[start : start + 4] for word in line]
    (tmp_path / "there").mkdir()
    folder = received(pushes, tmp_path / "there" / "drafter")
    (folder.parent / "PUBLIC.pem").write_bytes((tmp_path / "key.pem.pub").read_bytes())
    program = Path(PROGRAM[0]).with_name(command[0])
    done = subprocess.run([program, *command[1:]], cwd=folder.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_card_of_an_unsigned_push_does_not_mention_a_signature(pushes: Pushes) -> None:
    pushes.push()
    assert "model.sig" not in card(pushes)


@pytest.mark.parametrize("leading", [False, True], ids=["in the folder", "by a link in the folder"])
def test_a_key_inside_the_folder_is_refused(pushes: Pushes, tmp_path: Path, leading: bool) -> None:
    signer = key(tmp_path if leading else pushes.folder, name="LICENSE")
    if leading:
        (pushes.folder / "LICENSE").symlink_to(signer.key)
    done = pushes.push("--sign", pushes.folder / "LICENSE")
    assert "signing-key-exposed" in done.codes
    assert pushes.writes() == []


def test_a_key_that_cannot_sign_is_told_with_everything_else(pushes: Pushes, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(b"no key")
    pushes.hub.publish(REPO, {"config.json": b"{}"})
    pushes.hub.forget_requests()
    done = pushes.push("--sign", tmp_path / "key.pem")
    assert "signing-failed" in done.codes
    assert pushes.writes() == []


def test_the_password_of_a_key_comes_from_the_environment(pushes: Pushes, tmp_path: Path) -> None:
    signer = key(tmp_path, PASSWORD)
    assert pushes.push("--sign", signer.key).codes == ["signing-failed"]
    pushes.more = {"EAGLEKIT_SIGNING_PASSWORD": PASSWORD}
    done = pushes.push("--sign", signer.key)
    assert done.code == 0
    assert PASSWORD not in done.out + done.err


def test_the_password_is_asked_for_at_a_terminal_and_not_shown(pushes: Pushes, tmp_path: Path) -> None:
    signer = key(tmp_path, PASSWORD)
    typing, terminal = os.openpty()
    words = [*PROGRAM, "push", str(pushes.folder), REPO, *WORDS, "--no-figure", "--dry-run", "--sign", signer.key]
    try:
        # Without a session of its own, the password would be asked for at the developer's terminal.
        with subprocess.Popen(
            words, env=pushes.environment, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                wait_for(lambda: not termios.tcgetattr(terminal)[3] & termios.ECHO)
                os.write(typing, f"{PASSWORD}\n".encode())
                out, err = process.communicate(timeout=60)
            finally:
                process.kill()
    finally:
        os.close(typing)
        os.close(terminal)
    assert process.returncode == 0, err
    assert "Password of" in err
    assert PASSWORD not in out + err
    assert "model.sig" in out


def test_sigstore_signs_nothing_before_it_is_agreed_to(pushes: Pushes) -> None:
    done = pushes.push("--dry-run", "--sign")
    assert done.code == 0, done.out + done.err
    assert done.document["facts"]["signature"]["value"] == "model.sig, made by sigstore when it is agreed to"
    (row,) = [row for row in done.document["tables"]["files"] if row["file"] == "model.sig"]
    (file,) = [file for file in done.document["result"]["files"] if file["name"] == "model.sig"]
    assert (row["bytes"], file["sha256"], file["size_bytes"]) == ("made later", None, None)
    assert "model_signing verify sigstore" in done.document["result"]["card"]


def test_sigstore_that_cannot_be_reached_publishes_nothing(pushes: Pushes) -> None:
    pushes.more = {"HTTPS_PROXY": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1"}
    done = pushes.push("--sign")
    assert done.codes == ["signing-failed"]
    assert pushes.writes() == []


def test_sigstore_is_not_rehearsed(pushes: Pushes) -> None:
    done = eaglekit("push", pushes.folder, REPO, *WORDS, "--rehearse", pushes.home / "stage", "--sign")
    assert done.code == 2
    assert "--sign KEY.pem" in done.err


@pytest.mark.parametrize(
    ("data", "way"),
    [
        (b'{"verificationMaterial": {"publicKey": {}}}', Way.KEY),
        (b'{"verificationMaterial": {"certificate": {}}}', Way.SIGSTORE),
        (b'{"verificationMaterial": {"publicKey": 7}}', None),
        (b'{"verificationMaterial": []}', None),
        (b"[" * 100_000, None),
        (b"\xff", None),
        (None, None),
    ],
    ids=["a key", "sigstore", "a number", "a list", "deep", "no text", "none"],
)
def test_a_signature_says_how_it_is_verified(data: bytes | None, way: Way | None) -> None:
    assert way_of(data) is way
