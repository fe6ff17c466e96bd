"""git-lfs: where large files go up and come down. Addresses are signed; nobody there asks for an account."""

from __future__ import annotations

import re
from typing import Any

from eaglekit.hub.loopback.access import committable, visible
from eaglekit.hub.loopback.content import file_sha256
from eaglekit.hub.loopback.exchange import Exchange, Refused
from eaglekit.hub.loopback.model import same

LFS_TYPE = {"Content-Type": "application/vnd.git-lfs+json"}


def batch(exchange: Exchange, repo: str) -> None:
    """What is to be done for each large file that a client wants to upload, or to download."""
    wanted = exchange.json()
    operation = wanted.get("operation")
    objects = wanted.get("objects")
    if operation not in {"upload", "download"} or not isinstance(objects, list):
        raise Refused(400, "Invalid LFS batch request")
    if operation == "download":
        visible(exchange, repo)
    else:
        branch = wanted["ref"].get("name") if isinstance(wanted.get("ref"), dict) else None
        # The objects of a pull request to be name no branch.
        committable(exchange, repo, str(branch), create_pr=branch is None)
    answers = [uploading(exchange, repo, wanted) if operation == "upload" else downloading(exchange, wanted)
               for wanted in objects]  # fmt: skip
    parts = any("chunk_size" in answer.get("actions", {}).get("upload", {}).get("header", {}) for answer in answers)
    exchange.answer(200, {"transfer": "multipart" if parts else "basic", "objects": answers}, LFS_TYPE)


def uploading(exchange: Exchange, repo: str, wanted: Any) -> dict[str, Any]:
    """The answer for one object: nothing to do when it is here already."""
    if (problem := misnamed(wanted)) is not None:
        return problem
    sha256, size = wanted["oid"], wanted["size"]
    named = {"oid": sha256, "size": size, "authenticated": True}
    if exchange.storage.content.large(sha256).exists():
        return named
    verify = {"href": f"{exchange.hub.endpoint}/{repo}.git/info/lfs/objects/verify"}
    return {**named, "actions": {"upload": address(exchange, repo, sha256, size), "verify": verify}}


def address(exchange: Exchange, repo: str, sha256: str, size: int) -> dict[str, Any]:
    """Where the bytes go: in one piece, or in parts and then a word that they are all there."""
    hub = exchange.hub
    here = f"{hub.cdn_endpoint}/cdn/upload/{sha256}"
    if size <= hub.multipart_bytes:
        return {"href": f"{here}?size={size}&signature={hub.sign('upload', sha256, size)}"}
    upload = exchange.storage.content.incoming()
    upload.touch()
    chunk = hub.part_bytes
    parts = {
        f"{number:05d}": f"{here}/{number:05d}?upload={upload.name}&size={min(chunk, size - start)}&start={start}"
        f"&signature={hub.sign('part', sha256, upload.name, number, min(chunk, size - start), start)}"
        for number, start in enumerate(range(0, size, chunk), 1)
    }
    signature = hub.sign("complete", sha256, upload.name, size, len(parts))
    complete = f"{hub.endpoint}/{repo}.git/info/lfs/objects/complete/{sha256}"
    query = f"upload={upload.name}&size={size}&parts={len(parts)}&signature={signature}"
    return {"href": f"{complete}?{query}", "header": {"chunk_size": str(chunk), **parts}}


def downloading(exchange: Exchange, wanted: Any) -> dict[str, Any]:
    """Where one object can be read."""
    if (problem := misnamed(wanted)) is not None:
        return problem
    sha256 = wanted["oid"]
    if not exchange.storage.content.large(sha256).exists():
        return {**wanted, "error": {"code": 404, "message": "Object does not exist"}}
    href = f"{exchange.hub.cdn_endpoint}/cdn/{sha256}?signature={exchange.hub.sign('download', sha256)}"
    return {**wanted, "actions": {"download": {"href": href}}}


def misnamed(wanted: Any) -> dict[str, Any] | None:
    """The answer for an object that is not named by a digest and a size."""
    sha256, size = (wanted.get("oid"), wanted.get("size")) if isinstance(wanted, dict) else (None, None)
    if isinstance(sha256, str) and re.fullmatch("[0-9a-f]{64}", sha256) and isinstance(size, int) and size >= 0:
        return None
    return {"oid": str(sha256), "size": 0, "error": {"code": 422, "message": "Invalid object"}}


