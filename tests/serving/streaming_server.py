"""A small server of vLLM's protocol that streams: over a real socket, with the standard library alone.

It answers `LENGTH` tokens, one a step where it does not speculate and three a step where it does. The stand-in for
vLLM's command line runs this same file.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LENGTH = 13
STEP = 3
"""Tokens of a step with drafts."""
MODEL = "the-target"


@dataclass
class Behaviour:
    """What the server does, and what it was asked."""

    drafting: bool = False
    pause_s: float = 0.01
    """Of a step."""
    fault: str = ""
    """What is wrong with its streams."""
    fault_from: int = 0
    """The request with which that begins."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    finished: int = 0
    prompt_tokens: int = 0
    drafts: int = 0
    accepted: list[int] = field(default_factory=lambda: [0, 0])
    lock: Any = field(default_factory=threading.Lock)

    def metrics(self) -> str:
        lines = [
            f'request_success_total{{finished_reason="stop"}} {self.finished}',
            f"prompt_tokens_total {self.prompt_tokens}",
            "num_requests_running 0",
        ]
        if self.drafting:
            lines += [
                f"spec_decode_num_drafts_total {self.drafts}",
                f"spec_decode_num_draft_tokens_total {2 * self.drafts}",
                f"spec_decode_num_accepted_tokens_total {sum(self.accepted)}",
                *(f'spec_decode_num_accepted_tokens_per_pos_total{{position="{place}"}} {count}'
                  for place, count in enumerate(self.accepted)),
            ]  # fmt: skip
        return "".join(f"vllm:{line}\n" for line in lines)

    def pieces(self, document: dict[str, Any]) -> list[list[int]]:
        """The answer to a request, step by step; the first step is the prompt's."""
        start = sum(document["prompt"])
        length = min(LENGTH, document["max_tokens"])
        tokens = [10 + (start + place) % 50 for place in range(length)]
        if self.fault == "other answers":
            tokens[2:] = [5] * (length - 2)
        size = STEP if self.drafting else 1
        return [tokens[:1], *(tokens[place : place + size] for place in range(1, length, size))]

    def begin(self, document: dict[str, Any]) -> bool:
        """Note a request; whether this one goes wrong."""
        with self.lock:
            self.asked.append(document)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            return bool(self.fault) and len(self.asked) > self.fault_from

    def leave(self) -> None:
        """Note that a user is about to hear the end of an answer: the next request may come before `end`."""
        with self.lock:
            self.at_once -= 1

    def end(self, document: dict[str, Any], pieces: list[list[int]]) -> None:
        with self.lock:
            self.finished += 1
            self.prompt_tokens += len(document["prompt"])
            for piece in pieces[1:]:
                self.drafts += 1
                for place in range(len(piece) - 1):
                    self.accepted[place] += 1


class Handler(BaseHTTPRequestHandler):
    """Five paths of vLLM's server."""

    protocol_version = "HTTP/1.1"
    behaviour: Behaviour

    def do_GET(self) -> None:
        known = {
            "/health": "", "/v1/models": json.dumps({"data": [{"id": MODEL}]}), "/version": '{"version": "0.32.0"}',
            "/metrics": self.behaviour.metrics(),
        }  # fmt: skip
        self.whole(200 if self.path in known else 404, known.get(self.path, "no"))

    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        behaviour = self.behaviour
        fault = behaviour.fault if behaviour.begin(document) else ""
        if fault == "refuses":
            behaviour.leave()
            behaviour.end(document, [])
            self.whole(400, '{"error": {"message": "the prompt is longer than the context"}}')
            return
        if fault == "dies":
            say("RuntimeError: out of memory")
            os._exit(3)
        pieces = behaviour.pieces(document)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.stream(pieces, fault)
        behaviour.end(document, pieces)

    def stream(self, pieces: list[list[int]], fault: str) -> None:
        self.chunk(b": a comment that says nothing\n\n")
        if fault == "no tokens":
            pieces = []
        for number, piece in enumerate(pieces):
            if number and fault != "at once":
                time.sleep(self.behaviour.pause_s)
            if fault == "error" and number == 2:
                self.event({"error": {"message": "the engine is dead", "code": 500}})
            if fault == "breaks off" and number == 2:
                self.behaviour.leave()
                self.close_connection = True
                return
            choice: dict[str, Any] = {"index": 0, "text": "", "finish_reason": None}
            if fault != "no ids":
                choice["token_ids"] = piece
            else:
                choice["token_ids"] = ["a"]
            self.event("not an object" if fault == "no json" else {"choices": [choice]})
        self.event({"choices": [{"index": 0, "text": "", "token_ids": [], "finish_reason": "stop"}]})
        self.behaviour.leave()
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, document: object) -> None:
        self.chunk(b"data: " + json.dumps(document).encode() + b"\n\n")

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def whole(self, status: int, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *given: object) -> None:
        """Nothing."""


class Quiet(ThreadingHTTPServer):
    """Users who leave in the middle are no news."""

    daemon_threads = True

    def handle_error(self, *given: object) -> None:
        """Nothing."""


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[str]:
    """The server's address."""
    server = Quiet(("127.0.0.1", 0), type("Bound", (Handler,), {"behaviour": behaviour}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def say(text: str) -> None:
    """A line of the log."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """As `vllm serve`: port and drafter are read off the command line, a fault off STAND_IN."""
    words, fault = sys.argv, os.environ.get("STAND_IN", "")
    say(f"words: {json.dumps(words)}")
    drafting = "--speculative-config" in words
    if fault == "leaves":
        say("ValueError: Free memory on device is less than desired")
        sys.exit(3)
    if fault == "drafter does not load" and drafting:
        raise ValueError(
            f"no module named 'fc_norm' in {json.loads(words[words.index('--speculative-config') + 1])['model']}"
        )
    if fault == "silent":
        time.sleep(600)
    behaviour = Behaviour(drafting=drafting, fault=fault)
    port = int(words[words.index("--port") + 1])
    Quiet(("127.0.0.1", port), type("Bound", (Handler,), {"behaviour": behaviour})).serve_forever()
