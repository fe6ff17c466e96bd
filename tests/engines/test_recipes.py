"""Commands that serve a drafter: held against the readings, and against a real shell."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read as read_dialect
from eaglekit.engines import ENGINES, Artefact, Verdict, Version, readings
from eaglekit.engines.inspection import artefact_of
from eaglekit.engines.recipes import Recipe, recipes
from eaglekit.engines.tables.recipes import PROGRAMS, REMARKS, WAYS, Place, Setting
from eaglekit.report import Refusal
from tests.engines.drafters import EAGLE31, LLAMA, MLA, made, speculators

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TARGET, DRAFTER = "org/target", "org/drafter"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
HOSTILE = (
    "it's here", 'say "hi"', "$(touch pwned)", "`touch pwned`", "a; touch pwned", "a\\b c", "-rf", "*", "a && b",
    "~root", "$HOME", "a!b", "ünïcode ✓", "EOF", "a'; touch pwned; '", "'", '"', "a#b c", "{a,b}",
)  # fmt: skip


def fixture_artefacts() -> dict[str, Artefact]:
    """Every fixture that is a drafter, as engines meet it."""
    found = {}
    folders = [
        *(FIXTURES / "checkpoints").iterdir(),
        *(FIXTURES / "trained").glob("*-eagle3*"),
        FIXTURES / "llamacpp" / "drafter.gguf",
    ]
    for folder in sorted(folders):
        checkpoint = open_or_none(folder)
        if checkpoint is not None:
            found[folder.name] = checkpoint
    return found


def open_or_none(folder: Path) -> Artefact | None:
    """The fixture with every default; None for one that is refused."""
    try:
        checkpoint = open_folder(folder)
        outcome = read_dialect(checkpoint, Given())
    except Refusal:
        return None
    if outcome.drafter is None:
        return None
    return artefact_of(checkpoint, outcome.drafter.spec, Given())


ARTEFACTS = fixture_artefacts()


def recipe(artefact: Artefact, engine: str, **changes: Any) -> Recipe:
    """The recipe of one engine."""
    wishes: dict[str, Any] = {"drafter": DRAFTER, "target": TARGET, "draft_tokens": 3, **changes}
    (found,) = recipes(artefact, engines=[engine], **wishes)
    return found


def words(text: str, folder: Path) -> list[str]:
    """What a server is given when a real shell runs `text` in `folder`: each program prints its own words."""
    programs = folder.parent / f"{folder.name}-programs"
    programs.mkdir(exist_ok=True)
    for name in ("vllm", "python", "trtllm-serve", "tokenspeed", "llama-server"):
        (programs / name).write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.defpath}"
    done = subprocess.run(
        ["sh", "-c", text], cwd=folder, env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split("\0")[:-1]


def test_the_fixtures_are_many_and_of_every_kind() -> None:
    assert len(ARTEFACTS) > 25
    assert {artefact.spec.parallel_drafting for artefact in ARTEFACTS.values()} == {True, False}
    assert len({artefact.spec.attention for artefact in ARTEFACTS.values()}) == 2


@pytest.mark.parametrize("engine", PROGRAMS)
@pytest.mark.parametrize("name", ARTEFACTS)
def test_a_command_is_given_exactly_where_the_newest_version_reads_the_file(name: str, engine: str) -> None:
    found, newest = recipe(ARTEFACTS[name], engine), readings(ARTEFACTS[name], [engine])[-1]
    fits = newest.verdict in (Verdict.READS, Verdict.DEGRADED) and not newest.unknown
    # A folder that llama.cpp's converter takes is still no file that its server opens.
    fits = fits and (not PROGRAMS[engine].gguf_only or name.endswith(".gguf"))
    assert found.verdict is newest.verdict
    assert (bool(found.text), found.minimum is not None) == (fits, fits)
    assert {effect.text for effect in newest.effects} <= set(found.notes)


@pytest.mark.parametrize("engine", PROGRAMS)
@pytest.mark.parametrize("name", ARTEFACTS)
def test_the_minimum_begins_the_run_of_versions_that_read_the_file(name: str, engine: str) -> None:
    minimum, versions = recipe(ARTEFACTS[name], engine).minimum, ENGINES[engine].versions
    if minimum is None:
        return
    fits = {
        version: any(
            version in reading.span and reading.verdict in (Verdict.READS, Verdict.DEGRADED) and not reading.unknown
            for reading in readings(ARTEFACTS[name], [engine])
        )
        for version in versions
    }
    assert minimum in versions
    assert all(fits[version] for version in versions if version >= minimum)
    older = [version for version in versions if version < minimum]
    # A version that reads the file and knows other options is no part of the run either.
    assert not older or not fits[older[-1]] or options_of(engine, older[-1]) != options_of(engine, minimum)


def options_of(engine: str, version: Version) -> list[str]:
    """What the server of that version can be told."""
    return [way.spelling for way in WAYS if way.engine == engine and version in way.span]


def test_every_engine_gets_a_command_for_some_fixture_and_none_for_another() -> None:
    texts = {engine: [recipe(artefact, engine).text for artefact in ARTEFACTS.values()] for engine in PROGRAMS}
    assert {engine for engine, found in texts.items() if any(found) and not all(found)} == set(PROGRAMS)


def test_vllm_gets_everything_about_the_drafter_as_one_json_object() -> None:
    assert recipe(made(EAGLE31), "vllm").text == (
        "vllm serve org/target \\\n"
        "  --speculative-config "
        '\'{"method": "eagle3", "model": "org/drafter", "num_speculative_tokens": 3}\''
    )


def test_sglang_gets_a_chain_with_one_token_more_than_there_are_steps() -> None:
    text = recipe(made(EAGLE31), "sglang", draft_tokens=5).text
    assert text == (
        "python -m sglang.launch_server \\\n  --model-path org/target \\\n  --speculative-algorithm EAGLE3 \\\n"
        "  --speculative-draft-model-path org/drafter \\\n  --speculative-num-steps 5 \\\n"
        "  --speculative-eagle-topk 1 \\\n  --speculative-num-draft-tokens 6"
    )


def test_tensorrt_llm_is_told_the_layers_that_its_reader_does_not_take_from_the_file(tmp_path: Path) -> None:
    text = recipe(made(EAGLE31), "trtllm").text
    assert words(text, tmp_path) == ["org/target", "--extra_llm_api_options", "eagle3.yaml"]
    assert yaml.safe_load((tmp_path / "eagle3.yaml").read_text()) == {
        "speculative_config": {
            "decoding_type": "Eagle3",
            "speculative_model": "org/drafter",
            "max_draft_len": 3,
            "eagle3_layers_to_capture": [2, 16, 29],
        }
    }


def test_tokenspeed_gets_its_own_flags(tmp_path: Path) -> None:
    found = words(recipe(made(EAGLE31.replacing(own_embedding=False)), "tokenspeed").text, tmp_path)
    assert found == [
        "serve", "org/target", "--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "org/drafter",
        "--speculative-num-steps", "3", "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4",
    ]  # fmt: skip


def opened_by(engine: str) -> Artefact:
    """A drafter that the server of `engine` opens."""
    return ARTEFACTS["drafter.gguf"] if PROGRAMS[engine].gguf_only else made(EAGLE31)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("engine", PROGRAMS)
def test_a_hostile_name_is_one_inert_word(engine: str, name: str, tmp_path: Path) -> None:
    found = recipe(opened_by(engine), engine, drafter=f"/data/{name}", target=name)
    given = words(found.text, tmp_path)
    options = yaml.safe_load((tmp_path / "eagle3.yaml").read_text()) if engine == "trtllm" else {}
    told = [*given, *(json.loads(word)["model"] for word in given if word.startswith('{"method')),
            options.get("speculative_config", {}).get("speculative_model")]  # fmt: skip
    files = ("/drafter.gguf", "/model.gguf") if PROGRAMS[engine].gguf_only else ("", "")
    assert f"/data/{name}{files[0]}" in told
    assert (f"./{name}" if name.startswith("-") else name) + files[1] in told
    assert [path.name for path in tmp_path.iterdir() if path.name != "eagle3.yaml"] == []


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\u202eb", "a\u2028b", "a\udcffb", "a\tb"], ids=ascii)
@pytest.mark.parametrize("which", ["drafter", "target"])
def test_a_name_that_does_not_print_is_refused(which: str, name: str) -> None:
    with pytest.raises(Refusal, match="recipe-name-unprintable") as refused:
        recipe(made(), "vllm", **{which: f"./{name}"})
    assert refused.value.findings[0].got.isprintable()


def test_a_revision_goes_where_the_engine_takes_it() -> None:
    pinned = {"drafter": f"{DRAFTER}@{COMMIT}", "target": f"{TARGET}@v1"}
    assert f'"model": "org/drafter", "revision": "{COMMIT}"' in recipe(made(EAGLE31), "vllm", **pinned).text
    assert "vllm serve org/target \\\n  --revision v1" in recipe(made(EAGLE31), "vllm", **pinned).text
    text = recipe(made(EAGLE31), "sglang", **pinned).text
    assert "--model-path org/target \\\n  --revision v1" in text
    assert f"--speculative-draft-model-revision {COMMIT}" in text


def test_sglang_of_a_time_when_one_revision_held_for_both_is_no_minimum_for_a_pinned_drafter() -> None:
    old = made(config={"draft_vocab_size": LLAMA.draft_vocab_size}, rename={"layers.0.": "midlayer."})
    free, pinned = recipe(old, "sglang"), recipe(old, "sglang", drafter=f"{DRAFTER}@{COMMIT}")
    assert (str(free.minimum), str(pinned.minimum)) == ("0.4.6", "0.5.2")


@pytest.mark.parametrize(("engine", "repos"), [("trtllm", 1), ("tokenspeed", 2)])
def test_a_revision_that_an_engine_cannot_be_told_is_said(engine: str, repos: int) -> None:
    found = recipe(made(EAGLE31), engine, drafter=f"{DRAFTER}@{COMMIT}", target=f"{TARGET}@v1")
    assert COMMIT not in found.text
    assert sum("has no option for the revision of org/" in note for note in found.notes) == repos
    assert ("--revision v1" in found.text) == (engine == "trtllm")


def test_parallel_drafting_is_asked_for_in_vllm_and_runs_nowhere_else() -> None:
    parallel = ARTEFACTS["speculators-peagle"]
    found = recipe(parallel, "vllm")
    assert '"parallel_drafting": true' in found.text
    assert any("V1 runner" in note for note in found.notes)
    assert [recipe(parallel, engine).text for engine in ("sglang", "trtllm", "tokenspeed")] == ["", "", ""]


def test_an_ordinary_drafter_is_not_asked_to_draft_in_parallel() -> None:
    assert "parallel" not in recipe(made(EAGLE31), "vllm").text


def test_an_mla_drafter_of_3_1_needs_the_vllm_that_applies_its_norms() -> None:
    artefact = made(MLA.replacing(fusion_norm=EAGLE31.fusion_norm, feedback=EAGLE31.feedback))
    assert str(recipe(artefact, "vllm").minimum) == "0.23.0"


def test_an_engine_that_rejects_the_file_gets_reasons_and_the_next_command() -> None:
    found = recipe(speculators(), "sglang")
    assert (found.text, found.minimum, found.verdict) == ("", None, Verdict.REJECTS)
    assert found.notes[0] == "SGLang knows no speculators config: it finds no hidden_size at the top level"
    assert found.notes[-1].startswith("`eaglekit convert SRC DST --for sglang` ")


def test_older_versions_that_would_read_a_file_are_named_where_the_newest_does_not() -> None:
    full = LLAMA.replacing(draft_vocab_size=LLAMA.vocab_size, target_ids=tuple(range(LLAMA.vocab_size)))
    found = recipe(made(full, add=["d2t"]), "vllm")
    assert (found.verdict, found.text) == (Verdict.REJECTS, "")
    assert any(note.endswith("reads the file") and "0.29" in note for note in found.notes)


def test_what_is_open_gets_no_command_and_says_so() -> None:
    found = recipe(made(LLAMA.replacing(aux_layers=())), "vllm")
    assert (found.verdict, found.text, found.minimum) == (Verdict.READS, "", None)
    assert found.notes[0].startswith("open: ")
    assert any("--target" in note for note in found.notes)


def test_a_degraded_reading_is_told_beside_its_command() -> None:
    found = recipe(made(EAGLE31.replacing(own_embedding=True)), "sglang")
    assert found.verdict is Verdict.DEGRADED
    assert found.text
    assert found.notes[0].startswith("SGLang uses the target's embedding")


def test_a_replaced_embedding_that_is_a_copy_changes_nothing_and_is_not_told() -> None:
    found = recipe(made(EAGLE31.replacing(own_embedding=True)), "sglang", embedding_is_copy=True)
    assert found.verdict is Verdict.READS
    assert not any("embedding" in note for note in found.notes)


def test_an_engine_that_replaces_an_embedding_known_to_be_trained_gets_no_command() -> None:
    found = recipe(made(EAGLE31.replacing(own_embedding=True)), "sglang", embedding_is_copy=False)
    assert (found.verdict, found.text) == (Verdict.MISREADS, "")
    assert found.notes[0].endswith(", and this drafter trained its own")


@pytest.mark.parametrize(
    ("engine", "spec", "words_of_it"),
    [
        pytest.param("vllm", EAGLE31, "0.22.0 or newer", id="a release"),
        pytest.param(
            "trtllm", EAGLE31, "sources of July 2026 or later (with NVIDIA/TensorRT-LLM#14988)", id="a thread"
        ),
        pytest.param("trtllm", LLAMA, "sources of May 2026 or later", id="the oldest sources that were read"),
        pytest.param("tokenspeed", EAGLE31, "sources of August 2026 or later", id="the only sources that were read"),
    ],
)
def test_the_minimum_is_told_so_that_a_reader_can_act_on_it(engine: str, spec: Any, words_of_it: str) -> None:
    assert recipe(made(spec), engine).since == words_of_it


def test_layers_that_an_argument_cannot_name_are_no_recipe() -> None:
    found = recipe(made(LLAMA.replacing(aux_layers=(0, 17, 30))), "trtllm")
    assert (found.verdict, found.text) == (Verdict.MISREADS, "")


def test_a_folder_is_said_to_be_needed_where_the_server_runs_and_a_hub_id_is_not() -> None:
    assert any("./drafter under this path" in note for note in recipe(made(), "vllm", drafter="./drafter").notes)
    assert not any("under this path" in note for note in recipe(made(), "vllm").notes)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_target_with_more_positions_than_the_drafter_is_remarked(engine: str) -> None:
    artefact = made(LLAMA.replacing(max_position_embeddings=2048))
    said = [any("positions" in note for note in recipe(artefact, engine, target_context=context).notes)
            for context in (None, 2048, 131072)]  # fmt: skip
    assert said == [False, False, True]


def test_without_engines_every_server_is_written_for_in_the_order_of_the_table() -> None:
    found = recipes(made(EAGLE31), drafter=DRAFTER, target=TARGET, draft_tokens=3)
    assert [entry.engine for entry in found] == ["vllm", "sglang", "trtllm", "tokenspeed", "llama.cpp"]


def test_llama_cpp_is_given_the_two_files_and_the_kind_of_drafter() -> None:
    text = recipe(ARTEFACTS["drafter.gguf"], "llama.cpp", drafter="out", target="target.gguf").text
    assert text == (
        "llama-server \\\n  --model target.gguf \\\n  --spec-draft-model out/drafter.gguf \\\n"
        "  --spec-type draft-eagle3 \\\n  --spec-draft-n-max 3"
    )


def test_a_folder_is_converted_before_llama_cpp_serves_it() -> None:
    found = recipe(made(), "llama.cpp")
    assert (found.text, found.verdict) == ("", Verdict.READS)
    assert found.notes[-1].startswith("llama.cpp opens GGUF files only: eaglekit convert SRC DST --to gguf")


@pytest.mark.parametrize("engine", [name for name in PROGRAMS if name != "llama.cpp"])
def test_a_gguf_file_is_for_llama_cpp_only(engine: str) -> None:
    found = recipe(ARTEFACTS["drafter.gguf"], engine)
    assert (found.text, found.verdict) == ("", Verdict.REJECTS)
    assert found.notes[0].endswith("opens no GGUF drafter: the format is llama.cpp's own")


def test_an_engine_that_is_no_known_server_is_refused() -> None:
    with pytest.raises(Refusal, match="no command is known that serves with ATOM"):
        recipe(made(), "atom")


def test_a_name_that_is_no_hub_id_is_refused() -> None:
    with pytest.raises(Refusal, match="hub-id-invalid"):
        recipe(made(), "vllm", target="https://huggingface.co/org/target")


def test_a_recipe_as_json_is_flat_and_complete() -> None:
    document = recipe(made(EAGLE31), "vllm").as_json()
    assert json.loads(json.dumps(document)) == document
    assert list(document) == ["engine", "title", "minimum", "since", "verdict", "language", "text", "notes"]
    assert (document["minimum"], document["verdict"], document["language"]) == ("0.22.0", "reads", "bash")


def test_every_way_and_remark_is_of_a_server_and_has_a_source() -> None:
    assert {way.engine for way in WAYS} == set(PROGRAMS)
    assert all(way.source for way in WAYS)
    assert all(remark.engine in PROGRAMS and remark.source for remark in REMARKS)


@pytest.mark.parametrize("engine", PROGRAMS)
def test_no_version_is_told_a_setting_twice(engine: str) -> None:
    for version in ENGINES[engine].versions:
        told = [way.setting for way in WAYS if way.engine == engine and version in way.span]
        assert len(told) == len(set(told))
    files = PROGRAMS[engine].gguf_only
    places = {Setting.TARGET_FILE, Setting.DRAFTER_FILE} if files else {Setting.TARGET, Setting.DRAFTER}
    assert {*places, Setting.METHOD, Setting.STEPS} <= set(told)


def test_options_have_a_flag_or_a_file_to_stand_in() -> None:
    assert all(PROGRAMS[way.engine].options for way in WAYS if way.place is Place.OPTIONS)


def test_the_minimum_is_a_version_that_can_be_compared() -> None:
    minimum = recipe(made(EAGLE31), "vllm").minimum
    assert minimum is not None
    assert minimum < Version.parse("0.32")
