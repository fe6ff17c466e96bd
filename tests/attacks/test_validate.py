"""Attacks on `eaglekit validate`: odd options, texts, captures and baselines give a finding, never another's figure."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from safetensors.torch import load_file, save_file

from eaglekit.checkpoint import open_folder
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.dialects.given import Given
from eaglekit.dialects.target import read_target
from eaglekit.dialects.target_checks import given_with
from eaglekit.report import Report, Severity
from eaglekit.target.capture_file import write_capture
from eaglekit.target.captured import Capture
from eaglekit.target.capturing import capture, prepare
from eaglekit.target.settings import Settings
from eaglekit.validate.check import check
from eaglekit.validate.task import Task
from tests.cases.builders import IDS, Stored
from tests.cli.running import CHECKPOINTS, PROGRAM, eaglekit
from tests.validate import copycat

TEXTS = dict(list(copycat.TEXTS.items())[:3])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Target, drafter, texts and the target's states over them."""
    folder = tmp_path_factory.mktemp("attacked")
    copycat.target().write(folder / "target")
    copycat.drafter().write(folder / "drafter")
    copycat.write_prompts(folder / "prompts.jsonl", TEXTS)
    write_capture(captured(folder), folder / "capture")
    return folder


def captured(folder: Path) -> Capture:
    source = LocalFolder(folder / "target")
    return capture(prepare(source, folder / "prompts.jsonl", copycat.LAYERS, Settings()))


def judge(base: Path, drafter: str = "drafter", *, target: str | None = "target", **changes: Any) -> Report:
    """A validation of the copycat, with something changed."""
    opened = read_target(LocalFolder(base / target)) if target is not None else None
    given = Given(aux_convention="boundary")
    task = Task(open_folder(base / drafter), given_with(given, opened) if opened is not None else given, opened)
    return check(replace(task, **changes))


def errors(report: Report) -> list[str]:
    return [finding.code for finding in report.errors]


def figures(report: Report) -> Mapping[str, float]:
    return {measurement.name: measurement.value for measurement in report.measurements}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--temperature", "nan"], id="a temperature that is no number"),
        pytest.param(["--temperature", "1e-300"], id="a temperature that float32 has not"),
        pytest.param(["--min-acceptance-length", "nan"], id="a gate that nothing is below"),
        pytest.param(["--min-acceptance-length", "4.5"], id="a gate above what three drafts can reach"),
        pytest.param(["--memory-limit", "1GB"], id="a limit on a target that is not run"),
        pytest.param(["--capture", "x", "--activations", "w4a4"], id="rounding what is captured already"),
        pytest.param(["--limit", "1"], id="a part of no texts"),
    ],
)
def test_an_option_that_cannot_be_meant_is_a_usage_error(words: list[str], base: Path) -> None:
    assert eaglekit("validate", base / "drafter", *words, "--json").code == 2


