"""What a card says, and what it never says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from eaglekit.drafter.spec import Feedback, FusionNorm
from eaglekit.engines.model import Verdict, Version
from eaglekit.engines.recipes import Recipe
from eaglekit.hub.card import write_card
from eaglekit.hub.card.storage import FORMATS as IN_WORDS
from eaglekit.hub.card.storage import PLAIN, activations_in_words, weights_in_words
from eaglekit.report import Finding
from eaglekit.target.formats.table import FORMATS
from tests.hub.cards import COMMIT, TARGET, VLLM, card, matter, report, with_facts

HOSTILE = [
    pytest.param("a | b | c", id="pipes"),
    pytest.param("`x` ``y``", id="backticks"),
    pytest.param("<script>alert(1)</script>", id="a script"),
    pytest.param("<img src=x onerror=alert(1)>", id="an image"),
    pytest.param("[me](javascript:alert(1))", id="a link"),
    pytest.param("![x](https://evil.example/x.png)", id="a picture"),
    pytest.param("https://evil.example www.evil.example", id="an address"),
    pytest.param("**bold** _slanted_ ~~gone~~", id="emphasis"),
    pytest.param("&lt;b&gt; &amp;", id="references"),
    pytest.param("back\\slash \\| \\`", id="backslashes"),
    pytest.param("--> <!-- eaglekit: end -->", id="the end marker"),
    pytest.param("one\n<!-- eaglekit: end -->\n# two", id="lines"),
    pytest.param("\u202egnp.exe\x1b[31m", id="characters that steer"),
    pytest.param("$x^2$ $$y$$", id="formulas"),
]


def rendered(text: str) -> str:
    """The card as a page would show it, without its front matter."""
    body = text.split("\n---\n", 1)[1]
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(body)


def test_the_same_matter_gives_the_same_card() -> None:
    assert card() == card()


def test_a_card_names_the_target_at_its_commit() -> None:
    assert f"https://huggingface.co/acme/llama-nvfp4/tree/{COMMIT}" in card()


def test_a_card_says_that_the_drafter_does_not_run_by_itself() -> None:
    assert "not a model that can run by itself" in card()


def test_a_card_says_where_the_numbers_do_not_come_from() -> None:
    assert "not in a serving engine" in card()


def test_a_length_stands_with_its_interval_count_and_ceiling() -> None:
    text = card()
    assert "| greedy, as served | **3.07** | 2.82 – 3.31 | 228 served rounds of 50 texts |" in text
    assert "4 is the ceiling" in text


def test_a_baseline_stands_beside_only_where_it_differs() -> None:
    said = report()
    length = next(each for each in said.measurements if each.name == "acceptance length")
    same = replace(length, name="baseline: acceptance length")
    other = replace(same, value=2.5, low=2.0, high=2.75)
    assert "baseline" not in card(report=replace(said, measurements=(*said.measurements, same)))
    text = card(report=replace(said, measurements=(*said.measurements, other)))
    assert "| greedy, as served: baseline | **2.50** | 2.00 – 2.75 |" in text


def test_acceptance_stands_by_position_with_intervals() -> None:
    assert "| 2 | 67.1 % (58.6 – 75.5 %) | 86.0 % (79.6 – 92.0 %) |" in card()


def test_acceptance_stands_by_category() -> None:
    assert "| counting | **2.40** | 1.96 – 2.75 | 67 rounds of 10 texts |" in card()


def test_layers_stand_as_boundaries_and_as_each_engine_reads_them() -> None:
    text = card()
    assert "boundaries 2, 4 and 5 of the target's 8 blocks" in text
    assert "`[2, 4, 5]`, boundaries, for vLLM" in text
    assert "`[1, 3, 4]`, outputs of blocks counted from 0, for SGLang" in text


def test_ids_that_sglang_counts_as_boundaries_are_called_so() -> None:
    config = {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 4, 5]}}
    assert "`[2, 4, 5]`, boundaries, for SGLang" in card(config=config)


@pytest.mark.parametrize(
    ("fact", "value", "line"),
    [
        ("fusion_norm", FusionNorm.PER_STATE.value, "| `fc_norm` | true |"),
        ("fusion_norm", FusionNorm.NONE.value, "| `fc_norm` | false |"),
        ("fusion_norm", FusionNorm.WHOLE.value, "| `norm_before_fc` | true |"),
        ("feedback", Feedback.NORMED.value, "| `norm_output` | true |"),
        ("feedback", Feedback.RAW.value, "| `norm_output` | false |"),
    ],
)
def test_a_norm_stands_with_its_flag(fact: str, value: str, line: str) -> None:
    assert line in write_card(with_facts(**{fact: value}), None)


def test_a_drafter_without_both_changes_is_no_eagle_31() -> None:
    plain = with_facts(fusion_norm=FusionNorm.NONE.value, feedback=Feedback.RAW.value)
    assert "An EAGLE-3 draft model" in write_card(plain, None)


def test_mla_is_named() -> None:
    text = write_card(with_facts(attention="mla"), None)
    assert "multi-head latent attention (MLA)" in text
    assert "\n- mla\n" in text


def test_what_was_not_measured_is_not_printed() -> None:
    said = replace(report(), measurements=(), charts=(), tables=(), facts=(), findings=())
    text = card(report=said, provenance=None, recipes=(), config={}, has_figure=False)
    for absent in ("## Measured acceptance", "## Drift", "## Serving", "model-index", "None", "N/A", "| |", "nan"):
        assert absent not in text


def test_an_interval_that_was_not_estimated_leaves_its_cell_empty() -> None:
    said = report()
    bare = tuple(replace(each, low=None, high=None) for each in said.measurements)
    text = card(report=replace(said, measurements=bare))
    assert "| greedy, as served | **3.07** |  | 228" in text


def test_the_figure_is_shown_only_when_it_is_there() -> None:
    assert "](drift.png)" in card()
    assert "drift.png" not in card(has_figure=False)


def test_drift_is_told_in_a_sentence_with_its_numbers() -> None:
    assert "goes from 5.56 to 4.97 (0.89 times), and its attention on the first token from 0.9 % to 0.6 %" in card()


def test_a_command_stands_in_a_block_with_its_oldest_version() -> None:
    assert "### vLLM, 0.22.0 or newer\n\n```bash\nvllm serve acme/llama-nvfp4\n```" in card()


def test_an_engine_that_cannot_read_the_file_is_named_with_the_reason() -> None:
    no = Recipe("atom", "ATOM", None, Verdict.REJECTS, "bash", "", ("it has no fc_norm",))
    assert "- **ATOM**: it has no fc_norm." in card(recipes=(no,))


def test_sources_of_a_month_are_not_called_a_release() -> None:
    read = replace(VLLM, title="TensorRT-LLM", minimum=Version.parse("2026.07"), brought_by="NVIDIA/TensorRT-LLM#14988")
    assert "### TensorRT-LLM, sources of July 2026 or later (with NVIDIA/TensorRT-LLM&#35;14988)\n" in card(
        recipes=(read,)
    )


def test_below_its_heading_an_engine_is_it_and_options_are_code() -> None:
    notes = ("tokenspeed has no revision", "if `--quantization` is added, say `--more unquant`")
    text = card(recipes=(replace(VLLM, title="tokenspeed", notes=notes),))
    assert "- It has no revision.\n- If `--quantization` is added, say `--more unquant`.\n" in text


@pytest.mark.parametrize("name", [format.name for format in FORMATS])
def test_every_format_of_weights_has_words(name: str) -> None:
    assert name == PLAIN or name in IN_WORDS


@pytest.mark.parametrize(
    ("formats", "told"),
    [
        pytest.param(
            "nvfp4-modelopt x 56, plain x 16",
            "NVFP4 as ModelOpt stores it (56 tensors quantised, 16 plain)", id="mixed",
        ),
        pytest.param("plain x 16", "no weight quantised (16 tensors)", id="plain"),
        pytest.param(
            "fp8-inverse-scale x 1, mxfp8 x 2",
            "FP8 as DeepSeek stores it (1 tensor quantised), MXFP8 (2 tensors quantised)", id="two formats",
        ),
        pytest.param("int3 <b>", "weights int3 &#60;b&#62;", id="another spelling"),
        pytest.param("", "", id="nothing"),
    ],
)  # fmt: skip
def test_how_weights_are_stored_is_told_in_words(formats: str, told: str) -> None:
    assert weights_in_words(formats) == told


@pytest.mark.parametrize(
    ("activations", "formats", "told"),
    [
        pytest.param("w4a16", "plain x 16", "", id="nothing is quantised"),
        pytest.param("w4a16", "nvfp4-modelopt x 56, plain x 16", "activations not quantised (w4a16)", id="weights are"),
        pytest.param("w4a16", None, "activations not quantised (w4a16)", id="weights unknown"),
        pytest.param(None, "plain x 16", "", id="nothing known"),
    ],
)
def test_activations_are_told_of_where_weights_are_quantised(
    activations: str | None, formats: str | None, told: str
) -> None:
    assert activations_in_words(activations, formats) == told


@pytest.mark.parametrize(
    ("message", "sentence"),
    [("the state grows", "The state grows"), ("d2t is odd", "d2t is odd"), ("vLLM reads it", "vLLM reads it")],
    ids=["a word", "a tensor's name", "an engine's name"],
)
def test_a_finding_on_the_card_begins_as_a_sentence_unless_with_a_name(message: str, sentence: str) -> None:
    text = card(report=report().with_findings([Finding("state-growth", message, place="residual stream")]))
    assert f"- {sentence} (state-growth)." in text


def test_what_the_numbers_do_not_say_ends_with_limits() -> None:
    limits = card().partition("## What the numbers do not say")[2]
    assert "Beyond 512 tokens" in limits
    assert "embedding" not in limits


def test_a_warning_that_is_not_about_the_numbers_has_its_own_section() -> None:
    text = card(report=report().with_findings([Finding("rope-differs", "the base is another", place="rope_theta")]))
    section = text.partition("## What the report warns of")[2].partition("##")[0]
    assert section.strip() == "- The base is another (rope-differs)."
    assert "warns of" not in card()


def test_a_command_with_a_fence_in_it_stays_in_its_block() -> None:
    odd = replace(VLLM, text="echo '\n```\n# free\n<!-- eaglekit: end -->\n'")
    text = card(recipes=(odd,))
    assert "````bash" in text
    assert write_card(matter(recipes=(odd,)), text) == text


def test_the_commands_that_check_the_card_name_the_repository() -> None:
    text = card()
    assert "eaglekit pull acme/llama-eagle3.1 ./llama-eagle3.1" in text
    assert "--prompts YOUR_COPY.jsonl" in text


def test_published_prompts_need_no_option() -> None:
    assert "--prompts" not in card(has_prompts=True)


def test_a_report_of_a_capture_is_repeated_with_the_capture() -> None:
    said = report()
    result = {key: value for key, value in said.result.items() if key != "prompts"} | {"capture": {"sha256": "c" * 64}}
    assert "--capture YOUR_COPY.safetensors" in card(report=replace(said, result=result))


def test_without_a_repository_there_is_nothing_to_pull() -> None:
    text = card(repo=None)
    assert "eaglekit pull" not in text
    assert "# EAGLE 3.1 drafter for llama-nvfp4" in text


def test_a_stated_target_is_called_the_publishers_word() -> None:
    assert "the publisher's word" in card()
    assert "the publisher's word" not in card(base_model=replace(TARGET, stated=False))


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("preserved", "The function is the source's"),
        ("rounded to another dtype", "was changed: rounded to another dtype"),
    ],
)
def test_what_conversion_did_to_the_function_is_said(function: str, sentence: str) -> None:
    assert sentence in card(provenance={"function": function})


def test_the_name_of_a_folder_is_not_published() -> None:
    source = {"kind": "local", "path": "/home/me/secret", "label": "secret", "digest": "sha256:00"}
    assert "secret" not in card(provenance={"source": source})


def test_warnings_and_notes_of_the_report_stand_in_the_card() -> None:
    note = Finding("texts-few", "measured on 4 texts", place="texts")
    assert "- Measured on 4 texts (texts-few)." in card(report=report().with_findings([note]))


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_is_shown_as_text(value: str) -> None:
    said = report()
    finding = Finding("texts-few", f"of {value} only", place="texts")
    chart = next(chart for chart in said.charts if chart.name == "acceptance-by-category")
    series = replace(chart.series[0], x=(value, *chart.series[0].x[1:]))
    charts = (replace(chart, series=(series,)),)
    recipe = replace(VLLM, text="", notes=(value,))
    left = [{"kind": "tensor", "name": value, "why": value}]
    changes = {
        "report": replace(said.with_findings([finding]), charts=charts),
        "recipes": (recipe,),
        "provenance": {"function": value, "from": value, "to": value, "left": left, "tool": {"version": value}},
        "has_figure": False,
    }
    text = card(**changes)
    page, plain = rendered(text), rendered(card(has_figure=False))
    for tag in ("<script", "<img", "<em>", "<strong>b", "<s>", "<h1>two", 'href="https://evil', 'href="javascript'):
        assert tag not in page.replace("<em>k</em>", "")
    assert page.count("<h1>") == page.count("<!-- eaglekit: end -->") == 1
    assert page.count("<a ") == plain.count("<a ")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert write_card(matter(**changes), text) == text


def test_a_hostile_category_is_still_one_cell() -> None:
    said = report()
    chart = next(chart for chart in said.charts if chart.name == "acceptance-by-category")
    series = replace(chart.series[0], x=("a | `b` | \\| c", *chart.series[0].x[1:]))
    page = rendered(card(report=replace(said, charts=(replace(chart, series=(series,)),)), has_figure=False))
    assert "<td>a | `b` | \\| c</td>" in page
