"""GGUF through the command line: a file is opened by its name, written, compared, and served with a printed command."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import eaglekit

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FILE = FIXTURES / "llamacpp" / "drafter.gguf"
DRAFTER, TARGET = FIXTURES / "trained" / "llama-eagle3", FIXTURES / "trained" / "llama"


def test_a_gguf_file_is_inspected_by_its_name() -> None:
    done = eaglekit("inspect", FILE, "--json")
    assert (done.code, done.document["facts"]["dialect"]["value"]) == (0, "gguf")
    verdicts = {row["engine"]: row["verdict"] for row in done.document["tables"]["engines"]}
    assert [name for name, verdict in verdicts.items() if verdict != "rejects"] == ["llama.cpp"]


def test_a_drafter_there_and_back_is_the_same(tmp_path: Path) -> None:
    assert eaglekit("convert", DRAFTER, tmp_path / "gguf", "--to", "gguf", "--for", "llama.cpp").code == 0
    assert eaglekit("convert", tmp_path / "gguf" / "drafter.gguf", tmp_path / "back", "--target", TARGET).code == 0
    assert eaglekit("diff", DRAFTER, tmp_path / "back").code == 0


def test_a_drafter_of_eagle_3_1_is_refused_with_all_that_gguf_cannot_say(tmp_path: Path) -> None:
    done = eaglekit("convert", FIXTURES / "trained" / "llama-eagle3.1", tmp_path / "gguf", "--to", "gguf", "--json")
    said = [finding["message"] for finding in done.document["findings"] if finding["severity"] == "error"]
    assert done.code == 1
    assert [word for word in ("fc_norm", "norm_output") if any(word in text for text in said)] == [
        "fc_norm",
        "norm_output",
    ]
    assert not (tmp_path / "gguf").exists()


def test_the_command_for_llama_cpp_names_both_files(tmp_path: Path) -> None:
    done = eaglekit("recipe", FILE, "--target", TARGET, "--engine", "llama.cpp")
    assert done.code == 0
    assert f"--spec-draft-model {FILE}" in done.out
