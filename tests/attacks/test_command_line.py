"""Attacks through the command line: what a file or a name holds may refuse, never steer, hang or change in silence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.cli.running import CHECKPOINTS, PROGRAM, eaglekit

SOURCE = CHECKPOINTS / "speculators-0.9-llama"
LAYERS = ("--aux-layers", "2,4,5", "--target-family", "llama")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(SOURCE, tmp_path / "source")
    return tmp_path / "source"


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    assert eaglekit("convert", SOURCE, tmp_path / "ours").code == 0
    return tmp_path / "ours"


def edit(folder: Path, **changes: object) -> Path:
    file = folder / "config.json"
    config = json.loads(file.read_text())
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = config
        for name in parents:
            place = place[name]
        place[last] = value
    file.write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--set", "rms_norm_eps=5"], id="another epsilon"),
        pytest.param(["--set", "norm_output=true"], id="another feedback"),
        pytest.param(["--drop", "embed_tokens.weight"], id="the embedding dropped"),
        pytest.param(["--aux-layers", "1,2,3"], id="other layers"),
    ],
)
def test_an_option_against_what_the_file_states_is_told_and_recorded(words: list[str], tmp_path: Path) -> None:
    done = eaglekit("convert", SOURCE, tmp_path / "out", *words, "--json")
    assert done.code == 0, done.out
    assert "overruled" in done.codes
    function = json.loads((tmp_path / "out/provenance.json").read_text())["function"]
    assert "as the user's options say" in function


def test_an_option_that_only_completes_a_file_is_silent(tmp_path: Path) -> None:
    done = eaglekit("convert", CHECKPOINTS / "safeailab-llama", tmp_path / "out", *LAYERS, "--json")
    assert (done.code, done.codes) == (0, [])


def test_the_map_of_a_reduced_head_cannot_be_dropped(tmp_path: Path) -> None:
    done = eaglekit("convert", SOURCE, tmp_path / "out", "--drop", "d2t", "--json")
    assert done.code == 1
    assert "drop-map" in done.codes


@pytest.mark.parametrize("words", [("--set", "rms_norm_eps=0.5"), ("--set", "rope_theta=777")], ids=" ".join)
def test_an_option_for_a_gap_does_not_hide_a_difference(words: tuple[str, str], tmp_path: Path) -> None:
    first = CHECKPOINTS / "safeailab-llama"
    second = shutil.copytree(first, tmp_path / "second")
    edit(second, rms_norm_eps=1e-6, rope_theta=500000.0)
    done = eaglekit("diff", first, second, *LAYERS, *words, "--json")
    assert done.code == 1
    assert "diff-meaning" in done.codes


@pytest.mark.parametrize("key", ["eagle_aux_hidden_state_layer_ids", "eagle_config__eagle_aux_hidden_state_layer_ids"])
def test_an_edited_list_in_our_own_file_contradicts_its_mark(key: str, ours: Path, tmp_path: Path) -> None:
    edit(ours, **{key: [1, 3, 6]})
    assert eaglekit("inspect", ours, "--json").codes == ["aux-layers-conflict"]
    assert eaglekit("convert", ours, tmp_path / "again").code == 1
    assert eaglekit("diff", SOURCE, ours).code == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rope_scaling", {"rope_type": "linear", "factor": 0}),
        ("rope_scaling", {"rope_type": "linear", "factor": []}),
        ("rope_scaling", {"rope_type": "linear", "factor": True}),
        ("rope_scaling", {"rope_type": "yarn", "factor": -2.0}),
        ("rope_scaling", {"rope_type": "llama3", "factor": 8.0}),
        ("rope_scaling", {"rope_type": ["yarn"], "factor": 2.0}),
        ("rope_theta", 0),
        ("vocab_size", 2**63),
        ("hidden_act", ""),
        ("eaglekit__rotation", []),
        ("layer_types", ["sliding_attention"]),
    ],
    ids=str,
)
def test_a_config_value_that_cannot_be_is_refused_by_name(key: str, value: object, ours: Path) -> None:
    done = eaglekit("inspect", edit(ours, **{key: value}), "--json")
    assert done.code == 1
    assert {"config-wrong-value", "config-unsupported"} & set(done.codes)


@pytest.mark.parametrize(
    "words",
    [
        ("--set", "max_position_embeddings=0"),
        ("--set", f"target_layers={'9' * 40}"),
        ("--set", "target_hidden_size=0"),
        ("--set", "rms_norm_eps=1_0"),
        ("--aux-layers", f"2,4,{'9' * 20}"),
        ("--aux-layers", "٢,٤,٥"),
        ("--max-shard-size", "9" * 400),
        ("--max-shard-size", ""),
        ("--target", "~nosuchuser/x"),
    ],
    ids=" ".join,
)
def test_an_option_value_that_cannot_be_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    done = eaglekit("convert", SOURCE, tmp_path / "out", *words, "--json")
    assert done.code == 1
    assert done.document["findings"]
    assert not (tmp_path / "out").exists()


def test_an_empty_tensor_is_refused_by_name(folder: Path) -> None:
    from eaglekit.checkpoint.layout import Entry, file_order, safetensors_header
    from eaglekit.checkpoint.opening import open_folder

    checkpoint = open_folder(folder)
    contents = {name: checkpoint.read(name) for name in checkpoint.tensors} | {"norm.weight": b""}
    entries = [
        Entry(name, tensor.dtype, (0,) if name == "norm.weight" else tensor.shape)
        for name, tensor in checkpoint.tensors.items()
    ]
    data = b"".join(contents[entry.name] for entry in file_order(entries))
    (folder / "model.safetensors").write_bytes(safetensors_header(entries) + data)
    done = eaglekit("inspect", folder, "--json")
    assert done.code == 1
    assert "tensor-empty" in done.codes


def test_control_characters_of_a_config_do_not_reach_the_terminal(ours: Path) -> None:
    edit(ours, hidden_act="\x1b]52;c;ZXZpbA==\x07\x1b[2J\u202e")
    done = eaglekit("inspect", ours)
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out + done.err)
    assert "\\x1b]52" in done.out


@pytest.mark.parametrize("name", ["o{x}", "o{task.foo}", "o[bold]x"])
def test_a_destination_with_markup_in_its_name_is_only_a_name(name: str, tmp_path: Path) -> None:
    import pty

    leader, follower = pty.openpty()
    done = subprocess.run([*PROGRAM, "convert", str(SOURCE), name], cwd=tmp_path, stdout=subprocess.DEVNULL,
                          stderr=follower, check=False)  # fmt: skip
    os.close(follower)
    os.close(leader)
    assert done.returncode == 0
    assert (tmp_path / name / "model.safetensors").exists()


def test_a_side_file_whose_name_is_no_utf_8_stays_behind(folder: Path, tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(folder) + b"/a\xff"))).write_text("x")
    done = eaglekit("convert", folder, tmp_path / "out", "--json")
    assert done.code == 0
    assert any("a\\xff" in row["name"] or "a\\udcff" in row["name"] for row in done.document["tables"]["plan-left"])


def test_a_long_key_before_many_odd_numbers_costs_no_memory(folder: Path) -> None:
    (folder / "config.json").write_text('{"' + "k" * 300_000 + '": [' + "0," * 20_000 + "0]}")
    code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
sys.argv = ["eaglekit", "inspect", {str(folder)!r}, "--json"]
from eaglekit.cli.main import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert json.loads(done.stdout)["ok"] is False
    assert "system-error" not in done.stdout


def test_a_folder_that_is_cleaned_up_while_it_is_written_never_appears_half(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(SOURCE, source)
    out = tmp_path / "out"
    code = f"""
