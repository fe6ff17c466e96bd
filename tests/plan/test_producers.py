"""What real producers wrote, converted to the portable layout and back to its own: the same tensors and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.dialects.target_checks import given_with
from eaglekit.drafter import Feedback
from eaglekit.drafter.parts import Part, Role
from eaglekit.plan.checking import check
from tests.dialects.folders import differences
from tests.plan.converting import converted, planned, refused, target_in, tensors_of

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"
TARGET = FIXTURES / "target-llama"
LOST = "producer-speculators-0.9-converted-lost-norms"


@dataclass(frozen=True)
class Producer:
    """A producer's dialect, and what must be said to go through the portable one."""

    dialect: str
    first: Mapping[str, Any] = field(default_factory=dict)
    """What the source does not say."""
    second: Mapping[str, Any] = field(default_factory=dict)
    """What the portable layout has no place for."""
    gains: frozenset[str] = frozenset()
    """Tensors that the way back adds, because the layout always holds them: the target's own."""
    target: Path | None = TARGET
    """None where no target is stored."""


TOKENS = {"facts": {"speculative_tokens": 3, "target_name": "example/target-llama"}}
PRODUCERS: Mapping[str, Producer] = {
    "producer-speculators-0.9-saved": Producer("speculators", second=TOKENS),
    "producer-speculators-0.9-saved-eagle3.1": Producer("speculators", second=TOKENS),
    "producer-speculators-0.9-converted": Producer(
        "speculators", {"aux_layers": "default"}, TOKENS, frozenset({"embed_tokens.weight"})
    ),
    "producer-modelopt-0.47-hf": Producer("modelopt"),
    "producer-specforge-0.2-hf": Producer("specforge"),
    "producer-specforge-0.2-sglang-eagle3.1": Producer(
        "specforge", {"aux_layers": "default", "facts": {"feedback": Feedback.RAW}}
    ),
    "producer-torchspec-2026-04-llama": Producer("torchspec", {"facts": {"target_family": "llama"}}, target=None),
    "producer-torchspec-2026-04-kimi-mla": Producer("torchspec", target=None),
}


@pytest.fixture(params=PRODUCERS)
def there_and_back(request, tmp_path):
    """The name of a fixture, the folder after the way there, and the one after the way back."""
    name: str = request.param
    producer = PRODUCERS[name]
    first, second, target = Given(**producer.first), Given(**producer.second), producer.target
    portable = converted(FIXTURES / name, tmp_path / "portable", given=first, target=target)
    back = converted(portable, tmp_path / "back", given=second, target=target, to=producer.dialect)
    return name, portable, back


def unplaced(name: str) -> str:
    """A tensor's name without the prefix of the one layer, which the layouts call differently."""
    return name.removeprefix("midlayer.").removeprefix("layers.0.")


def test_the_tensors_come_back_under_their_names_with_their_bytes(there_and_back):
    name, _, back = there_and_back
    own = {key: stored for key, stored in tensors_of(back).items() if key not in PRODUCERS[name].gains}
    assert own == tensors_of(FIXTURES / name)


def test_what_the_way_back_adds_is_the_target_s(there_and_back):
    name, _, back = there_and_back
    gained = {tensors_of(back)[key] for key in PRODUCERS[name].gains}
    assert gained <= {tensors_of(TARGET)["model.embed_tokens.weight"]}


def test_the_portable_folder_holds_the_same_bytes(there_and_back):
    name, portable, _ = there_and_back
    before, after = (
        {unplaced(key): stored for key, stored in tensors_of(folder).items()} for folder in (FIXTURES / name, portable)
    )
    # The mask repeats the map; not every producer stores one.
    assert {key: stored for key, stored in after.items() if key != "t2d"} == {
        key: stored for key, stored in before.items() if key != "t2d"
    }


def test_the_meaning_comes_back(there_and_back):
    name, _, back = there_and_back
    said = Given(**{**PRODUCERS[name].first, **PRODUCERS[name].second})
    beside = target_in(PRODUCERS[name].target)
    said = given_with(said, beside) if beside else said
    first, second = (read(open_folder(folder), said).drafter_or_refuse().spec for folder in (FIXTURES / name, back))
    assert differences(first, second, ("own_embedding",) if PRODUCERS[name].gains else ()) == {}


def test_the_way_back_is_recognised_as_the_producer_s(there_and_back):
    name, _, back = there_and_back
    assert read(open_folder(back)).dialect.name == PRODUCERS[name].dialect


def test_lost_norms_are_refused(tmp_path):
    found = refused(lambda: converted(FIXTURES / LOST, tmp_path / "out", given=Given(aux_layers=(2, 4, 5))))
    assert "flag-against-tensors" in found
    assert list(tmp_path.iterdir()) == []


DRAFTERS = sorted(
    path.name for path in FIXTURES.iterdir() if not path.name.startswith(("target-", "refuse-")) and path.name != LOST
)
ANSWERS = Given(aux_layers=(2, 3, 5), facts={"feedback": Feedback.RAW, "mask_token_id": 7})
"""Enough for every fixture; what a drafter has no use for is not asked."""
REPEATS = (Part.DRAFT_TO_TARGET, Part.TARGET_MASK)


@pytest.mark.parametrize("name", DRAFTERS)
def test_every_drafter_becomes_a_vllm_folder_with_the_same_bytes(name, tmp_path):
    result = converted(FIXTURES / name, tmp_path / "out", given=ANSWERS, to="vllm")
    (before, source), (after, written) = (
        (read(opened, given).drafter_or_refuse(), opened)
        for opened, given in ((open_folder(FIXTURES / name), ANSWERS), (open_folder(result), None))
    )
    assert differences(before.spec, after.spec, ("speculative_tokens", "target_architecture")) == {}
    for role in before.tensors.keys() - {Role(part) for part in REPEATS}:
        one, two = before.tensors[role], after.tensors[role]
        assert (one.dtype, source.read(one.name)) == (two.dtype, written.read(two.name)), role


@pytest.mark.parametrize("name", DRAFTERS)
def test_the_plan_of_every_drafter_passes_the_check_of_edited_plans(name):
    plan = planned(FIXTURES / name, given=ANSWERS, to="vllm")
    assert check(plan, open_folder(FIXTURES / name), None) == []
