"""A real vLLM, named by EAGLEKIT_VLLM_PYTHON: every test here is marked `engine`, which usual runs leave out."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

TRAINED = Path(__file__).resolve().parents[3] / "fixtures" / "trained"
VARIABLE = "EAGLEKIT_VLLM_PYTHON"
SMALL = {"OMP_NUM_THREADS": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
START_S = 300


@pytest.fixture(scope="session")
def engine_python() -> str:
    """The Python of an environment with vLLM."""
    named = os.environ.get(VARIABLE)
    assert named, f"{VARIABLE} must name the Python of an environment with vLLM"
    return named


@pytest.fixture(scope="session")
def environment(engine_python: str) -> Mapping[str, str]:
    """What eaglekit is started with."""
    return {**SMALL, VARIABLE: engine_python}


Serve = Callable[..., str]


@pytest.fixture(scope="module")
def serve(engine_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Starts `vllm serve` with a target and a drafter of fixtures/trained and gives its address."""
    started = []

    def start(target: str, drafter: str, *options: str) -> str:
        serving = serving_with(engine_python, tmp_path_factory.mktemp("serve"), target, drafter, *options)
        started.append(serving)
        return serving.__enter__()

    yield start
    for serving in reversed(started):
        serving.__exit__(None, None, None)


@contextmanager
def serving_with(python: str, folder: Path, target: str, drafter: str, *options: str) -> Iterator[str]:
    """A server, ready to answer inside and gone outside."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, log = f"http://127.0.0.1:{port}", folder / "log.txt"
    speculation = f'{{"model": "{TRAINED / drafter}", "method": "eagle3", "num_speculative_tokens": 3}}'
    command = [
        python, "-m", "vllm.entrypoints.cli.main", "serve", TRAINED / target, "--dtype", "float32", "--enforce-eager",
        "--max-model-len", "256", "--host", "127.0.0.1", "--port", port, "--speculative-config", speculation, *options,
    ]  # fmt: skip
    variables = {**os.environ, **SMALL, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            list(map(str, command)), stdout=stream, stderr=stream, start_new_session=True,
            env={**variables, "PYTHONPATH": str(with_metadata(python, folder))},
        )  # fmt: skip
    try:
        deadline = time.monotonic() + START_S
        while not answers(address):
            assert process.poll() is None, log.read_text(errors="replace")[-3000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-3000:]
            time.sleep(0.5)
        yield address
    finally:
        for how in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, how)
                process.wait(20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def with_metadata(python: str, folder: Path) -> Path:
    """A folder for PYTHONPATH with metadata of the name that vLLM asks for: the wheel for CPUs has another one."""
    ask = (
        "from importlib.metadata import packages_distributions, version\nnames = packages_distributions()['vllm']\n"
        "print('' if 'vllm' in names else version(names[0]))"
    )
    found = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    if found:
        written = folder / "metadata" / f"vllm-{found}+cpu.dist-info"
        written.mkdir(parents=True)
        (written / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {found}+cpu\n")
    return folder / "metadata"


def answers(address: str) -> bool:
    """Whether a server is ready."""
    try:
        with urlopen(f"{address}/health", timeout=5):  # noqa: S310 - our own server
            return True
    except (URLError, OSError):
        return False
