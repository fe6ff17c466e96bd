"""Layer ids under every reader's rule: what is asked for is what is captured."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from eaglekit.dialects import families
from eaglekit.dialects.families import FAMILIES, IdRule, Inexpressible, family_of, sglang_rule, tokenspeed_rule
from eaglekit.report import Refusal

RULES = [value for value in vars(families).values() if isinstance(value, IdRule)]


@some.composite
def boundaries(draw):
    depth = draw(some.integers(1, 64))
    layers = draw(some.sets(some.integers(0, depth) | some.sampled_from((0, 1, depth)), min_size=1, max_size=5))
    return tuple(sorted(layers)), draw(some.sampled_from((depth, None)))


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
@given(boundaries())
def test_ids_that_are_written_are_read_as_the_same_boundaries(rule, drawn):
    layers, depth = drawn
    try:
        ids = rule.encode(layers, depth)
    except Inexpressible:
        assume(False)
    assert rule.decode(ids, depth) == layers


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
@given(boundaries())
def test_ids_keep_the_number_and_order_of_the_states(rule, drawn):
    layers, depth = drawn
    try:
        ids = rule.encode(layers, depth)
    except Inexpressible:
        assume(False)
    assert len(set(ids)) == len(layers)
    assert sorted(ids) == list(ids)
    assert min(ids) >= 0


CAPTURED = [
    ("boundary", (2, 16, 29), 32, (2, 16, 29)),
    ("boundary", (0, 16, 32), 32, (0, 16, 32)),
    ("output-of", (2, 16, 29), 32, (1, 15, 28)),
    ("output-of", (0, 16, 29), 32, None),
    ("output-of", (2, 16, 32), 32, (1, 15, 31)),
    ("sglang", (2, 16, 29), 32, (1, 15, 28)),
    ("sglang", (2, 16, 32), 32, None),
    ("sglang", (0, 16, 29), 32, None),
    ("sglang-deepseek", (2, 30, 58), 61, (2, 30, 58)),
    ("sglang-deepseek", (1, 30, 58), 61, None),
    ("sglang-deepseek", (0, 30, 58), 61, (0, 30, 58)),
    ("sglang-deepseek", (2, 30, 61), 61, None),
    ("sglang-gpt-oss", (2, 18, 33), 36, (1, 17, 32)),
    ("sglang-gpt-oss", (24, 30, 36), 36, (24, 30, 36)),
    ("tokenspeed", (2, 18, 33), 36, (1, 17, 32)),
    ("tokenspeed", (24, 30, 36), 36, (23, 29, 36)),
    ("tokenspeed-deepseek", (2, 30, 58), 61, (1, 29, 57)),
    ("tokenspeed-deepseek", (2, 30, 61), 61, None),
    ("tokenspeed-kimi-k3", (2, 46, 90), 93, (2, 46, 90)),
]
"""Rule, boundaries, depth, and the ids that make the reader capture just these states; None where none do."""


@pytest.mark.parametrize(("name", "layers", "depth", "ids"), CAPTURED)
def test_the_ids_of_a_published_rule(name, layers, depth, ids):
    rule = next(rule for rule in RULES if rule.name == name)
    if ids is None:
        with pytest.raises(Inexpressible):
            rule.encode(layers, depth)
    else:
        assert rule.encode(layers, depth) == ids


def test_every_rule_has_a_published_case():
    assert {rule.name for rule in RULES} == {name for name, *_ in CAPTURED}


def test_no_model_type_belongs_to_two_families():
    types = [model_type for family in FAMILIES.values() for model_type in family.model_types]
    assert sorted(set(types)) == sorted(types)


@pytest.mark.parametrize(
    ("model_type", "sglang", "tokenspeed"),
    [
        ("llama", "sglang", "tokenspeed"),
        ("kimi_k2", "sglang-deepseek", "tokenspeed-deepseek"),
        ("deepseek_v3", "sglang-deepseek", "tokenspeed-deepseek"),
        ("glm4_moe_lite", "sglang-deepseek", "tokenspeed"),
        ("gpt_oss", "sglang-gpt-oss", "tokenspeed"),
        ("kimi_k3", "sglang", "tokenspeed-kimi-k3"),
        ("longcat_flash", "sglang", "tokenspeed-deepseek"),
        ("other", "sglang", "tokenspeed"),
    ],
)
def test_a_family_is_read_by_its_engines_rules(model_type, sglang, tokenspeed):
    assert (sglang_rule(model_type).name, tokenspeed_rule(model_type).name) == (sglang, tokenspeed)


@pytest.mark.parametrize("model_type", [None, "no-such-model"])
def test_a_target_of_unknown_family_is_asked_for(model_type):
    with pytest.raises(Refusal) as caught:
        sglang_rule(model_type)
    assert [finding.code for finding in caught.value.findings] == ["target-family-unknown"]


def test_a_family_is_known_by_its_own_name_too():
    assert family_of("deepseek") is FAMILIES["deepseek"]