def test_the_page_and_the_report_cannot_be_one_file(base: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    done = eaglekit("validate", base / "drafter", "-o", tmp_path / "a", "--html", tmp_path / "link" / "a", "--json")
    assert (done.code, done.codes) == (1, ["destination-exists"])
    assert not (tmp_path / "a").exists()


def test_a_full_disk_behind_standard_output_is_a_finding() -> None:
    words = [*PROGRAM, "inspect", str(CHECKPOINTS / "speculators-0.9-llama"), "--json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("drafts", [39, 50, 64])
def test_more_drafts_than_a_text_has_tokens_measure_nothing(drafts: int, base: Path) -> None:
    texts = {"short": ("", copycat.repeating("short", 40), 5)}
    prompts = copycat.write_prompts(base / f"short-{drafts}.jsonl", texts)
    report = judge(base, prompts=prompts, draft_tokens=drafts)
    assert errors(report) == ["texts-too-short"]


def test_texts_of_one_token_in_front_leave_nothing_to_compare_with_a_baseline(base: Path) -> None:
    rows = "".join(f'{{"id": "p{n}", "prompt_token_ids": [{n}]}}\n' for n in range(4))
    (base / "first.jsonl").write_text(rows + (base / "prompts.jsonl").read_text())
    report = judge(base, prompts=base / "first.jsonl", baseline=open_folder(base / "drafter"))
    assert errors(report) == []
    assert "drafts equal to the baseline's" not in figures(report)
    assert figures(report)["acceptance length"] == figures(report)["baseline: acceptance length"]


@pytest.mark.parametrize("name", ["²", "007", "٣", "9" * 5000, "$\\frac{", "[red]", "<script>"])
def test_a_category_is_a_name_whatever_it_looks_like(name: str, base: Path, tmp_path: Path) -> None:
    texts = {key: (name, tokens, length) for key, (_, tokens, length) in TEXTS.items()}
    report = judge(base, prompts=copycat.write_prompts(tmp_path / "prompts.jsonl", texts))
    (chart,) = [chart for chart in report.charts if chart.name == "acceptance-by-category"]
    assert chart.series[0].x == (name,)


def test_a_map_far_outside_of_the_target_reads_no_bytes_there(base: Path, tmp_path: Path) -> None:
    folder = copycat.drafter(known=40)
    folder.tensors["d2t"] = Stored("I64", (40,), numpy.full(40, 10**12, "<i8").tobytes())
    report = judge_folder(base, folder.write(tmp_path / "far"))
    assert errors(report) == ["map-out-of-range"]


def judge_folder(base: Path, folder: Path, **changes: Any) -> Report:
    """The same with a drafter of another folder."""
    return judge(base, os.path.relpath(folder, base), **changes)


def test_options_about_the_drafter_do_not_change_its_baseline(base: Path, tmp_path: Path) -> None:
    marked: dict[str, Any] = {
        "num_aux_hidden_states": 3,
        "eagle_config": {IDS: [0, 1, 2], "use_aux_hidden_state": True},
    }
    other = copycat.drafter(ids=(1, 2, 3), **marked).write(tmp_path / "other")
    alone = judge_folder(base, other, prompts=base / "prompts.jsonl")
    given = given_with(Given(aux_layers=copycat.LAYERS), read_target(LocalFolder(base / "target")))
    both = judge(base, prompts=base / "prompts.jsonl", given=given, baseline=open_folder(other))
    assert figures(both)["baseline: acceptance length"] == figures(alone)["acceptance length"]
    assert figures(both)["acceptance length"] > figures(both)["baseline: acceptance length"]


def test_a_baseline_of_another_size_is_computed_on_inputs_of_its_own(base: Path) -> None:
    other = open_folder(CHECKPOINTS / "producer-speculators-0.9-saved-eagle3.1")
    report = judge(base, target=None, baseline=other)
    assert errors(report) == []
    assert "drafts equal to the baseline's" not in figures(report)


def changed_target(base: Path, folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> Path:
    """A copy of the target with other weights."""
    (folder / "target").mkdir()
    (folder / "target/config.json").write_bytes((base / "target/config.json").read_bytes())
    tensors = load_file(base / "target/model.safetensors")
    change(tensors)
    save_file(tensors, folder / "target/model.safetensors")
    return folder / "target"


def test_a_capture_of_another_model_than_the_target_is_refused(base: Path, tmp_path: Path) -> None:
    def another_head(tensors: dict[str, torch.Tensor]) -> None:
        tensors["lm_head.weight"] = tensors["lm_head.weight"].roll(1, 0)

    other = changed_target(base, tmp_path, another_head)
    report = judge(base, target=os.path.relpath(other, base), capture=base / "capture")
    assert errors(report) == ["capture-misfit"]
    assert figures(report) == {}


def test_a_capture_of_another_copy_of_the_target_is_told(base: Path, tmp_path: Path) -> None:
    def another_block(tensors: dict[str, torch.Tensor]) -> None:
        tensors["model.layers.5.input_layernorm.weight"] = torch.ones(64, dtype=torch.bfloat16)

    other = changed_target(base, tmp_path, another_block)
    report = judge(base, target=os.path.relpath(other, base), capture=base / "capture")
    assert "capture-target-differs" in [finding.code for finding in report.of(Severity.WARNING)]
    assert figures(report) == figures(judge(base, capture=base / "capture"))


def test_a_capture_of_a_deeper_target_is_refused(base: Path, tmp_path: Path) -> None:
    write_capture(replace(captured(base), num_layers=36), tmp_path / "deep")
    assert errors(judge(base, capture=tmp_path / "deep")) == ["capture-misfit"]


@pytest.mark.parametrize(("part", "code"), [("states", "output-not-finite"), ("final", "states-not-finite")])
def test_figures_with_numbers_that_overflow_in_one_text_are_not_told(
    part: str, code: str, base: Path, tmp_path: Path
) -> None:
    made = captured(base)
    last = list(made.texts)[-1]
    changed: dict[str, Any] = {part: torch.full_like(getattr(last, part), 3e38)}
    huge = replace(last, **changed)
    # The stage before looks at the first four texts only.
    again = [replace(text, text=replace(text.text, identity=f"again {n}")) for n, text in enumerate(made.texts)]
    write_capture(replace(made, texts=[*again, *made.texts[:-1], huge]), tmp_path / "huge")
    report = judge(base, capture=tmp_path / "huge", min_acceptance_length=1.5)
    assert errors(report) == [code, "acceptance-unmeasured"]
    assert "acceptance length" not in figures(report)
