"""`bench` without an engine: what is refused before any work, the plan, and whole runs on servers that stand in."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import CHECKPOINTS, PROGRAM, Finished, eaglekit
from tests.serving import stand_in
from tests.serving.streaming_server import Behaviour, serving

TRAINED = Path(__file__).resolve().parents[2] / "fixtures" / "trained"
DRAFTER, TARGET, PROMPTS = TRAINED / "llama-eagle3.1", TRAINED / "llama", TRAINED / "prompts-llama.jsonl"
BENCH = ("bench", DRAFTER, "--target", TARGET, "--prompts", PROMPTS)
SMALL = ("--limit", 2, "--concurrency", "1,2", "--repeats", 2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--target", TARGET], "PATH is missing", id="no drafter"),
        pytest.param([DRAFTER], "--target is missing", id="no target"),
        pytest.param(["--endpoint", "http://h"], "--endpoint needs --baseline-endpoint", id="one server"),
        pytest.param(["--baseline-endpoint", "http://h"], "--baseline-endpoint needs --endpoint", id="the other one"),
        pytest.param(
            [DRAFTER, "--endpoint", "http://h", "--baseline-endpoint", "http://i"], "PATH is a drafter", id="both ways"
        ),
        pytest.param(
            ["--endpoint", "http://h", "--baseline-endpoint", "http://i", "--tensor-parallel-size", 2],
            "--tensor-parallel-size is about servers that are started here", id="server and parallel",
        ),
        pytest.param(
            [DRAFTER, "--target", TARGET, "--dry-run", "-o", "r"], "of no use with --dry-run", id="a plan in a file"
        ),
        pytest.param([DRAFTER, "--target", TARGET, "--repeats", 0], "--repeats", id="no rounds"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_a_usage_error(words: list[object], told: str) -> None:
    done = eaglekit("bench", *words, "--prompts", PROMPTS)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param(["--concurrency", "1,x"], "bench-concurrency", id="no concurrency"),
        pytest.param(["--engine-arg", "port=1", "--dry-run"], "engine-argument", id="an argument that is stated here"),
        pytest.param(["--engine-python", "/nowhere/python"], "engine-missing", id="no engine"),
        pytest.param(["--prompts", "nowhere.jsonl", "--dry-run"], "prompts-unreadable", id="no prompts"),
        pytest.param(["--target", CHECKPOINTS / "target-kimi-like", "--dry-run"], "target-size", id="another target"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_a_server_is_started(options: list[object], code: str) -> None:
    done = eaglekit(*BENCH, *options, "--json")
    assert done.code == 1
    assert code in done.codes


def test_text_prompts_without_a_target_are_refused() -> None:
    with serving(Behaviour(drafting=True)) as address, serving(Behaviour()) as other:
        done = eaglekit("bench", "--prompts", TRAINED / "prompts-messages.jsonl", "--endpoint", address,
                        "--baseline-endpoint", other, "--json")  # fmt: skip
    assert (done.code, done.codes) == (1, ["prompts-tokenizer-missing"])


def test_a_server_that_is_not_there_is_told_before_any_work() -> None:
    done = eaglekit("bench", "--prompts", PROMPTS, "--endpoint", "http://127.0.0.1:1", "--baseline-endpoint",
                    "http://127.0.0.1:1", "--json")  # fmt: skip
    assert (done.code, done.codes) == (1, ["endpoint-silent"])


def test_a_dry_run_prints_the_commands_as_they_can_be_pasted() -> None:
    done = eaglekit(*BENCH, *SMALL, "--tensor-parallel-size", 2, "--engine-arg", "max_model_len=256", "--dry-run")
    assert done.code == 0
    lines = [shlex.split(line) for line in done.out.splitlines() if line.startswith("vllm ")]
    assert [line[:3] for line in lines] == [["vllm", "serve", str(TARGET)]] * 2
    assert lines[1] == ["vllm", "serve", str(TARGET), "--tensor-parallel-size", "2", "--max-model-len", "256"]
    assert "80" in done.out


def test_the_command_with_the_drafter_is_what_recipe_tells() -> None:
    words = eaglekit("recipe", DRAFTER, "--target", TARGET, "--engine", "vllm", "--draft-tokens", 5, "--json")
    [recipe] = words.document["result"]["recipes"]
    done = eaglekit(*BENCH, "--draft-tokens", 5, "--dry-run", "--json")
    [with_drafter, alone] = done.document["tables"]["servers"]
    assert shlex.split(with_drafter["command"]) == shlex.split(recipe["text"].replace("\\\n", " "))
    assert shlex.split(alone["command"]) == ["vllm", "serve", str(TARGET)]


def test_a_file_that_vllm_misreads_is_told_beside_the_figures() -> None:
    done = eaglekit(
        "bench", CHECKPOINTS / "safeailab-llama", "--target", CHECKPOINTS / "target-llama", "--aux-layers", "1,2,3",
        "--prompts", PROMPTS, "--dry-run", "--json",
    )  # fmt: skip
    assert done.code == 0
    assert "bench-misread" in done.codes


def test_two_servers_that_run_already_are_compared() -> None:
    with serving(Behaviour(drafting=True)) as address, serving(Behaviour()) as other:
        done = eaglekit("bench", "--prompts", PROMPTS, *SMALL, "--endpoint", address, "--baseline-endpoint", other,
                        "--json")  # fmt: skip
    assert done.code == 0, done.out
    figures = {one["name"]: one for one in done.document["measurements"]}
    # Twelve later tokens in four steps of one length rather than in twelve.
    assert 1.5 < figures["speed-up per user at concurrency 1"]["value"] < 6
    assert figures["acceptance length at concurrency 2"]["value"] == 3.0
    assert done.document["facts"]["answers alike"]["value"] == "40 of 40"
    assert "127.0.0.1" not in done.out


def run_of_our_own(folder: Path, *options: object, fault: str = "") -> Finished:
    environment = {"PYTHONPATH": f"{stand_in.write(folder)}:{':'.join(sys.path)}", "STAND_IN": fault}
    return eaglekit(
        "bench", DRAFTER, "--target", TARGET, "--prompts", PROMPTS, *SMALL, "--engine-python", sys.executable, *options,
        environment=environment,
    )  # fmt: skip


def test_two_servers_are_started_asked_and_told(tmp_path: Path) -> None:
    done = run_of_our_own(tmp_path / "e", "--json", "-o", tmp_path / "r.json", "--html", tmp_path / "r.html")
    assert done.code == 0, done.out
    document = done.document
    assert document["result"]["load"]["requests"] == 80
    assert len(document["tables"]["runs"]) == 2 * 2 * 2 * 5
    assert {row["category"] for row in document["tables"]["speed-by-category"]} == {
        "counting", "brackets", "names", "story", "sorting",
    }  # fmt: skip
    assert set(document["charts"]) == {"speed-up", "speed-up-by-category"}
    assert document["result"]["drafter"]["files"]["config.json"]["sha256"]
    assert json.loads((tmp_path / "r.json").read_text()) == document
    assert "<svg" in (tmp_path / "r.html").read_text()
    assert str(TRAINED) not in done.out
    assert str(TRAINED) not in (tmp_path / "r.html").read_text()


def test_people_get_tables_and_the_speed_ups_in_one_line(tmp_path: Path) -> None:
    done = run_of_our_own(tmp_path / "e")
    assert done.code == 0, done.err
    assert "Tokens per second that one user gets" in done.out
    assert done.err.strip().startswith("speed-up per user: ")


def test_text_goes_through_the_targets_own_template() -> None:
    words = ("bench", DRAFTER, "--target", TARGET, *SMALL, "--dry-run", "--json", "--prompts")
    text, ids = eaglekit(*words, TRAINED / "prompts-messages.jsonl"), eaglekit(*words, PROMPTS)
    assert text.code == 0, text.out
    assert text.document["result"]["load"] == ids.document["result"]["load"]


def test_a_server_that_does_not_come_up_is_a_finding(tmp_path: Path) -> None:
    done = run_of_our_own(tmp_path / "e", "--json", fault="drafter does not load")
    assert (done.code, done.codes) == (1, ["bench-not-started"])
    assert "no module named 'fc_norm' in llama-eagle3.1" in done.document["findings"][0]["message"]


def test_answers_that_part_are_a_note(tmp_path: Path) -> None:
    with serving(Behaviour(drafting=True, fault="other answers")) as address, serving(Behaviour()) as other:
        done = eaglekit("bench", "--prompts", PROMPTS, *SMALL, "--endpoint", address, "--baseline-endpoint", other,
                        "--json")  # fmt: skip
    assert done.code == 0
    (finding,) = [one for one in done.document["findings"] if one["code"] == "bench-answers-differ"]
    assert "40 of 40 answers part" in finding["message"]


def test_an_interruption_ends_the_server(tmp_path: Path) -> None:
    words = [*PROGRAM, *map(str, BENCH), "--engine-python", sys.executable, "--output-tokens", "9"]
    environment = {**os.environ, "PYTHONPATH": f"{stand_in.write(tmp_path)}:{':'.join(sys.path)}", "STAND_IN": "slow"}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        server = child_of(process.pid)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "stopped" in err
    # At once, or where the interruption came while it was being started, when it finds itself alone.
    deadline = time.monotonic() + 15
    while Path(f"/proc/{server}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def child_of(parent: int) -> int:
    """The server that a run has started, once it is one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for pid in map(int, listed):
            if b"serve.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        time.sleep(0.05)
    raise AssertionError("no server was started")
