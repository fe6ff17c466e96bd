"""Codes for the known faults of producers. The finding carries the particulars, this the story."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code(
        "fault-specforge-norm-output", ERROR, "SpecForge's norm_output may not mean EAGLE 3.1",
        "For eight weeks SpecForge used the key norm_output, true by default, for something else: whether the head sees "
        "the normed state. The fed-back state stayed un-normed. Every engine reads the key as EAGLE 3.1's feedback, so "
        "such a file runs step 1 right and every later step wrong.",
        "Say which it is: --set norm_output=false for files trained before #879, true for later ones.",
        ("sgl-project/SpecForge#568", "sgl-project/SpecForge#879"),
    ),
    Code(
        "fault-specforge-unnormed-head", WARNING, "SpecForge's norm_output false may mean an un-normed head",
        "In the same window, and in release 0.2.0, norm_output false meant that the head reads the un-normed state. No "
        "engine computes that.",
        "If it was trained outside the window it is an ordinary drafter.",
        ("sgl-project/SpecForge#568", "sgl-project/SpecForge#879"),
    ),
    Code(
        "fault-modelopt-script-residual", WARNING, "norm_before_residual hard coded by a conversion script",
        "Model-Optimizer's script for vLLM writes norm_before_residual true into every file. Its drafters start layer 0 "
        "from the un-normed state, so vLLM would run another function.",
        "Corrected to false; --set norm_before_residual=true keeps it.",
        ("NVIDIA/Model-Optimizer examples/speculative_decoding/scripts/convert_to_vllm_ckpt.py",),
    ),
    Code(
        "fault-modelopt-script-ids", WARNING, "layer ids lost by a conversion script",
        "The same script drops the layer ids of its source.", "Take them from the export it was made from.",
        ("NVIDIA/Model-Optimizer examples/speculative_decoding/scripts/convert_to_vllm_ckpt.py",),
    ),
    Code(
        "fault-modelopt-norms-twice", NOTE, "Model-Optimizer trains with one norm more than engines apply",
        "In its Hugging Face trainer the decoder layer's own input_layernorm still runs on the hidden state before "
        "hidden_norm does. With a flat input_layernorm nothing changes; with an uneven one the trained function is "
        "another than the served one. Its own module was run on our output to see it.",
        "Nothing in the file can be set right; measure what is accepted.",
        ("NVIDIA/Model-Optimizer modelopt/torch/speculative/plugins/modeling_eagle.py",),
    ),
    Code(
        "fault-rope-theta-ignored", WARNING, "the trainer may have ignored rope_theta",
        "Several trainers build the rotary embedding without a base, so the drafter was trained at 10000 while its config "
        "says another number, which engines believe. AngelSlim does so up to 0.5.0, in plain, linear and dynamic rope, "
        "not in mrope. Which published files are affected is not known, so the value is kept.",
        "Validate with --set rope_theta=10000, and keep the base that gives the better acceptance.",
        ("Tencent/AngelSlim llama_eagle3.py", "SafeAILab/EAGLE traineagle3/cnets.py", ),
    ),
    Code(
        "fault-old-specforge-rope-theta", NOTE, "an old SpecForge may have ignored rope_theta",
        "Until the end of October 2025 SpecForge trained every unscaled drafter at base 10000. Engines believe the config.",
        "Only for drafters trained before: validate with --set rope_theta=10000.",
        ("sgl-project/SpecForge#270",),
    ),
    Code(
        "fault-unsorted-map", NOTE, "the draft vocabulary is in frequency order",
        "Engines take any order. Trainers that select target logits by a mask need ascending ids, and a mask cannot "
        "rebuild this map.",
        "--sort-vocabulary sorts map and head rows together; the function is the same.",
        ("NVIDIA/Model-Optimizer hf_spec_export.py", "NVIDIA-NeMo/Automodel datasets/llm/eagle3.py"),
    ),
    Code(
        "fault-torchspec-pruned-head", WARNING, "TorchSpec's pruning tool takes the wrong head rows",
        "The tool indexes the full head with offsets where token ids are meant, so almost every row belongs to another "
        "token. Nothing in the file shows it; only the unpruned head does.",
        "Compare with the unpruned head, or export again.",
        ("TorchSpec tools/convert_to_hf.py",),
    ),
    Code(
        "fault-torchspec-rope-theta", WARNING, "TorchSpec may have ignored rope_theta",
        "Until August 2026 TorchSpec built the yarn embedding of its latent-attention drafters at base 10000, while its "
        "Kimi config says 50000, which engines believe. A drafter trained so loses acceptance with distance, in every "
        "engine. Both kinds of files say version 0.1.0, so the value is kept.",
        "Validate both readings, the second with --set rope_theta=10000.",
        ("TorchSpec torchspec/models/draft/deepseek_eagle.py",),
    ),
    Code(
        "fault-nemo-mla-scale", WARNING, "an MLA drafter trained without yarn's mscale",
        "Automodel leaves yarn's mscale out of the rotary table and of the softmax scale of its MLA drafters; every "
        "engine applies it, so the drafter would run with sharper attention than it was trained with.",
        "Corrected: mscale and mscale_all_dim are written as 0, which switches both off.",
        ("NVIDIA-NeMo/Automodel draft_deepseek.py",),
    ),
)  # fmt: skip