import shutil, sys
from pathlib import Path
from eaglekit.plan import apply as applying
whole = applying.provenance
def cleaned(*words):
    for staged in Path({str(tmp_path)!r}).glob(".out.eaglekit-*"):
        shutil.rmtree(staged)
    return whole(*words)
applying.provenance = cleaned
sys.argv = ["eaglekit", "convert", {str(source)!r}, {str(out)!r}, "--json"]
from eaglekit.cli.main import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert json.loads(done.stdout)["findings"]
    assert not out.exists()


def test_a_source_written_in_place_with_its_time_set_back_is_noticed(folder: Path, tmp_path: Path) -> None:
    from eaglekit.checkpoint.opening import open_folder

    before = open_folder(folder)
    file = folder / "model.safetensors"
    status = file.stat()
    with file.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"\x01")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert open_folder(folder).fingerprint() != before.fingerprint()


def test_two_runs_to_one_destination_leave_one_whole_folder(tmp_path: Path) -> None:
    codes: list[int] = []
    runs = [
        threading.Thread(target=lambda: codes.append(eaglekit("convert", SOURCE, tmp_path / "out").code))
        for _ in range(3)
    ]
    for run in runs:
        run.start()
        time.sleep(0.01)
    for run in runs:
        run.join()
    assert sorted(codes) == [0, 1, 1]
    assert eaglekit("diff", SOURCE, tmp_path / "out").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_vocabulary_of_billions_is_refused_before_a_mask_of_it_is_made(folder: Path, tmp_path: Path) -> None:
    drafter = shutil.copytree(CHECKPOINTS / "modelopt-hf-llama", tmp_path / "drafter")
    done = eaglekit(
        "convert", edit(drafter, vocab_size=2**31 - 1), tmp_path / "out", *LAYERS, "--to", "specforge", "--json"
    )
    assert done.code == 1
    assert "config-wrong-value" in done.codes


def test_a_family_against_the_target_is_refused(tmp_path: Path) -> None:
    done = eaglekit(
        "convert", SOURCE, tmp_path / "out", "--target", CHECKPOINTS / "target-llama", "--target-family", "deepseek",
        "--json",
    )  # fmt: skip
    assert (done.code, "overruled" in done.codes) == (1, True)


def test_a_family_against_what_the_file_states_is_told(tmp_path: Path) -> None:
    source = CHECKPOINTS / "angelslim-qwen3"
    words = ["--aux-layers", "2,4,5", "--target-family", "deepseek", "--json"]
    done = eaglekit("convert", source, tmp_path / "out", *words)
    assert (done.code, "overruled" in done.codes) == (0, True)


def test_a_target_of_another_family_than_the_file_states_is_refused(ours: Path, tmp_path: Path) -> None:
    edit(ours, eaglekit__target__model_type="deepseek_v3")
    done = eaglekit("convert", ours, tmp_path / "out", "--target", CHECKPOINTS / "target-llama", "--json")
    assert done.code == 1
    assert {"target-size", "aux-layers-conflict"} & set(done.codes)
