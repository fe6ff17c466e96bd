"""The front matter: read without trust, checked without the Hub, and read by the Hub's own client."""

from __future__ import annotations

import logging

import pytest
from huggingface_hub import ModelCard

from eaglekit.hub.card import Licence, base_model_of, check_card, licence_of, stated_in
from eaglekit.hub.card.front_matter import parse, yaml_of
from eaglekit.report import Refusal, Report
from tests.hub.cards import COMMIT, card, refused, report

GOOD = "license: mit\nbase_model: acme/target\nlibrary_name: eaglekit\npipeline_tag: text-generation\ntags: [eagle3]\n"


def checked(lines: str) -> list[str]:
    """The places of everything that is wrong with this front matter."""
    return [finding.place for finding in check_card(f"---\n{lines}---\ntext\n")]


def test_a_written_card_is_right() -> None:
    assert check_card(card()) == []


def test_the_client_of_the_hub_reads_the_card(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        data = ModelCard(card()).data
    assert caplog.records == []
    assert (data.base_model, data.license, data.pipeline_tag) == ("acme/llama-nvfp4", "apache-2.0", "text-generation")
    assert data.to_dict()["inference"] is False


def test_the_client_of_the_hub_reads_the_results_with_every_digit() -> None:
    said = {each.name: each.value for each in report().measurements}
    results = ModelCard(card()).data.eval_results
    assert results is not None
    whole = {each.metric_name: each.metric_value for each in results if each.dataset_config is None}
    assert whole == {name: said[name] for name in whole}
    assert "acceptance length, sampled" in whole
    assert {each.dataset_config for each in results} == {None, "brackets", "counting", "names", "sorting", "story"}


def test_the_client_of_the_hub_writes_the_same_values_again() -> None:
    data = ModelCard(card()).data
    assert parse(data.to_yaml()).values() == dict(stated_in(card()))


def test_a_null_and_a_number_are_both_named() -> None:
    wrong = GOOD.replace("license: mit", "license: 3").replace("base_model: acme/target", "base_model: null")
    assert sorted(checked(wrong)) == ["README.md: base_model", "README.md: license"]


@pytest.mark.parametrize("key", ["license", "base_model", "library_name", "pipeline_tag", "tags"])
def test_a_missing_key_is_named(key: str) -> None:
    kept = "".join(line + "\n" for line in GOOD.splitlines() if not line.startswith(key))
    assert checked(kept) == [f"README.md: {key}"]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("config: null", "config"),
        ("tags: eagle3", "tags"),
        ("tags: [1]", "tags.0"),
        ("base_model: not an id", "base_model"),
        ("pipeline_tag: image-classification", "pipeline_tag"),
        ("license: apache2", "license"),
        ("license: other", "license_name"),
        ("model-index: []", "model-index"),
        ("model-index: [{name: x, results: [{task: {type: t}, dataset: {type: d}, metrics: []}]}]", "model-index.0"),
        ("eaglekit: {version: 0.1.0}", "eaglekit"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_named(line: str, place: str) -> None:
    kept = "".join(each + "\n" for each in GOOD.splitlines() if each.split(":")[0] != line.split(":")[0])
    found = check_card(f"---\n{kept}{line}\n---\n")
    assert found
    assert any(place in finding.place or place.replace("_", "-") in finding.place for finding in found)


def test_a_card_without_front_matter_is_told() -> None:
    assert [finding.code for finding in check_card("# Hello\n")] == ["card-metadata"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("a: &x [1]\nb: *x", id="a reference"),
        pytest.param("a: &a [&b [1], *b]", id="nested references"),
        pytest.param("a: !!python/object/apply:os.system [echo]", id="a program"),
        pytest.param("a: !!binary aGk=", id="a tag"),
        pytest.param("a: 1\na: 2", id="a key twice"),
        pytest.param("x: {a: 1, a: 2}", id="an inner key twice"),
        pytest.param("- a\n- b", id="a list"),
        pytest.param("just words", id="a text"),
        pytest.param("{a: 1}", id="braces"),
        pytest.param("? [a, b]\n: 1", id="a list as key"),
        pytest.param("a: [" * 40 + "]" * 40, id="deep nesting"),
        pytest.param("a: " + "[" * 100_000, id="very deep nesting"),
        pytest.param("a: 'open", id="an open quote"),
        pytest.param("a: b: c", id="two colons"),
        pytest.param("\ta: 1", id="a tab"),
        pytest.param("a: \x00", id="a null byte"),
        pytest.param("a: " + "x" * (10 << 20), id="ten megabytes"),
    ],
)
def test_front_matter_that_no_card_needs_is_refused(lines: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse(lines)
    assert [finding.code for finding in caught.value.findings] == ["card-front-matter"]


def test_a_hostile_front_matter_is_told_when_merging() -> None:
    assert [finding.code for finding in refused("---\na: &x 1\n---\n")] == ["card-front-matter"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("no", "no"), ("1e3", 1000.0), ("2026-01-02", "2026-01-02"), ("'3'", "3"), (".nan", ".nan"),
     ("9" * 5000, "9" * 5000), ("true", True), ("", None)],
    ids=["norwegian", "exponent", "date", "quoted", "no number", "a number beyond all", "true", "nothing"],
)  # fmt: skip
def test_values_are_read_as_the_hub_reads_them(text: str, value: object) -> None:
    assert parse(f"key: {text}").values() == {"key": value}


@pytest.mark.parametrize(
    "value",
    ["0" * 40, f"{'1' * 30}e{'2' * 9}", "1e5", "no", "0x10", "0o7", "null", "1.10", "- a", "a: b", "#x", "é\u2028\x85"],
)
def test_a_text_that_looks_like_something_else_comes_back_as_text(value: str) -> None:
    assert parse(yaml_of("key", value)).values() == {"key": value}


@pytest.mark.parametrize(
    ("id", "meant"),
    [
        ("Apache 2.0", "apache-2.0"),
        ("MIT", "mit"),
        ("llama-3.1", "llama3.1"),
        ("bsd3", "bsd"),
        ("apache2", "apache-2.0"),
    ],
)
def test_a_wrong_licence_is_met_with_what_was_meant(id: str, meant: str) -> None:
    with pytest.raises(Refusal) as caught:
        licence_of(id)
    assert f"did you mean {meant}" in caught.value.findings[0].hint


def test_no_licence_at_all_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        licence_of(None)
    assert [finding.code for finding in caught.value.findings] == ["licence-missing"]


def test_the_licence_of_an_existing_card_counts() -> None:
    assert licence_of(None, card={"license": "gemma"}) == Licence("gemma")


def test_a_licence_of_ones_own_needs_name_and_link_and_both_are_told() -> None:
    with pytest.raises(Refusal) as caught:
        licence_of("other")
    assert [finding.place for finding in caught.value.findings] == ["--license-name", "--license-link"]


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "../LICENSE", "/etc/passwd", "https://x y", "ftp://x.example/a"]
)
def test_a_licence_link_that_leads_nowhere_is_refused(link: str) -> None:
    with pytest.raises(Refusal):
        licence_of("other", name="mine-1.0", link=link)


