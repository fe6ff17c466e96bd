"""A signature holds for exactly the files that were signed, by the stock verifier; and it is kept while they stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from eaglekit.hub.local.signing import FOREIGN, SIGSTORE, Signer, _of_sigstore, signed
from eaglekit.hub.model import SIGNATURE, LocalFile
from eaglekit.report import Refusal

PASSWORD = "correct horse"  # noqa: S105 - of a key made in this test


def key(folder: Path, password: str | None = None, name: str = "key.pem") -> Signer:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    kept = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    (folder / name).write_bytes(
        private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, kept)
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (folder / f"{name}.pub").write_bytes(public)
    return Signer(str(folder / name), password)


def release(folder: Path) -> list[LocalFile]:
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    on_disk = LocalFile.made("model.safetensors", b"weights")
    on_disk = LocalFile(on_disk.name, folder / on_disk.name, on_disk.size_bytes, on_disk.sha256)
    return [on_disk, LocalFile.made("report.json", b"{}"), LocalFile.made("README.md", b"prose")]


def verified(folder: Path, public: Path) -> subprocess.CompletedProcess[str]:
    """What the stock command says of a folder that somebody downloaded."""
    words = ["-m", "model_signing", "verify", "key", str(folder), "--signature", str(folder / SIGNATURE)]
    return subprocess.run(
        [sys.executable, *words, "--public_key", str(public), "--ignore_unsigned_files"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def received(files: list[LocalFile], signature: LocalFile, folder: Path) -> Path:
    folder.mkdir()
    for file in (*files, signature):
        (folder / file.name).write_bytes(file.read())
    return folder


def test_the_stock_verifier_accepts_what_was_signed_and_nothing_else(tmp_path: Path) -> None:
    files, signer = release(tmp_path / "release"), key(tmp_path)
    folder = received(files, signed(files, signer, name="drafter"), tmp_path / "received")
    assert verified(folder, tmp_path / "key.pem.pub").returncode == 0
    (folder / "model.safetensors").write_bytes(b"WEIGHTS")
    assert verified(folder, tmp_path / "key.pem.pub").returncode == 1


def test_an_edited_card_leaves_the_signature_valid(tmp_path: Path) -> None:
    files, signer = release(tmp_path / "release"), key(tmp_path)
    folder = received(files, signed(files, signer, name="drafter"), tmp_path / "received")
    (folder / "README.md").write_text("other prose")
    assert verified(folder, tmp_path / "key.pem.pub").returncode == 0


def test_a_signature_that_holds_is_kept_byte_for_byte(tmp_path: Path) -> None:
    files, signer = release(tmp_path / "release"), key(tmp_path)
    first = signed(files, signer, name="drafter").read()
    assert signed(files, signer, name="drafter").read() != first
    assert signed(files, signer, name="drafter", before=first).read() == first


@pytest.mark.parametrize("before", [b"", b"{}", b'{"dsseEnvelope": 7}', b"\xff\xfe"], ids=repr)
def test_what_is_no_signature_is_replaced(tmp_path: Path, before: bytes) -> None:
    files, signer = release(tmp_path / "release"), key(tmp_path)
    assert signed(files, signer, name="drafter", before=before).read() != before


def test_a_signature_by_another_key_or_of_other_files_is_replaced(tmp_path: Path) -> None:
    files, signer = release(tmp_path / "release"), key(tmp_path)
    first = signed(files, signer, name="drafter").read()
    assert signed(files, key(tmp_path, name="other.pem"), name="drafter", before=first).read() != first
    more = [*files, LocalFile.made("LICENSE", b"MIT")]
    assert signed(more, signer, name="drafter", before=first).read() != first


def test_an_encrypted_key_signs_with_its_password_and_without_it_the_refusal_holds_no_secret(tmp_path: Path) -> None:
    files, signer = release(tmp_path / "release"), key(tmp_path, PASSWORD)
    assert signed(files, signer, name="drafter").size_bytes
    for wrong in (None, "wrong horse"):
        with pytest.raises(Refusal) as refused:
            signed(files, Signer(signer.key, wrong), name="drafter")
        (finding,) = refused.value.findings
        assert finding.code == "signing-failed"
        assert "horse" not in str(finding)


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_file_that_is_no_key_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Refusal) as refused:
        signed(release(tmp_path / "release"), Signer(str(path)), name="drafter")
    assert refused.value.findings[0].code == "signing-failed"


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    private = ed25519.Ed25519PrivateKey.generate()
    nothing = serialization.NoEncryption()
    data = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, nothing)
    (tmp_path / "key.pem").write_bytes(data)
    with pytest.raises(Refusal) as refused:
        signed(release(tmp_path / "release"), Signer(str(tmp_path / "key.pem")), name="drafter")
    assert refused.value.findings[0].code == "signing-failed"


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "model_signing", None)
    with pytest.raises(Refusal) as refused:
        signed(release(tmp_path / "release"), Signer("key.pem"), name="drafter")
    assert refused.value.findings[0].hint == "pip install 'eaglekit[sign]'"


def test_everything_that_sigstore_raises_of_its_own_is_known_by_name() -> None:
    assert len(_of_sigstore(Signer(SIGSTORE))) == len(FOREIGN)


def test_a_password_is_not_shown_with_its_signer() -> None:
    assert "horse" not in repr(Signer("key.pem", PASSWORD))
