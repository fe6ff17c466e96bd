"""The text of a published card, written again by whoever verifies it: not a number and not a word may be another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Finished, eaglekit
from tests.hub.published import PROMPTS
from tests.hub.pushes import REPO, WORDS, Pushes
from tests.hub.test_signing import key
from tests.hub.test_verify import verify

pytestmark = pytest.mark.hub_client
AS_IT_WAS = "what its report makes it"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, published_folder: Path) -> Path:
    """A signed release with its figure, as a rehearsal leaves it."""
    place = tmp_path_factory.mktemp("stage")
    words = ("push", published_folder, REPO, *WORDS, "--rehearse", place / "stage", "--sign", key(place).key)
    done = eaglekit(*words)
    assert done.code == 0, done.err
    return place / "stage" / "acme" / "drafter"


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published, tmp_path / "drafter"))


def verified(folder: Path) -> tuple[str, list[str], Finished]:
    """What is told of the card's text, codes about it, and everything."""
    done = verify(folder, "--json")
    codes = [code for code in done.codes if code.startswith("verify-card")]
    return done.document["facts"]["card text"]["value"], codes, done


def edit(folder: Path, change: Callable[[str], str]) -> None:
    card = folder / "README.md"
    before = card.read_bytes().decode()
    assert change(before) != before
    card.write_bytes(change(before).encode())


def test_the_card_of_a_push_is_what_its_report_makes_it(folder: Path) -> None:
    assert verified(folder)[:2] == (AS_IT_WAS, [])


def test_so_is_the_one_of_a_push_whose_target_was_compared(pushes: Pushes, tmp_path: Path) -> None:
    pushes.push("--with-prompts", PROMPTS)
    received = tmp_path / "received"
    pushes.hub.storage.materialise(REPO, pushes.head().oid, received)
    assert "have it, too" in (received / "README.md").read_text(encoding="utf-8")
    assert verified(received)[:2] == (AS_IT_WAS, [])


def test_so_is_the_one_that_the_card_command_writes(published_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(published_folder, tmp_path / "drafter"))
    assert eaglekit("card", folder, *WORDS, "--no-figure", "-o", folder / "README.md").code == 0
    assert verified(folder)[:2] == (AS_IT_WAS, [])


INNOCENT: dict[str, Callable[[str], str]] = {
    "words above and below": lambda text: (
        text.replace("<!-- eaglekit: begin", "By hand.\n\n<!-- eaglekit: begin") + "\nMine.\n"
    ),
    "other line ends": lambda text: text.replace("\n", "\r\n"),
    "a key of one's own": lambda text: text.replace("---\n", "---\nlanguage: en\n", 1),
}


@pytest.mark.parametrize("change", INNOCENT.values(), ids=INNOCENT)
def test_what_people_write_around_it_is_theirs(folder: Path, change: Callable[[str], str]) -> None:
    edit(folder, change)
    assert verified(folder)[:2] == (AS_IT_WAS, [])


EDITED: dict[str, tuple[Callable[[str], str], str, str]] = {
    "a number": (lambda text: text.replace("**3.07**", "**3.97**", 1), "3.97", "3.07"),
    "a sentence": (lambda text: text.replace("**not in a serving engine**", "in vLLM", 1), "in vLLM", "not in a"),
    "a command": (lambda text: text.replace("eaglekit verify acme/", "eaglekit verify evil/", 1), "evil/", "acme/"),
    "a line more": (lambda text: text.replace("## Drift\n", "It is fast.\n\n## Drift\n", 1), "It is fast.", "## Drift"),
    "the end cut off": (
        lambda text: text[: text.index("## What the numbers")] + "<!-- eaglekit: end -->\n", "no more lines",
        "## What the numbers"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "got", "expected"), EDITED.values(), ids=EDITED)
def test_a_line_that_was_edited_is_named(folder: Path, change: Callable[[str], str], got: str, expected: str) -> None:
    edit(folder, change)
    _, codes, done = verified(folder)
    assert (done.code, codes) == (1, ["verify-card-edited"])
    finding = next(finding for finding in done.document["findings"] if finding["code"] == "verify-card-edited")
    number = int(finding["place"].removeprefix("README.md: line "))
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert got in finding["got"]
    assert expected in finding["expected"]
    assert finding["got"][:150] in lines[number - 1] or got == "no more lines"


def test_a_card_whose_text_was_taken_out_is_told(folder: Path) -> None:
    edit(folder, lambda text: text[: text.index("<!-- eaglekit: begin")] + "# The fastest drafter\n")
    assert verified(folder)[1] == ["verify-card-edited"]


def test_a_signature_that_the_card_speaks_of_and_that_is_gone_is_told(folder: Path) -> None:
    (folder / "model.sig").unlink()
    assert verified(folder)[1] == ["verify-card-edited"]


def test_what_was_added_after_the_card_is_no_edit(folder: Path) -> None:
    shutil.copy(PROMPTS, folder / "prompts.jsonl")
    assert verified(folder)[:2] == (AS_IT_WAS, [])


NOT_COMPARED: dict[str, tuple[Callable[[str], str], str]] = {
    "another version": (lambda text: text.replace("version: 0.1.0", "version: 0.0.9", 1), "written by eaglekit 0.0.9"),
    "no version": (lambda text: text.replace("version: 0.1.0", "version: [1]", 1), "written by eaglekit"),
    "no word of eaglekit": (lambda text: text.replace("\neaglekit:", "\nothers:", 1), "does not say"),
    "no front matter": (lambda text: text[text.index("<!-- eaglekit") :], "does not say"),
    "a broken front matter": (lambda text: text.replace("license:", "license: &a", 1), "cannot be read"),
    "no target": (lambda text: text.replace("commit: '0", "commit: 'x", 1), "names no target"),
    "no name": (lambda text: text.replace("repo: acme/drafter", "repo: '../x'", 1), "names no repository"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "why"), NOT_COMPARED.values(), ids=NOT_COMPARED)
def test_what_cannot_be_written_again_is_told_as_not_compared(
    folder: Path, change: Callable[[str], str], why: str
) -> None:
    edit(folder, change)
    told, codes, _ = verified(folder)
    assert told.startswith("not compared: ")
    assert why in told
    assert "verify-card-edited" not in codes
