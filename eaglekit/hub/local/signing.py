"""`signed`: an OpenSSF model signature over every file but the card, made by `model_signing` (extra `[sign]`)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eaglekit.hub.local.signature_reading import NOT_SIGNED, Way
from eaglekit.hub.model import SIGNATURE, LocalFile
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from model_signing import hashing

SIGSTORE = "sigstore"
"""In place of a key: an identity that sigstore vouches for. Needs the network and, on a terminal, a browser."""
HEAD_BYTES = 4096
"""Of a key file: PEM says at its beginning whether it is encrypted."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs."""

    key: str
    """A file with an EC private key (PEM), or `sigstore`."""
    password: str | None = field(default=None, repr=False)
    """Of an encrypted key."""

    @property
    def way(self) -> Way:
        """How what is signed will be verified."""
        return Way.SIGSTORE if self.key == SIGSTORE else Way.KEY


def is_encrypted(key: str) -> bool:
    """Whether the key file says that it needs a password. False for what cannot be read: signing tells why."""
    try:
        with Path(key).open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except OSError:
        return False
    return b"BEGIN ENCRYPTED PRIVATE KEY" in head or b"Proc-Type: 4,ENCRYPTED" in head


def exposed(signer: Signer | None, folder: Path) -> list[Finding]:
    """The finding for a key that lies in the folder which is to be published."""
    if signer is None or signer.way is Way.SIGSTORE:
        return []
    key, inside = Path(signer.key).absolute(), folder.absolute()
    if not (key.is_relative_to(inside) or key.resolve().is_relative_to(inside.resolve())):
        return []
    return [
        Finding(
            "signing-key-exposed",
            f"the private key {key.name} lies in the folder that is to be published",
            place=signer.key,
            got="a key inside the folder",
            expected="a key somewhere else",
            hint="move it out; if the folder was ever published or shared with it, make a new key",
        )
    ]


def signed(files: Sequence[LocalFile], signer: Signer, *, name: str, before: bytes | None = None) -> LocalFile:
    """The signature of `files` under the model's `name`.

    An ECDSA signature has other bytes each time: `before`, the one that is published, is kept where it holds for the
    same files and the same key. Raises `Refusal` for a key that cannot sign, and without `model_signing`.
    """
    _require()
    with tempfile.TemporaryDirectory(prefix="eaglekit-sign-") as base, _refusing(signer):
        room = Path(base)
        folder = _laid_out(files, room / name)
        if signer.key == SIGSTORE:
            return LocalFile.made(SIGNATURE, _by_identity(folder, room / SIGNATURE))
        public = _public_key(signer, room / "public.pem")
        if before is not None and _holds(folder, before, public, room / "before.sig"):
            return LocalFile.made(SIGNATURE, before)
        made = _by_key(folder, signer, room / SIGNATURE)
        if not _holds(folder, made, public, room / "made.sig"):
            raise ValueError("the signature that was made does not hold")
        return LocalFile.made(SIGNATURE, made)


def _laid_out(files: Sequence[LocalFile], folder: Path) -> Path:
    """The files that are signed in one folder, by links: nothing is copied."""
    folder.mkdir()
    for file in files:
        if file.name in NOT_SIGNED:
            continue
        place = folder / file.name
        if isinstance(file.content, bytes):
            place.write_bytes(file.content)
        else:
            place.symlink_to(file.content.resolve())
    return folder


def _hashing() -> hashing.Config:
    """Links are allowed: the cache of the Hub's client consists of them too, and must be checkable as it is."""
    from model_signing import hashing

    config = hashing.Config().set_ignored_paths(paths=sorted(NOT_SIGNED))  # type: ignore[no-untyped-call]
    return config.set_allow_symlinks(True)


def _by_key(folder: Path, signer: Signer, place: Path) -> bytes:
    from model_signing import signing

    config = signing.Config().set_hashing_config(_hashing())  # type: ignore[no-untyped-call]
    # model_signing 1.1.1 is annotated with text and hands the password on to what takes bytes only.
    config.use_elliptic_key_signer(private_key=signer.key, password=_secret(signer)).sign(folder, place)
    return place.read_bytes()


