"""Attacks on `capture --engine`: an engine's process that tells what nobody could use, or hands out no file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eaglekit.checkpoint import LocalFolder
from eaglekit.report import Finding, Refusal
from eaglekit.serving.capturing import capture_with
from eaglekit.serving.environment import Environment
from eaglekit.serving.wish import Wish
from eaglekit.target.capturing import Ready, prepare
from eaglekit.target.settings import Settings

TRAINED = Path(__file__).resolve().parents[2] / "fixtures" / "trained"
ENGINE = """#!{python}
import json, os, sys, time
job = json.load(open(sys.argv[2]))
folder = os.path.join(os.path.dirname(sys.argv[2]), "states")
os.mkdir(folder)
text = job["texts"][0]
loaded = dict(kind="loaded", version="0.32.0", torch="2", device="cpu", dtype="float32", quantization=None,
              arguments={{}}, plain_rotation=False, boundaries=None, watched=False, why="")

def tell(news):
    with open(sys.argv[3], "a") as stream:
        stream.write(json.dumps(news) + chr(10))

def states(file="a"):
    tell(loaded)
    tell(dict(kind="states", identity=text["identity"], file=file, argmax=[0] * len(text["tokens"])))
    time.sleep(60)

{lie}
"""


@pytest.fixture(scope="module")
def ready() -> Ready:
    return prepare(LocalFolder(TRAINED / "llama"), TRAINED / "prompts-llama.jsonl", (2, 4, 5), Settings(), limit=2)


@pytest.mark.parametrize(
    ("lie", "code", "words"),
    [
        pytest.param("loaded['device'] = '\\ud800'; states()", "file-unreadable", "", id="half a character"),
        pytest.param("loaded['arguments'] = {'a': float('nan')}; states()", "engine-not-loaded", "cannot be read",
                     id="an argument that is no number"),
        pytest.param("loaded['arguments'] = {'a': '\\ud800'}; states()", "engine-not-loaded", "cannot be read",
                     id="an argument of half a character"),
        pytest.param("states('a\\0')", "engine-broke-off", "is no name of a file", id="a name with a zero"),
        pytest.param("os.mkfifo(folder + '/a'); states()", "file-unreadable", "", id="a pipe"),
        pytest.param("os.symlink('/dev/zero', folder + '/a'); states()", "file-unreadable", "", id="a link"),
        pytest.param("open(folder + '/a', 'w').write('x' * 99); states()", "engine-states-unusable",
                     "'counting-00' holds no states", id="text"),
        pytest.param("tell(dict(kind='failed', during='load', type='E', message='\\ud800 \\x1b[31m', place=''))",
                     "engine-not-loaded", "", id="words that cannot be written"),
    ],
)  # fmt: skip
def test_an_engine_that_lies_is_a_finding_and_leaves_nothing(
    lie: str, code: str, words: str, ready: Ready, tmp_path: Path
) -> None:
    finding = refused(lie, ready, tmp_path)
    assert finding.code == code
    assert words in finding.message
    str(finding).encode()


def refused(lie: str, ready: Ready, folder: Path) -> Finding:
    python = folder / "python"
    python.write_text(ENGINE.format(python=sys.executable, lie=lie))
    python.chmod(0o755)
    (folder / "out").mkdir()
    with pytest.raises(Refusal) as caught:
        capture_with(ready, Wish(Environment(python, "0.32.0", {})), folder / "out" / "capture")
    assert list((folder / "out").iterdir()) == []
    (finding,) = caught.value.findings
    return finding
