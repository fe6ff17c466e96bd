"""The folders of the cases: target T0, draft D0 and their variants, written without the code under test."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import safetensors

HIDDEN, VOCABULARY, DRAFTED, BLOCKS = 64, 320, 96, 8
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
IDS = "eagle_aux_hidden_state_layer_ids"


@dataclass(frozen=True)
class Stored:
    """A tensor as a file holds it."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @property
    def values(self) -> Any:
        """The elements: BF16 as the float32 they stand for."""
        if self.dtype == "BF16":
            return (numpy.frombuffer(self.data, "<u2").astype("<u4") << 16).view("<f4").reshape(self.shape)
        kinds = {"F16": "<f2", "F32": "<f4", "I64": "<i8", "BOOL": "?"}
        return numpy.frombuffer(self.data, kinds[self.dtype]).reshape(self.shape)


def bf16(values: Any) -> Stored:
    """Values cut to BF16: the upper half of each float32."""
    wide = numpy.ascontiguousarray(values, "<f4")
    return Stored("BF16", wide.shape, (wide.view("<u4") >> 16).astype("<u2").tobytes())


def f32(values: Any) -> Stored:
    """Values as float32."""
    wide = numpy.ascontiguousarray(values, "<f4")
    return Stored("F32", wide.shape, wide.tobytes())


def i64(values: Iterable[int]) -> Stored:
    """Whole numbers."""
    whole = numpy.array(list(values), "<i8")
    return Stored("I64", whole.shape, whole.tobytes())


def mask(true_at: Iterable[int], length: int = VOCABULARY) -> Stored:
    """A BOOL vector, true at the given places."""
    flags = numpy.zeros(length, "?")
    flags[list(true_at)] = True
    return Stored("BOOL", flags.shape, flags.tobytes())


def random(name: str, *shape: int) -> Stored:
    """Normal numbers in BF16 that depend on the name only."""
    return bf16(numpy.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape) * 0.02)


def norm(name: str, width: int = HIDDEN) -> Stored:
    """Norm weights around one."""
    return bf16(1 + random(name, width).values)


@dataclass
class Folder:
    """A checkpoint to be: its config, its tensors, and how they are laid out. Cases change it before it is written."""

    config: dict[str, Any]
    tensors: dict[str, Stored]
    shards: dict[str, str] = field(default_factory=dict)
    """Tensor -> file, for a folder with an index; empty for one file."""
    metadata: dict[str, str] = field(default_factory=lambda: {"format": "pt"})

    def config_with(self, **changes: Any) -> Folder:
        """This folder with config keys changed; `...` takes a key out."""
        self.config |= changes
        self.config = {key: value for key, value in self.config.items() if value is not ...}
        return self

    def without(self, *names: str) -> Folder:
        """This folder with fewer tensors."""
        for name in names:
            del self.tensors[name]
        return self

    def with_tensors(self, tensors: Mapping[str, Stored]) -> Folder:
        """This folder with tensors added or replaced."""
        self.tensors |= tensors
        return self

    def write(self, path: Path) -> Path:
        """The folder on disk, its weights in safetensors."""
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps(self.config, indent=2))
        if not self.shards:
            (path / SINGLE).write_bytes(serialized(self.tensors, self.metadata))
            return path
        for file in sorted(set(self.shards.values())):
            held = {name: tensor for name, tensor in self.tensors.items() if self.shards[name] == file}
            (path / file).write_bytes(serialized(held, self.metadata))
        (path / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": self.shards}))
        return path

    def write_pickle(self, path: Path, **views: View) -> Path:
        """The folder on disk, its weights in a torch archive; `views` lie otherwise than contiguously."""
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps(self.config, indent=2))
        (path / "pytorch_model.bin").write_bytes(archive(self.tensors, views))
        return path


