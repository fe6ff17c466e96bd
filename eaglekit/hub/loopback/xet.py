"""Large files as xet: hf_xet keeps their chunks in a folder of this machine, without a server of its own.

That hf_xet takes a folder for a server is an internal of it (seen in 1.8.0), so a Hub speaks xet only when asked to.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

from eaglekit.hub.loopback.access import committable, readable, visible
from eaglekit.hub.loopback.content import Entry, file_sha256
from eaglekit.hub.loopback.exchange import Exchange, Refused
from eaglekit.hub.loopback.model import Commit, Repository
from eaglekit.hub.loopback.storage import Storage

TOKEN_S = 3600
RECORD_BYTES = 48
"""A shard is a row of records of this size: a header, then per file its hash, its segments and its digest."""
HAS_DIGEST, HAS_VERIFICATION = 1 << 30, 1 << 31
END = b"\xff" * 32
"""Stands where the hash of a further file would."""


def write_token(exchange: Exchange, repo: str, revision: str) -> None:
    """Where chunks go up."""
    spoken(exchange)
    committable(exchange, repo, revision, create_pr=exchange.flag("create_pr"))
    answer_place(exchange)


def read_token(exchange: Exchange, repo: str, revision: str) -> None:
    """Where chunks come down."""
    spoken(exchange)
    readable(exchange, visible(exchange, repo))
    answer_place(exchange)


def spoken(exchange: Exchange) -> None:
    """Refuse as a mirror without xet does."""
    if not exchange.hub.xet:
        raise Refused(404, f"no route for {exchange.record.method} {exchange.path}")


def answer_place(exchange: Exchange) -> None:
    """Answer hf_xet, which reads the body, and huggingface_hub, which reads the headers."""
    place, token, expires = place_of(exchange.storage), "loopback", int(time()) + TOKEN_S
    headers = {"X-Xet-Cas-Url": place, "X-Xet-Access-Token": token, "X-Xet-Token-Expiration": str(expires)}
    exchange.answer(200, {"accessToken": token, "exp": expires, "casUrl": place}, headers)


def place_of(storage: Storage) -> str:
    """The address of the folder with the chunks."""
    folder = storage.root.resolve() / "xet"
    folder.mkdir(exist_ok=True)
    return f"local://{folder}"


def in_listing(exchange: Exchange, entry: Entry) -> dict[str, str]:
    """What a listing adds for a file that went up as xet."""
    known = exchange.storage.xet_hashes.get(entry.sha256 or "")
    return {"xetHash": known} if known and exchange.hub.xet else {}


def in_headers(exchange: Exchange, repository: Repository, commit: Commit, entry: Entry) -> dict[str, str]:
    """What the address of such a file adds: its hash, and where to ask for a token."""
    known = exchange.storage.xet_hashes.get(entry.sha256 or "")
    if not known or not exchange.hub.xet:
        return {}
    route = f"{exchange.hub.endpoint}/api/models/{repository.id}/xet-read-token/{commit.oid}"
    return {"X-Xet-Hash": known, "X-Xet-Refresh-Route": route, "Link": f'<{route}>; rel="xet-auth"'}


def fetch(storage: Storage, sha256: str) -> Path | None:
    """The bytes of a large file whose chunks have come up as xet, put together and kept like any other."""
    from hf_xet import XetFileInfo, XetSession  # type: ignore[import-untyped]

    hashes = {digest: hash for shard in (storage.root / "xet").rglob("*.mdb") for digest, hash in files_of(shard)}
    if sha256 not in hashes:
        return None
    arrived = storage.content.incoming()
    with TemporaryDirectory(dir=storage.root / "incoming") as beside:
        # The client still has the folder's index open, and locked: a copy of it is not.
        shutil.copytree(storage.root / "xet", beside, copy_function=copy_or_link, dirs_exist_ok=True)
        with XetSession().new_file_download_group(endpoint=f"local://{Path(beside).resolve()}") as group:
            group.start_download_file(XetFileInfo(hashes[sha256]), str(arrived))
    if file_sha256(arrived) != sha256:
        arrived.unlink()
        return None
    storage.content.accept(arrived, sha256)
    storage.xet_hashes[sha256] = hashes[sha256]
    return storage.content.find_large(sha256)


def copy_or_link(source: str, target: str) -> None:
    """Copy the index, share the chunks."""
    if source.endswith(".redb"):
        shutil.copyfile(source, target)
    else:
        os.link(source, target)


def files_of(shard: Path) -> Iterator[tuple[str, str]]:
    """The files of one shard: sha256, and the hash that xet has for it."""
    data = shard.read_bytes()
    at = RECORD_BYTES
    while at + RECORD_BYTES <= len(data) and (name := data[at : at + 32]) != END:
        flags, segments = struct.unpack_from("<II", data, at + 32)
        at += RECORD_BYTES * (1 + segments * (2 if flags & HAS_VERIFICATION else 1))
        if flags & HAS_DIGEST:
            yield hexadecimal(data[at : at + 32]), hexadecimal(name)
            at += RECORD_BYTES


def hexadecimal(hash: bytes) -> str:
    """A hash as xet writes it: four little-endian numbers."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", hash))
