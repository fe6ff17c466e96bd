"""Codes raised by the engines room."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

VLLM_LLAMA = "vllm/model_executor/models/llama_eagle3.py"
SGLANG_LLAMA = "sglang/srt/models/llama_eagle3.py"

REQUESTS: tuple[Code, ...] = (
    Code(
        "engine-not-known",
        ERROR,
        "What an engine that was asked for makes of the file is not known",
        "Either the file and the options leave open what decides it (often the target's depth or family), or nobody has "
        "established how this engine treats the case. A promise to an engine needs knowledge.",
        "Say what is open, with --target or --set target_layers; or measure, and say --allow-degraded.",
    ),
    Code(
        "engine-unknown",
        ERROR,
        "No engine has this name",
        "What a checkpoint means depends on who reads it. A misspelt engine taken for 'no wish' would make a file for "
        "another one.",
        "Run `eaglekit engines` for the names; write --for NAME or --for NAME@VERSION.",
    ),
    Code(
        "engine-version-unknown",
        ERROR,
        "Nobody has read what this version does",
        "Engines change how they read a drafter from one release to the next: vLLM 0.28 and 0.29 pick different target "
        "layers from the same file. Judging a release by its neighbour would be a guess, so only releases that were "
        "read are named.",
        "Name the nearest release that is known, or only its line (vllm@0.24), and test on the one you run.",
        ("https://github.com/vllm-project/vllm/pull/42764", "https://github.com/vllm-project/vllm/pull/46488"),
    ),
)

CONFIG: tuple[Code, ...] = (
    Code(
        "engine-class-unregistered",
        WARNING,
        "The engine has no class under this name",
        "Engines look `architectures` up in a registry, vLLM after putting `Eagle3` in front of most names. "
        "`LlamaEagle3DraftModel` and `PEagleDraftModel` die there although their tensors would load, and SGLang knows "
        "two names only.",
        "Convert with --for ENGINE: a name that it registers is written, nothing else changes.",
        ("vllm/model_executor/models/registry.py", "vllm/transformers_utils/configs/eagle.py"),
    ),
    Code(
        "engine-format-unread",
        WARNING,
        "The engine does not understand this kind of config",
        "A speculators config keeps the model's sizes in `transformer_layer_config`. vLLM rebuilds a flat config from "
        "it, for Llama and Qwen3 only; SGLang does not know the format; speculators itself opens no plain folder.",
        "Convert to the layout of that engine: `eaglekit convert DRAFTER OUT --for ENGINE`.",
        ("vllm/transformers_utils/configs/speculators/algos.py",),
    ),
    Code(
        "engine-target-refused",
        WARNING,
        "The engine drafts for other targets",
        "Some engines wrote their EAGLE-3 support for one family and alias its embedding, so hidden size, vocabulary "
        "and dtype must be that family's.",
        "Serve this target with another engine.",
    ),
    Code(
        "engine-latent-attention",
        WARNING,
        "The engine's MLA drafter is narrower than this one",
        "vLLM turns every draft config whose `model_type` is deepseek_v3 or deepseek_v32 into a multi-token prediction "
        "block, and then finds no class `Eagle3DeepSeekMTPModel`; the same file with kimi_k2 or deepseek_v2 serves. "
        "vLLM and SGLang both fuse or multiply two query matrices and cannot load a drafter without `q_lora_rank`.",
        "Convert: model_type is written as an engine reads it. A drafter without `q_lora_rank` can only be trained on.",
        (
            "sglang/srt/models/kimi_k25_eagle3.py",
            "vllm/config/speculative.py",
            "vllm/model_executor/models/deepseek_eagle3.py",
        ),
    ),
    Code(
        "engine-activation-refused",
        WARNING,
        "The engine's MLP knows only silu",
        "A drafter trained for a Gemma target may carry `gelu_pytorch_tanh`. The Llama MLP of vLLM and of SGLang "
        "raises for anything but silu.",
        "Nothing converts an activation: train with silu, or serve without this drafter.",
        ("vllm/model_executor/models/llama.py", "sglang/srt/models/llama.py"),
    ),
)

TENSORS: tuple[Code, ...] = (
    Code(
        "engine-names-unread",
        WARNING,
        "The engine looks for its tensors under other names",
        "SGLang up to 0.5.11 has a module called `midlayer` and finds nothing in `layers.0.*`: the server starts, "
        "every weight of the layer is random, and only the acceptance rate tells. vLLM refuses an outer `model.`.",
        "Convert with --for ENGINE@VERSION: names are changed, bytes are not.",
        (SGLANG_LLAMA, "https://github.com/sgl-project/sglang/pull/24620"),
    ),
    Code(
        "engine-tensor-rejected",
        WARNING,
        "The engine refuses a tensor it did not ask for",
        "vLLM checks that every stored tensor has a parameter. `fc_norm.*` without `fc_norm: true` at the top level of "
        "the config is such a case, and so is a speculators file whose flag the reader does not keep (0.24 and older).",
        "Write the flag where the engine reads it, or use a release that knows the tensor.",
        (VLLM_LLAMA, "https://github.com/vllm-project/vllm/pull/46488"),
    ),
    Code(
        "engine-tensor-dropped",
        WARNING,
        "The engine drops a tensor",
        "Loaders that walk over the file and skip what they do not know lose biases, q/k norms and state norms without "
        "a word. The drafter then runs as another network.",
        "Serve with an engine that has the part; `eaglekit inspect` shows which.",
        (SGLANG_LLAMA, VLLM_LLAMA),
    ),
    Code(
        "engine-tensor-missing",
        WARNING,
        "A parameter stays as it was initialised",
        "vLLM's drafter loader reports nothing back, so the check for unloaded parameters is skipped: a drafter "
        "without `fc.weight` or without a query projection serves, with whatever the memory held. Norms without "
        "tensors stay at ones.",
        "Restore the tensor from the training run; do not serve this file.",
        (VLLM_LLAMA,),
    ),
    Code(
        "engine-depth-wrong",
        WARNING,
        "The engine builds another number of layers than are stored",
        "NeMo saves the target's config beside the drafter, depth included. An engine that believes it builds 32 "
        "layers, loads one and runs 31 random ones. SGLang up to 0.5.11 always builds one.",
        "Convert: num_hidden_layers is written from the stored tensors.",
        (
            "https://github.com/NVIDIA-NeMo/Automodel/pull/2322",
            "https://github.com/vllm-project/vllm/pull/26164",
        ),
    ),
    Code(
        "engine-layer-norm-unread",
        WARNING,
        "The norm of a later layer has another name in this engine",
        "From the second layer on vLLM reads `input_layernorm` and SGLang and TensorRT-LLM read `hidden_norm`. Both "
        "parameters exist in both, so the wrong name loads without a warning and the norm that counts stays at ones.",
        "Convert to `portable`, which stores the norm under both names.",
        (VLLM_LLAMA, SGLANG_LLAMA),
    ),
)

MEANING: tuple[Code, ...] = (
    Code(
        "engine-layers-wrong",
        WARNING,
        "The engine captures other layers than the drafter was trained on",
        "The same key means the input of a block to vLLM and the output of a block to SGLang, and it stands at the top "
        "level for one and inside `eagle_config` for the other. vLLM's V2 runner, the default from 0.29 on, does not "
        "read the nested list at all and takes its default; on CPU, without Triton, for parallel drafting and with "
        "VLLM_USE_V2_MODEL_RUNNER=0 it falls back to the V1 runner, which reads the list. Text stays right; acceptance "
        "falls, sometimes by a tenth of a token and sometimes to nothing.",
        "Convert with --for ENGINE@VERSION: ids are written at the level and in the convention it reads. Both runners "
        "of vLLM read the list at the top level.",
        (
            "https://github.com/sgl-project/sglang/pull/25454",
            "https://github.com/vllm-project/vllm/issues/43671",
            "https://github.com/ggml-org/llama.cpp/pull/27040",
            "vllm/config/vllm.py",
        ),
    ),
    Code(
        "engine-layers-uncapturable",
        WARNING,
        "The engine cannot capture one of the states",
        "Capture sits at the entry of a block in most engines, so the output of the last block has no place; some "
        "targets have an exit of their own, others do not. The drafter then gets fewer states than fc reads.",
        "Serve with an engine or release that captures it (vLLM from 0.25 for DeepSeek, SGLang from 0.5.17 for "
        "gpt-oss), or train on earlier layers.",
        ("https://github.com/vllm-project/vllm/issues/46788", "https://github.com/sgl-project/sglang/pull/32334"),
    ),
    Code(
        "engine-layers-argument",
        WARNING,
        "The engine takes the layers from an argument",
        "TensorRT-LLM reads no layer ids from the drafter's config: `eagle3_layers_to_capture` names them, and without "
        "it the usual early, middle and late layers are captured.",
        "Start the server with the argument that `eaglekit recipe` prints.",
        ("tensorrt_llm/_torch/models/modeling_speculative.py",),
    ),
    Code(
        "engine-width-wrong",
        WARNING,
        "The engine builds fc for another width",
        "vLLM's Llama and MLA classes count captured states by `num_aux_hidden_states` or by the nested ids and never "
        "by the top-level ids; older releases know three states only. The stored fc then does not fit.",
        "Convert: num_aux_hidden_states is written. Use a release that knows other numbers than three.",
        ("https://github.com/vllm-project/vllm/pull/42764", "https://github.com/sgl-project/sglang/pull/24663"),
    ),
    Code(
        "engine-final-state",
        WARNING,
        "The engine feeds the drafter something else than it reads",
        "A drafter with use_aux_hidden_state false reads the target's final state and has no fc. vLLM's V2 runner "
        "always asks for captured states. ATOM takes an `eagle_config` that does not mention the flag for false.",
        "Write the flag explicitly (conversion does), and serve final-state drafters on vLLM's V1 runner or SGLang.",
        ("vllm/v1/worker/gpu/spec_decode/eagle/eagle3_utils.py", "https://github.com/sgl-project/sglang/pull/14920"),
    ),
    Code(
        "engine-switch-ignored",
        WARNING,
        "The engine does not do what a switch says",
        "A switch without a tensor leaves no trace when an engine does not know it: `norm_output` is ignored by every "
        "release before EAGLE 3.1, `norm_before_residual` by SGLang, and vLLM's speculators reader takes the latter "
        "for true when it is absent while speculators takes it for false. vLLM 0.22 loads the state norms of an MLA "
        "drafter and never applies them.",
        "Use a release that knows the switch; conversion writes every switch explicitly, where it is read.",
        (
            "https://github.com/vllm-project/vllm/pull/42764",
            "https://github.com/vllm-project/vllm/pull/43482",
            "https://github.com/sgl-project/sglang/pull/24620",
        ),
    ),
    Code(
        "engine-parallel-drafting",
        WARNING,
        "Parallel drafting needs an engine that knows it",
        "A P-EAGLE drafter drafts all tokens in one pass from a learned mask state. SGLang has no such path and runs "
        "it one token after another, which it was not trained for. vLLM needs `mask_hidden`, the mask token's id and "
        "the flag; a mask token without `mask_hidden` serves as ordinary EAGLE-3 until the flag is given, and then "
        "raises ValueError.",
        'Serve with vLLM and "parallel_drafting": true in --speculative-config.',
        ("https://github.com/sgl-project/sglang/issues/23171", "vllm/v1/spec_decode/llm_base_proposer.py"),
    ),
    Code(
        "engine-rope-wrong",
        WARNING,
        "The engine rotates with other settings than the drafter was trained with",
        "transformers 5 writes `rope_parameters`; engines that read the flat `rope_theta` fall back to 10000 without a "
        "word. Some trainers ignored the base in their own config, so the number in the file is wrong for everybody.",
        "Convert: both spellings are written, with the base it was trained with (--set rope_theta=... where the file "
        "is wrong).",
        ("ROCm/ATOM atom/models/eagle3_llama.py", "https://github.com/sgl-project/SpecForge/pull/270"),
    ),
)

VOCABULARY: tuple[Code, ...] = (
    Code(
        "engine-vocabulary-wrong",
        WARNING,
        "The engine builds a head of another size",
        "SGLang reads `draft_vocab_size` without a default and stops when it is absent. vLLM takes the target's size "
        "for it. ATOM has no draft vocabulary. At full vocabulary a vocab_size that is not the target's fails at the "
        "first logits in vLLM.",
        "Convert: sizes are written from the stored tensors and the target.",
        (SGLANG_LLAMA, VLLM_LLAMA),
    ),
    Code(
        "engine-map-wrong",
        WARNING,
        "The engine and the file disagree about d2t",
        "vLLM from 0.30 refuses a map in a full-vocabulary drafter, which SpecForge always writes. Without a map at a "
        "pruned vocabulary it takes row numbers for token ids, and a map that holds token ids instead of offsets sends "
        "rows past the vocabulary: IndexError at the first draft.",
        "Convert: an identity map is left out where it may not be and kept where it must be; --set map=absolute "
        "re-encodes token ids as offsets.",
        (VLLM_LLAMA,),
    ),
    Code(
        "engine-head-wrong",
        WARNING,
        "The engine uses the embedding as the head",
        "With tie_word_embeddings true SGLang makes the head a view of the embedding and skips the stored "
        "`lm_head.weight`. Some trainers copy the flag from the target's config.",
        "Convert: the flag is written false when a head is stored.",
        (SGLANG_LLAMA,),
    ),
    Code(
        "engine-embedding-replaced",
        NOTE,
        "The engine uses the target's embedding",
        "SGLang and others overwrite the drafter's embedding with the target's when both are equally wide. That is the "
        "same function as long as the drafter's was a copy; a trained one is lost.",
        "Nothing to do unless the embedding was trained; then serve with vLLM, which keeps it.",
        ("sglang/srt/speculative/eagle_worker_v2.py",),
    ),
)

CODES: tuple[Code, ...] = (*REQUESTS, *CONFIG, *TENSORS, *MEANING, *VOCABULARY)
