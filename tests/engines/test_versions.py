"""Versions, spans, and what `--for` means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eaglekit.engines import ENGINES, Request, Span, Version, parse_request
from eaglekit.report import Refusal

VERSIONS = st.lists(st.integers(0, 40), min_size=3, max_size=3).map(lambda parts: Version(tuple(parts)))


def at(text: str) -> Version:
    return Version.parse(text)


@given(VERSIONS)
def test_a_version_is_read_back_from_what_it_prints(version: Version) -> None:
    assert Version.parse(str(version)) == version


def test_versions_are_ordered_by_number_and_not_by_letter() -> None:
    assert at("0.5.9") < at("0.5.12") < at("0.10.2")


def test_a_month_keeps_its_zero() -> None:
    assert str(at("2026.06")) == "2026.06"


def test_a_post_release_is_the_release_it_repairs() -> None:
    assert at("0.5.12.post1") == at("0.5.12")


@pytest.mark.parametrize("text", ["", "0..1", "main", "0.24rc1", "1.x", "٣.٤"])
def test_text_that_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no version"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("since", "until", "shown"),
    [
        pytest.param(None, None, "any version", id="open"),
        pytest.param(None, "0.18", "<0.18", id="open below"),
        pytest.param("0.29", None, ">=0.29", id="open above"),
        pytest.param("0.22", "0.29", "0.22-0.28", id="a run of lines"),
        pytest.param("0.5.12", "0.5.13", "0.5.12", id="one release"),
        pytest.param("2026.05", "2026.07", ">=2026.05, <2026.07", id="months"),
    ],
)
def test_a_span_is_shown_as_people_write_it(since: str | None, until: str | None, shown: str) -> None:
    assert str(Span(at(since) if since else None, at(until) if until else None)) == shown


@pytest.mark.parametrize(
    ("since", "until", "shown"),
    [
        pytest.param(None, None, "any version", id="open"),
        pytest.param("0.22", "0.29", "0.22-0.28", id="releases"),
        pytest.param(None, "2026.07", "sources before July 2026", id="open below"),
        pytest.param("2026.07", None, "sources of July 2026 or later", id="open above"),
        pytest.param("2026.05", "2026.07", "sources from May 2026 to before July 2026", id="months"),
    ],
)
def test_a_sentence_names_months_and_no_releases_that_do_not_exist(
    since: str | None, until: str | None, shown: str
) -> None:
    assert Span(at(since) if since else None, at(until) if until else None).in_words() == shown


def test_an_engine_without_a_version_means_the_newest() -> None:
    assert parse_request("vllm") == Request("vllm", None)


@pytest.mark.parametrize(
    ("text", "version"),
    [("vllm@0.24", "0.24.0"), ("vllm@0.22", "0.22.1"), ("vllm@0.18", "0.18.1"), ("sglang@0.5.12.post1", "0.5.12")],
)
def test_a_release_line_means_its_newest_known_release(text: str, version: str) -> None:
    assert parse_request(text).version == at(version)


def test_an_unknown_engine_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(Refusal) as refused:
        parse_request("vlm@0.24")
    (finding,) = refused.value.findings
    assert (finding.code, finding.hint) == ("engine-unknown", "did you mean vllm?")
    assert all(name in finding.expected for name in ENGINES)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("vllm@0.99", "vllm@0.32.0"),
        ("vllm@0.20.1", "vllm@0.20.2"),
        ("vllm@0.1", "vllm@0.10.2"),
        ("vllm@", "vllm@0.32.0"),
    ],
)
def test_a_version_that_was_not_read_is_refused_with_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_request(text)
    (finding,) = refused.value.findings
    assert finding.code == "engine-version-unknown"
    assert finding.hint == f"nearest: --for {nearest}"
