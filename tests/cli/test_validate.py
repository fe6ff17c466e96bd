"""`eaglekit validate` as a user calls it, on a drafter whose acceptance is known by construction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.cli.running import Finished, eaglekit
from tests.validate import copycat

BOUNDARY = ("--aux-convention", "boundary")
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def validate(*words: object) -> Finished:
    return eaglekit("validate", *words, environment=ONE_THREAD)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Target, drafters and prompts."""
    base = tmp_path_factory.mktemp("copycat")
    copycat.target().write(base / "target")
    copycat.drafter().write(base / "drafter")
    copycat.drafter(ids=(1, 2, 3)).write(base / "off")
    copycat.write_prompts(base / "prompts.jsonl")
    return base


@pytest.fixture(scope="module")
def whole(folders: Path) -> Finished:
    """Everything measured, and written to both files."""
    return validate(
        folders / "drafter", *BOUNDARY, "--target", folders / "target", "--prompts", folders / "prompts.jsonl",
        "--probe-layers", "-o", folders / "report.json", "--html", folders / "report.html",
    )  # fmt: skip


@pytest.fixture(scope="module")
def report(whole: Finished, folders: Path) -> Mapping[str, Any]:
    """The report that was written."""
    assert whole.code == 0, whole.err
    document: Mapping[str, Any] = json.loads((folders / "report.json").read_text())
    return document


def measured(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in report["measurements"]}


def stages(report: Mapping[str, Any]) -> dict[str, str]:
    return {row["stage"]: row["outcome"] for row in report["tables"]["stages"]}


def test_the_acceptance_length_is_the_one_that_counting_by_hand_gives(report: Mapping[str, Any]) -> None:
    rounds = [count for text in copycat.expected(3) for count in text]
    found = measured(report)["acceptance length"]
    assert found["value"] == pytest.approx(1 + sum(rounds) / len(rounds))
    assert found["count"] == len(rounds)
    assert found["low"] < found["value"] < found["high"]


def test_rates_by_position_are_those_counted_by_hand(report: Mapping[str, Any]) -> None:
    rounds = [count for text in copycat.expected(3) for count in text]
    found = measured(report)
    for step in (1, 2, 3):
        rate = sum(count >= step for count in rounds) / len(rounds)
        assert found[f"acceptance rate at draft {step}"]["value"] == pytest.approx(rate)


def test_every_stage_is_told(report: Mapping[str, Any]) -> None:
    assert stages(report) == dict.fromkeys(["structure", "capture", "numbers", "behaviour", "layer probe"], "passed")
    assert report["result"]["stages"] == stages(report)


def test_categories_are_counted_apart(report: Mapping[str, Any]) -> None:
    rows = {row["category"]: row for row in report["tables"]["acceptance-by-category"]}
    assert {name: (row["texts"], row["rounds"]) for name, row in rows.items()} == {
        category: (3, sum(len(rounds) for rounds in copycat.expected(3, {k: v for k, v in copycat.TEXTS.items()
                                                                         if v[0] == category})))
        for category in ("code", "prose")
    }  # fmt: skip


def test_drift_is_told_to_depth_8_though_three_drafts_are_served(report: Mapping[str, Any]) -> None:
    assert [row["depth"] for row in report["tables"]["drift-by-depth"]] == list(range(1, 9))
    assert report["facts"]["state growth over depth"]["value"] == "1.00 x"


def test_drift_tells_in_json_how_both_states_grow(report: Mapping[str, Any]) -> None:
    first = report["tables"]["drift-by-depth"][0]
    assert (first["in over depth 1"], first["out over depth 1"]) == ("1.00 x", "1.00 x")


def test_the_charts_are_there_for_whoever_draws_them(report: Mapping[str, Any]) -> None:
    assert list(report["charts"]) == [
        "acceptance-by-category", "acceptance-by-position", "attention-by-depth", "state-by-depth",
    ]  # fmt: skip


def test_text_that_is_not_the_target_s_own_is_warned_of(report: Mapping[str, Any]) -> None:
    assert "response-not-greedy" in [finding["code"] for finding in report["findings"]]


def test_the_report_is_bound_to_the_bytes_it_judged(report: Mapping[str, Any], folders: Path) -> None:
    result = report["result"]
    for name, bound in result["drafter"]["files"].items():
        assert bound["sha256"] == hashlib.sha256((folders / "drafter" / name).read_bytes()).hexdigest()
    assert result["prompts"]["sha256"] == hashlib.sha256((folders / "prompts.jsonl").read_bytes()).hexdigest()
    assert result["target"]["digest"] == result["arithmetic"]["target"]["digest"]
    assert set(result["tool"]) == {"name", "version", "torch", "transformers", "numpy"}


def test_neither_file_names_a_place_on_this_machine(report: Mapping[str, Any], folders: Path) -> None:
    assert report["subject"] == "drafter"
    for name in ("report.json", "report.html"):
        assert str(folders) not in (folders / name).read_text()
    assert str(folders.parent) not in (folders / "report.json").read_text()


