"""`validate --engine vllm --endpoint` against `vllm serve`, really started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from eaglekit.serving.endpoint import look, observe
from eaglekit.serving.job import Prompt
from eaglekit.serving.outcome import Answer
from tests.cli.running import eaglekit
from tests.live.command.conftest import TRAINED, Serve
from tests.live.command.running import finding, recorded, served, validate

pytestmark = pytest.mark.engine

DRAFTER, FAMILY = "llama-eagle3.1", "llama"
KEY = "a-key-of-this-server"


@pytest.fixture(scope="module")
def address(serve: Serve) -> str:
    return serve(FAMILY, DRAFTER, "--api-key", KEY, "--per-request-spec-decode-metrics", "detailed")


@pytest.fixture(scope="module")
def keyed(environment: Mapping[str, str]) -> Mapping[str, str]:
    return {**environment, "VLLM_API_KEY": KEY}


def test_the_server_counts_what_the_engine_counts_in_process(address: str, keyed: Mapping[str, str]) -> None:
    done = validate(DRAFTER, FAMILY, "--endpoint", address, environment=keyed)
    assert done.code == 0, done.out
    assert served(done, "vLLM") == recorded(DRAFTER)
    assert KEY not in done.out
    assert "127.0.0.1" not in done.out


def test_a_server_that_tells_each_round_shows_where_it_differs(address: str, keyed: Mapping[str, str]) -> None:
    done = validate(DRAFTER, FAMILY, "--endpoint", address, "--aux-layers", "1,3,4", environment=keyed, texts=12)
    assert finding(done, "served-drafts-differ")["place"] == "text counting-00, position 14, draft 1"


def test_a_capture_is_enough_beside_a_server(address: str, keyed: Mapping[str, str], tmp_path: Any) -> None:
    capture = tmp_path / "capture.safetensors"
    made = eaglekit("capture", TRAINED / FAMILY, "--prompts", TRAINED / f"prompts-{FAMILY}.jsonl", "--aux-layers",
                    "2,4,5", "--limit", 6, "-o", capture)  # fmt: skip
    assert made.code == 0, made.err
    done = eaglekit(
        "validate", TRAINED / DRAFTER, "--capture", capture, "--engine", "vllm", "--endpoint", address, "--json",
        environment=keyed,
    )  # fmt: skip
    assert done.code == 0, done.out
    assert done.document["result"]["stages"]["served"] == "passed"


def test_a_missing_key_is_told(address: str, environment: Mapping[str, str]) -> None:
    done = validate(DRAFTER, FAMILY, "--endpoint", address, environment=environment)
    assert done.codes == ["endpoint-refused"]


def test_requests_of_somebody_else_are_noticed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    server = look(address)

    def between(answer: Answer) -> None:
        if answer.identity == "0":
            observe(server, [Prompt("other", (1, 3, 77), 8)])

    seen = observe(server, [Prompt(f"{n}", (1, 3, 77, 80 + n), 40) for n in range(3)], heard=between)
    assert [one.code for one in seen.findings] == ["endpoint-other-traffic"]
