"""How each serving engine is started with a drafter: one row for every setting, with its versions and its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import MappingProxyType

from eaglekit.engines.model import Span
from eaglekit.engines.rules import EVER, since


class Setting(str, Enum):
    """Something that a server must be told."""

    TARGET = "the target"
    TARGET_REVISION = "the target's revision"
    METHOD = "the algorithm"
    DRAFTER = "the drafter"
    DRAFTER_REVISION = "the drafter's revision"
    TARGET_FILE = "the target's GGUF file"
    DRAFTER_FILE = "the drafter's GGUF file"
    STEPS = "drafts in a round"
    STEPS_AND_ONE = "drafts in a round, and the token they start from"
    BREADTH = "drafts for one position"
    PARALLEL = "all drafts in one pass"
    LAYERS = "captured layers, as outputs of blocks"


class Place(str, Enum):
    """Where a setting is written."""

    ARGUMENT = "argument"
    """After the program's name."""
    FLAG = "flag"
    OPTIONS = "options"
    """In the JSON or YAML that holds what concerns the drafter."""


@dataclass(frozen=True, slots=True)
class Way:
    """How one engine is told one setting."""

    engine: str
    setting: Setting
    place: Place
    spelling: str
    """The flag or the key; empty for an argument."""
    span: Span
    source: str
    value: object = None
    """What is always written; None where it depends on the drafter, the target or the number of drafts."""


@dataclass(frozen=True, slots=True)
class Program:
    """A server, and where it takes the options that concern the drafter."""

    words: tuple[str, ...]
    options: str = ""
    """The flag that takes them as JSON, or as a YAML file of `options_file`."""
    options_key: str = ""
    """The key of the YAML file under which they stand."""
    options_file: str = ""
    gguf_only: bool = False
    """Whether it opens no drafter but a GGUF file."""


class When(str, Enum):
    """When a remark is worth making."""

    ALWAYS = "always"
    PARALLEL = "parallel"
    """The drafter drafts in one pass."""
    SHORT = "short"
    """The drafter's positions end before the target's."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody who starts the server must know besides the command."""

    engine: str
    when: When
    text: str
    """One sentence; what is typed stands in backticks."""
    source: str


PROGRAMS: Mapping[str, Program] = MappingProxyType({
    "vllm": Program(("vllm", "serve"), "--speculative-config"),
    "sglang": Program(("python", "-m", "sglang.launch_server")),
    "trtllm": Program(("trtllm-serve",), "--extra_llm_api_options", "speculative_config", "eagle3.yaml"),
    "tokenspeed": Program(("tokenspeed", "serve")),
    "llama.cpp": Program(("llama-server",), gguf_only=True),
})  # fmt: skip
"""Name of an engine -> its server."""

S, P = Setting, Place
_speculative = "vllm/config/speculative.py"
_ = partial(Way, "vllm")

_VLLM = (
    _(S.TARGET,           P.ARGUMENT, "",                       EVER, "vllm/entrypoints/cli/serve.py"),
    _(S.TARGET_REVISION,  P.FLAG,     "--revision",             EVER, "vllm/engine/arg_utils.py"),
    _(S.METHOD,           P.OPTIONS,  "method",                 EVER, _speculative, "eagle3"),
    _(S.DRAFTER,          P.OPTIONS,  "model",                  EVER, _speculative),
    _(S.DRAFTER_REVISION, P.OPTIONS,  "revision",               EVER, _speculative),
    _(S.STEPS,            P.OPTIONS,  "num_speculative_tokens", EVER, _speculative),
    _(S.PARALLEL,         P.OPTIONS,  "parallel_drafting",      since("0.16"), _speculative, True),
)  # fmt: skip

_arguments = "sglang/srt/server_args.py"
# Wheels 0.4.6, 0.4.10, 0.5.1: one --revision, taken for the target and for the drafter; 0.5.2 and later: one each.
_worker = "sglang/srt/managers/tp_worker.py"
_ = partial(Way, "sglang")

