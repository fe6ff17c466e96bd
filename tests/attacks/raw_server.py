"""A server that says what it is told to, byte by byte, to every POST; to GET it answers as a vLLM that drafts."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

METRICS = "".join(
    f"vllm:{name} 0\n"
    for name in (
        "spec_decode_num_drafts_total", "spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total",
        'spec_decode_num_accepted_tokens_per_pos_total{position="0"}',
    )
)  # fmt: skip
KNOWN = {"/v1/models": '{"data": [{"id": "m"}]}', "/version": '{"version": "0.32.0"}', "/metrics": METRICS}
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
Post = Callable[[socket.socket, str], None]
"""Given the connection and the key that came with the request."""


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(document: object) -> bytes:
    """A chunk with one event; a text is sent as it is."""
    text = document if isinstance(document, str) else json.dumps(document)
    return chunk(f"data: {text}\n\n".encode())


def tokens(*ids: int) -> bytes:
    return event({"choices": [{"index": 0, "text": "", "token_ids": list(ids)}]})


END = event("[DONE]") + b"0\r\n\r\n"


def saying(*parts: bytes, again: bytes = b"") -> Post:
    """Says `parts`, and then `again` without end where there is one."""

    def post(connection: socket.socket, key: str) -> None:
        connection.sendall(b"".join(parts))
        while again:
            connection.sendall(again)

    return post


@contextmanager
def listening(post: Post) -> Iterator[str]:
    """The server's address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=(server, post), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


def serve(server: socket.socket, post: Post) -> None:
    """Answer whoever connects, until the socket is shut."""
    with suppress(OSError):
        while True:
            threading.Thread(target=_answer, args=(server.accept()[0], post), daemon=True).start()


def _answer(connection: socket.socket, post: Post) -> None:
    with suppress(OSError, ValueError), connection, connection.makefile("rb") as stream:
        method, path, _ = stream.readline().decode().split()
        headers: dict[str, str] = {}
        while line := stream.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        stream.read(int(headers.get("content-length", 0)))
        if method == "POST":
            post(connection, headers.get("authorization", "").removeprefix("Bearer "))
            return
        body = KNOWN.get(path, "").encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
