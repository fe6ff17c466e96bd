"""Pickles made to run something, to exhaust the machine, or to point at bytes that are not theirs."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglekit.checkpoint import open_folder
from eaglekit.checkpoint.torch_archive import PICKLE_LIMIT
from tests.checkpoint.making import folder_of, only, refused


def archive(table: bytes, storages: Mapping[str, bytes] | None = None, order: bytes = b"little") -> bytes:
    """A torch archive around `table`, as torch.save lays it out."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as made:
        made.writestr("archive/data.pkl", table)
        made.writestr("archive/byteorder", order)
        for key, data in (storages or {}).items():
            made.writestr(f"archive/data/{key}", data)
    return stream.getvalue()


def opening(tmp_path: Path, weights: bytes):
    return refused(lambda: open_folder(folder_of(tmp_path, {"pytorch_model.bin": weights})))


class Calling:
    """Pickles as a call of `function` with `arguments`."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.function, self.arguments


def named(module: str, name: str, arguments: bytes = b")") -> bytes:
    """A pickle, written by hand, that calls module.name."""
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + arguments + b"R."


def a_table(*, key: str = "0", count: Any = 4, offset: Any = 0, shape: Any = (2, 2), strides: Any = (2, 1)) -> bytes:
    """A pickle, written by hand, of one F32 tensor `weight` as torch writes it."""
    body = io.BytesIO()
    body.write(b"\x80\x02}X\6\0\0\0weightctorch._utils\n_rebuild_tensor_v2\n((")
    body.write(_plain("storage") + b"ctorch\nFloatStorage\n" + _plain(key) + _plain("cpu") + _plain(count) + b"tQ")
    body.write(_plain(offset) + _plain(shape) + _plain(strides) + b"\x89ccollections\nOrderedDict\n)RtRs.")
    return body.getvalue()


def _plain(value: Any) -> bytes:
    return pickle.dumps(value, protocol=2)[2:-1]


RIGHT = {"0": bytes(16)}


def test_the_table_these_attacks_are_made_from_is_a_right_one(tmp_path):
    opened = open_folder(folder_of(tmp_path, {"pytorch_model.bin": archive(a_table(), {"0": bytes(range(16))})}))
    assert opened.read("weight") == bytes(range(16))


def shell(canary: Path) -> bytes:
    return pickle.dumps({"weight": Calling(os.system, f"touch {canary}")})


def evaluation(canary: Path) -> bytes:
    return pickle.dumps({"weight": Calling(eval, f"open({str(canary)!r}, 'w')")})


def execution_as_a_key(canary: Path) -> bytes:
    return pickle.dumps({Calling(exec, f"open({str(canary)!r}, 'w')"): 1})


def opening_as_state(canary: Path) -> bytes:
    return pickle.dumps({"weight": Calling(open, str(canary), "w")})


HOSTILE = [shell, evaluation, execution_as_a_key, opening_as_state]


@pytest.mark.parametrize("attack", HOSTILE)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_these_attacks_work_against_plain_pickle(tmp_path, attack):
    canary = tmp_path / "canary"
    pickle.loads(attack(canary))  # noqa: S301 - the point of the test
    assert canary.exists()


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_pickle_that_runs_something_is_refused_and_does_not_run(tmp_path, attack):
    canary = tmp_path / "canary"
    finding = only(opening(tmp_path / "drafter", archive(attack(canary))), "pickle-global")
    assert not canary.exists()
    assert finding.got in {"posix.system", "builtins.eval", "builtins.exec", "io.open", "_io.open"}


@pytest.mark.parametrize(
    "name",
    [
        "numpy.core.multiarray._reconstruct", "numpy.dtype", "torch.load", "torch._utils._rebuild_wrapper_subclass",
        "torch._tensor._rebuild_from_type_v2", "torch.storage._load_from_bytes", "builtins.getattr",
        "copyreg.__newobj__", "collections.OrderedDict.fromkeys", "collections.defaultdict", "__main__.GLOBALS",
        "pickle_child.main", "torch.QInt8Storage", "torch.ComplexDoubleStorage", "torch.complex128",
    ],
)  # fmt: skip
def test_everything_but_tensors_is_refused_by_its_dotted_name(tmp_path, name):
    module, _, attribute = name.rpartition(".")
    assert only(opening(tmp_path, archive(named(module, attribute))), "pickle-global").got == name


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x80\x02}", id="cut"),
        pytest.param(b"\x80\x63}.", id="protocol 99"),
        pytest.param(os.urandom(100), id="noise"),
        pytest.param(b"\x80\x02\x82\x01.", id="extension registry"),
        pytest.param(b"\x80\x02" + b"(" * 3_000_000, id="three million marks"),
        pytest.param(b"\x80\x05\x96" + (5 << 30).to_bytes(8, "little") + b"x.", id="an array of five gigabytes"),
        pytest.param(b"\x80\x02)" + b"\x85" * 2_000_000 + b".", id="nested two million deep"),
        pytest.param(b"\x80\x02X\1\0\0\0aQ.", id="a reference that is no storage"),
        pytest.param(named("torch._utils", "_rebuild_tensor_v2"), id="a tensor of nothing"),
        pytest.param(named("torch._utils", "_rebuild_parameter", b"NN\x86"), id="a parameter of nothing"),
        pytest.param(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\1\0\0\0aK\1sb.", id="changing our stand-in"),
        pytest.param(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nN}X\1\0\0\0aK\1s\x86b.", id="its slots"),
        pytest.param(b"\x80\x02}\x5d\x4b\x01s.", id="an unhashable key"),
    ],
)
def test_a_damaged_pickle_is_refused(tmp_path, table):
    assert set(opening(tmp_path, archive(table, RIGHT))) <= {"pickle-malformed", "pickle-not-a-dictionary"}


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(a_table(key="1"), id="a storage that is not there"),
        pytest.param(a_table(key="../data.pkl"), id="a storage that is the pickle"),
        pytest.param(a_table(count=5), id="a storage that is larger than its entry"),
        pytest.param(a_table(count=3), id="a storage that is smaller than its entry"),
        pytest.param(a_table(count=-4), id="a negative storage"),
        pytest.param(a_table(offset=1), id="reaching one element too far"),
        pytest.param(a_table(offset=-1), id="starting before the storage"),
        pytest.param(a_table(offset=1.0), id="a float for an offset"),
        pytest.param(a_table(shape=(2**40, 2**40)), id="more elements than there are bytes"),
        pytest.param(a_table(shape=(-2, -2)), id="negative sizes"),
        pytest.param(a_table(shape=(2,)), id="fewer axes than strides"),
        pytest.param(a_table(shape=(2, 2), strides=(-2, 1)), id="stepping backwards"),
        pytest.param(a_table(shape=(2**40, 1), strides=(0, 1)), id="a terabyte out of sixteen bytes"),
        pytest.param(a_table(shape=(0,), strides=(1,), offset=99), id="nothing, far away"),
        pytest.param(a_table(shape=None), id="no shape"),
        pytest.param(a_table(shape=(True, 2)), id="true for a size"),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(tmp_path, table):
    assert "'weight'" in only(opening(tmp_path, archive(table, RIGHT)), "pickle-storage").message


@pytest.mark.parametrize(
    ("value", "code"),
    [
        pytest.param([1], "pickle-not-a-dictionary", id="a list"),
        pytest.param({"step": 3}, "pickle-value", id="a counter"),
        pytest.param({3: None}, "pickle-value", id="a key that is a number"),
        pytest.param({"optimizer": {"lr": 0.1}}, "pickle-value", id="settings"),
        pytest.param(OrderedDict(note="text"), "pickle-value", id="text"),
    ],
)
def test_values_that_are_no_tensors_are_refused(tmp_path, value, code):
    only(opening(tmp_path, archive(pickle.dumps(value, protocol=2))), code)


def test_big_endian_bytes_are_refused(tmp_path):
    assert only(opening(tmp_path, archive(a_table(), RIGHT, order=b"big")), "pickle-byte-order").got == "big"


def test_a_file_in_the_format_before_torch_1_6_is_refused(tmp_path):
    only(opening(tmp_path, pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)), "pickle-legacy")


def test_a_compressed_entry_is_refused_without_being_unpacked(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("archive/data.pkl", bytes(100 << 20))
    assert len(stream.getvalue()) < 1 << 20
    assert "compressed" in only(opening(tmp_path, stream.getvalue()), "pickle-compressed").got


def test_an_encrypted_entry_is_refused(tmp_path):
    data = bytearray(archive(a_table(), RIGHT))
    for magic, flags in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        data[data.index(magic) + flags] |= 1
    only(opening(tmp_path, bytes(data)), "pickle-compressed")


def test_an_oversized_table_is_refused(tmp_path):
    only(opening(tmp_path, archive(bytes(PICKLE_LIMIT + 1))), "pickle-too-large")


def test_a_directory_that_disagrees_with_the_entries_is_refused(tmp_path):
    data = bytearray(archive(a_table(), RIGHT))
    at = data.index(b"archive/data/0")
    data[at : at + 14] = b"archive/data/1"
    only(opening(tmp_path, bytes(data)), "pickle-malformed")


def test_an_entry_that_says_it_is_longer_than_the_file_is_refused(tmp_path):
    data = bytearray(archive(a_table(), RIGHT))
    at = data.rindex(b"PK\1\2")
    for field in (20, 24):
        data[at + field : at + field + 4] = (1 << 30).to_bytes(4, "little")
    only(opening(tmp_path, bytes(data)), "pickle-malformed")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_stands_twice_is_refused(tmp_path):
    stream = io.BytesIO(archive(a_table(), RIGHT))
    with zipfile.ZipFile(stream, "a") as made:
        made.writestr("archive/data/0", bytes(16))
    only(opening(tmp_path, stream.getvalue()), "pickle-malformed")


def test_two_tables_in_one_archive_are_refused(tmp_path):
    stream = io.BytesIO(archive(a_table(), RIGHT))
    with zipfile.ZipFile(stream, "a") as made:
        made.writestr("other/data.pkl", a_table())
    only(opening(tmp_path, stream.getvalue()), "pickle-malformed")


def test_a_torchscript_program_is_refused(tmp_path):
    stream = io.BytesIO(archive(a_table(), RIGHT))
    with zipfile.ZipFile(stream, "a") as made:
        made.writestr("archive/code/model.py", "import os")
    assert "TorchScript" in only(opening(tmp_path, stream.getvalue()), "pickle-malformed").message


def test_an_archive_cut_at_its_end_is_refused(tmp_path):
    only(opening(tmp_path, archive(a_table(), RIGHT)[:-30]), "pickle-malformed")


def test_an_archive_of_nothing_is_refused(tmp_path):
    stream = io.BytesIO()
    zipfile.ZipFile(stream, "w").close()
    only(opening(tmp_path, stream.getvalue()), "pickle-malformed")


def test_the_reading_process_sees_no_tokens(tmp_path, monkeypatch):
    from eaglekit.checkpoint import pickle_table

    spy = tmp_path / "spy.py"
    spy.write_text("import json, os\nprint(json.dumps({'refused': [['pickle-malformed', ' '.join(os.environ)]]}))\n")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setattr(pickle_table.pickle_child, "__file__", str(spy))
    assert "HF_TOKEN" not in only(opening(tmp_path / "drafter", archive(a_table(), RIGHT)), "pickle-malformed").got


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("raise SystemExit(3)", id="an error status"),
        pytest.param("import os; os.abort()", id="a crash"),
        pytest.param("print('no json')", id="no JSON"),
        pytest.param("print('[]')", id="no object"),
        pytest.param('print(\'{"tensors": [["a", [], "0", "F32", 4, 0, [4], [1]]]}\')', id="a list for a dtype"),
        pytest.param("print('{\"tensors\": [[1]]}')", id="half a row"),
        pytest.param('print(\'{"refused": [["made-up", "x"]]}\')', id="a made-up code"),
    ],
)
def test_a_reading_process_taken_over_by_its_input_is_not_believed(tmp_path, monkeypatch, answer):
    from eaglekit.checkpoint import pickle_table

    (tmp_path / "child.py").write_text(answer)
    monkeypatch.setattr(pickle_table.pickle_child, "__file__", str(tmp_path / "child.py"))
    only(opening(tmp_path / "drafter", archive(a_table(), RIGHT)), "pickle-malformed")


WITHOUT_A_LIMIT = """
import resource, runpy, sys
sys.platform, limit = {platform!r}, resource.setrlimit

