"""Run by the Python of SGLang's environment: its own drafter class and weight loader, on a CPU, without its kernels.

What is replaced, because its kernels are built for CUDA or for Intel AMX: the module of the kernels, and attention,
by a causal softmax over everything that came before. Everything else is SGLang's.
"""

from __future__ import annotations

import gc
import importlib
import json
import multiprocessing
import os
import sys
import tempfile
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

UNTOUCHED = 77.0
"""What every parameter of a drafter holds before its file is read; a value that no fixture has."""
STEPS = 3


class _Kernels(types.ModuleType):
    """Names without anything behind them, so that what imports a kernel can be imported."""

    __path__: list[str] = []  # noqa: RUF012 - what makes a module a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Kernels(name)


class _Finder:
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] == "sgl_kernel" else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _Kernels(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def prepared() -> Any:
    """SGLang's module of the drafter, in a process group of one."""
    import torch

    sys.meta_path.insert(0, _Finder())
    # Builds of torchvision for another torch lack these two, and it cannot be imported without.
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    module = importlib.import_module("sglang.srt.models.llama_eagle3")
    module.library = library  # kept as long as the module

    from sglang.srt import distributed
    from sglang.srt.layers.radix_attention import RadixAttention
    from sglang.srt.runtime_context import get_context, get_parallel

    get_context().override_server_args(device="cpu").install()
    meeting = Path(tempfile.mkdtemp()) / "meeting"
    distributed.init_distributed_environment(
        world_size=1, rank=0, local_rank=0, backend="gloo", distributed_init_method=meeting.as_uri()
    )
    distributed.initialize_model_parallel()
    get_parallel().override_permanently(tp_rank=0)
    RadixAttention.forward = attend
    return module


def attend(layer: Any, q: Any, k: Any, v: Any, forward_batch: Any, **_: Any) -> Any:
    """Attention over the cache of the batch and these slots."""
    import torch

    rows = len(q)
    heads = [
        rows_of.view(rows, count, -1).transpose(0, 1)
        for rows_of, count in ((q, layer.tp_q_head_num), (k, layer.tp_k_head_num), (v, layer.tp_v_head_num))
    ]
    cache = forward_batch.cache.setdefault(layer.layer_id, [])
    cache.append(heads[1:])
    keys, values = (torch.cat(parts, 1) for parts in zip(*cache, strict=True))
    mask = torch.ones(rows, keys.shape[1], dtype=torch.bool).tril(keys.shape[1] - rows)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        heads[0], keys, values, attn_mask=mask, enable_gqa=True, scale=layer.scaling
    )
    return mixed.transpose(0, 1).reshape(rows, -1)


def loaded(module: Any, folder: Path) -> tuple[Any, list[str]]:
    """The drafter as SGLang builds and loads it, and the parameters that nothing was read into."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig

    model = module.LlamaForCausalLMEagle3(AutoConfig.from_pretrained(folder)).float()
    built = {name: values.detach().clone() for name, values in model.named_parameters()}
    with torch.no_grad():
        for values in model.parameters():
            values.fill_(UNTOUCHED)
        model.load_weights(load_file(folder / "model.safetensors").items())
        left = [name for name, values in model.named_parameters() if bool((values == UNTOUCHED).all())]
        for name, values in model.named_parameters():
            missing = values == UNTOUCHED
            values[missing] = built[name][missing]
    return model, left


def drafted(model: Any, tokens: list[int], states: Any, embedding: Any) -> list[int]:
    """The drafts after `tokens`, whose states are the rows of `states`, with the target's embedding."""
    import torch

    model.set_embed(torch.nn.Parameter(embedding))
    mode = SimpleNamespace(is_extend=lambda: False, is_draft_extend_v2=lambda: False)
    cache: dict[int, Any] = {}
    given, found, place = torch.tensor(tokens), [], 0
    for _ in range(STEPS):
        batch = SimpleNamespace(
            mm_input_embeds=None, forward_mode=mode, spec_info=SimpleNamespace(hidden_states=states), cache=cache
        )
        normed, [fed_back] = model.model(given, torch.arange(place, place + len(given)), batch)
        place += len(given)
        rows = model.config.draft_vocab_size
        best = int((normed[-1] @ model.lm_head.weight[:rows].T).argmax())
        hot = model.get_hot_token_id()
        found.append(best if hot is None else int(hot[best]))
        given, states = torch.tensor(found[-1:]), fed_back[-1:]
    return found


def one(module: Any, job: dict[str, Any], drafter: dict[str, str]) -> None:
    """Load and run one drafter; its end is the end of the process."""
    descriptor = os.open(drafter["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    import torch
    from safetensors.torch import load_file

    model, left = loaded(module, Path(drafter["from"]))
    seen: dict[str, Any] = {"untouched": left, "from_target": model.load_lm_head_from_target}
    given = load_file(job["states"])
    with torch.no_grad():
        seen["drafts"] = [
            drafted(
                model, text.tolist(), given[f"states.{number}"][:, : model.model.fc.in_features], given["embedding"]
            )
            for number, text in enumerate(given["tokens"])
        ]
    Path(drafter["to"]).write_text(json.dumps(seen), encoding="utf-8")
    os._exit(0)  # what the fork inherited is not its own to end


def main() -> None:
    """Do the job of the file named on the command line."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    module = prepared()
    gc.freeze()  # else every collection in a fork walks, and copies, what is here
    for drafter in job["drafters"]:
        process = multiprocessing.get_context("fork").Process(target=one, args=(module, job, drafter))
        process.start()
        process.join()
    names = [found.__name__ for found in module.EntryClass]
    Path(job["classes"]).write_text(json.dumps(names), encoding="utf-8")
    os._exit(0)  # the process group has nobody to say goodbye to


if __name__ == "__main__":
    main()
