"""The drafter of a running engine, watched: at each round the tokens it knew, its drafts and its best logits."""

from __future__ import annotations

from inspect import signature
from typing import Any

import torch


class Watch:
    """Everything one text's rounds gave, until `start` is called for the next one.

    A round is listed with the tokens that were known when it started, those of a piece of a prompt as well.
    """

    def __init__(self, proposer: Any, best: int) -> None:
        self.best = best
        self.listening, self.why = False, ""
        self.tokens: dict[int, int] = {}
        self.rounds: list[dict[str, Any]] = []
        self.scores: list[torch.Tensor] = []
        self.propose, self.compute_logits = proposer.propose, proposer.model.compute_logits
        proposer.propose, proposer.model.compute_logits = self._propose, self._logits

    def start(self) -> None:
        """Forget the last text: the next rounds are another's."""
        self.listening, self.tokens, self.rounds = True, {}, []

    def known(self) -> list[int]:
        """The text as the drafter was given it, as far as it has no gap."""
        found: list[int] = []
        while len(found) in self.tokens:
            found.append(self.tokens[len(found)])
        return found

    def _logits(self, *given: Any, **named: Any) -> Any:
        logits = self.compute_logits(*given, **named)
        if self.listening and logits is not None:
            self.scores.append(logits.detach())
        return logits

    def _propose(self, *given: Any, **named: Any) -> Any:
        self.scores.clear()
        seen = self._before(signature(self.propose).bind(*given, **named).arguments) if self.listening else None
        drafts = self.propose(*given, **named)
        if seen is not None:
            known, length = seen
            self.tokens.update(known)
            made = drafts[0].tolist()
            self.rounds.append({"length": length, "drafts": made, "best": self._best(made)})
        self.scores.clear()
        return drafts

    def _before(self, given: Any) -> tuple[dict[int, int], int] | None:
        """The tokens of this call by position, and how many are known; before the call, which may write into them."""
        try:
            return _second_runner(given) if "input_batch" in given else _first_runner(given)
        except (KeyError, AttributeError, TypeError, IndexError, ValueError) as error:
            self.why = f"the drafter of this vLLM is called otherwise: {type(error).__name__}: {error}"
            return None

    def _best(self, made: list[int]) -> list[list[list[float]]]:
        """Per draft the best tokens and their logits; nothing where a graph ran in place of Python, or a shortcut."""
        if not self.scores:
            return []
        rows = torch.cat([part.reshape(-1, part.shape[-1]) for part in self.scores])[: len(made)].float()
        top = rows.topk(min(self.best, rows.shape[-1]), dim=-1)
        found = []
        for draft, ids, values in zip(made, top.indices.tolist(), top.values.tolist(), strict=False):
            listed = [[token, value] for token, value in zip(ids, values, strict=True) if value > float("-inf")]
            # Logits that would have drafted another token are of another step.
            found.append(listed if [draft, values[0]] in listed else [])
        return found


def _first_runner(given: Any) -> tuple[dict[int, int], int]:
    """What `SpecDecodeBaseProposer.propose` is given."""
    tokens, positions = given["target_token_ids"].tolist(), given["target_positions"]
    positions = (positions if positions.dim() == 1 else positions[0]).tolist()
    sampled = given.get("token_indices_to_sample", given.get("last_token_indices"))
    last = len(tokens) - 1 if sampled is None else int(sampled[0])
    known = dict(zip(positions[: last + 1], tokens, strict=False))
    known[positions[last] + 1] = int(given["next_token_ids"][0])
    return known, positions[last] + 2


def _second_runner(given: Any) -> tuple[dict[int, int], int]:
    """What `BaseSpeculator.propose` of the V2 runner is given."""
    batch = given["input_batch"]
    count = int(batch.num_tokens) - int(given["num_rejected"][0])
    tokens, positions = batch.input_ids[:count].tolist(), batch.positions[:count].tolist()
    known = dict(zip(positions, tokens, strict=True))
    if int(given["num_sampled"][0]):
        known[positions[-1] + 1] = int(given["last_sampled"].reshape(-1)[int(batch.idx_mapping[0])])
    return known, positions[-1] + 2
