"""A package of vLLM's name for the child to load: it does, fails or hangs as STAND_IN says, without any model."""

from __future__ import annotations

from pathlib import Path

from tests.serving import streaming_server

FILES = {
    "__init__.py": """
import os, signal, subprocess, sys, time

from types import SimpleNamespace

__version__ = "9.8.7"
how = os.environ.get("STAND_IN", "")


class SamplingParams(SimpleNamespace):
    pass


class LLM:
    def __init__(self, **arguments):
        print("loading", flush=True)
        if how == "refuses":
            from vllm.models import load
            load(arguments["speculative_config"]["model"])
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "leaves":
            print("ValueError: not enough room", flush=True)
            os._exit(3)
        if how == "silent":
            time.sleep(600)
        if how == "garbage":
            with open(sys.argv[2], "a") as stream:
                stream.write("hello\\n")
            time.sleep(600)
        if how.startswith("worker"):
            worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            with open(os.environ["WORKER_FILE"], "w") as stream:
                stream.write(str(worker.pid))
        if how == "worker and hangs":
            time.sleep(600)
        if how == "environment":
            print("ValueError: " + ",".join(sorted(os.environ)), flush=True)
            os._exit(3)
        model = SimpleNamespace(dtype="torch.float32", quantization=None)
        self.llm_engine = SimpleNamespace(vllm_config=SimpleNamespace(model_config=model))
        self.counted = 0

    def generate(self, prompt, parameters, use_tqdm):
        if how == "breaks off":
            raise RuntimeError("shapes do not fit")
        self.counted += 1
        said = SimpleNamespace(token_ids=[7] * parameters.max_tokens, finish_reason="length", spec_decode_metrics=None)
        return [SimpleNamespace(outputs=[said])]

    def get_metrics(self):
        metric = lambda name, **value: SimpleNamespace(name="vllm:spec_decode_" + name, **value)
        return [
            metric("num_drafts", value=self.counted), metric("num_draft_tokens", value=2 * self.counted),
            metric("num_accepted_tokens", value=0), metric("num_accepted_tokens_per_pos", values=[0, 0]),
        ]
""",
    "models.py": """
def load(folder):
    raise ValueError("There is no module or parameter named 'fc_norm' in " + folder)
""",
    "_version.py": "__version__ = version = '9.8.7'\n",
    "engine/__init__.py": "",
    "engine/arg_utils.py": "class EngineArgs:\n    __dataclass_fields__ = {}\n",
    "entrypoints/__init__.py": "",
    "entrypoints/cli/__init__.py": "",
    "entrypoints/cli/main.py": Path(streaming_server.__file__).read_text(encoding="utf-8"),
    "platforms.py": """
from types import SimpleNamespace

current_platform = SimpleNamespace(is_cpu=lambda: True, device_type="cpu")
""",
}


def write(folder: Path) -> Path:
    """The package below `folder`, which belongs on PYTHONPATH."""
    for name, text in FILES.items():
        file = folder / "vllm" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder
