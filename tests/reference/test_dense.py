"""The definition once more, written out densely in numpy from the formulas, without a line of the room under test.

One sequence holds the real slots and the draft slots of one chosen slot, with an explicit mask over all of them.
Latent attention is computed the absorbed way: queries are taken down to the latent, keys are never unfolded.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eaglekit.drafter import Feedback, FusionNorm, Part, Residual, Role, Rope, Spec
from eaglekit.reference.drafting import draft_everywhere, logits
from eaglekit.reference.model import ReferenceDrafter
from tests.reference.drafters import GROUPED, LATENT, VARIANTS, drafter_of, text_of


class Dense:
    """One draft pass over a sequence in which every entry names the entries it sees."""

    def __init__(self, drafter: ReferenceDrafter) -> None:
        self.spec = drafter.spec
        self.weights = {role: weight.numpy() for role, weight in drafter.weights.items()}

    def w(self, part: Part, number: int | None = None) -> np.ndarray:
        return self.weights[Role(part, number)]

    def norm(self, x: np.ndarray, part: Part, number: int | None = None) -> np.ndarray:
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.spec.rms_norm_eps) * self.w(part, number)

    def fuse(self, states: np.ndarray) -> np.ndarray:
        width = self.spec.target_hidden_size
        if self.spec.fusion_norm is FusionNorm.PER_STATE:
            states = np.concatenate(
                [
                    self.norm(states[:, state * width : (state + 1) * width], Part.STATE_NORM, state)
                    for state in range(self.spec.num_aux_states)
                ],
                axis=1,
            )
        return states @ self.w(Part.FUSION).T

    def attention(self, layer: int, x: np.ndarray, positions: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Absorbed latent attention: score = (W_uk^T q_nope) . latent + rotated q . rotated k, head by head."""
        s = self.spec
        nope, rope, rank, heads = s.qk_nope_head_dim, s.qk_rope_head_dim, s.kv_lora_rank, s.num_heads
        down = x @ self.w(Part.LATENT_DOWN, layer).T
        latent, key = self.norm(down[:, :rank], Part.LATENT_NORM, layer), down[:, rank:]
        query = self.norm(x @ self.w(Part.QUERY_DOWN, layer).T, Part.QUERY_DOWN_NORM, layer)
        query = (query @ self.w(Part.QUERY_UP, layer).T).reshape(len(x), heads, nope + rope)
        unfold = self.w(Part.LATENT_UP, layer).reshape(heads, nope + s.v_head_dim, rank)
        out = []
        for head in range(heads):
            absorbed = query[:, head, :nope] @ unfold[head, :nope]
            scores = absorbed @ latent.T + turned(query[:, head, nope:], positions, s) @ turned(key, positions, s).T
            scores = np.where(mask, scores * (nope + rope) ** -0.5, -np.inf)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            out.append(weights @ latent @ unfold[head, nope:].T)
        return np.concatenate(out, axis=1) @ self.w(Part.LATENT_OUTPUT, layer).T

    def run(self, embedded: np.ndarray, hidden: np.ndarray, positions: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The residual stream before the final norm, of every entry."""
        for layer in range(self.spec.num_layers):
            if layer:
                residual, x = hidden, self.norm(hidden, Part.ATTENTION_NORM, layer)
            else:
                normed = self.norm(hidden, Part.HIDDEN_NORM, 0)
                residual = normed if self.spec.residual is Residual.NORMED else hidden
                x = np.concatenate([self.norm(embedded, Part.EMBEDDING_NORM, 0), normed], axis=1)
            hidden = residual + self.attention(layer, x, positions, mask)
            y = self.norm(hidden, Part.MLP_NORM, layer)
            gate = y @ self.w(Part.GATE, layer).T
            hidden = hidden + (gate / (1 + np.exp(-gate)) * (y @ self.w(Part.UP, layer).T)) @ self.w(Part.DOWN, layer).T
        return hidden


def turned(x: np.ndarray, positions: np.ndarray, spec: Spec) -> np.ndarray:
    """Neighbouring channels as one complex number, times e^(i angle)."""
    speeds = spec.rope.theta ** -(np.arange(0, x.shape[1], 2) / x.shape[1])
    spun = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * positions[:, None] * speeds)
    return np.stack([spun.real, spun.imag], axis=-1).reshape(x.shape)


DENSE = {
    "latent": LATENT,
    "latent-3.1": VARIANTS["latent-3.1"],
    "latent-two-layers": VARIANTS["latent-two-layers"],
    "parallel-latent": replace(
        VARIANTS["parallel-latent"], fusion_norm=FusionNorm.PER_STATE, num_layers=2, feedback=Feedback.NORMED
    ),
}
LENGTH, DEPTH = 9, 4


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("slot", [0, 3, 7], ids=["first slot", "a slot within", "last slot"])
def test_a_draft_step_is_what_the_formulas_say(name: str, slot: int) -> None:
    drafter = drafter_of(DENSE[name])
    tokens, states = text_of(drafter.spec, LENGTH)
    dense, steps = Dense(drafter), list(draft_everywhere(drafter, tokens, states, steps=DEPTH))

    embedded = dense.w(Part.EMBEDDING)[tokens[1 : slot + 2].numpy()]
    hidden = dense.fuse(states[: slot + 1].numpy())
    for step in steps:
        count = len(embedded)
        causal = np.tril(np.ones((count, count), dtype=bool))
        raw = dense.run(embedded, hidden, np.arange(count), causal)[-1]
        normed = dense.norm(raw, Part.FINAL_NORM)
        scores = dense.w(Part.HEAD) @ normed
        # Cosines of the room are float32: angles and so logits agree to about 1e-6.
        np.testing.assert_allclose(step.raw[slot].numpy(), raw, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(logits(drafter, step.normed)[slot].numpy(), scores, rtol=1e-5, atol=1e-5)
        assert int(step.tokens[slot]) == int(scores.argmax())
        if drafter.spec.parallel_drafting:
            following, state = drafter.spec.mask_token_id, dense.fuse(dense.w(Part.MASK_STATE)[None])[0]
        else:
            following, state = int(scores.argmax()), normed if drafter.spec.feedback is Feedback.NORMED else raw
        embedded = np.vstack([embedded, dense.w(Part.EMBEDDING)[following]])
        hidden = np.vstack([hidden, state])


def test_a_grouped_head_reads_the_keys_of_its_group() -> None:
    """One slot sees only itself, so attention gives its values back: each key-value head once per head of its group."""
    spec = replace(GROUPED, rope=Rope(1e4, "default"))
    drafter = drafter_of(spec)
    tokens, states = text_of(spec, 2)
    dense = Dense(drafter)
    hidden = states[:1].numpy() @ dense.w(Part.FUSION).T
    embedded = dense.w(Part.EMBEDDING)[tokens[1:].numpy()]
    x = np.concatenate([dense.norm(embedded, Part.EMBEDDING_NORM, 0), dense.norm(hidden, Part.HIDDEN_NORM, 0)], axis=1)
    values = (x @ dense.w(Part.VALUE, 0).T).reshape(spec.num_kv_heads, spec.head_dim)
    r1 = hidden + values.repeat(2, axis=0).reshape(1, -1) @ dense.w(Part.OUTPUT, 0).T
    y = dense.norm(r1, Part.MLP_NORM, 0)
    gate = y @ dense.w(Part.GATE, 0).T
    raw = r1 + (gate / (1 + np.exp(-gate)) * (y @ dense.w(Part.UP, 0).T)) @ dense.w(Part.DOWN, 0).T
    step = next(draft_everywhere(drafter, tokens, states, steps=1))
    np.testing.assert_allclose(step.raw.numpy(), raw, rtol=1e-12, atol=1e-12)
