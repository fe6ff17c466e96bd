"""vLLM's connector for hidden states on a CPU: its own copies over CUDA streams, which are not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from vllm.distributed.kv_transfer.kv_connector.v1 import example_hidden_states_connector as given


class Copied:
    """Stands for the event of a copy that is over."""

    def query(self) -> bool:
        """Whether it is over."""
        return True


class StatesOnCpu(given.ExampleHiddenStatesConnector):  # type: ignore[misc]
    """The states of a finished request, written at once; everything else is vLLM's own."""

    def _submit_async_write(self, pending: Any) -> None:
        if not self._is_tp_rank_zero:
            return
        blocks = torch.tensor(pending.block_ids, dtype=torch.long)
        slots = (blocks[:, None] * self._block_size + torch.arange(self._block_size)).flatten()
        states = given.extract_from_kv_cache(self._kv_cache, slots, len(pending.token_ids))
        file = Path(pending.filename)
        part = file.with_suffix(".part")
        save_file({"hidden_states": states.contiguous(), "token_ids": pending.token_ids.clone()}, part)
        # Another process may be waiting for the name.
        part.replace(file)
        self._req_copy_events[pending.req_id] = Copied()
