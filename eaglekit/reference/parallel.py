"""P-EAGLE: all drafts of a round in one pass, by asking from slots whose token and state are not known yet.

The slots behind the first hold the mask token's embedding and one trained mask state, at the following rotary
positions; nothing is fed back (vllm/v1/spec_decode/llm_base_proposer.py, set_inputs_first_pass). H hidden.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from eaglekit.drafter import Part
from eaglekit.reference.fusing import fuse
from eaglekit.reference.head import embed
from eaglekit.reference.model import ReferenceDrafter


def masked_slots(drafter: ReferenceDrafter, count: int) -> tuple[Float[Tensor, "n H"], Float[Tensor, "n H"]]:
    """Embedding and state of `count` slots that are still unknown.

    The mask state is as wide as captured states are, and is fused as they are.
    """
    token = torch.tensor([drafter.spec.mask_token_id], device=drafter.device)
    state = fuse(drafter, drafter.weight(Part.MASK_STATE).view(1, -1))
    return embed(drafter, token).expand(count, -1), state.expand(count, -1)