def refusing(which, limits):
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    limit(which, limits)

resource.setrlimit = refusing
runpy.run_path({child!r}, run_name="__main__")
"""
"""The reading process on a system that refuses the limit on memory, as macOS does."""


def on_a_system_without_a_limit(platform, tmp_path, monkeypatch):
    from eaglekit.checkpoint import pickle_table

    code = WITHOUT_A_LIMIT.format(platform=platform, child=pickle_table.pickle_child.__file__)
    (tmp_path / "child.py").write_text(code)
    monkeypatch.setattr(pickle_table.pickle_child, "__file__", str(tmp_path / "child.py"))


def test_on_macos_a_pickle_is_read_though_the_system_refuses_the_limit_on_memory(tmp_path, monkeypatch):
    on_a_system_without_a_limit("darwin", tmp_path, monkeypatch)
    opened = open_folder(folder_of(tmp_path / "drafter", {"pytorch_model.bin": archive(a_table(), RIGHT)}))
    assert opened.tensors


def test_elsewhere_no_pickle_is_read_without_the_limit_on_memory(tmp_path, monkeypatch):
    on_a_system_without_a_limit("linux", tmp_path, monkeypatch)
    only(opening(tmp_path / "drafter", archive(a_table(), RIGHT)), "pickle-malformed")
