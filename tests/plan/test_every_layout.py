"""What Automodel and TorchSpec wrote, in every layout that eaglekit writes: the same function, or a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.dialects.tables import DIALECTS
from tests.dialects.folders import differences
from tests.plan.converting import converted, refused

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"
DRAFTERS = sorted(path.name for maker in ("nemo", "torchspec") for path in FIXTURES.glob(f"producer-{maker}-*"))
LAYOUTS = [name for name, dialect in DIALECTS.items() if dialect.writable and dialect.writes_embedding]
"""All but modelopt, which keeps no embedding and needs a target: tests/reference/test_modelopt_logits.py."""
SAID = Given(
    aux_layers=(2, 4, 5), facts={"speculative_tokens": 4, "target_family": "llama", "target_name": "example/target"}
)
"""Enough for every layout. The family is a stand-in where a file states none."""
LATENT = {name for name in DRAFTERS if "mla" in name or "deepseek" in name}
GPT_OSS, PARALLEL = "producer-nemo-0.7-gpt-oss", "producer-nemo-0.7-peagle"
CANNOT = {
    "speculators": LATENT,
    "specforge": LATENT | {GPT_OSS, PARALLEL},
    "portable": {GPT_OSS, PARALLEL},
    "sglang": {GPT_OSS, PARALLEL},
    "tokenspeed": {GPT_OSS, PARALLEL},
    "torchspec": {GPT_OSS, PARALLEL},
    "trtllm": {PARALLEL},
    "gguf": LATENT | {GPT_OSS, PARALLEL} | {name for name in DRAFTERS if "eagle3.1" in name},
}
"""Layout -> what it has no spelling for, or its reader no code: latent attention, biases, parallel drafts, norms."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DRAFTERS)
def test_a_producer_s_drafter_keeps_its_meaning_or_is_refused(name: str, layout: str, tmp_path: Path) -> None:
    source, result = FIXTURES / name, tmp_path / "out"
    if name in CANNOT.get(layout, ()):
        assert "dialect-cannot-hold" in refused(lambda: converted(source, result, given=SAID, to=layout))
        return
    converted(source, result, given=SAID, to=layout)
    before, after = (read(open_folder(folder), SAID).drafter_or_refuse().spec for folder in (source, result))
    assert differences(before, after, ("target_architecture", "target_ids")) == {}
    # Trainers that select target logits by a mask get the vocabulary, and the head's rows, in ascending order.
    assert sorted(after.target_ids or ()) == sorted(before.target_ids or ())
