"""A folder as it stands before it is published, and the report that belongs to it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.plan.converting import converted as convert

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SOURCE = FIXTURES / "trained" / "llama-eagle3.1"
TARGET = FIXTURES / "trained" / "llama-nvfp4-modelopt"
PROMPTS = FIXTURES / "trained" / "prompts-llama-nvfp4-modelopt.jsonl"
"""The texts of the report, with the digest it names."""
REPORT = FIXTURES / "published" / "report.json"
"""A passing validation report of exactly the folder that `converted` writes."""


def converted(tmp_path: Path) -> Path:
    """A new folder below `tmp_path`: what `eaglekit convert` makes of a trained drafter. It has no report yet."""
    return convert(SOURCE, tmp_path / "llama-eagle3.1", target=TARGET)


def validated(tmp_path: Path) -> Path:
    """The same with its report beside the weights, as `report.json`."""
    folder = converted(tmp_path)
    shutil.copy(REPORT, folder / "report.json")
    return folder