def test_a_name_for_a_known_licence_is_not_swallowed() -> None:
    with pytest.raises(Refusal):
        licence_of("mit", name="mine")


def _of(**target: str) -> Report:
    return Report("validate", "x", result={"target": target})


def test_a_target_of_the_hub_is_known_from_the_report() -> None:
    known = base_model_of(_of(kind="hub", repo="acme/t", commit=COMMIT, digest="sha256:0"), None)
    assert (known.repo, known.commit, known.stated) == ("acme/t", COMMIT, False)


def test_a_target_in_a_folder_must_be_stated() -> None:
    with pytest.raises(Refusal) as caught:
        base_model_of(_of(kind="local", digest="sha256:0"), None)
    assert caught.value.findings[0].code == "base-model-missing"
    assert base_model_of(_of(kind="local", digest="sha256:0"), f"acme/t@{COMMIT}").stated


@pytest.mark.parametrize(
    "stated", ["acme/t", "acme/t@main", "t@" + COMMIT, f"acme/t@{COMMIT[:12]}", f"a/b/c@{COMMIT}", ""]
)
def test_a_target_that_may_move_is_refused(stated: str) -> None:
    with pytest.raises(Refusal) as caught:
        base_model_of(_of(kind="local"), stated)
    assert caught.value.findings[0].code == "base-model-invalid"


def test_another_target_than_the_reports_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        base_model_of(_of(kind="hub", repo="acme/t", commit=COMMIT, digest=""), f"acme/other@{COMMIT}")
    assert caught.value.findings[0].code == "base-model-contradicts"
