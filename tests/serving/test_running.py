"""An engine's process: started, listened to, and gone again, whatever it does. The engine is a stand-in."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eaglekit.report import Finding, Refusal
from eaglekit.serving.counters import Counters
from eaglekit.serving.environment import Environment, find_engine
from eaglekit.serving.job import Job, Prompt
from eaglekit.serving.outcome import Answer, News
from eaglekit.serving.running import run_job
from tests.serving import stand_in

JOB = Job(
    target="/somewhere/target", drafter="/somewhere/my drafter", speculative_config={"method": "eagle3"},
    prompts=(Prompt("one", (1, 2), 3), Prompt("two", (1,), 1)), stop_token_ids=(), max_model_len=128,
)  # fmt: skip


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setenv("PYTHONPATH", str(stand_in.write(tmp_path / "engine")))
    return find_engine(sys.executable)


def failing(how: str, engine: Environment, monkeypatch: pytest.MonkeyPatch, silence_s: float = 60) -> Finding:
    """The one finding of a run in which the stand-in does as it is told."""
    monkeypatch.setenv("STAND_IN", how)
    with pytest.raises(Refusal) as caught:
        run_job(JOB, engine, silence_s=silence_s)
    (finding,) = caught.value.findings
    return finding


def test_every_prompt_is_answered_and_told_as_it_comes(engine: Environment) -> None:
    heard: list[News] = []
    done = run_job(JOB, engine, heard=heard.append)
    assert done.loaded.version == "9.8.7"
    assert [(answer.identity, answer.tokens) for answer in done.answers] == [("one", (7, 7, 7)), ("two", (7,))]
    assert done.done.counters == Counters(2, 4, 0, (0, 0))
    assert [type(news) for news in heard].count(Answer) == 2


def test_an_engine_whose_drafter_is_elsewhere_is_counted_and_not_watched(engine: Environment) -> None:
    done = run_job(JOB, engine)
    assert not done.loaded.watched
    assert "keeps its drafter elsewhere" in done.loaded.why
    assert done.answers[0].rounds is None


def test_a_drafter_that_does_not_load_is_told_in_the_engines_words(
    engine: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = failing("refuses", engine, monkeypatch)
    assert finding.code == "served-not-loaded"
    assert "There is no module or parameter named 'fc_norm' in my drafter" in finding.message
    assert finding.place == "vllm/models.py:3, load"
    assert "/somewhere" not in str(finding)


def test_an_engine_that_gives_up_over_a_prompt_names_the_text(
    engine: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = failing("breaks off", engine, monkeypatch)
    assert finding.code == "served-broke-off"
    assert "over text one: RuntimeError: shapes do not fit" in finding.message


@pytest.mark.parametrize(
    ("how", "words"),
    [
        pytest.param("killed", "ended by SIGKILL", id="killed"),
        pytest.param("leaves", "ended with code 3; the last it said: ValueError: not enough room", id="ends"),
        pytest.param("garbage", "its answer cannot be read", id="tells what nobody understands"),
    ],
)
def test_an_engine_that_is_gone_is_told_with_its_end(
    how: str, words: str, engine: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = failing(how, engine, monkeypatch)
    assert finding.code == "served-not-loaded"
    assert words in finding.message


def test_an_engine_that_says_nothing_is_not_waited_for_for_ever(
    engine: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "said nothing for" in failing("silent", engine, monkeypatch, silence_s=3).message


def test_an_engine_sees_no_secret(engine: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijkl")
    message = failing("environment", engine, monkeypatch).message
    assert "HF_HUB_OFFLINE" in message
    assert "HF_TOKEN" not in message


def gone(pid: int, *, within_s: float = 20) -> bool:
    """Whether a process ends soon; one that waits to be collected has ended."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.1)
    return False


def test_what_an_engine_started_is_gone_with_it(
    engine: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", "worker")
    monkeypatch.setenv("WORKER_FILE", str(tmp_path / "worker"))
    run_job(JOB, engine)
    assert gone(int((tmp_path / "worker").read_text()))


def test_an_engine_ends_when_its_parent_is_killed(
    engine: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", "worker and hangs")
    monkeypatch.setenv("WORKER_FILE", str(tmp_path / "worker"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], *sys.path]))
    waits = (
        "from tests.serving.test_running import JOB\nimport sys\n"
        "from eaglekit.serving.environment import find_engine\nfrom eaglekit.serving.running import run_job\n"
        "run_job(JOB, find_engine(sys.executable))"
    )
    parent = subprocess.Popen([sys.executable, "-c", waits], cwd=Path(__file__).resolve().parents[2])
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "worker").exists() or not (tmp_path / "worker").read_text():
            assert parent.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        parent.kill()
        parent.wait()
    assert gone(int((tmp_path / "worker").read_text()))