def serialized(tensors: Mapping[str, Stored], metadata: dict[str, str]) -> bytes:
    """A safetensors file, by bytes: the length of the header, the header, the tensors in the order given."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name, tensor in tensors.items():
        end = start + len(tensor.data)
        entries[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [start, end]}
        start = end
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + b"".join(tensor.data for tensor in tensors.values())


def stored_in(folder: Path) -> dict[str, Stored]:
    """Every tensor of the safetensors files in a folder, by the library of that name."""
    found = {}
    for file in sorted(folder.glob("*.safetensors")):
        for name, entry in safetensors.deserialize(file.read_bytes()):
            found[name] = Stored(entry["dtype"], tuple(entry["shape"]), bytes(entry["data"]))
    return found


# T0, the target of every case


def t0() -> Folder:
    """The target: 8 blocks, hidden 64, vocabulary 320, untied; embedding and head in shard 2 of 2."""
    blocks = {
        f"model.layers.{n}.{kind}.weight": norm(f"block {n} {kind}")
        for n in range(BLOCKS)
        for kind in ("input_layernorm", "post_attention_layernorm")
    }
    tables = {
        "model.embed_tokens.weight": random("embedding of T0", VOCABULARY, HIDDEN),
        "lm_head.weight": random("head of T0", VOCABULARY, HIDDEN),
    }
    first, second = (f"model-{n:05d}-of-00002.safetensors" for n in (1, 2))
    shards = {**dict.fromkeys([*blocks, "model.norm.weight"], first), **dict.fromkeys(tables, second)}
    return Folder(
        {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN,
            "intermediate_size": 128, "num_hidden_layers": BLOCKS, "num_attention_heads": 6,
            "num_key_value_heads": 2, "head_dim": 32, "vocab_size": VOCABULARY, "max_position_embeddings": 8192,
            "rope_theta": 500000.0, "rms_norm_eps": 1e-05, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
        },
        {**blocks, "model.norm.weight": norm("final norm of T0"), **tables},
        shards,
    )  # fmt: skip


# D0, the draft of every case

PROJECTIONS = {
    "self_attn.q_proj": (192, 128), "self_attn.k_proj": (64, 128), "self_attn.v_proj": (64, 128),
    "self_attn.o_proj": (64, 192), "mlp.gate_proj": (128, 64), "mlp.up_proj": (128, 64), "mlp.down_proj": (64, 128),
}  # fmt: skip
LAYER_NORMS = ("hidden_norm", "input_layernorm", "post_attention_layernorm")
TARGET_IDS = tuple(3 * row for row in range(DRAFTED))


def d0(prefix: str = "midlayer.") -> Folder:
    """The draft: EAGLE-3 in its original naming, 15 tensors, BF16, ids [2, 4, 5]."""
    tensors = {
        "fc.weight": random("fc", HIDDEN, 3 * HIDDEN),
        **{f"{prefix}{name}.weight": norm(name) for name in LAYER_NORMS},
        **{f"{prefix}{name}.weight": random(name, *shape) for name, shape in PROJECTIONS.items()},
        "norm.weight": norm("norm"),
        "lm_head.weight": random("head of D0", DRAFTED, HIDDEN),
        "d2t": i64(2 * row for row in range(DRAFTED)),
        "t2d": mask(TARGET_IDS),
    }
    return Folder(
        {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN,
            "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 6, "num_key_value_heads": 2,
            "head_dim": 32, "vocab_size": VOCABULARY, "draft_vocab_size": DRAFTED, "rms_norm_eps": 1e-05,
            "rope_theta": 500000, "max_position_embeddings": 8192, "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", IDS: [2, 4, 5],
        },
        tensors,
    )  # fmt: skip


def full_vocabulary(draft: Folder) -> Folder:
    """The draft over the target's whole vocabulary: a head of 320 rows and no maps."""
    del draft.tensors["d2t"], draft.tensors["t2d"]
    return draft.with_tensors({"lm_head.weight": random("full head of D0", VOCABULARY, HIDDEN)}).config_with(
        draft_vocab_size=VOCABULARY
    )


def headless(draft: Folder) -> Folder:
    """The draft over the target's whole vocabulary, with no head of its own."""
    return full_vocabulary(draft).without("lm_head.weight")


def state_norms(count: int = 3) -> dict[str, Stored]:
    """EAGLE 3.1's norms of the captured states."""
    return {f"fc_norm.{n}.weight": norm(f"state norm {n}") for n in range(count)}


# torch archives, written by hand


@dataclass(frozen=True)
class View:
    """How a tensor lies in a storage: which one, its strides in elements, and the storage's own bytes."""

    storage: str
    strides: tuple[int, ...]
    data: bytes


_STORAGES = {"BF16": "BFloat16Storage", "F32": "FloatStorage", "I64": "LongStorage", "BOOL": "BoolStorage"}
_WIDTHS = {"BF16": 2, "F32": 4, "I64": 8, "BOOL": 1}


