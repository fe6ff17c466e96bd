"""`check`: whether the Hub holds, at the commit that was made, exactly what was planned. Every byte by its digest."""

from __future__ import annotations

from collections.abc import Mapping

from eaglekit.checkpoint.hub_http import RemoteFile
from eaglekit.hub.model import LocalFile, Outline, RemoteEntry, regular
from eaglekit.hub.remote.client import HubClient
from eaglekit.hub.remote.listing import entries_at
from eaglekit.report import Finding, Refusal, Severity

LENGTH_BYTES = 8
"""A safetensors file begins with the length of its header."""
HOUSEKEEPING = frozenset({".gitattributes"})
"""Files that the Hub itself may write along with a commit."""


def check(planned: Outline, commit: str, client: HubClient) -> list[Finding]:
    """What differs from the plan at `commit`; nothing when all is well.

    Files by SHA-256 or git's name, headers of the weights by the bytes that are served.
    """
    try:
        entries = entries_at(client.connection, client.repo, commit)
        findings = [*_files(planned, entries, commit), *_others(planned, entries, commit)]
        wrong = {finding.place.rpartition(": ")[2] for finding in findings}
        for file in planned.files:
            if file.name.endswith(".safetensors") and file.name not in wrong:
                findings += _header(file, commit, client)
    except Refusal as refusal:
        return [_unverified(client, commit), *refusal.findings]
    except OSError as error:
        return [_unverified(client, commit, got=f"{error.filename}: {error.strerror}")]
    return findings


def _files(planned: Outline, entries: Mapping[str, RemoteEntry], commit: str) -> list[Finding]:
    findings = []
    for file in planned.files:
        entry = entries.get(file.name)
        if entry is None:
            findings.append(_differs(planned, commit, file.name, "no such file", file.sha256))
        elif not entry.holds(file):
            expected = file.sha256 if entry.sha256 is not None else file.git_name()
            got = f"{entry.sha256 or entry.git_name} ({entry.size_bytes} bytes)"
            findings.append(_differs(planned, commit, file.name, got, f"{expected} ({file.size_bytes} bytes)"))
    return findings


def _others(planned: Outline, entries: Mapping[str, RemoteEntry], commit: str) -> list[Finding]:
    """Files that were not pushed: each must be there as it was, and none may be new."""
    ours = {file.name for file in planned.files} | HOUSEKEEPING
    before = {name: entry for name, entry in planned.state.entries.items() if name not in ours}
    findings = [
        _differs(planned, commit, name, _name(entries.get(name)), _name(entry))
        for name, entry in before.items()
        if entries.get(name) != entry
    ]
    if planned.state.exists:
        new = sorted(entries.keys() - before.keys() - ours)
        findings += [_differs(planned, commit, name, _name(entries[name]), "no such file") for name in new]
    return findings


def _header(file: LocalFile, commit: str, client: HubClient) -> list[Finding]:
    """The header as the Hub serves it, beside the one on this machine."""
    here = _local_header(file)
    remote = RemoteFile(client.repo, commit, file.name, file.size_bytes)
    there = client.connection.read(remote, 0, len(here))
    if there == here:
        return []
    return [
        Finding(
            "push-remote-differs",
            f"the header that {client.asked.host} serves of {file.name} is another",
            place=f"{client.repo}@{commit}: {file.name}",
            got=repr(there[:60]),
            expected=repr(here[:60]),
            hint="do not announce this commit; look at it on the Hub",
        )
    ]


def _local_header(file: LocalFile) -> bytes:
    if isinstance(file.content, bytes):
        length = int.from_bytes(file.content[:LENGTH_BYTES], "little")
        return file.content[: LENGTH_BYTES + length]
    with open(file.content, "rb", opener=regular) as stream:
        start = stream.read(LENGTH_BYTES)
        return start + stream.read(int.from_bytes(start, "little"))


def _name(entry: RemoteEntry | None) -> str:
    return "no such file" if entry is None else entry.sha256 or entry.git_name


def _differs(planned: Outline, commit: str, name: str, got: str, expected: str) -> Finding:
    return Finding(
        "push-remote-differs",
        f"{name} is not what was planned at the new commit of {planned.wishes.repo}",
        place=f"{planned.wishes.repo}@{commit}: {name}",
        got=got,
        expected=expected,
        hint="do not announce this commit; look at it on the Hub, then run the command again",
    )


def _unverified(client: HubClient, commit: str, got: str = "") -> Finding:
    return Finding(
        "push-unverified",
        f"commit {commit} of {client.repo} was recorded and could not be checked",
        place=f"{client.repo}@{commit}",
        got=got,
        hint="run the same command again: it sends nothing that is there, and checks",
        severity=Severity.ERROR,
    )