_SGLANG = (
    _(S.TARGET,           P.FLAG, "--model-path",                       EVER, _arguments),
    _(S.TARGET_REVISION,  P.FLAG, "--revision",                         since("0.5.2"), _worker),
    _(S.METHOD,           P.FLAG, "--speculative-algorithm",            EVER, _arguments, "EAGLE3"),
    _(S.DRAFTER,          P.FLAG, "--speculative-draft-model-path",     EVER, _arguments),
    _(S.DRAFTER_REVISION, P.FLAG, "--speculative-draft-model-revision", since("0.5.2"), _worker),
    _(S.STEPS,            P.FLAG, "--speculative-num-steps",            EVER, _arguments),
    _(S.BREADTH,          P.FLAG, "--speculative-eagle-topk",           EVER, _arguments, 1),
    _(S.STEPS_AND_ONE,    P.FLAG, "--speculative-num-draft-tokens",     EVER, _arguments),
)  # fmt: skip

_llm_args = "tensorrt_llm/llmapi/llm_args.py"
_serve = "tensorrt_llm/commands/serve.py"
_ = partial(Way, "trtllm")

_TRTLLM = (
    _(S.TARGET,          P.ARGUMENT, "",                         EVER, _serve),
    _(S.TARGET_REVISION, P.FLAG,     "--revision",               EVER, _serve),
    _(S.METHOD,          P.OPTIONS,  "decoding_type",            EVER, _llm_args, "Eagle3"),
    _(S.DRAFTER,         P.OPTIONS,  "speculative_model",        EVER, _llm_args),
    _(S.STEPS,           P.OPTIONS,  "max_draft_len",            EVER, _llm_args),
    _(S.LAYERS,          P.OPTIONS,  "eagle3_layers_to_capture", EVER, _llm_args),
)  # fmt: skip

_ts = "tokenspeed runtime/utils/server_args.py"
_ = partial(Way, "tokenspeed")

_TOKENSPEED = (
    _(S.TARGET,          P.ARGUMENT, "",                               EVER, "tokenspeed docs/recipes/models.md"),
    # Its one --revision is taken for the target and for the drafter (runtime/engine/event_loop.py): none is given.
    _(S.METHOD,          P.FLAG,     "--speculative-algorithm",        EVER, _ts, "EAGLE3"),
    _(S.DRAFTER,         P.FLAG,     "--speculative-draft-model-path", EVER, _ts),
    _(S.STEPS,           P.FLAG,     "--speculative-num-steps",        EVER, _ts),
    _(S.BREADTH,         P.FLAG,     "--speculative-eagle-topk",       EVER, _ts, 1),
    _(S.STEPS_AND_ONE,   P.FLAG,     "--speculative-num-draft-tokens", EVER, _ts),
)  # fmt: skip

_arg = "ggml-org/llama.cpp common/arg.cpp"
_ = partial(Way, "llama.cpp")

_LLAMA_CPP = (
    _(S.TARGET_FILE,  P.FLAG, "--model",            EVER, _arg),
    _(S.DRAFTER_FILE, P.FLAG, "--spec-draft-model", since("2026.11"), _arg),
    _(S.METHOD,       P.FLAG, "--spec-type",        since("2026.11"), _arg, "draft-eagle3"),
    _(S.STEPS,        P.FLAG, "--spec-draft-n-max", since("2026.11"), _arg),
)  # fmt: skip

WAYS: tuple[Way, ...] = (*_VLLM, *_SGLANG, *_TRTLLM, *_TOKENSPEED, *_LLAMA_CPP)
"""Every setting of every server, in the order in which it is written."""

REMARKS: tuple[Remark, ...] = (
    Remark("vllm", When.PARALLEL, "parallel drafting runs on vLLM's V1 runner, to which it turns by itself",
           "vllm/config/vllm.py"),
    Remark("vllm", When.SHORT, "the target takes longer texts than the drafter has positions for, and vLLM stops at "
           "the first position beyond: limit it with `--max-model-len`, or convert with `--target`",
           "vllm-project/vllm#48894"),
    Remark("sglang", When.SHORT, "the target takes longer texts than the drafter has positions for, and SGLang does "
           "not start: set `SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1`, or convert with `--target`",
           "sglang/srt/configs/model_config.py"),
    # Wheels 0.5.8 to 0.5.23: the option of the drafter takes over what --quantization says of the target.
    Remark("sglang", When.ALWAYS, "if `--quantization` is added for the target, add also "
           "`--speculative-draft-model-quantization unquant`: the drafter takes over the target's otherwise",
           "sgl-project/sglang#28196"),
    Remark("llama.cpp", When.ALWAYS, "the target must be a GGUF file too: convert_hf_to_gguf.py of llama.cpp makes it; "
           "the drafter needs no tokenizer of its own",
           "ggml-org/llama.cpp docs/speculative.md"),
)  # fmt: skip