def archive(tensors: Mapping[str, Stored], views: Mapping[str, View], extra: bytes = b"") -> bytes:
    """A torch archive as torch.save lays it out; `extra` is pickled code for one more key and its value."""
    table, storages = io.BytesIO(), {}
    table.write(b"\x80\x02}(")
    for number, (name, tensor) in enumerate(tensors.items()):
        view = views.get(name) or View(str(number), _contiguous(tensor.shape), tensor.data)
        storages[view.storage] = view.data
        elements = len(view.data) // _WIDTHS[tensor.dtype]
        table.write(_plain(name) + b"ctorch._utils\n_rebuild_tensor_v2\n((")
        table.write(_plain("storage") + f"ctorch\n{_STORAGES[tensor.dtype]}\n".encode())
        table.write(_plain(view.storage) + _plain("cpu") + _plain(elements) + b"tQ")
        table.write(_plain(0) + _plain(tensor.shape) + _plain(view.strides) + b"\x89ccollections\nOrderedDict\n)RtR")
    table.write(extra + b"u.")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as made:
        made.writestr("archive/data.pkl", table.getvalue())
        made.writestr("archive/byteorder", b"little")
        for key, data in storages.items():
            made.writestr(f"archive/data/{key}", data)
    return stream.getvalue()


def _plain(value: Any) -> bytes:
    """The opcodes that put a plain value on the stack, without frame and stop."""
    return pickle.dumps(value, protocol=2)[2:-1]


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for axis in reversed(shape):
        strides.append(step)
        step *= axis
    return tuple(reversed(strides))


# Targets that are more than a plain Llama


def quantized(name: str, rows: int, columns: int) -> dict[str, Stored]:
    """A weight as NVFP4 stores it: two values to a byte, a scale for every 16, one scale for all."""
    numbers = numpy.random.default_rng(zlib.crc32(name.encode()))
    return {
        f"{name}.weight": Stored("U8", (rows, columns // 2), numbers.bytes(rows * columns // 2)),
        f"{name}.weight_scale": Stored("F8_E4M3", (rows, columns // 16), bytes([0x38]) * (rows * columns // 16)),
        f"{name}.weight_scale_2": Stored("F32", (), numpy.array(0.01, "<f4").tobytes()),
    }


def nvfp4_target() -> Folder:
    """A GLM-like target of 8 NVFP4 blocks whose config promises one MTP layer; no MTP tensor yet."""
    tensors: dict[str, Stored] = {}
    for n in range(BLOCKS):
        tensors |= {f"model.layers.{n}.input_layernorm.weight": norm(f"block {n}")}
        tensors |= quantized(f"model.layers.{n}.mlp.up_proj", 128, HIDDEN)
    tables = {name: t0().tensors[name] for name in ("model.embed_tokens.weight", "lm_head.weight")}
    config = t0().config | {
        "architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "num_nextn_predict_layers": 1,
        "quantization_config": {
            "quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "ignore": ["lm_head"],
        },
    }  # fmt: skip
    return Folder(config, {**tensors, "model.norm.weight": norm("final norm"), **tables})


def mtp_layer(prefix: str, *, own_tables: bool = True) -> dict[str, Stored]:
    """A BF16 MTP layer under `prefix`, with its own embedding and head or without."""
    tensors = {
        f"{prefix}eh_proj.weight": random("eh_proj", HIDDEN, 2 * HIDDEN),
        f"{prefix}enorm.weight": norm("enorm"),
        f"{prefix}hnorm.weight": norm("hnorm"),
        f"{prefix}mlp.up_proj.weight": random("up of MTP", 128, HIDDEN),
    }
    own = {
        f"{prefix}embed_tokens.weight": random("embedding of MTP", VOCABULARY, HIDDEN),
        f"{prefix}shared_head.head.weight": random("head of MTP", VOCABULARY, HIDDEN),
        f"{prefix}shared_head.norm.weight": norm("norm of MTP"),
    }
    return tensors | own if own_tables else tensors


def multimodal_target() -> Folder:
    """A target that hears and sees: its text config comes last, and its two tie flags disagree."""
    text = {key: value for key, value in t0().config.items() if key != "architectures"}
    tables = t0().tensors
    return Folder(
        {
            "architectures": ["LlavaForConditionalGeneration"], "model_type": "llava",
            "audio_config": {"vocab_size": 7, "hidden_size": 16}, "vision_config": {"hidden_size": 32},
            "text_config": text, "tie_word_embeddings": True,
        },
        {
            "model.language_model.embed_tokens.weight": tables["model.embed_tokens.weight"],
            "lm_head.weight": tables["lm_head.weight"],
        },
    )  # fmt: skip
