"""The watch on an engine's drafter, with both ways in which vLLM calls one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from eaglekit.serving.child.watching import Watch


class FirstRunner:
    """A drafter as vLLM's V1 runner calls it: two steps, tokens 3 and then 1."""

    def __init__(self) -> None:
        self.model = torch.nn.Module()
        self.model.compute_logits = self.logits
        self.step = 0

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        scores = torch.zeros(1, 5)
        scores[0, (3, 1)[self.step % 2]] = 7.0
        scores[0, 4] = float("-inf")
        self.step += 1
        return scores

    def propose(
        self,
        target_token_ids: torch.Tensor,
        target_positions: torch.Tensor,
        next_token_ids: torch.Tensor,
        token_indices_to_sample: torch.Tensor | None,
    ) -> torch.Tensor:
        made = [int(self.model.compute_logits(torch.zeros(1, 2)).argmax()) for _ in range(2)]
        target_token_ids.zero_()
        return torch.tensor([made])


def call(drafter: Any, tokens: list[int], first: int, following: int, last: int | None) -> None:
    drafter.propose(
        target_token_ids=torch.tensor(tokens),
        target_positions=torch.arange(first, first + len(tokens)),
        next_token_ids=torch.tensor([following]),
        token_indices_to_sample=None if last is None else torch.tensor([last]),
    )


def test_rounds_and_their_tokens_are_seen() -> None:
    drafter = FirstRunner()
    watch = Watch(drafter, best=2)
    watch.start()
    call(drafter, [10, 11, 12], 0, 13, None)
    # Of three verified drafts one was accepted: the call carries the rejected ones as well.
    call(drafter, [13, 20, 99], 3, 21, 1)
    assert watch.known() == [10, 11, 12, 13, 20, 21]
    assert [(one["length"], one["drafts"]) for one in watch.rounds] == [(4, [3, 1]), (6, [3, 1])]
    assert watch.rounds[0]["best"][0][0] == [3, 7.0]
    assert watch.why == ""


def test_a_new_text_begins_with_nothing() -> None:
    drafter = FirstRunner()
    watch = Watch(drafter, best=2)
    watch.start()
    call(drafter, [10], 0, 11, None)
    watch.start()
    assert (watch.known(), watch.rounds) == ([], [])


def test_what_no_draft_can_be_is_not_among_the_best() -> None:
    drafter = FirstRunner()
    watch = Watch(drafter, best=5)
    watch.start()
    call(drafter, [10], 0, 11, None)
    assert 4 not in dict(watch.rounds[0]["best"][0])


def test_logits_of_another_step_are_not_taken_for_a_drafts() -> None:
    drafter = FirstRunner()
    drafter.step = 1
    watch = Watch(drafter, best=2)
    drafter.model.compute_logits(torch.zeros(1, 2))
    watch.start()
    watch.scores.append(torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0]]))
    assert watch._best([3]) == [[]]


def test_a_drafter_that_is_called_otherwise_is_left_alone() -> None:
    calls = []
    drafter = SimpleNamespace(
        model=SimpleNamespace(compute_logits=lambda states: None), propose=lambda odd: calls.append(odd) or [[]]
    )
    watch = Watch(drafter, best=2)
    watch.start()
    assert drafter.propose(odd=3) == [[]]
    assert calls == [3]
    assert "called otherwise" in watch.why


def test_the_second_runner_is_watched_too() -> None:
    def propose(
        input_batch: Any, num_sampled: torch.Tensor, num_rejected: torch.Tensor, last_sampled: torch.Tensor
    ) -> torch.Tensor:
        return torch.tensor([[3, 1]])

    drafter = SimpleNamespace(model=SimpleNamespace(compute_logits=lambda states: None), propose=propose)
    watch = Watch(drafter, best=2)
    watch.start()
    sampled = torch.tensor([[77], [21]])
    for tokens, first, rejected, made in (([10, 11], 0, 0, 0), ([12], 2, 0, 1), ([21, 3, 99], 3, 1, 1)):
        batch = SimpleNamespace(
            num_tokens=len(tokens), input_ids=torch.tensor([*tokens, 0]), idx_mapping=torch.tensor([1]),
            positions=torch.arange(first, first + len(tokens) + 1),
        )  # fmt: skip
        drafter.propose(batch, torch.tensor([made]), torch.tensor([rejected]), sampled)
    # The first call read a piece of the prompt and sampled nothing.
    assert [one["length"] for one in watch.rounds] == [3, 4, 6]
    assert watch.known() == [10, 11, 12, 21, 3, 21]
