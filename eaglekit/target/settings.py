"""How a target is run: device, dtype, memory, and what is done to activations."""

from dataclasses import dataclass

import torch

from eaglekit.report import Finding, Refusal
from eaglekit.target.formats.fake_quantise import Order

ACTIVATIONS = ("w4a16", "w4a4")
"""`w4a16`: dequantised weights, activations as computed. `w4a4`: inputs of NVFP4 linears rounded as engines do."""

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""What can be computed in."""


@dataclass(frozen=True)
class Settings:
    """Where and how a target is computed."""

    device: str = "cpu"
    """`cpu`, `cuda` or `cuda:N`."""
    dtype: torch.dtype | None = None
    """None: float32 on the CPU, where it is also the faster one; bfloat16 on CUDA."""
    activations: str = "w4a16"
    memory_limit_bytes: int | None = None
    """Most that weights, states and captured states may take together; None: what one block needs."""
    order: Order = Order.VLLM
    """Whose W4A4: vLLM's, with one scale for all linears that share an input, or llmcompressor's, with one for each."""

    @property
    def compute_dtype(self) -> torch.dtype:
        """The dtype that is computed in."""
        if self.dtype is not None:
            return self.dtype
        return torch.bfloat16 if self.device.startswith("cuda") else torch.float32

    @property
    def dtype_name(self) -> str:
        """The dtype as the command line spells it."""
        return str(self.compute_dtype).removeprefix("torch.")

    def torch_device(self) -> torch.device:
        """The device. Raises `Refusal` when it is not there: there is no falling back to another one."""
        try:
            device = torch.device(self.device)
        except RuntimeError:
            device = torch.device("meta")
        present = device.type == "cpu" or (
            device.type == "cuda" and torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count()
        )
        if not present:
            found = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
            raise Refusal(
                Finding(
                    "device-missing",
                    f"there is no device {self.device!r} here",
                    place="--device",
                    got=f"torch {torch.__version__} sees " + ", ".join(["cpu", *found]),
                    expected="cpu, cuda or cuda:N",
                    hint="leave --gpu and --device out to run on the CPU, or install a torch for this machine's GPU",
                )
            )
        return device
