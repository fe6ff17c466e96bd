"""K1: a rename, nothing else."""

from __future__ import annotations

import pytest

from tests.cases.builders import Folder, d0, stored_in
from tests.cases.running import BOUNDARY, Written, convert, target


def renamed(tensors, before, after):
    """Tensors with one prefix changed."""
    return {(after + name.removeprefix(before) if name.startswith(before) else name): tensors[name] for name in tensors}


def there(tmp_path, draft: Folder, layout: str) -> Written:
    return convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--to", layout, name=layout)


@pytest.mark.parametrize("layout", ["portable", "vllm", "sglang"])
def test_k1_the_layers_layout_holds_the_15_tensors_byte_for_byte_under_its_own_names(tmp_path, layout):
    draft = d0()
    assert there(tmp_path, draft, layout).tensors == renamed(draft.tensors, "midlayer.", "layers.0.")


@pytest.mark.parametrize("layout", ["portable", "vllm", "sglang"])
def test_k1_and_back_in_specforge_s_layout_the_15_tensors_are_those_of_the_source(tmp_path, layout):
    draft = d0()
    back = convert(tmp_path, there(tmp_path, draft, layout).folder, "--to", "specforge", name="back")
    assert back.tensors == draft.tensors


@pytest.mark.parametrize("layout", ["portable", "vllm", "sglang"])
def test_k1_and_back_in_torchspec_s_layout_only_the_target_s_embedding_is_added(tmp_path, layout):
    draft, model = d0(), target(tmp_path)
    forth = there(tmp_path, draft, layout)
    back = convert(tmp_path, forth.folder, "--to", "torchspec", "--target", model, name="back")
    embedding = stored_in(model)["model.embed_tokens.weight"]
    assert back.tensors == {**draft.tensors, "embed_tokens.weight": embedding}


def test_k1_a_draft_in_the_layers_layout_goes_to_midlayer_and_back(tmp_path):
    draft = d0("layers.0.").config_with(architectures=["LlamaForCausalLMEagle3"], num_aux_hidden_states=3)
    forth = there(tmp_path, draft, "specforge")
    assert forth.tensors == renamed(draft.tensors, "layers.0.", "midlayer.")
    assert convert(tmp_path, forth.folder, "--to", "vllm", name="back").tensors == draft.tensors


@pytest.mark.parametrize("prefix", ["draft_model.", "module.", "module.draft_model."])
def test_k1_no_prefix_of_a_training_wrapper_is_left_over(tmp_path, prefix):
    draft = d0().config_with(architectures=["LlamaForCausalLMEagle3"])
    draft.tensors = {prefix + name: tensor for name, tensor in draft.tensors.items()}
    written = there(tmp_path, draft, "portable").tensors
    assert written == renamed(d0().tensors, "midlayer.", "layers.0.")


def test_k1_nothing_of_the_source_is_called_left_behind(tmp_path):
    assert there(tmp_path, d0(), "portable").left() == {}
