"""`eaglekit recipe` as a user runs it, and its output as a shell takes it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from eaglekit.cli.recipe import SERVERS
from eaglekit.engines.tables.recipes import PROGRAMS
from tests.cli.running import CHECKPOINTS, eaglekit

TRAINED = CHECKPOINTS.parent / "trained"
DRAFTER, TARGET = TRAINED / "llama-eagle3.1", TRAINED / "llama"


def run_by_a_shell(text: str, folder: Path) -> list[list[str]]:
    """Every program that a shell starts when `text` is pasted, with its words."""
    programs = folder / "programs"
    programs.mkdir()
    for name in ("vllm", "python", "trtllm-serve", "tokenspeed"):
        (programs / name).write_text(f'#!/bin/sh\nprintf "%s\\0" {name} "$@"\nprintf "\\n"\n')
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.defpath}"
    done = subprocess.run(
        ["sh"], input=text, cwd=folder, env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return [line.split("\0")[:-1] for line in done.stdout.splitlines()]


def test_the_choices_of_the_command_line_are_the_servers_of_the_table() -> None:
    assert tuple(PROGRAMS) == SERVERS


def test_the_output_for_one_engine_can_be_pasted(tmp_path: Path) -> None:
    done = eaglekit("recipe", DRAFTER, "--target", TARGET, "--engine", "vllm", "--draft-tokens", 5)
    assert done.code == 0
    [words] = run_by_a_shell(done.out, tmp_path)
    assert words[:4] == ["vllm", "serve", str(TARGET), "--speculative-config"]
    assert json.loads(words[4]) == {"method": "eagle3", "model": str(DRAFTER), "num_speculative_tokens": 5}


def test_the_output_for_every_engine_can_be_pasted_too(tmp_path: Path) -> None:
    done = eaglekit("recipe", DRAFTER, "--target", TARGET)
    assert [words[0] for words in run_by_a_shell(done.out, tmp_path)] == [
        "vllm", "python", "trtllm-serve", "tokenspeed",
    ]  # fmt: skip


def test_the_minimum_version_stands_over_the_command() -> None:
    out = eaglekit("recipe", DRAFTER, "--target", TARGET).out
    assert "# vLLM, 0.22.0 or newer: reads\n" in out
    assert "# tokenspeed, sources of August 2026 or later: reads\n" in out


def test_an_embedding_that_the_target_shows_to_be_a_copy_is_no_remark() -> None:
    assert "embedding" not in eaglekit("recipe", DRAFTER, "--target", TARGET).out
    assert "embedding" in eaglekit("recipe", DRAFTER, "--set", "target_name=org/target", "--engine", "sglang").out


def test_what_is_said_fits_the_width_and_every_line_of_it_is_a_comment(tmp_path: Path) -> None:
    done = eaglekit(
        "recipe",
        DRAFTER,
        "--set",
        "target_name=org/target",
        "--target-family",
        "llama",
        "--engine",
        "sglang",
        environment={"COLUMNS": "80"},
    )
    said = [line for line in done.out.splitlines() if line.startswith("#")]
    assert len(said) > 4
    assert max(map(len, said)) <= 80
    assert [words[0] for words in run_by_a_shell(done.out, tmp_path)] == ["python"]


def test_the_id_it_will_be_published_under_takes_the_place_of_the_folder(tmp_path: Path) -> None:
    done = eaglekit("recipe", DRAFTER, "--target", TARGET, "--engine", "vllm", "--as", "me/drafter@v1")
    [words] = run_by_a_shell(done.out, tmp_path)
    assert (json.loads(words[4])["model"], json.loads(words[4])["revision"]) == ("me/drafter", "v1")
    assert str(DRAFTER) not in done.out


def test_an_id_that_the_hub_cannot_have_is_refused() -> None:
    done = eaglekit("recipe", DRAFTER, "--target", TARGET, "--as", "./drafter", "--json")
    assert (done.code, done.codes) == (1, ["hub-id-invalid"])


def test_the_target_that_the_file_names_is_used(tmp_path: Path) -> None:
    done = eaglekit("recipe", CHECKPOINTS / "speculators-peagle", "--engine", "vllm")
    [words] = run_by_a_shell(done.out, tmp_path)
    assert words[2] == "example/target-small-llama"
    assert json.loads(words[4])["parallel_drafting"] is True


def test_without_a_target_there_is_no_command_and_the_option_is_named() -> None:
    done = eaglekit("recipe", DRAFTER, "--json")
    assert done.code == 1
    [finding] = [finding for finding in done.document["findings"] if finding["severity"] == "error"]
    assert finding["code"] == "recipe-target-unknown"
    assert "--target" in finding["hint"]


def test_a_name_alone_can_be_given_for_the_target() -> None:
    done = eaglekit("recipe", DRAFTER, "--engine", "vllm", "--set", "target_name=org/target")
    assert done.code == 0
    assert "vllm serve org/target" in done.out


def test_an_engine_that_was_named_and_misreads_the_file_ends_with_1_and_without_a_command(tmp_path: Path) -> None:
    done = eaglekit("recipe", CHECKPOINTS / "speculators-peagle", "--engine", "sglang")
    assert done.code == 1
    assert run_by_a_shell(done.out, tmp_path) == []
    assert done.out.startswith("# SGLang, no command: rejects\n# SGLang knows no speculators config")
    assert "recipe-withheld" in done.err


def test_engines_that_were_not_named_may_have_no_command() -> None:
    done = eaglekit("recipe", CHECKPOINTS / "speculators-peagle", "--json")
    assert done.code == 0
    given = {entry["engine"]: bool(entry["text"]) for entry in done.document["result"]["recipes"]}
    assert given == {"vllm": True, "sglang": False, "trtllm": False, "tokenspeed": False, "llama.cpp": False}
    assert "recipe-withheld" not in done.codes


def test_the_document_says_what_the_text_says() -> None:
    arguments = ("recipe", DRAFTER, "--target", TARGET)
    document = eaglekit(*arguments, "--json").document
    [vllm] = [entry for entry in document["result"]["recipes"] if entry["engine"] == "vllm"]
    assert (vllm["title"], vllm["minimum"], vllm["verdict"], vllm["language"]) == ("vLLM", "0.22.0", "reads", "bash")
    assert vllm["text"] in eaglekit(*arguments).out
    assert [row["engine"] for row in document["tables"]["recipes"]] == list(SERVERS)


def test_a_target_that_does_not_fit_is_refused() -> None:
    done = eaglekit("recipe", DRAFTER, "--target", CHECKPOINTS / "target-gpt-oss-like", "--json")
    assert done.code == 1
    assert "target-size" in done.codes


def test_a_drafter_with_an_open_question_gets_no_command() -> None:
    done = eaglekit("recipe", CHECKPOINTS / "angelslim-qwen3", "--set", "target_name=org/target", "--json")
    assert done.code == 1
    assert "aux-layers-absent" in done.codes


@pytest.mark.parametrize("name", ["it's a drafter", "$(touch pwned)", "a; touch pwned #", "-rf"])
def test_a_folder_with_a_hostile_name_comes_out_whole_and_inert(name: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / name).symlink_to(DRAFTER, target_is_directory=True)
    done = eaglekit("recipe", "--target", TARGET, "--engine", "vllm", "--", name, cwd=work)
    [words] = run_by_a_shell(done.out, work)
    assert json.loads(words[4])["model"] == (f"./{name}" if name.startswith("-") else name)
    assert sorted(path.name for path in work.iterdir()) == sorted([name, "programs"])


def test_a_line_break_in_a_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a\ntouch pwned").symlink_to(DRAFTER, target_is_directory=True)
    done = eaglekit("recipe", tmp_path / "a\ntouch pwned", "--target", TARGET)
    assert done.code == 1
    assert "recipe-name-unprintable" in done.err
    assert done.out == ""


def test_a_server_that_is_not_known_is_wrong_usage() -> None:
    assert eaglekit("recipe", DRAFTER, "--engine", "atom").code == 2
