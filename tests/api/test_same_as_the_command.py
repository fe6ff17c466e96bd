"""A function and the command of its name say the same: one document, word for word, for the same wish."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import eaglekit
from eaglekit.report.json_text import dumps
from tests.cli.running import CHECKPOINTS
from tests.cli.running import eaglekit as run

DRAFTER, TARGET = str(CHECKPOINTS / "speculators-0.9-llama"), str(CHECKPOINTS / "target-llama")
TRAINED = CHECKPOINTS.parent / "trained"
QUANTISED, PROMPTS = TRAINED / "llama-nvfp4-modelopt", TRAINED / "prompts-llama-nvfp4-modelopt.jsonl"
UNCLEAR = str(CHECKPOINTS / "safeailab-llama")


def document(report: eaglekit.Report) -> Any:
    """The document of a report as it comes out of JSON."""
    return json.loads(dumps(report.as_json()))


WISHES = [
    pytest.param(
        ["inspect", DRAFTER, "--target", TARGET, "--for", "vllm@0.32"],
        lambda: eaglekit.inspect(DRAFTER, target=TARGET, engines="vllm@0.32"),
        id="inspect",
    ),
    pytest.param(
        ["inspect", UNCLEAR, "--aux-layers", "2,4,5", "--set", "norm_output=false", "--set", "rope_theta=10000.0"],
        lambda: eaglekit.inspect(
            UNCLEAR, aux_layers=[2, 4, 5], settings={"norm_output": False, "rope_theta": 10000.0}
        ),
        id="inspect, with facts stated",
    ),
    pytest.param(
        ["convert", DRAFTER, "--dry-run", "--target", TARGET, "--to", "vllm", "--embedding", "drop"],
        lambda: eaglekit.plan(DRAFTER, target=TARGET, to="vllm", embedding="drop").report,
        id="convert --dry-run",
    ),
    pytest.param(
        ["diff", *map(str, (TRAINED / "llama-eagle3", TRAINED / "llama-eagle3.1"))],
        lambda: eaglekit.diff(TRAINED / "llama-eagle3", TRAINED / "llama-eagle3.1"),
        id="diff",
    ),
    pytest.param(
        ["recipe", DRAFTER, "--target", TARGET, "--engine", "vllm", "--draft-tokens", "5", "--as", "me/drafter"],
        lambda: eaglekit.recipe(DRAFTER, target=TARGET, engines="vllm", draft_tokens=5, published="me/drafter"),
        id="recipe",
    ),
    pytest.param(
        ["validate", *map(str, (TRAINED / "llama-eagle3.1", "--target", QUANTISED, "--prompts", PROMPTS)),
         "--limit", "2", "--draft-tokens", "2", "--min-acceptance-length", "2.9"],
        lambda: eaglekit.validate(
            TRAINED / "llama-eagle3.1", target=QUANTISED, prompts=PROMPTS, limit=2, draft_tokens=2,
            min_acceptance_length=2.9,
        ),
        id="validate",
    ),
]  # fmt: skip
REFUSED = [
    pytest.param(["inspect", "nowhere"], lambda: eaglekit.inspect("nowhere"), id="inspect nothing"),
    pytest.param(
        ["convert", DRAFTER, "out", "--to", "nothing", "--target", TARGET],
        lambda: eaglekit.convert(DRAFTER, "out", to="nothing", target=TARGET),
        id="convert to nothing known",
    ),
    pytest.param(["apply", "no.json", "out"], lambda: eaglekit.apply("no.json", "out"), id="apply nothing"),
    pytest.param(
        ["validate", TARGET, "--set", "nonsense=1"],
        lambda: eaglekit.validate(TARGET, settings={"nonsense": 1}),
        id="validate with an unknown fact",
    ),
    pytest.param(["verify", DRAFTER], lambda: eaglekit.verify(DRAFTER), id="verify what claims nothing"),
    pytest.param(
        ["recipe", UNCLEAR, "--aux-layers", "default"],
        lambda: eaglekit.recipe(UNCLEAR, aux_layers="default"),
        id="recipe without a target",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("words", "call"), WISHES)
def test_a_report_is_the_one_of_the_command(words: list[str], call: Callable[[], eaglekit.Report]) -> None:
    told = run(*words, "--json", environment={"OMP_NUM_THREADS": "1"}).document
    assert document(call()) == told


@pytest.mark.parametrize(("words", "call"), REFUSED)
def test_a_refusal_carries_the_report_of_the_command(
    words: list[str], call: Callable[[], eaglekit.Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = run(*words, "--json", cwd=tmp_path)
    assert told.code == 1
    with pytest.raises(eaglekit.Refusal) as caught:
        call()
    assert document(caught.value.report) == told.document


def test_converting_writes_the_files_and_the_report_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "command").mkdir()
    (tmp_path / "function").mkdir()
    told = run("convert", DRAFTER, "out", "--target", TARGET, "--dtype", "float32", "--json", cwd=tmp_path / "command")
    monkeypatch.chdir(tmp_path / "function")
    report = eaglekit.convert(DRAFTER, "out", target=TARGET, dtype="float32")
    assert document(report) == told.document
    one, two = (
        {file.name: file.read_bytes() for file in (tmp_path / name / "out").iterdir()}
        for name in ("command", "function")
    )
    assert one == two


def test_a_saved_plan_is_the_one_of_the_command_and_either_side_applies_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("convert", DRAFTER, "--target", TARGET, "-o", "command.json", cwd=tmp_path)
    plan = eaglekit.plan(DRAFTER, target=TARGET)
    eaglekit.save(plan, "function.json")
    assert Path("function.json").read_text() == Path("command.json").read_text()
    told = run("apply", "function.json", "out", "--json", cwd=tmp_path)
    (tmp_path / "out").rename("by-command")
    assert document(eaglekit.apply("command.json", "out")) == told.document


def test_a_plan_writes_what_convert_writes(tmp_path: Path) -> None:
    converted = eaglekit.convert(DRAFTER, tmp_path / "one", target=TARGET)
    applied = eaglekit.apply(eaglekit.plan(DRAFTER, target=TARGET), tmp_path / "two")
    assert applied.result["files"] == converted.result["files"]
    assert {fact.name for fact in applied.facts} == {fact.name for fact in converted.facts}


def test_a_plan_whose_source_has_changed_writes_nothing(tmp_path: Path) -> None:
    source = Path(shutil.copytree(DRAFTER, tmp_path / "source"))
    plan = eaglekit.plan(source, target=TARGET)
    config = source / "config.json"
    config.write_text(config.read_text().replace("8192", "4096"))
    with pytest.raises(eaglekit.Refusal) as caught:
        plan.apply(tmp_path / "out")
    assert [finding.code for finding in caught.value.findings] == ["source-changed"]
    assert not (tmp_path / "out").exists()


def test_a_plan_is_shown_as_its_report() -> None:
    plan = eaglekit.plan(DRAFTER, target=TARGET)
    assert repr(plan) == f"<Plan: {plan.summary()}>"
    assert str(plan) == str(plan.report)
    assert plan._repr_html_() == plan.report._repr_html_()
    assert plan._repr_markdown_() == plan.report._repr_markdown_()


def test_a_path_is_never_taken_for_a_hub_id() -> None:
    with pytest.raises(eaglekit.Refusal) as caught:
        eaglekit.inspect(Path("acme/drafter"))
    assert [finding.code for finding in caught.value.findings] == ["folder-missing"]


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    eaglekit.convert(DRAFTER, tmp_path / "out", target=TARGET)
    assert capfd.readouterr() == ("", "")


def test_progress_is_told_to_whoever_asks(tmp_path: Path) -> None:
    seen: list[tuple[str, int, str]] = []
    done: list[int] = []

    @contextmanager
    def bar(title: str, total: int, unit: str) -> Iterator[Callable[[int], object]]:
        seen.append((title, total, unit))
        yield done.append

    report = eaglekit.convert(DRAFTER, tmp_path / "out", target=TARGET, progress=bar)
    (shown,) = seen
    assert shown[0] == f"write {tmp_path / 'out'}"
    assert shown[2] == "bytes"
    assert sum(done) == shown[1] > 0
    assert report.ok