def test_people_see_the_length_with_its_interval_and_every_stage(whole: Finished) -> None:
    line = next(line for line in whole.out.splitlines() if line.startswith("acceptance length  "))
    assert "1.732" in line
    assert "[" in line
    assert "layer probe  passed" in whole.out
    assert "\x1b" not in whole.out


def test_the_same_run_gives_the_same_report(report: Mapping[str, Any], folders: Path, tmp_path: Path) -> None:
    again = validate(
        folders / "drafter", *BOUNDARY, "--target", folders / "target", "--prompts", folders / "prompts.jsonl",
        "--probe-layers", "-o", tmp_path / "again.json",
    )  # fmt: skip
    assert again.code == 0
    assert (tmp_path / "again.json").read_bytes() == (folders / "report.json").read_bytes()


@pytest.fixture(scope="module")
def capture(folders: Path) -> Path:
    """States of the texts in a file."""
    path = folders / "states.safetensors"
    words = ("capture", folders / "target", "--prompts", folders / "prompts.jsonl", "--aux-layers", "2,3,4", "-o", path)
    done = eaglekit(*words, environment=ONE_THREAD)
    assert done.code == 0, done.err
    return path


def test_a_capture_gives_the_figures_that_the_target_gives(
    report: Mapping[str, Any], folders: Path, capture: Path
) -> None:
    words = (folders / "drafter", *BOUNDARY, "--capture", capture, "--target", folders / "target", "--json")
    found = measured(validate(*words).document)
    for name in ("acceptance length", "acceptance length, every slot", "acceptance length, sampled"):
        assert found[name]["value"] == pytest.approx(measured(report)[name]["value"])


def test_a_shared_table_is_asked_for_when_only_a_capture_is_given(folders: Path, capture: Path) -> None:
    done = validate(folders / "drafter", *BOUNDARY, "--capture", capture, "--json")
    assert (done.code, done.codes) == (1, ["shared-part-needed"])
    assert stages(done.document)["behaviour"] == "not run"


def test_a_capture_at_other_layers_is_refused_and_the_right_ones_are_named(folders: Path, capture: Path) -> None:
    done = validate(folders / "off", *BOUNDARY, "--capture", capture, "--target", folders / "target", "--json")
    assert (done.code, done.codes) == (1, ["capture-boundaries"])
    assert done.document["findings"][0]["hint"] == "capture again with --aux-layers 1,2,3"


def test_layers_one_block_off_are_an_error_that_names_the_ones_that_fit(folders: Path) -> None:
    done = validate(
        folders / "off", *BOUNDARY, "--target", folders / "target", "--prompts", folders / "prompts.jsonl",
        "--probe-layers", "--json",
    )  # fmt: skip
    findings = {finding["code"]: finding for finding in done.document["findings"]}
    assert (done.code, set(findings)) == (1, {"acceptance-none", "layers-off", "response-not-greedy", "texts-few"})
    assert findings["layers-off"]["expected"] == "--aux-layers 2,3,4"


def test_layers_in_doubt_are_measured_under_both_readings_and_not_guessed(folders: Path) -> None:
    words = (folders / "drafter", "--target", folders / "target", "--prompts", folders / "prompts.jsonl", "--json")
    done = validate(*words)
    assert (done.code, set(done.codes)) == (1, {"aux-convention-unknown", "layers-probed"})
    assert stages(done.document) == {
        "structure": "failed", "capture": "passed", "numbers": "not run", "behaviour": "not run",
        "layer probe": "failed",
    }  # fmt: skip


def test_a_gate_that_is_not_passed_is_exit_code_1(folders: Path, capture: Path) -> None:
    words = (folders / "drafter", *BOUNDARY, "--capture", capture, "--target", folders / "target")
    assert validate(*words, "--min-acceptance-length", "1.7", "--json").code == 0
    done = validate(*words, "--min-acceptance-length", "1.8", "--json")
    assert (done.code, set(done.codes)) == (1, {"acceptance-below", "response-not-greedy", "texts-few"})


def test_the_last_words_say_the_figure_and_where_the_story_is(folders: Path, capture: Path) -> None:
    words = (folders / "drafter", *BOUNDARY, "--capture", capture, "--target", folders / "target")
    last = validate(*words, "--min-acceptance-length", "1.8").err.splitlines()[-1]
    assert last.startswith("validate found 1 error; acceptance length 1.7")
    assert last.endswith("The story behind one: eaglekit explain acceptance-below")


def test_a_baseline_that_cannot_be_computed_is_said_to_be_it(folders: Path, capture: Path) -> None:
    own = copycat.drafter()
    own.tensors["embed_tokens.weight"] = copycat.f32(numpy.eye(copycat.VOCABULARY, copycat.HIDDEN))
    words = (own.write(folders / "own-embedding"), *BOUNDARY, "--baseline", folders / "drafter", "--capture", capture)
    done = validate(*words, "--json")
    places = {finding["code"]: finding["place"] for finding in done.document["findings"]}
    assert places["shared-part-needed"] == "baseline: embedding"
    assert "the baseline cannot be computed" in [row["about"] for row in done.document["tables"]["stages"]]


