"""What is told as evidence for a dialect is what the file has."""

from __future__ import annotations

from pathlib import Path

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.clues import told
from eaglekit.dialects.dialect import Clue

TRAINED = Path(__file__).parents[2] / "fixtures" / "trained" / "llama-eagle3"


def test_of_several_values_that_count_only_the_one_that_is_there_is_told() -> None:
    clue = Clue("value", "architectures", ("PeagleLlamaForCausalLM", "LlamaForCausalLMEagle3"))
    assert told(clue, open_folder(TRAINED)) == "config architectures is LlamaForCausalLMEagle3"


def test_other_clues_are_told_as_they_stand_in_the_table() -> None:
    clue = Clue("tensor", "layers.0.*")
    assert told(clue, open_folder(TRAINED)) == str(clue)
