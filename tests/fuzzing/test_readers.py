"""Every reader fed with broken files: in CI a few thousand of them; the long runs are told in docs/hardening.md."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from eaglekit.report import Refusal
from tests.fuzzing.readers import READERS

CRASHES = Path(__file__).parent / "crashes"
TURNS = {"config": 150, "plan": 100, "report": 150}
"""Slower readers get fewer."""
WORDS = (
    b"null",
    b"-1",
    b"1e999",
    b"NaN",
    b'"',
    b"{",
    b"}",
    b"[",
    b"\xff",
    b"\\ud800",
    b"18446744073709551616",
    b"\0",
    b"../",
)


def broken(seed: bytes, chance: random.Random) -> bytes:
    """A file with a few things wrong."""
    data = bytearray(seed)
    for _ in range(chance.randrange(1, 6)):
        place = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0:
                data[place:place] = chance.choice(WORDS)
            case 1:
                del data[place : place + chance.randrange(1, 12)]
            case 2 if place < len(data):
                data[place] = chance.randrange(256)
            case 3:
                other = chance.randrange(len(data) + 1)
                data[place:place] = data[other : other + chance.randrange(1, 40)]
            case _:
                word = chance.choice(WORDS)
                data[place : place + len(word)] = word
    return bytes(data)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_reads_what_it_begins_from(name: str) -> None:
    read = 0
    for seed in READERS[name].seeds():
        with suppress(Refusal):
            READERS[name].run(seed)
            read += 1
    assert read


@pytest.mark.parametrize("name", READERS)
def test_a_broken_file_is_read_or_refused(name: str) -> None:
    reader, chance = READERS[name], random.Random(name)
    seeds, refused = list(reader.seeds()), 0
    # What once broke it comes first.
    files = [path.read_bytes() for path in sorted((CRASHES / name.replace(" ", "-")).glob("*"))]
    files += [broken(chance.choice(seeds), chance) for _ in range(TURNS.get(name, 1500))]
    for file in files:
        try:
            reader.run(file)
        except Refusal:
            refused += 1
    assert refused
