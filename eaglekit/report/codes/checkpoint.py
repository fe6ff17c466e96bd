"""Codes raised by the checkpoint room."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

FOLDER: tuple[Code, ...] = (
    Code(
        "folder-missing",
        ERROR,
        "There is no such folder",
        "A path that does not exist and looks like `org/name` may have been meant as a Hub id; loaders of this field "
        "report both cases as the same missing checkpoint, and people search in the wrong place.",
        "Check the path, or download the Hub repository.",
    ),
    Code(
        "not-a-folder",
        ERROR,
        "A checkpoint is a folder",
        "A weight file alone does not say its head count, rope or layer ids. Reading it without its config means "
        "guessing them.",
        "Give the folder in which config.json and the weights lie.",
    ),
    Code(
        "folder-too-large",
        ERROR,
        "The folder holds far more than a checkpoint",
        "A home or run folder given by mistake would be listed, fingerprinted and, on push, uploaded.",
        "Give the folder that holds config.json itself.",
    ),
    Code(
        "file-missing",
        ERROR,
        "A file that is needed is absent",
        "A partial download or a copy without side files leaves a folder that opens in some tools and not in others.",
        "Download or copy the folder again.",
    ),
    Code(
        "file-unreadable",
        ERROR,
        "The system does not let this file be opened",
        "Usually a file written by a container that ran as another user.",
        "Change owner or permissions of the file and run the command again.",
    ),
    Code(
        "special-file",
        ERROR,
        "Something in the folder is not a regular file",
        "Opening a named pipe waits for ever, opening a device can do anything. Neither is part of a model.",
        "Remove it from the folder.",
    ),
    Code(
        "link-leaves-folder",
        ERROR,
        "A link leads out of the folder",
        "A link to a place outside reads, and on push publishes, a file that the checkpoint's producer does not own. "
        "The one exception is the Hugging Face cache, where every file is a link to a blob of the same repository.",
        "Replace the link by the file it leads to.",
        ("huggingface_hub: the cache-system page of its documentation",),
    ),
    Code(
        "broken-link",
        ERROR,
        "A link leads nowhere",
        "In the Hugging Face cache this is what an interrupted download or a cleaned blob folder leaves behind.",
        "Run `hf download` for the repository again.",
    ),
    Code(
        "file-truncated",
        ERROR,
        "A file is shorter than it says",
        "An interrupted transfer keeps the header and loses the end. The safetensors library reports it as "
        "MetadataIncompleteBuffer, which does not say how much is missing.",
        "Download or copy the file again and compare its size with the one at its source.",
        ("https://github.com/PersuGPT/PersuGPT.github.io/issues/2",),
    ),
    Code(
        "file-appended",
        ERROR,
        "A file is longer than it says",
        "Bytes behind the last tensor belong to no tensor. The safetensors library refuses them; readers with their "
        "own parser do not, and a file that means two things can carry anything.",
        "Get the file again from its producer.",
        ("https://github.com/Comfy-Org/ComfyUI/issues/15602",),
    ),
)

DOCUMENTS: tuple[Code, ...] = (
    Code(
        "config-missing",
        ERROR,
        "There is no config.json",
        "Without a config, sizes and switches would have to be guessed; raw trainer states (`.pt`, FSDP shards) look "
        "like this before they are exported.",
        "Export the checkpoint with its trainer's own tool, or give the folder that has the config.",
    ),
    Code(
        "json-too-large",
        ERROR,
        "A JSON file is too large to be what its name says",
        "Configs are kilobytes. A tokenizer or an index saved under the name config.json is megabytes.",
        "Look at what was saved under this name.",
    ),
    Code(
        "json-encoding",
        ERROR,
        "A JSON file is not plain UTF-8",
        "Some readers skip a byte order mark, others fail on it; other encodings fail in the engine with a message "
        "about position 0.",
        "Save the file as UTF-8 without a byte order mark.",
        ("RFC 8259, section 8.1",),
    ),
    Code(
        "json-invalid",
        ERROR,
        "A JSON file cannot be parsed",
        "Hand-edited configs keep trailing commas and comments; half-written ones end in the middle.",
        "Mend the line that the message names.",
    ),
    Code(
        "json-not-an-object",
        ERROR,
        "A JSON file holds something other than an object",
        "A list or a string is valid JSON and no config; loaders fail later, in code that looks up a key.",
        "Put the config's own object into the file.",
    ),
    Code(
        "json-duplicate-key",
        ERROR,
        "A key stands twice in one object",
        "Most readers take the last value, some the first, and nobody reports it: two engines then serve two models "
        "from one file.",
        "Keep the line that is meant.",
        ("RFC 8259, section 4",),
    ),
    Code(
        "json-number",
        ERROR,
        "A number that JSON readers do not agree on",
        "Python writes NaN and Infinity into configs; strict readers refuse the whole file, and integers beyond 64 "
        "bits are rounded or refused.",
        "Write the number the model was trained with.",
        ("RFC 8259, section 6",),
    ),
    Code(
        "json-too-deep",
        ERROR,
        "A JSON file nests absurdly deep",
        "No config does; a parser that recurses can be crashed by it.",
        "Get the file again from its producer.",
    ),
)

HEADERS: tuple[Code, ...] = (
    Code(
        "weights-missing",
        ERROR,
        "There are no weights to read",
        "Servers that find no weights may start with random ones; the text stays right, and every draft is rejected.",
        "Download or export the weights.",
    ),
    Code(
        "weights-not-downloaded",
        ERROR,
        "The weight file is a Git LFS pointer",
        "A clone without LFS leaves a text file of some 130 bytes under the name of the weights. Loaders report "
        "HeaderTooLarge, which nobody connects with the missing download.",
        "`git lfs pull` in the clone, or `hf download`.",
        ("https://github.com/microsoft/OmniParser/issues/34",),
    ),
    Code(
        "gguf-unsupported",
        ERROR,
        "A GGUF file of a kind that is not read",
        "GGUF is llama.cpp's container. Its version 1, files for big-endian machines and the parts of a split file are "
        "rare for drafters, which are small; a GGUF file under a safetensors name is one that somebody renamed.",
        "Merge the parts, turn the byte order round, or give the file its own name.",
        ("ggml-org/ggml: docs/gguf.md",),
    ),
    Code(
        "gguf-invalid",
        ERROR,
        "A GGUF file breaks its format",
        "Counts, lengths and offsets in the header of a GGUF file are only words: a file of 60 bytes can announce a "
        "list of 2^60 entries, and the gguf library then fills the memory before it notices. eaglekit checks each of "
        "them against the size of the file, and takes tensors only where llama.cpp's own loader would look for them.",
        "Convert the drafter to GGUF again, or download the file again.",
        ("ggml-org/ggml: docs/gguf.md", "ggml-org/llama.cpp: ggml/src/gguf.cpp"),
    ),
    Code(
        "gguf-quantised",
        ERROR,
        "The weights in a GGUF file are quantised",
        "A quantised tensor holds other numbers than were trained: read back, it would be a drafter that nobody "
        "trained and nobody measured, under the name of one that somebody did. Only F32, F16 and BF16 are read.",
        "Convert from the checkpoint, or from the GGUF file as it was before llama-quantize.",
    ),
    Code(
        "several-weight-files",
        ERROR,
        "Several weight files and no index",
        "Engines load every file they find, in an order of their own; a stray file of another precision or release "
        "then overwrites the right tensors.",
        "Remove what is not meant, or add the index.",
        ("https://github.com/Blaizzy/mlx-vlm/pull/1464",),
    ),
    Code(
        "two-weight-formats",
        WARNING,
        "Both safetensors and a pickle hold weights",
        "The original EAGLE code tries pytorch_model.bin first, every server takes safetensors: after a retraining "
        "that updated one of them, they serve different models. eaglekit reads the safetensors.",
        "Delete the pickle.",
        ("SafeAILab/EAGLE: eagle/model/ea_model.py",),
    ),
    Code(
        "header-too-large",
        ERROR,
        "A header announces more than 100 MB",
        "The first eight bytes of a safetensors file are the length of its header. A huge value means that the file "
        "is something else, or that reading it would exhaust memory.",
        "Get the file again; with more than a million tensors, shard it.",
        ("https://github.com/safetensors/safetensors/issues/469", "safetensors: MAX_HEADER_SIZE in tensor.rs"),
    ),
    Code(
        "header-entry",
        ERROR,
        "A header describes a tensor that cannot exist",
        "Unknown dtype, negative or overflowing shape, or a byte count that does not fit the shape: a reader that "
        "trusts any one of them reads other tensors' bytes.",
        "Write the file again with the safetensors library.",
        ("safetensors README, section Format",),
    ),
    Code(
        "header-metadata",
        ERROR,
        "__metadata__ is not text to text",
        "The format allows strings only; the library refuses the file, hand-written readers may not.",
        "Write every metadata value as a string.",
        ("safetensors README, section Format",),
    ),
    Code(
        "tensor-bytes",
        ERROR,
        "Tensors overlap or leave a hole",
        "Two tensors over the same bytes, or bytes of no tensor, make a file that two readers understand in two "
        "ways; the format forbids both.",
        "Write the file again with the safetensors library.",
        ("safetensors README, section Format",),
    ),
    Code(
        "tensor-too-large",
        ERROR,
        "A tensor is too large to be held in memory",
        "Small tensors (maps, norms) are read whole. One far beyond its role's size is a wrong tensor under that name.",
        "Check the tensor's shape.",
    ),
    Code(
        "metadata-conflict",
        WARNING,
        "Shards disagree about a metadata value",
        "Shards of one export carry the same metadata; different values show that shards of two exports were mixed. "
        "The value of the first shard is used.",
        "Check that all shards come from one export.",
    ),
)

INDEXES: tuple[Code, ...] = (
    Code(
        "index-invalid",
        ERROR,
        "The index cannot be used",
        "An index without a proper weight_map says nothing about where tensors lie.",
        "Write the index again from the shards' headers.",
    ),
    Code(
        "index-path-unsafe",
        ERROR,
        "The index names a file that no folder can hold everywhere",
        "An index is data from somebody else. A name such as `../x` or `/etc/x` would make the reader open, and a "
        "publisher upload, a file that is not part of the checkpoint. On Windows `a:b` is a hidden stream of the file `a`, "
        "`nul.safetensors` a device, and there and on macOS `A` and `a` are one file: whoever copies such a checkpoint "
        "loses weights without an error.",
        "Do not use the checkpoint until its producer has explained it; rename shards that differ in case only.",
    ),
    Code(
        "shard-missing",
        ERROR,
        "The index names a shard that is not there",
        "A server that only filters extra files boots with uninitialised weights in place of the missing shard.",
        "Download the rest, or write the index again.",
        ("https://github.com/sgl-project/sglang/pull/32279", "https://github.com/Neph0s/CoSER/issues/3"),
    ),
    Code(
        "index-tensor-missing",
        ERROR,
        "The index lists a tensor its shard does not hold",
        "Merged checkpoints keep the index of one parent. Metadata tools pass such a folder; the tensor is simply "
        "absent when it is needed.",
        "Write the index again from the shards' headers.",
        ("https://github.com/huggingface/huggingface_hub/pull/4728",),
    ),
    Code(
        "index-tensor-unlisted",
        ERROR,
        "A shard holds a tensor the index does not list",
        "Engines that use the index as a mere list of files load the unlisted tensor as well, sometimes over the right "
        "one; engines that use it as an allow-list do not.",
        "List the tensor, or write the shard again without it.",
        ("https://github.com/vllm-project/vllm/pull/54230", "https://github.com/osaurus-ai/vmlx-swift/pull/388"),
    ),
    Code(
        "tensor-in-two-shards",
        ERROR,
        "One tensor lies in two shards",
        "Overlay shards that replace tensors of the base depend on the order in which an engine opens files.",
        "Write the shards again so that every name lies in one.",
        ("https://github.com/JustVugg/colibri/issues/1479",),
    ),
    Code(
        "index-total-size",
        WARNING,
        "The index states another size than the tensors have",
        "The number is for people and progress bars, but a wrong one shows that the index was not written from these "
        "shards.",
        "Write the index again from the shards' headers.",
    ),
    Code(
        "index-and-single-file",
        ERROR,
        "An index and a single file that it does not name",
        "One of the two is left over. Tools that look for model.safetensors first and tools that look for the index "
        "first load different weights from the same folder.",
        "Delete the one that is not meant.",
        ("https://github.com/vllm-project/compressed-tensors/pull/756",),
    ),
    Code(
        "weights-file-unlisted",
        WARNING,
        "A weight file is not in the index",
        "Extra predictor layers are often saved beside an index that was never updated; engines that follow the index "
        "never see them.",
        "Write the index again over all files, or remove the file.",
        ("https://github.com/osaurus-ai/vmlx-swift/pull/388",),
    ),
)

PICKLE_SOURCES = ("CVE-2025-32434", "https://github.com/huggingface/transformers/pull/37785")

PICKLES: tuple[Code, ...] = (
    Code(
        "pickle-global",
        ERROR,
        "A pickle asks for something that is not a tensor",
        "A pickle is a program. Loading it with plain torch.load runs whatever it names, as the user who loads it. "
        "eaglekit reads a pickle with a reader that knows tensors and nothing else; the name in the message was "
        "looked up in a table, not found there, and not imported.",
        "If you trust the producer, save the state dict alone as safetensors.",
        PICKLE_SOURCES,
    ),
    Code(
        "pickle-malformed",
        ERROR,
        "A .bin file is not a torch archive of tensors",
        "A damaged archive, a TorchScript program, or a file made to look like an archive.",
        "Download or save the file again.",
    ),
    Code(
        "pickle-legacy",
        ERROR,
        "A .bin file in the format of torch before 1.6",
        "The old format is a row of bare pickles with tensor bytes between them; it cannot be described without "
        "being executed.",
        "Load it where you trust it and save it again with a current torch, or as safetensors.",
        ("pytorch: the notes on torch.save in torch/serialization.py",),
    ),
    Code(
        "pickle-compressed",
        ERROR,
        "An archive entry is compressed or encrypted",
        "torch stores entries as they are, so that tensors can be read in place. A compressed entry was written by "
        "something else, and may unpack to any size.",
        "Save it again with torch.save, or as safetensors.",
    ),
    Code(
        "pickle-too-large",
        ERROR,
        "The table of a .bin file is far too large",
        "The table of a drafter has a few kilobytes; one of more than 64 MB holds data that is not a table.",
        "Save the state dict alone.",
    ),
    Code(
        "pickle-not-a-dictionary",
        ERROR,
        "A .bin file holds no dictionary",
        "A whole module or a single tensor was saved in place of a state dict.",
        "Save `model.state_dict()`.",
    ),
    Code(
        "pickle-nested",
        ERROR,
        "The tensors lie one level down",
        "Trainers wrap the state dict together with optimizer state, averaged weights or a step count. With several "
        "dictionaries inside, which one is the model is the producer's knowledge; a silent choice once published the "
        "wrong one is never noticed.",
        "Save the inner dictionary alone.",
    ),
    Code(
        "pickle-value",
        ERROR,
        "A .bin file holds something besides tensors",
        "Counters, settings and nested lists have no place in a weight file; dropping them silently may drop what the "
        "model needs.",
        "Save the state dict alone.",
    ),
    Code(
        "pickle-byte-order",
        ERROR,
        "A .bin file was saved in big-endian order",
        "Its bytes would be copied as they are and read the wrong way round: every weight would be noise.",
        "Save it on a little-endian machine, or as safetensors.",
    ),
    Code(
        "pickle-storage",
        ERROR,
        "A tensor of a .bin file does not fit its storage",
        "The table says more than the archive holds: reading on would take bytes of another tensor, or of nothing.",
        "Save the state dict again.",
    ),
)

WRITING: tuple[Code, ...] = (
    Code(
        "destination-exists",
        ERROR,
        "The destination exists",
        "Writing into an existing folder mixes two exports: a stale index or a second weight file then decides which "
        "weights an engine loads. eaglekit makes a new folder or nothing.",
        "Choose a new name, or remove the old folder.",
        ("https://github.com/Blaizzy/mlx-vlm/pull/1827", "https://github.com/huggingface/safetensors/pull/764"),
    ),
    Code(
        "destination-parent",
        ERROR,
        "The folder above the destination is not there",
        "It is missing, or it is a file. eaglekit makes one folder, the destination, and no others.",
        "Make the folder above it with `mkdir -p`.",
    ),
    Code(
        "destination-read-only",
        ERROR,
        "The destination is on a read-only disk",
        "Containers often mount model folders read-only.",
        "Write elsewhere, or mount the disk writable.",
    ),
    Code(
        "destination-denied",
        ERROR,
        "The destination may not be written",
        "The folder belongs to somebody else.",
        "Choose a folder you may write to.",
    ),
    Code(
        "disk-full",
        ERROR,
        "The disk is full",
        "Everything is written to a hidden folder first, so the destination does not exist and nothing half-written "
        "can be mistaken for a checkpoint.",
        "Free space, or write to another disk.",
    ),
    Code(
        "write-failed",
        ERROR,
        "The system could not write",
        "An error of the disk or of the network behind it. What was written was removed again.",
        "Look at the system's log, then run the command again.",
    ),
)

CODES: tuple[Code, ...] = (*FOLDER, *DOCUMENTS, *HEADERS, *INDEXES, *PICKLES, *WRITING)
