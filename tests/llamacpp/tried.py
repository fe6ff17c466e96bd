"""Which test here, or which variant of the trained drafter, tries a row of the engine table on llama-server."""

from __future__ import annotations

from collections.abc import Mapping

from eaglekit.engines import Feature

TRIED: Mapping[Feature, str] = {
    Feature.GGUF: "test_the_trained_drafter_as_stored_makes_the_same_rounds_as_in_vllm",
    Feature.UNEXPECTED_TENSOR: "test_tensors_of_eagle_3_1_are_refused_by_the_loader",
    Feature.FC_NORM: "test_tensors_of_eagle_3_1_are_refused_by_the_loader",
    Feature.MISSING_TENSOR: "norm_before_fc without its norm",
    Feature.WIDTH: "four layer ids",
    Feature.TARGET_WIDTH: "no target width",
    Feature.NORM_BEFORE_FC: "norm_before_fc",
    Feature.NORM_BEFORE_RESIDUAL: "norm_before_residual",
    Feature.EMBEDDING: "embedding of its own",
    Feature.HEAD_ABSENT: "head of the target",
    Feature.PRUNED_HEAD: "trained",
    Feature.MAP: "trained",
    Feature.IDS: "embeddings and early blocks",
    Feature.LAST_BOUNDARY: "test_the_output_of_a_llama_target_s_last_block_is_not_what_a_drafter_gets",
}
