"""Loads a target's tokenizer from its folder, and never runs code that lies there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, cast

from eaglekit.checkpoint.json_document import read_object
from eaglekit.report import Finding, Refusal

CONFIG = "tokenizer_config.json"
CONFIG_LIMIT = 64 << 20
"""Largest tokenizer config read, in bytes: those with many added tokens have a few megabytes."""
IDS_HINT = (
    "give a prompt file with prompt_token_ids and response_token_ids, as the serving engine reports them "
    "(vLLM and SGLang return both)"
)


class Tokenizer(Protocol):
    """The part of a transformers tokenizer that is used here."""

    chat_template: Any
    eos_token_id: Any

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """The token ids of `text`."""

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool, clean_up_tokenization_spaces: bool) -> str:
        """The text of `token_ids`."""

    def apply_chat_template(
        self,
        conversation: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None,
        add_generation_prompt: bool,
        tokenize: bool,
        return_dict: bool,
    ) -> Any:
        """The chat as the target reads it: ids with `tokenize`, text without."""


def load_tokenizer(source: Path | str) -> Tokenizer:
    """The tokenizer in the local folder `source`. Raises `Refusal` when it would run code, or cannot be read."""
    folder = Path(source)
    if not folder.is_dir():
        raise Refusal(_unusable(folder, "there is no such folder"))
    config = _config(folder)
    code = _remote_code(config)
    if code:
        raise Refusal(
            Finding(
                "prompts-tokenizer-code",
                f"the tokenizer in {folder} is Python code of its own ({code}), which is not run",
                place=f"{folder / CONFIG}: auto_map",
                got=code,
                expected="a tokenizer that transformers has, with its tokenizer.json",
                hint=IDS_HINT,
            )
        )
    return _load(folder)


def _config(folder: Path) -> Mapping[str, Any]:
    try:
        data = (folder / CONFIG).read_bytes()
    except FileNotFoundError:
        # tokenizer.json alone is enough for transformers.
        return {}
    except OSError as error:
        raise Refusal(_unusable(folder, error.strerror or type(error).__name__)) from None
    return read_object(data, CONFIG, limit_bytes=CONFIG_LIMIT)


def _remote_code(config: Mapping[str, Any]) -> str:
    auto_map = config.get("auto_map")
    classes = auto_map.get("AutoTokenizer") if isinstance(auto_map, Mapping) else auto_map
    names = classes if isinstance(classes, list) else [classes]
    return ", ".join(str(name) for name in names if name)


def _load(folder: Path) -> Tokenizer:
    from transformers import AutoTokenizer

    try:
        with BareErrors(lambda reason: _unusable(folder, reason)):
            loaded = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, ImportError, RuntimeError) as error:
        raise Refusal(_unusable(folder, f"{type(error).__name__}: {error}")) from None
    if not isinstance(getattr(loaded, "vocab_size", None), int):
        raise Refusal(_unusable(folder, "it has no vocabulary"))
    return cast(Tokenizer, loaded)


class BareErrors:
    """Turns the bare `Exception` that the tokenizers library raises, and no kind of it, into a refusal."""

    def __init__(self, finding: Callable[[str], Finding]) -> None:
        self._finding = finding

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is Exception:
            raise Refusal(self._finding(str(error))) from None


def failed(place: str, reason: str) -> Finding:
    """The finding for a text that the tokenizer cannot take."""
    return Finding(
        "prompts-tokenizer-unusable",
        f"{place}: the tokenizer makes no tokens of this text",
        place=place,
        got=" ".join(reason.split())[:300],
        expected="a tokenizer that takes any text",
        hint=IDS_HINT,
    )


def _unusable(folder: Path, reason: str) -> Finding:
    return Finding(
        "prompts-tokenizer-unusable",
        f"no tokenizer can be loaded from {folder}",
        place=str(folder),
        got=" ".join(reason.split())[:300],
        expected="a folder with tokenizer.json (and tokenizer_config.json) that transformers can load",
        hint=f"copy the target's tokenizer files there, or {IDS_HINT}",
    )
