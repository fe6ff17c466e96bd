"""A package of vLLM's name that hands out states which were computed before: it does, or spoils them as REPLAY says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file

from tests.serving import stand_in

ENGINE = """
import json, os, time

from types import SimpleNamespace

import torch
from safetensors.torch import load_file, save_file

__version__ = "9.8.7"
how = os.environ.get("REPLAY", "")


class SamplingParams(SimpleNamespace):
    pass


class LLM:
    def __init__(self, **arguments):
        if how == "does not load":
            from vllm.models import load
            load(arguments["model"])
        dtype = "torch.float16" if how == "float16" else "torch.float32"
        model = SimpleNamespace(dtype=dtype, quantization=None)
        self.llm_engine = SimpleNamespace(vllm_config=SimpleNamespace(model_config=model), step=lambda: None)
        transfer = arguments["kv_transfer_config"]["kv_connector_extra_config"]
        self.folder = transfer["shared_storage_path"]
        self.known = load_file(os.environ["REPLAYED"])
        self.count = 0
        told = arguments["speculative_config"]["draft_model_config"]["hf_config"]
        print("layers", told["eagle_aux_hidden_state_layer_ids"], flush=True)

    def generate(self, prompt, parameters, use_tqdm):
        tokens = prompt["prompt_token_ids"]
        if how == "breaks off" and self.count:
            raise RuntimeError("shapes do not fit")
        if how == "waits" and self.count:
            time.sleep(600)
        [number] = [
            name.partition(".")[0] for name, kept in self.known.items()
            if name.endswith(".tokens") and kept[: len(tokens)].tolist() == tokens
        ]
        states, argmax = (self.known[number + end][: len(tokens)] for end in (".states", ".argmax"))
        whole = self.known[number + ".tokens"].tolist()
        if how == "a layer too few":
            states = states[:, 1:].contiguous()
        if how == "a layer off":
            states = states.roll(1, 1)
        if how == "other tokens":
            tokens = [token + 1 for token in tokens]
        if how == "infinite":
            states = states.clone()
            states[0] = torch.inf
        if how == "a token outside":
            argmax = argmax + 10_000
        path = os.path.join(self.folder, f"{self.count}.safetensors")
        save_file({"hidden_states": states, "token_ids": torch.tensor(tokens)}, path)
        self.count += 1
        ranked = [None] + [{best: SimpleNamespace(logprob=-0.1), 0: SimpleNamespace(logprob=-9.0)}
                           for best in argmax.tolist()[:-1]]
        new = [int(argmax[-1])] if parameters.max_tokens == 1 else whole[len(tokens):]
        said = SimpleNamespace(token_ids=new, finish_reason="length")
        params = {"hidden_states_path": path}
        return [SimpleNamespace(outputs=[said], prompt_logprobs=ranked, kv_transfer_params=params)]
"""


Computed = tuple[Sequence[int], torch.Tensor, torch.Tensor]
"""Tokens of a text, the states at every layer that is asked for [n, B, G], and next tokens [n]."""


def write(folder: Path, texts: Sequence[Computed]) -> Mapping[str, str]:
    """The package and its states below `folder`; the variables that make a Python find both."""
    stand_in.write(folder)
    (folder / "vllm" / "__init__.py").write_text(ENGINE, encoding="utf-8")
    tensors = {}
    for number, (tokens, states, argmax) in enumerate(texts):
        tensors[f"{number}.tokens"] = torch.tensor(list(tokens))
        tensors[f"{number}.states"], tensors[f"{number}.argmax"] = states.contiguous(), argmax.contiguous()
    save_file(tensors, folder / "states.safetensors")
    return {"REPLAYED": str(folder / "states.safetensors")}