def _secret(signer: Signer) -> Any:
    return signer.password.encode() if signer.password is not None else None


def _by_identity(folder: Path, place: Path) -> bytes:
    from model_signing import signing

    config = signing.Config().set_hashing_config(_hashing())  # type: ignore[no-untyped-call]
    config.use_sigstore_signer(use_ambient_credentials=True).sign(folder, place)
    return place.read_bytes()


def _public_key(signer: Signer, place: Path) -> Path:
    """The public half of the key, as a file."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    private = serialization.load_pem_private_key(Path(signer.key).read_bytes(), _secret(signer))
    if not isinstance(private, EllipticCurvePrivateKey):
        raise ValueError("the key is of another kind")
    place.write_bytes(
        private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return place


def _holds(folder: Path, signature: bytes, public: Path, place: Path) -> bool:
    """Whether `signature` is of exactly the files in `folder`, by the key."""
    from model_signing import verifying

    place.write_bytes(signature)
    # Said again: left to guess, model_signing 1.1.1 forgets that links are allowed.
    config = verifying.Config().set_hashing_config(_hashing())  # type: ignore[no-untyped-call]
    try:
        config.use_elliptic_key_verifier(public_key=public).verify(folder, place)
    except (ValueError, KeyError, TypeError):
        # What model_signing raises for other files, another key, and what is no signature.
        return False
    return True


FOREIGN: tuple[tuple[str, str], ...] = (
    ("sigstore.errors", "Error"),
    ("sigstore.oidc", "IssuerError"),
    ("sigstore.oidc", "ExpiredIdentity"),
    ("sigstore._internal.fulcio.client", "ExpiredCertificate"),
    ("sigstore._internal.fulcio.client", "FulcioClientError"),
    ("sigstore._internal.rekor", "RekorClientError"),
    ("sigstore._internal.timestamp", "TimestampError"),
)
"""Module and name of what sigstore 4 raises of its own; most of it is no `sigstore.errors.Error`."""


def _of_sigstore(signer: Signer) -> tuple[type[Exception], ...]:
    """The ones of `FOREIGN` that this sigstore has; asked for only when something went wrong."""
    found: list[type[Exception]] = []
    for module, name in FOREIGN if signer.way is Way.SIGSTORE else ():
        # Where another release keeps them elsewhere, the rest is still told well.
        with suppress(ImportError, AttributeError):
            found.append(getattr(import_module(module), name))
    return tuple(found)


def _foreign(signer: Signer) -> tuple[type[Exception], ...]:
    return (ValueError, TypeError, RuntimeError, OSError, *_of_sigstore(signer))


@contextmanager
def _refusing(signer: Signer) -> Iterator[None]:
    """Inside, what goes wrong with the key or with sigstore becomes a `Refusal`. The key's content is never told."""
    try:
        yield
    except _foreign(signer) as error:
        by_key = signer.key != SIGSTORE
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Refusal(
            Finding(
                "signing-failed",
                "the files could not be signed with the key" if by_key else "sigstore did not sign the files",
                place=signer.key,
                got=" ".join(said.split())[:200] or type(error).__name__,
                expected="an EC private key (P-256, P-384 or P-521) in PEM form" if by_key else "a signature",
                hint="make one with `openssl ecparam -name prime256v1 -genkey -noout -out key.pem`; "
                "the password of an encrypted one is taken from EAGLEKIT_SIGNING_PASSWORD"
                if by_key
                else "see that the network is reachable, or give a key: --sign KEY.pem",
            )
        ) from None


def _require() -> None:
    try:
        import model_signing.signing  # noqa: F401 - asked for, not used
    except ImportError as error:
        raise Refusal(
            Finding(
                "signing-extra-missing",
                "--sign needs the package model-signing, which cannot be imported here",
                place="this Python environment",
                got=str(error),
                expected="model-signing",
                hint="pip install 'eaglekit[sign]'",
            )
        ) from None
