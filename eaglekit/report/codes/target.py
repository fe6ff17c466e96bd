"""Codes of the room `target`: opening a target, running it, capturing from it."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code(
        "target-family-unsupported", ERROR, "the target's family is not streamed",
        "A target is streamed when its function is an embedding, blocks one after the other, a final norm and one "
        "product with the head. That is measured on the family's own code in transformers, with recorders in place of "
        "its blocks. A family that scales its embedding, caps its logits or mixes something in between would be "
        "computed wrongly without a sign, so it is refused. Code that a folder brings is never run.",
        "Capture the target with the engine that serves it, or upgrade transformers if the family is new.",
        ("transformers: Gemma scales embeddings, Cohere scales logits",),
    ),
    Code(
        "target-config-refused", ERROR, "the target's config cannot be built",
        "transformers' class for this family does not take the values in config.json: sizes that do not divide, unknown "
        "activations or rope kinds, or numbers no model has.",
        "Compare the config with that of the original model.",
        (),
    ),
    Code(
        "target-tensor-absent", ERROR, "a parameter of the target has no tensor",
        "Loaders usually fill what is missing with random numbers and print a warning that nobody reads. The states are "
        "then of another network. Here nothing is ever filled in.",
        "Fetch the missing shard, or the config that belongs to these weights.",
        ("transformers: newly initialized weights are only a log line",),
    ),
    Code(
        "target-tensor-unknown", ERROR, "a tensor of the target has no place",
        "A tensor that is passed over could change the function: a bias the config denies, a scale of a format that is "
        "not known. Known leftovers (vision, cache scales, rotary tables, layers for further tokens) are named rows.",
        "Check that config and weights belong together.",
        ("transformers lists such tensors as UNEXPECTED and goes on",),
    ),
    Code(
        "target-tensor-shape", ERROR, "a tensor of the target has another shape than its block reads",
        "Config and weights are of different models, or a fused tensor is stored in another order of axes.",
        "Get config and weights from one place.",
        (),
    ),
    Code(
        "target-tensor-twice", ERROR, "one tensor of the target is stored under two prefixes",
        "The same model is published under several prefixes. A folder with two of them was mixed from two exports, and "
        "which one counts would depend on the order of names.",
        "Keep the files of one export.",
        ("vLLM PR #33876, SGLang PR #18370: prefixes of Kimi-K2.5-NVFP4",),
    ),
    Code(
        "target-block-absent", ERROR, "blocks of the target are missing",
        "The config announces more blocks than the weights have. Sharded downloads that stopped half-way look like this.",
        "Fetch the missing shards, or the config that belongs to these weights.",
        (),
    ),
    Code(
        "target-not-local", ERROR, "the target is not on this machine",
        "A pass reads every weight once, and a slow network would be read from for hours.",
        "Download the target first.",
        (),
    ),
    Code(
        "target-not-safetensors", ERROR, "the target's weights are not safetensors",
        "Streaming reads byte ranges from files with a header. Pickles have to be loaded whole, and can run code.",
        "Save the target again with transformers' save_pretrained.",
        (),
    ),
    Code(
        "target-table-format", ERROR, "embedding or head is stored in a form whose rows cannot be read alone",
        "Rows of the embedding are read one by one, and the head in slices of the vocabulary. Scales per square tie 128 "
        "rows together.",
        "Export the target with a plain embedding and head: every common recipe does.",
        (),
    ),
    Code(
        "target-head-differs", ERROR, "a tied target has a head of its own",
        "The config says that head and embedding are one matrix, and the file holds two that differ. transformers would "
        "use the embedding, some engines the stored head.",
        "Correct tie_word_embeddings, or remove the head that is not meant.",
        (),
    ),
    Code(
        "device-missing", ERROR, "the device is not there",
        "Falling back to the CPU would be a hundred times slower and in another dtype, without a word.",
        "Leave --gpu and --device out, or install a torch for this machine's GPU.",
        (),
    ),
    Code(
        "memory-limit-too-low", ERROR, "the memory limit is below what a pass needs",
        "A pass holds one block (of an MoE block at least one expert) and the states of all texts. Less cannot be held.",
        "Raise --memory-limit, give fewer texts at a time, or compute in bfloat16.",
        (),
    ),
    Code(
        "memory-limit-unclear", ERROR, "the memory limit is no size",
        "A limit is a number with a unit: 8GB, 24GiB, 900MB.",
        "Give a size, or leave it out to take what one block needs.",
        (),
    ),
    Code(
        "target-too-large", ERROR, "the target does not fit in memory",
        "Generating reads every weight for every token, so the whole model has to stay in memory; a pass over given "
        "texts does not need that.",
        "Give the target's responses with the prompts, generated by the engine that serves it.",
        (),
    ),
    Code(
        "activations-not-quantised", ERROR, "w4a4 was asked for a target whose activations are not quantised",
        "Rounding activations needs NVFP4 weights with a static input scale beside each. Weight-only exports have none, "
        "and some exports lack them for experts that calibration never reached.",
        "Leave --activations out: w4a16 is what engines without FP4 hardware compute.",
        ("vLLM #45212: a missing input scale of an expert becomes 0, then NaN", "vLLM #54189: weight-only, labelled NVFP4"),
    ),
    Code(
        "texts-none", ERROR, "there is no text to run",
        "The prompt file is empty, or everything in it was filtered out.",
        "Give a file with at least one prompt.",
        (),
    ),
    Code(
        "target-weight-not-finite", ERROR, "weights of the target are NaN or infinite",
        "One such weight makes states NaN, or hides: the attention of torch on the CPU gives zeros for scores that are "
        "NaN, and everything behind it is finite and wrong.",
        "Get the target again, and compare the checksums of its files.",
        (),
    ),
    Code(
        "text-token-outside", ERROR, "a token id is not in the target's vocabulary",
        "The text was tokenised for another model. Reading a row beyond the embedding is an error on a good day, and "
        "another tensor's bytes on a bad one.",
        "Give the text itself, or tokenise it with the target's tokenizer.",
        (),
    ),
    Code(
        "text-prompt-length", ERROR, "the prompt of a text is not a part of it",
        "Drafting starts behind the prompt, so a text needs at least one prompt token and no more than it has tokens.",
        "Correct the prompt length.",
        (),
    ),
    Code(
        "text-too-long", ERROR, "a text is longer than the target takes",
        "Beyond max_position_embeddings the rotation leaves the range that was trained, and engines refuse such texts.",
        "Shorten the text, or generate fewer tokens.",
        (),
    ),
    Code(
        "text-identity-twice", ERROR, "two texts have one name",
        "Reports and findings tell texts apart by name.",
        "Rename one.",
        (),
    ),
    Code(
        "capture-invalid", ERROR, "the capture file is not what this program writes",
        "A capture holds texts, states, final states and the target's argmax, with a description that says what they are. "
        "A file that disagrees with its own description was cut short, edited, or written by something else.",
        "Make it again with eaglekit capture.",
        (),
    ),
    Code(
        "capture-not-finite", ERROR, "captured states are not finite",
        "Infinities or NaN in a target's states come from broken scales or from a dtype too narrow for the model. Every "
        "number computed from them would be NaN too.",
        "Run capture again in another dtype; if they stay, the target's weights are damaged.",
        ("vLLM #45212: an input scale of 0 becomes NaN",),
    ),
    Code(
        "capture-exists", ERROR, "the capture file exists",
        "A capture may be hours of work; it is not written over by accident. With --overwrite a capture is replaced, and "
        "nothing else: not the prompts, not the target.",
        "Give another name, or --overwrite.",
        (),
    ),
)  # fmt: skip
