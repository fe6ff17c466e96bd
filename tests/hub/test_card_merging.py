"""A card and the text that people wrote around it."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from eaglekit.hub.card import BEGIN, END, Licence, write_card
from eaglekit.hub.card.merging import split
from tests.hub.cards import card, matter, refused

MINE = f"---\nlicense: apache-2.0\n---\n\n# Mine\n\n{BEGIN}\nold\n{END}\n\nBelow.\n"


def front(text: str) -> dict[str, object]:
    """The front matter as a YAML reader sees it."""
    values: dict[str, object] = yaml.safe_load(text.split("---", 2)[1])
    return values


def test_writing_twice_gives_the_same_bytes() -> None:
    assert write_card(matter(), card()) == card()


def test_text_around_the_markers_stays() -> None:
    text = write_card(matter(), MINE)
    assert "\n# Mine\n\n<!-- eaglekit: begin -->\n" in text
    assert text.endswith("<!-- eaglekit: end -->\n\nBelow.\n")
    assert "\nold\n" not in text


def test_merging_twice_gives_the_same_bytes() -> None:
    once = write_card(matter(), MINE)
    assert write_card(matter(), once) == once


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="`~\ufeff"), max_size=60))
def test_whatever_people_wrote_is_kept_to_the_letter(words: str) -> None:
    parts = split(f"---\nlicense: apache-2.0\n---\nx{words}\n{BEGIN}\n{END}\n{words}")
    assert (parts.before, parts.after) == (f"x{words}\n", words)
    again = split(parts.joined(parts.metadata, "# New"))
    assert (again.before, again.after) == (parts.before, parts.after)


def test_line_ends_of_windows_stay() -> None:
    text = write_card(matter(), MINE.replace("\n", "\r\n"))
    assert text.replace("\r\n", "").count("\n") == 0
    assert write_card(matter(), text) == text


def test_a_byte_order_mark_goes_because_it_hides_the_front_matter() -> None:
    text = write_card(matter(), f"\ufeff{MINE}")
    assert text.startswith("---\n")


def test_a_text_without_a_last_line_end_keeps_it_so() -> None:
    assert write_card(matter(), MINE + "the end").endswith("Below.\nthe end")


def test_front_matter_alone_is_a_card_that_was_begun() -> None:
    text = write_card(matter(), "---\nlicense: apache-2.0\n---\n")
    assert text.count(BEGIN) == 1
    assert text.count("license:") == 1


@pytest.mark.parametrize(
    ("base", "what"),
    [
        pytest.param("# Mine\n", "no markers", id="none"),
        pytest.param(f"{END}\n{BEGIN}\n", "above its begin", id="the wrong way round"),
        pytest.param(f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n", "2 begin markers", id="twice"),
        pytest.param(f"{BEGIN}\n", "without", id="no end"),
        pytest.param(f"{END}\n", "without", id="no begin"),
        pytest.param(f"```\n{BEGIN}\n{END}\n```\n", "block of code", id="inside a fence"),
        pytest.param(f"~~~~md\n~~~\n{BEGIN}\n{END}\n~~~~\n", "block of code", id="inside a longer fence"),
        pytest.param(f"text {BEGIN}\n{END} text\n", "no markers", id="inside a line"),
        pytest.param("---\nlicense: mit\n", "never closed", id="front matter without an end"),
        pytest.param("x" * (4 << 20) + "y", "characters long", id="a text beyond measure"),
    ],
)
def test_a_text_without_one_place_for_the_card_is_refused(base: str, what: str) -> None:
    (finding,) = refused(base)
    assert finding.code == "card-markers"
    assert what in finding.message


def test_markers_in_code_beside_the_real_ones_do_not_count() -> None:
    base = f"```\n{BEGIN}\n```\n{BEGIN}\nold\n{END}\n"
    assert write_card(matter(), base).count(f"```\n{BEGIN}\n```\n") == 1


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("license: mit", "license"),
        ("base_model: other/target", "base_model"),
        ("base_model: [acme/llama-nvfp4, other/draft]", "base_model"),
        ("pipeline_tag: text-classification", "pipeline_tag"),
        ("library_name: transformers", "library_name"),
    ],
)
def test_a_card_that_says_something_else_is_a_contradiction(line: str, key: str) -> None:
    (finding,) = refused(f"---\n{line}\n---\n")
    assert (finding.code, finding.place) == ("card-conflict", f"README.md: {key}")


def test_all_contradictions_are_told_together() -> None:
    assert len(refused("---\nlicense: mit\nbase_model: a/b\nlibrary_name: x\n---\n")) == 3


@pytest.mark.parametrize("value", ["", "~", "null", "acme/llama-nvfp4", "[acme/llama-nvfp4]"])
def test_an_empty_or_equal_value_is_none(value: str) -> None:
    assert refused(f"---\nbase_model: {value}\n---\n") == ()


def test_other_keys_and_comments_stay_as_they_are() -> None:
    top = (
        "# who\nlanguage: no\nversion: 1.10\ndate: 2026-01-02\n"
        "license: apache-2.0 # ours\n# about the licence\nmine:\n  - {a: 1}\n"
    )
    text = write_card(matter(), f"---\n{top}---\n")
    assert text.startswith(f"---\n{top}")


def test_tags_are_united() -> None:
    tags = front(write_card(matter(), "---\ntags: [mine, eagle3]\n---\n"))["tags"]
    assert isinstance(tags, list)
    assert tags[:3] == ["mine", "eagle3", "speculative-decoding"]
    assert tags.count("eagle3") == 1


def test_an_engine_that_no_longer_reads_the_file_loses_its_tag() -> None:
    assert "- vllm\n" in card()
    assert "- vllm\n" not in write_card(matter(recipes=()), card())


def test_results_of_others_stay_beside_ours() -> None:
    index = (
        "model-index:\n- name: llama-eagle3.1\n  results:\n  - task: {type: text-generation}\n"
        "    dataset: {type: mt-bench, name: MT-Bench}\n    metrics: [{type: speed, value: 2.0}]\n"
    )
    text = write_card(matter(), f"---\n{index}---\n")
    for _ in range(2):
        (entry,) = front(text)["model-index"]  # type: ignore[misc]
        assert [result["dataset"]["type"] for result in entry["results"]].count("mt-bench") == 1
        assert len(entry["results"]) == 7
        text = write_card(matter(), text)


def test_a_licence_with_a_name_stands_with_it() -> None:
    text = card(licence=Licence("other", "my-license-1.0", "LICENSE"))
    assert "license: other\nlicense_name: my-license-1.0\nlicense_link: LICENSE\n" in text


@pytest.mark.parametrize("line", ["tags: [[1]]", "model-index: [1]", "model-index: [{name: x}]"])
def test_a_key_of_another_kind_is_told_and_not_tripped_over(line: str) -> None:
    (finding,) = refused(f"---\n{line}\neaglekit: 1\n---\n")
    assert finding.place.startswith(f"README.md: {line.partition(':')[0]}")
