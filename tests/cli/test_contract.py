"""What every command promises: one document with --json, data on stdout, speech on stderr, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import CHECKPOINTS, eaglekit

DRAFTER, TARGET = CHECKPOINTS / "speculators-0.9-llama", CHECKPOINTS / "target-llama"
PROMPTS = CHECKPOINTS.parent / "trained" / "prompts-llama.jsonl"

FINE = [
    pytest.param(["inspect", DRAFTER], id="inspect"),
    pytest.param(["convert", DRAFTER, "--target", TARGET, "--dry-run"], id="convert --dry-run"),
    pytest.param(["convert", DRAFTER, "OUT", "--target", TARGET], id="convert"),
    pytest.param(["diff", DRAFTER, DRAFTER], id="diff"),
    pytest.param(["validate", DRAFTER, "--target", TARGET], id="validate"),
    pytest.param(
        ["bench", DRAFTER, "--target", TARGET, "--prompts", PROMPTS, "--limit", 16, "--concurrency", "1", "--dry-run"],
        id="bench --dry-run",
    ),
    pytest.param(["explain"], id="explain"),
    pytest.param(["explain", "tensor-missing"], id="explain CODE"),
    pytest.param(["engines"], id="engines"),
    pytest.param(["engines", "vllm"], id="engines NAME"),
    pytest.param(["dialects"], id="dialects"),
    pytest.param(["dialects", "portable"], id="dialects NAME"),
]
REFUSED = [
    pytest.param(["inspect", CHECKPOINTS / "refuse-target"], "is-target", id="inspect a target"),
    pytest.param(["inspect", "nowhere"], "folder-missing", id="inspect nothing"),
    pytest.param(
        ["convert", DRAFTER, DRAFTER, "--target", TARGET], "destination-inside-source", id="convert onto itself"
    ),
    pytest.param(["convert", DRAFTER, "OUT", "--to", "nothing"], "dialect-name", id="convert to an unknown dialect"),
    pytest.param(["convert", DRAFTER, "OUT", "--for", "vlm"], "engine-unknown", id="convert for an unknown engine"),
    pytest.param(["convert", DRAFTER, "OUT", "--set", "nonsense=1"], "setting-unknown", id="set an unknown fact"),
    pytest.param(["convert", DRAFTER, "OUT", "--aux-layers", "a,b"], "setting-value", id="layers that are no numbers"),
    pytest.param(["convert", DRAFTER, "OUT", "--max-shard-size", "0"], "shard-size", id="shards of nothing"),
    pytest.param(["apply", "nowhere.json", "OUT"], "", id="apply a plan that is not there"),
    pytest.param(["validate", CHECKPOINTS / "refuse-target"], "is-target", id="validate a target"),
    pytest.param(["explain", "tensor-mising"], "code-unknown", id="explain an unknown code"),
    pytest.param(["engines", "vlm"], "engine-unknown", id="an unknown engine"),
    pytest.param(["dialects", "portabel"], "dialect-name", id="an unknown dialect"),
]
USAGE = [
    pytest.param(["convert", DRAFTER], id="no destination"),
    pytest.param(["convert"], id="no source"),
    pytest.param(["nonsense"], id="no such command"),
    pytest.param(["inspect", DRAFTER, "--nonsense"], id="no such option"),
    pytest.param(["convert", DRAFTER, "OUT", "--dtype", "int4"], id="no such choice"),
    pytest.param(["convert", DRAFTER, "OUT", "--target", TARGET, "--allow-degraded"], id="degraded, for no engine"),
    pytest.param(["convert", DRAFTER, "OUT", "--target", TARGET, "--force-overflow"], id="overflows without a cast"),
]


def placed(words: list[object], folder: Path) -> list[object]:
    return [folder / "out" if word == "OUT" else word for word in words]


@pytest.mark.parametrize("words", FINE)
def test_a_command_that_works_prints_one_document_and_leaves_with_0(words: list[object], tmp_path: Path) -> None:
    done = eaglekit(*placed(words, tmp_path), "--json")
    assert done.code == 0
    assert done.document["ok"] is True
    assert done.document["command"] == words[0]


@pytest.mark.parametrize("words", FINE)
def test_people_get_text_on_stdout_without_colour_codes(words: list[object], tmp_path: Path) -> None:
    done = eaglekit(*placed(words, tmp_path))
    assert done.code == 0
    assert done.out.strip()
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize(("words", "code"), REFUSED)
def test_a_refusal_is_a_document_too_and_leaves_with_1(words: list[object], code: str, tmp_path: Path) -> None:
    done = eaglekit(*placed(words, tmp_path), "--json")
    assert done.code == 1
    assert done.document["ok"] is False
    assert not code or code in done.codes
    assert all(finding.get("hint") for finding in done.document["findings"] if finding["severity"] == "error")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("words", "code"), REFUSED)
def test_a_refusal_is_told_on_stderr_and_leaves_stdout_empty(words: list[object], code: str, tmp_path: Path) -> None:
    done = eaglekit(*placed(words, tmp_path))
    assert done.code == 1
    assert done.out == ""
    assert code in done.err
    assert "eaglekit explain" in done.err


@pytest.mark.parametrize("words", USAGE)
def test_wrong_usage_leaves_with_2(words: list[object], tmp_path: Path) -> None:
    assert eaglekit(*placed(words, tmp_path)).code == 2


@pytest.mark.parametrize("words", USAGE)
def test_wrong_usage_is_a_document_with_json(words: list[object], tmp_path: Path) -> None:
    done = eaglekit(*placed(words, tmp_path), "--json")
    assert (done.code, done.codes) == (2, ["usage"])


@pytest.mark.parametrize(
    ("option", "missing"), [("--allow-degraded", "--for"), ("--force-overflow", "--dtype")], ids=["engine", "cast"]
)
def test_an_option_that_would_do_nothing_names_the_one_it_needs(option: str, missing: str, tmp_path: Path) -> None:
    done = eaglekit("convert", DRAFTER, tmp_path / "out", "--target", TARGET, option)
    assert f"{missing} " in done.err or f"{missing}:" in done.err
    assert not (tmp_path / "out").exists()


def test_a_near_miss_of_a_command_is_named() -> None:
    assert "Did you mean 'convert'" in eaglekit("convrt").err


def test_a_drafter_that_is_not_fine_makes_inspect_leave_with_1_and_still_tell_everything() -> None:
    done = eaglekit("inspect", CHECKPOINTS / "safeailab-llama", "--json")
    assert done.code == 1
    assert done.codes == ["aux-layers-absent"]
    assert done.document["facts"]["hidden_size"]["value"] == 64
    assert done.document["tables"]["engines"]


def test_the_reason_of_a_crash_is_shown_only_when_it_is_asked_for() -> None:
    done = eaglekit("inspect", CHECKPOINTS / "refuse-target", environment={"EAGLEKIT_DEBUG": "1"})
    assert done.code == 1
    assert "Traceback" in done.err


def test_a_reader_that_goes_away_is_no_error_message() -> None:
    import subprocess

    from tests.cli.running import PROGRAM

    writer = subprocess.Popen([*PROGRAM, "explain"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.close()
    assert "Traceback" not in writer.stderr.read()
    writer.stderr.close()
    writer.wait(timeout=30)


@pytest.mark.parametrize(
    "name", ["inspect", "convert", "apply", "diff", "capture", "validate", "bench", "explain", "engines", "dialects"]
)
def test_every_command_has_help_with_examples(name: str) -> None:
    done = eaglekit(name, "-h")
    assert done.code == 0
    assert "Examples:" in done.out
    assert f"eaglekit {name}" in done.out


@pytest.mark.parametrize("words", [["engines", "vlm"], ["dialects", "portabel"]], ids=["engine", "dialect"])
def test_a_name_that_is_an_argument_is_not_said_to_come_from_an_option(words: list[str]) -> None:
    (finding,) = eaglekit(*words, "--json").document["findings"]
    assert finding["place"] == "NAME"


@pytest.mark.parametrize("asked", ["growth", "Growth", "state-grwth"])
def test_a_code_is_found_by_a_word_of_it(asked: str) -> None:
    (finding,) = eaglekit("explain", asked, "--json").document["findings"]
    assert finding["hint"] == "did you mean state-growth?"


def test_a_file_that_is_not_there_is_no_matter_of_permissions(tmp_path: Path) -> None:
    (finding,) = eaglekit("apply", tmp_path / "nowhere.json", tmp_path / "out", "--json").document["findings"]
    assert finding["hint"] == "check the path: nothing of that name is there"
