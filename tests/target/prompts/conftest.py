"""A tokenizer of thirteen words for every test here."""

from __future__ import annotations

import pytest

from eaglekit.target.prompts import load_tokenizer
from eaglekit.target.prompts.tokenizer import Tokenizer
from tests.target.prompts.making import words_tokenizer


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """One id per word, with a chat template."""
    return load_tokenizer(words_tokenizer(tmp_path_factory.mktemp("words")))
