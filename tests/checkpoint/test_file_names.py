"""Names that somebody else chose: each rule with names that it alone refuses, and names that none does."""

from __future__ import annotations

import pytest

from eaglekit.checkpoint.file_names import one_on_some_disk, unsafe_reason

UNSAFE = {
    "is no file name": ["", "a\0b"],
    "is no text": ["a\udcff", "\ud800.safetensors"],
    "contains a backslash": ["a\\b", "..\\x", "\\\\server\\share\\x", "C:\\x"],
    "is absolute": ["/etc/passwd", "//server/share/x", "C:x", "c:/x"],
    "climbs out of the folder": ["..", "../x", "a/../../x"],
    "is not written plainly": ["./a", "a//b", "a/", "a/./b"],
    "contains a character that Windows keeps for itself": [
        "config.json:stream",
        "a/b:$DATA",
        "a?",
        "a*",
        "a\nb",
        "\x7f",
    ],
    "ends in a dot or space, which Windows drops": ["a.", "a ", "config.json.", "shards. /a", "..."],
    "is a device on Windows": [
        "con",
        "NUL.safetensors",
        "a/Aux.tar.gz",
        "com1",
        "LPT9.x",
        "COM\u00b9",
        "nul .txt",
        "CONIN$",
    ],
    "is longer than any disk can hold": ["a" * 256, "\u00e9" * 128],
}
SAFE = [
    "model.safetensors",
    "shards/a.safetensors",
    "..a",
    "a..b",
    ".a",
    "a b",
    "console.txt",
    "com10",
    "nul-1",
    "a" * 255,
]


@pytest.mark.parametrize(("reason", "name"), [(reason, name) for reason, names in UNSAFE.items() for name in names])
def test_an_unsafe_name_is_known_as_one(reason: str, name: str) -> None:
    assert unsafe_reason(name) == reason


@pytest.mark.parametrize("name", SAFE)
def test_a_plain_name_is_safe(name: str) -> None:
    assert unsafe_reason(name) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("a.json", "A.json", id="case"),
        pytest.param("\u00e9", "e\u0301", id="accents"),
        pytest.param("\u00c9", "e\u0301", id="case and accents"),
        pytest.param("stra\u00dfe", "STRASSE", id="letters that become two"),
        pytest.param("A/x", "a/X", id="below folders"),
        pytest.param("a", "a/b", id="a file and a folder"),
        pytest.param("A", "a/b/c", id="a file and a folder in another case"),
    ],
)
def test_two_names_of_one_file_are_found(first: str, second: str) -> None:
    assert list(one_on_some_disk([first, second])) == [(first, second)]


def test_names_that_differ_on_every_disk_pass() -> None:
    assert list(one_on_some_disk(["a", "b", "c/a", "c/b", "ab/c", "\u00e9", "e"])) == []
