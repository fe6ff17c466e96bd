"""Codes about spelling: what a checkpoint is, its keys, its names, its conventions, its producer's faults."""

from __future__ import annotations

from eaglekit.report.codes.faults import CODES as FAULTS
from eaglekit.report.codes.strangers import CODES as STRANGERS
from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    *STRANGERS,
    *FAULTS,
    Code(
        "dialect-unknown", ERROR, "no dialect explains this checkpoint",
        "An EAGLE-3 drafter is recognised by its tensors and a few config keys. Nothing here fits; carrying on would "
        "mean guessing what each tensor is for.",
        "eaglekit dialects lists what is understood. If a trainer uses other names, that is a missing table.",
    ),
    Code(
        "dialect-ambiguous", ERROR, "two dialects fit equally well",
        "The same tensor names are written by several trainers which mean different things by the same key. Choosing "
        "one at random would be right half of the time and silent in the other half.",
        "Say which trainer or exporter wrote the file: --from NAME.",
    ),
    Code(
        "dialect-name", ERROR, "there is no dialect of that name",
        "--from and --to take the names that eaglekit dialects lists.", "Run eaglekit dialects.",
    ),
    Code(
        "dialect-not-written", ERROR, "this dialect is read, never written",
        "Some layouts are only met, not wanted: no engine or trainer reads them better than another one here.",
        "Choose one of the writable dialects: eaglekit dialects marks them.",
    ),
    Code(
        "dialect-cannot-hold", ERROR, "the dialect cannot say what this drafter is",
        "Some functions have no spelling in some layouts: a reader would ignore the switch and run another function. "
        "That is a silent loss of acceptance, so it is refused.",
        "The hint names the nearest layout that can hold it.",
    ),
    Code(
        "config-wrong-value", ERROR, "a config value has the wrong type or range",
        "Engines coerce or crash on such values, each in its own way.",
        "Correct the key in a copy of the folder, or get the file from its trainer again.",
    ),
    Code(
        "config-conflict", ERROR, "two config keys disagree",
        "Several keys can state one fact (rope_theta and rope_parameters, top level and eagle_config). Every engine has "
        "its own order of preference, so a disagreement means different functions in different engines.",
        "Find out which one was trained, and state it with --set or in a copy of the config.",
    ),
    Code(
        "config-unsupported", ERROR, "a config key asks for another network",
        "The key has a value under which the drafter would compute something that no EAGLE-3 reader here computes.",
        "If the key was only copied along from the target, say --drop KEY.",
    ),
    Code(
        "config-key-unknown", ERROR, "a config key that no row knows",
        "Every key is read, or left behind for a named reason. An unknown key may change what the drafter computes, so "
        "it is neither dropped nor carried along silently.",
        "If it does not change what the drafter computes, say --drop KEY.",
    ),
    Code(
        "tensor-unknown", ERROR, "a tensor that no row knows",
        "vLLM refuses unexpected tensors, SGLang drops them without a word, and converters that drop them with a warning "
        "have written files of another function.",
        "If it is no part of the drafter, say --drop NAME.",
        ("vllm-project/speculators#1114",),
    ),
    Code(
        "tensor-missing", ERROR, "a tensor of the drafter is not stored",
        "vLLM, SGLang and SafeAILab's own loader start without a required tensor and leave its rows uninitialised: right "
        "text, no acceptance.",
        "Get the file from its trainer again. Nothing is ever filled in.",
        ("vllm: a file without q_proj loads and serves", "vllm-project/speculators#1114"),
    ),
    Code(
        "tensor-superfluous", ERROR, "a known tensor that this drafter does not have",
        "The tensor has a role, but the config and the other tensors describe a drafter without it. One of them is "
        "wrong.",
        "If the config is right, say --drop NAME.",
    ),
    Code(
        "tensor-shape", ERROR, "a tensor has another shape than the drafter's sizes make",
        "Shapes follow from a few sizes. One tensor out of line means that config and weights are not from one run, or "
        "that a size was copied from the target. Layer 0 reads 2H on purpose: embedding and state side by side.",
        "Compare the sizes that are shown with the training run.",
    ),
    Code(
        "tensor-twice", ERROR, "one role is stored twice, differently",
        "Two names of one role are both there and hold different numbers. Engines read the one or the other.",
        "Only the trainer can say which is meant.",
    ),
    Code(
        "drafter-quantized", ERROR, "the drafter is quantised",
        "Packed weights have other shapes and extra scale tensors; engines treat quantised drafters in very different "
        "ways (SGLang's MLA drafter cannot take them at all).",
        "Convert the drafter before it is quantised, then quantise the result.",
    ),
    Code(
        "size-disagrees", ERROR, "config and tensors state different sizes",
        "Engines build the network from the config and then pour the tensors in. A wrong size crashes in the best case; "
        "a wrong vocabulary size drafts other tokens.",
        "Correct the key in a copy of the config, or get the matching file.",
    ),
    Code(
        "size-corrected", WARNING, "a size in the config was copied from elsewhere and is corrected",
        "Trainers that start from the target's config leave its layer count in the drafter's. vLLM and SGLang then build "
        "that many layers and leave all but the stored ones at random values, without an error.",
        "The converted config states what is stored.",
        ("NVIDIA-NeMo/Automodel train_eagle3.py", "sgl-project/sglang#33966"),
    ),
    Code(
        "heads-disagree", ERROR, "heads, head_dim and projection rows do not agree",
        "Rows of a projection are heads times head_dim. An engine that splits them otherwise mixes channels of different "
        "heads.",
        "Take the head counts and head_dim from the training run.",
    ),
    Code(
        "flag-from-tensors", WARNING, "a switch is on because its tensors are stored",
        "The config does not mention a norm or bias whose tensors are in the file. vLLM drops input_norm without its "
        "flag silently and refuses fc_norm without its own.",
        "The converted config states the flag.",
    ),
    Code(
        "flag-against-tensors", ERROR, "a switch and the tensors contradict each other",
        "A flag without its tensors runs with norms at one: another function, without a word. The speculators converter "
        "up to 0.9 writes such files: it drops the norms and keeps the flags.",
        "Convert the original file, before the norms were lost.",
        ("vllm: fc_norm true without weights loads with ones", "speculators convert/eagle/eagle3_converter.py"),
    ),
    Code(
        "norms-exclusive", ERROR, "fc_norm and norm_before_fc together",
        "vLLM and SGLang apply both, TensorRT-LLM applies one, speculators refuses. No trainer trains both.",
        "Ask the trainer which one is meant, and drop the other.",
    ),
    Code(
        "fact-unknown", ERROR, "nothing states a fact that the function depends on",
        "Converters that fill in a customary value (rope base 10000, 8 key heads, 32000 draft tokens) produce drafters "
        "that run and are never accepted.",
        "Take the value from the training run and say --set NAME=VALUE.",
    ),
    Code(
        "fusion-contradiction", ERROR, "the config says no captured states, yet fc is stored",
        "With use_aux_hidden_state false an engine feeds the final state and never applies fc.",
        "Correct the flag in a copy of the config.",
    ),
    Code(
        "fusion-width", ERROR, "fc's width is no multiple of the target's hidden size",
        "fc reads A states of G channels each. When G is not the drafter's own width, the config must say it.",
        "Say --set target_hidden_size=N.",
    ),
    Code(
        "mask-state-missing", ERROR, "parallel drafting without its mask state",
        "A P-EAGLE drafter replaces unknown states by a trained one. vLLM refuses to start parallel drafting without it, "
        "and runs as ordinary EAGLE-3 otherwise.",
        "Get the file from its trainer again.",
    ),
    Code(
        "mask-token", ERROR, "the mask token of parallel drafting is missing or impossible",
        "The mask token stands for the tokens not yet known. It must be inside the vocabulary and never end a text.",
        "Say --set mask_token_id=N with the value of the training run.",
    ),
    Code(
        "head-missing", ERROR, "a reduced vocabulary is promised, but no head is stored",
        "Only a drafter over the full vocabulary can borrow the target's head.",
        "Get the file from its trainer again.",
    ),
    Code(
        "dtype-corrected", WARNING, "the config states another dtype than the tensors have",
        "The tensors are copied as they are; the config is made to agree, under both spellings of the key.",
        "Use --dtype to cast.",
    ),
    Code(
        "dtype-mixed", NOTE, "tensors of several floating dtypes",
        "Some trainers keep norms in F32. They are copied as stored.", "Use --dtype to make them one.",
    ),
    Code(
        "tie-corrected", WARNING, "a copied tie flag is set to false",
        "The flag came from the target. SGLang believes it: the head becomes the embedding and the trained head is "
        "dropped.",
        "Written as false.",
        ("Tencent/AngelSlim hunyuan configs",),
    ),
    Code(
        "tie-question", ERROR, "the head is tied to the drafter's own embedding, or the flag was copied",
        "The config ties head and embedding, an embedding is stored and no head. SGLang then makes the embedding the "
        "head, vLLM shares the target's head: two functions, unless the embedding is a copy of a tied target's.",
        "Say --set tie_word_embeddings=true to write the embedding as the head too, or =false to share the target's.",
        ("sglang/srt/models/llama_eagle3.py", "vllm/v1/spec_decode/llm_base_proposer.py _maybe_share_lm_head"),
    ),
    Code(
        "rotation-contradicts", ERROR, "the config states a rotary layout that this kind of drafter never has",
        "Llama-like drafters rotate the two halves of a head against each other, MLA drafters neighbouring channels; "
        "engines choose by the class and look at no key. A key that says otherwise was copied from the target, or the "
        "drafter was trained for no engine. The target's layout never decides.",
        "If the key was copied along, say --drop KEY.",
        ("SafeAILab/EAGLE eagle/model/cnets.py rotate_half", "vllm/model_executor/models/deepseek_eagle3.py"),
    ),
    Code(
        "mrope-dropped", WARNING, "rotary sections of a vision target are left out",
        "A drafter runs on text positions, where the three axes are one. The sections were copied from the target.",
        "Nothing to do; validate on text with images if the drafter is meant for them.",
    ),
    Code(
        "aux-convention-unknown", ERROR, "layer ids that can be read in two ways",
        "vLLM reads id k as the input of block k, SGLang and most trainers as the output of block k: one block apart. "
        "Reading them wrongly costs most of the acceptance (10 % against 45 % at the first position in one report) and "
        "nothing crashes.",
        "Say --aux-convention boundary or output-of, or state boundary indices with --aux-layers. A --target whose depth "
        "is known often decides it.",
        ("vllm-project/vllm#43671", "sgl-project/sglang#25454"),
    ),
    Code(
        "aux-layers-conflict", ERROR, "two lists of layer ids disagree",
        "Top level and eagle_config hold different lists, and they are not the same states in two conventions. vLLM "
        "prefers the one, SGLang reads only the other.",
        "State the layers of the training run with --aux-layers.",
    ),
    Code(
        "aux-layers-absent", ERROR, "the file does not say which target layers it reads",
        "A server then assumes its own default. It is the same three states nearly everywhere, but not everywhere "
        "(SGLang's minimax_m3_vl differs by one), and the file of a drafter trained on other layers looks the same.",
        "If it was trained on the default, adopt it knowingly: --aux-layers default.",
    ),
    Code(
        "aux-default-collapses", ERROR, "the default layers of this target are not three states",
        "The default is 2, L//2 and L-3. On a shallow target they coincide, and engines de-duplicate or crash.",
        "Give the layers explicitly.",
    ),
    Code(
        "target-layers-unknown", ERROR, "the target's depth is not known",
        "The default layers and the limits of engines depend on the number of target blocks.",
        "Add --target, or --set target_layers=N.",
    ),
    Code(
        "target-family-unknown", ERROR, "the target's family is not known",
        "SGLang reads the same list as outputs for most targets, as boundaries for DeepSeek-like ones and by its largest "
        "entry for gpt-oss. A file for SGLang cannot be right without knowing the target.",
        "Add --target PATH_OR_ID, or --target-family NAME.",
        ("sgl-project/sglang#25454", "sgl-project/sglang#32334"),
    ),
    Code(
        "aux-inexpressible", ERROR, "these states cannot be asked for in this layout",
        "Some readers cannot capture some boundaries: the embeddings, or the output of the last block.",
        "Choose a layout whose reader can; the hint names it.",
    ),
    Code(
        "overruled", WARNING, "the user's word stands against what the file states",
        "An option may complete a file. When it contradicts one, the result is what the user says and no longer what the "
        "file says: a correction, or another function. The provenance records it.",
        "Leave the option out to keep what the file says.",
    ),
    Code(
        "drop-map", ERROR, "the vocabulary map cannot be dropped",
        "Without it nothing says which target token each row of a reduced head stands for; a mask only names the tokens.",
        "Leave it in.",
    ),
    Code(
        "copied-keys", NOTE, "keys of another kind of attention are left out",
        "They were copied from the target's config. The tensors show which attention the drafter has.",
        "Nothing to do.",
    ),
    Code(
        "tensor-empty", ERROR, "a tensor without elements",
        "An axis of 0 makes sizes that nothing can be divided by.", "Get the file from its trainer again.",
    ),
    Code(
        "drop-unknown", ERROR, "--drop names nothing of the checkpoint",
        "A name that drops nothing is a slip of the pen, and what was meant would stay.",
        "eaglekit inspect PATH --tensors lists the tensors.",
    ),
    Code(
        "setting-unknown", ERROR, "--set names no known fact",
        "--set states facts that a source does not say. Its names are a closed list.", "See eaglekit convert --help.",
    ),
    Code(
        "setting-value", ERROR, "--set has a value that cannot be",
        "The value has the wrong type or range for the fact.", "The finding says what is expected.",
    ),
    Code(
        "target-unreadable", ERROR, "the target's config cannot be understood",
        "The sizes, depth and family of the target come from its text config.",
        "Give the folder or Hub id of the target model itself.",
    ),
    Code(
        "target-tensor-missing", ERROR, "the target's embedding or head was not found",
        "The tensor is looked for under the names that targets use, and confirmed by its shape.",
        "The finding lists the nearest names; give a complete folder.",
    ),
    Code(
        "target-table-quantized", NOTE, "the target's embedding or head is quantised",
        "A packed table belongs to its scales and to the target's engine. A drafter can share it at run time; its bytes "
        "alone are no embedding and no head.",
        "To copy the table, give the target before it was quantised.",
    ),
    Code(
        "target-size", ERROR, "drafter and target do not fit together",
        "Vocabulary, hidden size or depth differ. An engine would crash at best.",
        "Give the target this drafter was trained for.",
    ),
    Code(
        "target-tie", WARNING, "the target's tie flag is stated twice, differently",
        "Multimodal configs carry the flag at two levels. The text level counts.", "Nothing to do.",
    ),
    Code(
        "target-tie-contradiction", ERROR, "the target is tied, but its head differs from its embedding",
        "A tied model has one tensor for both. Here two different ones are stored; engines use one or the other.",
        "Use a target whose config and weights agree.",
    ),
    Code(
        "target-head-question", ERROR, "the target has no head that can be used",
        "An untied target without a head: using its embedding as the head may be what its trainer meant, or may be a "
        "damaged download. A quantised head can be shared by engines, but not copied into a drafter.",
        "Give a complete target.",
    ),
    Code(
        "embedding-untrained", ERROR, "the drafter's embedding is not the target's and looks random",
        "A drafter that was saved before its embedding was filled carries noise. Engines that keep the drafter's own "
        "embedding then draft from noise.",
        "Say --embedding drop to leave it out and share the target's, or --embedding keep if it is right.",
    ),
    Code(
        "embedding-copy", NOTE, "the drafter's embedding is a copy of the target's",
        "It can be left out: engines share the target's. Keeping it costs its size on disk and in memory.",
        "--embedding drop leaves it out.",
    ),
    Code(
        "embedding-copy-likely", NOTE, "the drafter's embedding equals the target's wherever it was sampled",
        "One of the two lies on the Hub, so only rows spread over the vocabulary were compared.",
        "Compare with both folders on this machine for a proof.",
    ),
    Code(
        "embedding-trained", NOTE, "the drafter's embedding differs from the target's",
        "It was trained along. SGLang overwrites it with the target's when the widths are equal.",
        "Nothing to do for vLLM.",
    ),
    Code(
        "rope-differs", WARNING, "the drafter's rope base is not the target's",
        "Both may be right: a drafter keeps the base it was trained with. It is never corrected to the target's.",
        "If in doubt, validate both.",
    ),
    Code(
        "dtype-differs", NOTE, "drafter and target are stored in two dtypes",
        "Engines share the target's embedding and head with the drafter and load both in one dtype; some kernels refuse "
        "a pair of two.",
        "Serve the pair with one dtype, or convert with --dtype.",
        ("sgl-project/sglang#25894",),
    ),
    Code(
        "context-unstated", NOTE, "the drafter does not state its number of positions",
        "vLLM then assumes 2048 and stops drafting beyond, whatever the target serves. The position table is no part of "
        "the function, so the target's length is written.",
        "Nothing to do.",
    ),
    Code(
        "mask-token-alone", WARNING, "a mask token without a mask state",
        "A mask token id is only used by parallel drafting, which also needs a trained mask state. vLLM refuses to start "
        "parallel drafting without it; the file is an ordinary EAGLE-3 drafter.",
        "Left out of the written config.",
    ),
    Code(
        "rope-length-stated", NOTE, "the length a rope scaling starts from is stated",
        "transformers takes max_position_embeddings where original_max_position_embeddings is absent, so the function "
        "would change with the size of the position table. The value in force is written out.",
        "Nothing to do.",
        ("transformers modeling_rope_utils.py",),
    ),
    Code(
        "context-shorter", WARNING, "the drafter was trained on a shorter context than the target serves",
        "Engines size the drafter's position table from its config; long prompts crash or are refused. The converted "
        "config states the target's length and keeps the trained length beside it.",
        "Expect lower acceptance beyond the trained length.",
        ("vllm-project/vllm#48894",),
    ),
)  # fmt: skip
