"""Promises to engines, statements of the user, and what is told when something is open."""

from __future__ import annotations

import json
from pathlib import Path

from eaglekit.cli.options import FACTS
from eaglekit.dialects.given import SETTINGS
from eaglekit.engines.tables import ENGINES
from tests.cli.running import CHECKPOINTS, eaglekit

GPT_OSS, KIMI = CHECKPOINTS / "nvidia-gpt-oss-v3", CHECKPOINTS / "torchspec-kimi-k25-mla"
DRAFTER, TARGET = CHECKPOINTS / "speculators-0.9-llama", CHECKPOINTS / "target-llama"


def test_an_engine_that_was_asked_for_is_not_promised_what_nobody_knows(tmp_path: Path) -> None:
    done = eaglekit("convert", GPT_OSS, tmp_path / "out", "--for", "sglang@0.5.23", "--aux-convention", "output-of",
                    "--target-family", "gpt_oss", "--json")  # fmt: skip
    assert (done.code, set(done.codes)) == (1, {"engine-not-known", "fault-modelopt-norms-twice"})
    [unknown] = [finding for finding in done.document["findings"] if finding["code"] == "engine-not-known"]
    assert "--set target_layers" in unknown["hint"]


def test_what_is_open_can_be_accepted(tmp_path: Path) -> None:
    done = eaglekit("convert", GPT_OSS, tmp_path / "out", "--for", "sglang@0.5.23", "--aux-convention", "output-of",
                    "--target-family", "gpt_oss", "--allow-degraded", "--json")  # fmt: skip
    assert done.code == 0
    assert "engine-not-known" in done.codes


def test_a_verdict_that_stands_on_something_unknown_is_not_called_reading() -> None:
    rows = eaglekit("inspect", CHECKPOINTS / "minimax-m3-like", "--json").document["tables"]["engines"]
    assert {row["verdict"] for row in rows if "not known:" in row["because"]} <= {"not known", "degraded", "misreads",
                                                                                  "rejects"}  # fmt: skip
    assert "not known" in {row["verdict"] for row in rows}


def test_inspect_answers_whether_one_engine_reads_a_file_as_it_is() -> None:
    fine = eaglekit("inspect", DRAFTER, "--for", "vllm@0.32", "--json")
    bad = eaglekit("inspect", DRAFTER, "--for", "sglang@0.5.23", "--json")
    assert (fine.code, bad.code) == (0, 1)
    assert any(finding["place"] == "sglang" for finding in bad.document["findings"])


def test_people_are_shown_the_usual_engines_and_how_many_more_there_are() -> None:
    shown = eaglekit("inspect", DRAFTER).out
    assert f"{len(ENGINES) - 2} more: --all-engines" in shown
    assert "rtp-llm" not in shown
    assert "rtp-llm" in eaglekit("inspect", DRAFTER, "--all-engines").out
    assert "rtp-llm" in eaglekit("inspect", DRAFTER, "--for", "rtp-llm").out


def test_a_trained_embedding_is_not_promised_to_an_engine_that_replaces_it(tmp_path: Path) -> None:
    words = ["convert", KIMI, tmp_path / "out", "--target", CHECKPOINTS / "target-kimi-like", "--embedding", "keep"]
    done = eaglekit(*words, "--for", "sglang@0.5.23", "--json")
    told = ["fault-torchspec-rope-theta", "context-unstated", "engine-embedding-replaced"]
    assert (done.code, done.codes) == (1, told)
    assert eaglekit(*words, "--for", "vllm@0.32", "--json").code == 0


def test_the_users_number_of_positions_outranks_the_targets(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = eaglekit("convert", DRAFTER, out, "--target", TARGET, "--set", "max_position_embeddings=4096")
    assert done.code == 0, done.err
    assert json.loads((out / "config.json").read_text())["max_position_embeddings"] == 4096


def test_a_drop_that_names_nothing_is_a_slip_of_the_pen(tmp_path: Path) -> None:
    done = eaglekit("convert", DRAFTER, tmp_path / "out", "--drop", "nosuch.weight", "--json")
    assert (done.code, done.codes) == (1, ["drop-unknown"])


def test_questions_are_asked_together(tmp_path: Path) -> None:
    done = eaglekit("convert", CHECKPOINTS / "safeailab-llama", tmp_path / "out", "--json")
    assert done.codes == ["aux-layers-absent", "target-family-unknown"]


def test_a_refusal_names_its_subject() -> None:
    assert eaglekit("inspect", CHECKPOINTS / "refuse-target", "--json").document["subject"].endswith("refuse-target")
    assert eaglekit("engines", "vlm", "--json").document["subject"] == "vlm"


def test_a_saved_plan_is_found_from_another_folder_and_shown_as_it_was(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    base = CHECKPOINTS.parent
    assert eaglekit("convert", "checkpoints/speculators-0.9-llama", "-o", plan, cwd=base).code == 0
    done = eaglekit("apply", plan, tmp_path / "out", cwd=tmp_path)
    assert done.code == 0, done.err
    header = next(line for line in done.out.splitlines() if line.startswith("engine"))
    assert header.split() == ["engine", "versions", "verdict", "because"]
    assert str(base) not in (tmp_path / "out/provenance.json").read_text()


def test_a_plan_that_was_edited_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    assert eaglekit("convert", DRAFTER, "-o", plan).code == 0
    document = json.loads(plan.read_text())
    document["config"]["rope_theta"] = 20000.0
    plan.write_text(json.dumps(document))
    done = eaglekit("apply", plan, tmp_path / "out", "--json")
    assert (done.code, done.codes) == (1, ["plan-invalid"])
    assert "changed after it was saved" in done.document["findings"][0]["message"]


def test_diff_says_when_sameness_hangs_on_the_target(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert eaglekit("convert", DRAFTER, out, "--embedding", "drop").code == 0
    alone = eaglekit("diff", DRAFTER, out, "--json")
    assert (alone.code, alone.codes) == (0, ["diff-shared"])
    assert eaglekit("diff", DRAFTER, out, "--target", TARGET, "--json").codes == []


def test_diff_finds_that_the_targets_tensor_is_another(tmp_path: Path) -> None:
    out = tmp_path / "out"
    target = CHECKPOINTS / "target-kimi-like"
    assert eaglekit("convert", KIMI, out, "--target", target, "--embedding", "drop").code == 0
    done = eaglekit("diff", KIMI, out, "--target", target, "--json")
    assert (done.code, done.codes) == (1, ["diff-tensor"])


def test_diff_names_the_file_that_leaves_something_open() -> None:
    done = eaglekit("diff", DRAFTER, CHECKPOINTS / "safeailab-llama", "--json")
    assert done.code == 1
    assert "safeailab-llama" in done.document["findings"][0]["place"]


def test_the_help_lists_every_fact_that_can_be_set() -> None:
    assert FACTS.split() == list(SETTINGS)
