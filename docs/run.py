"""Runs the commands on the pages and writes what they print below them; with `--check`, only tells what is stale.

A command stands in a comment, and the block behind it belongs to this script:

    <!-- run: eaglekit inspect fixtures/checkpoints/safeailab-llama -->

`<!-- run exit=1 head=12 tail=3: ... -->` expects that exit code, and shows the first and the last lines only. The
commands of a page run in order in one new folder that holds `fixtures`, so a page can read what it wrote before.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 110
BLOCK = re.compile(
    r"^<!-- run(?P<options>(?: (?:exit|head|tail)=\d+)*): (?P<command>.+?) -->\n(?:\n```console\n.*?^```\n)?",
    re.M | re.S,
)
VARIES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:40000"),
    (
        re.compile(r"\b(?!0{40}\b)[0-9a-f]{40}(?:[0-9a-f]{24})?\b"),
        lambda found: ("0123456789abcdef" * 4)[: len(found[0])],
    ),
)
"""What differs between two runs where everything is right: the port of a rehearsal, and digests that hold versions."""
KEPT = ("LANG", "HOME", "TMPDIR", "OMP_NUM_THREADS", "SYSTEMROOT")


class SurpriseError(Exception):
    """A command that left with another exit code than its page says."""


def pages() -> list[Path]:
    """Every page with a command on it."""
    return [page for page in sorted((ROOT / "docs").rglob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]


def rewritten(text: str, folder: Path) -> str:
    """The page with the blocks as its commands print them now, run in `folder`."""
    program = folder / ".bin" / "eaglekit"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m eaglekit.cli.main "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    environment = {name: os.environ[name] for name in KEPT if name in os.environ} | {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": str(COLUMNS),
        "LC_ALL": "C.UTF-8",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / ".hub"),
        "MPLCONFIGDIR": str(folder / ".matplotlib"),
    }

    def block(found: re.Match[str]) -> str:
        options = {name: int(value) for name, _, value in (word.partition("=") for word in found["options"].split())}
        output = printed(found["command"], folder, environment, options.pop("exit", 0))
        marker = found[0][: found[0].index("-->")] + "-->"
        return f"{marker}\n\n```console\n$ {found['command']}\n{shortened(output, **options)}```\n"

    return BLOCK.sub(block, text)


def printed(command: str, folder: Path, environment: dict[str, str], code: int) -> str:
    """What `command` prints on both streams in `folder`, without what belongs to this machine."""
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != code:
        raise SurpriseError(f"$ {command}\nexpected exit code {code}, got {done.returncode}:\n{done.stdout}")
    text = done.stdout.replace(str(folder.resolve()), "/home/you").replace(str(ROOT), "/home/you")
    for pattern, stand_in in VARIES:
        text = pattern.sub(stand_in, text)
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def shortened(text: str, head: int | None = None, tail: int = 0) -> str:
    """The first `head` and the last `tail` lines, with a mark between them."""
    lines = text.splitlines(keepends=True)
    if head is None and not tail:
        return text
    if len(lines) - (head or 0) - tail < 2:
        return text
    return "".join([*lines[: head or 0], "[...]\n", *lines[len(lines) - tail :]])


def main(words: list[str]) -> int:
    """Rewrite the named pages, or all; with `--check` print what would change, and exit with 1."""
    check = "--check" in words
    stale = 0
    for page in [Path(word).resolve() for word in words if word != "--check"] or pages():
        before = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            try:
                after = rewritten(before, Path(folder))
            except SurpriseError as surprise:
                print(f"{page}: {surprise}", file=sys.stderr)
                return 1
        if after == before:
            continue
        stale += 1
        if check:
            lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(page), "now", lineterm="")
            print("\n".join(lines))
        else:
            page.write_text(after, encoding="utf-8")
            print(page)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
