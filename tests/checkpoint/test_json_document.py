"""JSON that two readers would understand differently is refused with its path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from eaglekit.checkpoint.json_document import CONFIG_LIMIT, DEPTH_LIMIT, read_array, read_object
from eaglekit.report import Refusal
from eaglekit.report.json_text import dumps
from tests.checkpoint.making import TRICKY, only, refused

JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-(2**63), 2**63 - 1) | some.text(TRICKY, max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(TRICKY, max_size=5), inner, max_size=3),
    max_leaves=8,
)


def reading(data: bytes):
    return refused(lambda: read_object(data, "config.json"))


@given(some.dictionaries(some.text(TRICKY, max_size=5), JSON, max_size=4))
def test_an_ordinary_object_is_read_as_it_is(value):
    assert read_object(dumps(value).encode(), "config.json") == value


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param('{"a": 1, "a": 2}', "config.json: a", id="at the top"),
        pytest.param('{"eagle_config": {"a": 1, "a": 1}}', "config.json: eagle_config.a", id="nested"),
        pytest.param('{"x": [0, {"a": 1, "b": 2, "a": 1}]}', "config.json: x[1].a", id="in a list"),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_its_path(text, path):
    assert only(reading(text.encode()), "json-duplicate-key").place == path


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", str(2**64), str(-(2**63) - 1), "-0"])
def test_a_number_that_readers_do_not_agree_on_is_refused(number):
    finding = only(reading(f'{{"rope": {{"theta": {number}}}}}'.encode()), "json-number")
    assert (finding.got, finding.place) == (number, "config.json: rope.theta")


def test_a_number_of_a_million_digits_is_refused_without_being_converted():
    assert "1000000 digits" in only(reading(b'{"a": ' + b"9" * 1_000_000 + b"}"), "json-number").got


@pytest.mark.parametrize("number", [2**64 - 1, -(2**63), 1e-05])
def test_a_number_within_64_bits_is_kept_exactly(number):
    assert read_object(f'{{"a": {number}}}'.encode(), "config.json") == {"a": number}


@pytest.mark.parametrize("text", [b"[]", b'"a"', b"1", b"null", b"true", b"NaN", b"1.5"])
def test_a_document_that_is_not_an_object_is_refused(text):
    only(reading(text), "json-not-an-object")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf{}", id="byte order mark"),
        pytest.param('{"a": "é"}'.encode("latin-1"), id="Latin-1"),
        pytest.param("{}".encode("utf-16"), id="UTF-16"),
        pytest.param(b'{"a": "\\ud800"}', id="half a surrogate pair"),
        pytest.param(b'{"\\ud800": 1}', id="half a surrogate pair in a key"),
    ],
)
def test_text_that_is_not_plain_utf8_is_refused(data):
    only(reading(data), "json-encoding")


@pytest.mark.parametrize("text", [b"", b"{", b"{'a': 1}", b'{"a": 1,}', b'{"a": 1} // note', b'{"a": "\n"}', b"\0"])
def test_text_that_is_not_json_is_refused_with_its_line(text):
    assert "line " in only(reading(text), "json-invalid").message


@pytest.mark.parametrize("depth", [DEPTH_LIMIT + 1, 100_000])
def test_absurd_nesting_is_refused(depth):
    only(reading(b'{"a":' + b"[" * depth + b"]" * depth + b"}"), "json-too-deep")


def test_nesting_up_to_the_limit_is_read():
    depth = DEPTH_LIMIT - 2
    assert "a" in read_object(b'{"a":' + b"[" * depth + b"]" * depth + b"}", "config.json")


def test_a_document_above_the_size_limit_is_refused():
    assert only(reading(b" " * (CONFIG_LIMIT + 1)), "json-too-large").got == f"{CONFIG_LIMIT + 1} bytes"


def test_every_oddity_is_gathered_into_one_refusal():
    assert set(reading(b'{"a": NaN, "b": {"c": 1, "c": 2}}')) == {"json-number", "json-duplicate-key"}


def test_an_array_is_read_by_the_same_rules_as_an_object() -> None:
    assert read_array(b'[{"a": 1}, 2]', "x.json") == [{"a": 1}, 2]
    with pytest.raises(Refusal, match="json-number"):
        read_array(b"[NaN]", "x.json")


def test_an_object_where_an_array_belongs_is_refused() -> None:
    with pytest.raises(Refusal, match="holds a JSON object, not an array"):
        read_array(b"{}", "x.json")