def verify(exchange: Exchange, repo: str) -> None:
    """Whether an object that was uploaded is here."""
    visible(exchange, repo)
    wanted = exchange.json()
    if misnamed(wanted) is not None:
        raise Refused(422, "Invalid object")
    path = exchange.storage.content.large(wanted["oid"])
    if not path.exists() or path.stat().st_size != wanted["size"]:
        raise Refused(404, "Object does not exist")
    exchange.answer(200, {}, LFS_TYPE)


def signed(exchange: Exchange, *words: str) -> None:
    """Refuse an address that was not given out like this, or an account where none is asked for."""
    if not same(exchange.query.get("signature", ""), exchange.hub.sign(*words)):
        raise Refused(403, "SignatureDoesNotMatch")
    if exchange.record.had_authorization:
        raise Refused(400, "Only one auth mechanism allowed: this address is signed")


def upload(exchange: Exchange, sha256: str) -> None:
    """Take the bytes of a large file, if they are the ones that were announced."""
    size = exchange.query.get("size", "")
    signed(exchange, "upload", sha256, size)
    content = exchange.storage.content
    arrived = content.incoming()
    try:
        digests = exchange.body.write_to(arrived)
        if (digests.sha256, str(digests.size_bytes)) != (sha256, size):
            raise Refused(400, f"BadDigest: {digests.size_bytes} bytes of sha256 {digests.sha256} arrived")
        content.accept(arrived, sha256)
    finally:
        arrived.unlink(missing_ok=True)
    exchange.answer(200, b"", {"ETag": digests.etag})


def upload_part(exchange: Exchange, sha256: str, part: str) -> None:
    """Take one part of a large file."""
    upload, size, start = (exchange.query.get(name, "") for name in ("upload", "size", "start"))
    signed(exchange, "part", sha256, upload, str(int(part)), size, start)
    arriving = exchange.storage.content.incoming().with_name(upload)
    if not arriving.exists():
        raise Refused(404, "NoSuchUpload")
    digests = exchange.body.write_to(arriving, at_byte=int(start))
    if str(digests.size_bytes) != size:
        raise Refused(400, f"EntityTooSmall: {digests.size_bytes} bytes arrived")
    exchange.hub.part_etags[upload, int(part)] = digests.etag
    exchange.answer(200, b"", {"ETag": digests.etag})


def complete(exchange: Exchange, repo: str, sha256: str) -> None:
    """Put the parts together, if all of them are here and make the file that was announced."""
    upload, size, count = (exchange.query.get(name, "") for name in ("upload", "size", "parts"))
    signed(exchange, "complete", sha256, upload, size, count)
    wanted = exchange.json()
    told = {part.get("partNumber"): part.get("etag") for part in wanted.get("parts", []) if isinstance(part, dict)}
    here = {number: exchange.hub.part_etags.get((upload, number)) for number in range(1, int(count) + 1)}
    if wanted.get("oid") != sha256 or told != here:
        raise Refused(400, "InvalidPart: the parts that were named are not the ones that arrived")
    content = exchange.storage.content
    arrived = content.incoming().with_name(upload)
    if not arrived.exists():
        raise Refused(404, "NoSuchUpload")
    if (found := file_sha256(arrived)) != sha256 or arrived.stat().st_size != int(size):
        arrived.unlink()
        raise Refused(400, f"BadDigest: the parts make a file of sha256 {found}")
    content.accept(arrived, sha256)
    for number in here:
        del exchange.hub.part_etags[upload, number]
    exchange.answer(200, {}, LFS_TYPE)


def download(exchange: Exchange, sha256: str) -> None:
    """The bytes of a large file, for whoever brings the signature; an account means nothing here."""
    if not same(exchange.query.get("signature", ""), exchange.hub.sign("download", sha256)):
        exchange.answer(403, b"")
        return
    exchange.send_file(exchange.storage.content.large(sha256), {"ETag": f'"{sha256}"'})
