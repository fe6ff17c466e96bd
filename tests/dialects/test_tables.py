"""The tables of all dialects: no name and no key has two meanings, and what a refusal recommends is possible."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings

from eaglekit.dialects.binding import match, names_of
from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.tables import DIALECTS
from eaglekit.dialects.tables.groups import ARCHITECTURE
from eaglekit.dialects.writing import impossible, write
from eaglekit.drafter import Feedback, Fusion, FusionNorm, Residual, Spec
from eaglekit.drafter.parts import PARTS, Index, Part, Role
from eaglekit.report import Finding, Refusal
from tests.dialects.strategies import LATENT, PLAIN, specs

EVERY = [pytest.param(dialect, id=dialect.name) for dialect in DIALECTS.values()]
WRITABLE = [pytest.param(dialect, id=dialect.name) for dialect in DIALECTS.values() if dialect.writable]
NUMBERS = (0, 1, 2, 9, 10, 61, 99999)

TWO_NAMES = {
    (
        dialect,
        Part.ATTENTION_NORM,
    ): "vLLM reads one of the two norms of later layers, SGLang the other"
    for dialect in ("portable", "sglang")
}
"""Parts that are written under two names, and why."""


@pytest.mark.parametrize("dialect", EVERY)
def test_no_tensor_name_fits_two_rows(dialect):
    names = {row.name(number) for row in dialect.rows for number in NUMBERS}
    assert [name for name in names if sum(row.match(name) is not None for row in dialect.rows) > 1] == []


@pytest.mark.parametrize("dialect", EVERY)
def test_no_tensor_name_has_a_role_and_is_dropped_too(dialect):
    names = {row.name(number) for row in dialect.rows for number in NUMBERS}
    assert [name for name in names if any(row.match(name) for row in dialect.dropped_tensors)] == []


@pytest.mark.parametrize("dialect", EVERY)
def test_every_name_a_row_makes_is_read_as_that_row_s_part(dialect):
    for row in dialect.rows:
        for number in _numbers(row.part):
            if row.covers(number):
                found = match(row.name(number), dialect)
                assert found is not None
                assert found.part is row.part


@pytest.mark.parametrize("dialect", WRITABLE)
def test_every_part_is_written_under_one_name(dialect):
    twice = {
        part
        for part in Part
        for number in _numbers(part)
        if len(names_of(Role(part, number), dialect)) > 1 and (dialect.name, part) not in TWO_NAMES
    }
    assert twice == set()


@pytest.mark.parametrize("dialect", EVERY)
def test_a_template_counts_exactly_the_parts_that_are_counted(dialect):
    for row in dialect.rows:
        index, counted = PARTS[row.part].index, "{n}" in row.template
        assert not (index is Index.ONCE and counted), row
        assert index is not Index.STATE or counted or row.number is not None, row


def _numbers(part: Part) -> tuple[int | None, ...]:
    return {
        Index.ONCE: (None,), Index.FIRST: (0,), Index.LATER: (1, 2), Index.LAYER: (0, 1, 2), Index.STATE: (0, 1, 2),
    }[PARTS[part].index]  # fmt: skip


@pytest.mark.parametrize("dialect", EVERY)
def test_no_config_key_is_read_by_two_rows(dialect):
    # Class and type are read by recognition, so a row of their own may take a fact from them beside.
    facts = [key.path for key in dialect.keys if key not in ARCHITECTURE]
    assert [path for path, count in Counter(facts).items() if count > 1] == []


@pytest.mark.parametrize("dialect", EVERY)
def test_a_config_key_is_read_or_fixed_or_dropped(dialect):
    read, fixed, dropped = ({row.path for row in rows} for rows in (dialect.keys, dialect.fixed, dialect.dropped_keys))
    assert (read & fixed, read & dropped, fixed & dropped) == (set(), set(), set())


@pytest.mark.parametrize("dialect", EVERY)
def test_every_fixed_and_every_dropped_key_is_listed_once(dialect):
    for rows in (dialect.fixed, dialect.dropped_keys):
        assert [path for path, count in Counter(row.path for row in rows).items() if count > 1] == []


@pytest.mark.parametrize("dialect", EVERY)
def test_no_key_is_read_above_another(dialect):
    # A key that is read whole hides what lies below it: a row for a key inside would never be asked.
    paths = {key.path for key in dialect.keys}
    assert [path for path in paths for other in paths if other.startswith(f"{path}.")] == []


@pytest.mark.parametrize("dialect", WRITABLE)
@settings(max_examples=200)
@given(specs())
def test_writing_refuses_exactly_what_cannot_be_said(dialect, spec):
    told = impossible(spec, dialect)
    refused = refusal_of(spec, dialect)
    assert set(told) <= set(refused)
    assert {finding.code for finding in set(refused) - set(told)} <= {"aux-inexpressible"}


@pytest.mark.parametrize("dialect", WRITABLE)
@settings(max_examples=100)
@given(specs())
def test_every_refusal_names_the_nearest_thing(dialect, spec):
    assert [finding for finding in refusal_of(spec, dialect) if not finding.hint.startswith("nearest: ")] == []


def refusal_of(spec: Spec, dialect: Dialect) -> tuple[Finding, ...]:
    """The findings of the refusal to write a drafter; none when it is written."""
    try:
        write(spec, dialect)
    except Refusal as refusal:
        return refusal.findings
    return ()


MLA = replace(PLAIN, **LATENT)
FINAL_STATE = {"fusion": Fusion.FINAL_STATE, "num_aux_states": 1, "aux_layers": ()}
SINGLE = {
    "normed-residual": replace(PLAIN, residual=Residual.NORMED),
    "normed-feedback": replace(PLAIN, feedback=Feedback.NORMED),
    "state-norms": replace(PLAIN, fusion_norm=FusionNorm.PER_STATE),
    "whole-norm": replace(PLAIN, fusion_norm=FusionNorm.WHOLE),
    "qk-norms": replace(PLAIN, qk_norm=True),
    "attention-bias": replace(PLAIN, attention_bias=True),
    "mlp-bias": replace(PLAIN, mlp_bias=True),
    "fusion-bias": replace(PLAIN, fusion_bias=True),
    "parallel": replace(PLAIN, parallel_drafting=True, mask_token_id=3),
    "two-layers": replace(PLAIN, num_layers=2),
    "four-states": replace(PLAIN, num_aux_states=4, aux_layers=(2, 9, 17, 30)),
    "final-state": replace(PLAIN, **FINAL_STATE),
    "wider-target": replace(PLAIN, target_hidden_size=10),
    "mla": MLA,
    "mla-two-layers": replace(MLA, num_layers=2),
    "mla-without-rank": replace(MLA, q_lora_rank=None),
    "last-boundary": replace(PLAIN, aux_layers=(3, 17, 32)),
    "embeddings": replace(PLAIN, aux_layers=(0, 17, 30)),
}
"""Drafters with one thing that some dialects cannot say."""


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in SINGLE.items()])
@pytest.mark.parametrize("dialect", WRITABLE)
def test_a_dialect_that_a_refusal_names_can_hold_the_drafter(dialect, spec):
    for finding in refusal_of(spec, dialect):
        named = re.findall(r"--to ([a-z-]+)", finding.hint)
        assert any(refusal_of(spec, DIALECTS[name]) == () for name in named), finding


@pytest.mark.parametrize("dialect", WRITABLE)
def test_an_ordinary_drafter_fits_every_dialect(dialect):
    assert impossible(PLAIN, dialect) == []