def test_a_gate_that_is_not_reached_is_not_passed(folders: Path) -> None:
    words = (folders / "drafter", *BOUNDARY, "--target", folders / "target", "--min-acceptance-length", "1.5", "--json")
    done = validate(*words)
    assert (done.code, done.codes) == (1, ["acceptance-unmeasured"])


def test_the_target_s_own_answers_are_repetitions_which_this_drafter_foresees(folders: Path) -> None:
    done = validate(
        folders / "drafter", *BOUNDARY, "--target", folders / "target", "--prompts", folders / "prompts.jsonl",
        "--generate", "12", "--json",
    )  # fmt: skip
    assert (done.code, done.codes) == (0, ["texts-few"])
    assert measured(done.document)["acceptance length"]["value"] == 4.0


@pytest.fixture(scope="module")
def converted(folders: Path) -> Path:
    """The drafter as EAGLE 3.1."""
    out = folders / "converted"
    done = eaglekit("convert", folders / "drafter", out, *BOUNDARY, "--target", folders / "target")
    assert done.code == 0, done.err
    return out


def test_a_conversion_gives_the_logits_of_its_source_bit_for_bit(folders: Path, converted: Path) -> None:
    words = (converted, "--baseline", folders / "drafter", *BOUNDARY, "--target", folders / "target", "--json")
    done = validate(*words)
    assert done.code == 0, done.out
    facts = done.document["facts"]
    assert facts["function beside the baseline"]["value"] == "the same, byte for byte"
    rows = facts["logits beside the baseline"]["value"]
    assert rows == "376 of 376 rows bit for bit, largest difference 0"


def test_a_conversion_that_was_changed_afterwards_breaks_its_claim(folders: Path, converted: Path) -> None:
    weights = converted / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-3] ^= 1
    weights.chmod(0o644)
    kept = weights.read_bytes()
    weights.write_bytes(data)
    words = (converted, "--baseline", folders / "drafter", *BOUNDARY, "--target", folders / "target", "--json")
    done = validate(*words)
    weights.write_bytes(kept)
    assert (done.code, done.codes) == (1, ["claim-broken"])


def test_two_drafters_are_measured_side_by_side(folders: Path, capture: Path) -> None:
    draft = folders / "reduced"
    if not draft.exists():
        copycat.drafter(known=48).write(draft)
    words = (folders / "drafter", *BOUNDARY, "--baseline", draft, "--capture", capture, "--target", folders / "target")
    done = validate(*words, "--json")
    found = measured(done.document)
    assert set(done.codes) == {"baseline-other", "response-not-greedy", "texts-few"}
    assert found["acceptance length"]["value"] > found["baseline: acceptance length"]["value"] > 1
    assert found["acceptance length, every slot, less the baseline's"]["low"] > 0
    assert "baseline-drift-by-depth" in done.document["tables"]


def test_without_a_target_numbers_are_computed_on_made_up_states_and_it_says_so(folders: Path) -> None:
    done = validate(folders / "drafter", *BOUNDARY, "--json")
    about = {row["stage"]: row["about"] for row in done.document["tables"]["stages"]}
    assert done.code == 0
    assert about["numbers"] == "finite on made-up states, the same every time; a stand-in for the target's embedding"
    assert about["behaviour"].startswith("nothing to measure on")


def test_a_weight_that_is_not_a_number_is_named_and_ends_the_second_stage(folders: Path, tmp_path: Path) -> None:
    draft = copycat.drafter()
    values = draft.tensors["midlayer.mlp.up_proj.weight"].values.copy()
    values[2, 3] = float("nan")
    draft.tensors["midlayer.mlp.up_proj.weight"] = copycat.f32(values)
    words = (draft.write(tmp_path / "broken"), *BOUNDARY, "--target", folders / "target")
    done = validate(*words, "--prompts", folders / "prompts.jsonl", "--json")
    assert (done.code, done.codes) == (1, ["weights-not-finite"])
    assert "midlayer.mlp.up_proj.weight" in done.document["findings"][0]["message"]
    assert stages(done.document)["behaviour"] == "not run"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--prompts", "p.jsonl"], id="prompts without a target"),
        pytest.param(["--prompts", "p.jsonl", "--target", "t", "--capture", "c"], id="prompts and a capture"),
        pytest.param(["--generate", "5"], id="nothing to answer"),
        pytest.param(["--gpu", "--device", "cpu"], id="two devices"),
        pytest.param(["--temperature", "0"], id="no temperature"),
    ],
)
def test_options_that_contradict_each_other_are_usage_errors(words: list[str]) -> None:
    assert eaglekit("validate", "draft", *words).code == 2


def test_a_report_is_never_written_over_and_that_is_said_before_the_work(folders: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken.json"
    taken.write_text("mine")
    done = eaglekit("validate", "nowhere", "-o", taken, "--json")
    assert (done.code, done.codes) == (1, ["destination-exists"])
    assert taken.read_text() == "mine"


def test_a_device_that_is_not_there_is_an_error_and_no_fallback(folders: Path) -> None:
    done = validate(folders / "drafter", *BOUNDARY, "--device", "cuda:77", "--json")
    assert (done.code, done.codes) == (1, ["device-missing"])
