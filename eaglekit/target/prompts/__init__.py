"""Knows the files that people keep prompts in, and how a target's own tokenizer makes token ids of them.

Must never know a drafter, weights or torch.
"""

from eaglekit.target.prompts.reading import Prompts, read_prompts
from eaglekit.target.prompts.tokenizer import load_tokenizer

__all__ = ["Prompts", "load_tokenizer", "read_prompts"]
