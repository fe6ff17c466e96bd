"""The child process that reads one `data.pkl`: stdin is the pickle, stdout a JSON table of tensors or a refusal.

Run by file path in an isolated interpreter, so it imports the standard library only. Nothing that a pickle names is
imported or called: globals are looked up in the tables below, and whatever is absent there ends the reading.
"""

from __future__ import annotations

import json
import pickle
import resource
import sys
from collections import OrderedDict
from contextlib import nullcontext, suppress
from typing import IO, Any, NamedTuple

MEMORY_BYTES = 2 << 30
CPU_SECONDS = 10
OUTPUT_BYTES = 64 << 20

STORAGES = {
    "BoolStorage": "BOOL", "ByteStorage": "U8", "CharStorage": "I8", "ShortStorage": "I16", "IntStorage": "I32",
    "LongStorage": "I64", "HalfStorage": "F16", "BFloat16Storage": "BF16", "FloatStorage": "F32",
    "DoubleStorage": "F64", "ComplexFloatStorage": "C64", "UntypedStorage": "",
}  # fmt: skip
"""torch storage class -> safetensors dtype; empty where each tensor names its own."""
DTYPES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
    "uint16": "U16", "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32",
    "float64": "F64", "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
}  # fmt: skip
"""torch dtype -> safetensors dtype."""


class _Refused(Exception):  # noqa: N818 - carries an answer for the parent
    def __init__(self, code: str, subject: str) -> None:
        super().__init__(code)
        self.code, self.subject = code, subject


class _StorageType(str):
    __slots__ = ()


class _DType(str):
    __slots__ = ()


class _Storage(NamedTuple):
    dtype: str
    key: str
    size: int
    """In elements, or in bytes where dtype is empty."""


class _Tensor(NamedTuple):
    storage: _Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _RebuildTensor:
    """Stands in for `torch._utils._rebuild_tensor_v2`; without slots or dict, so a pickle cannot change it."""

    __slots__ = ()

    def __call__(
        self, storage: Any, offset: Any, shape: Any, strides: Any, _grad: Any, _hooks: Any, flags: Any = None
    ) -> _Tensor:
        if not isinstance(storage, _Storage) or not storage.dtype:
            raise _Refused("pickle-malformed", "a tensor without a typed storage")
        _refuse_flags(flags)
        return _Tensor(storage, storage.dtype, offset, shape, strides)


class _RebuildTypedTensor:
    """Stands in for `torch._utils._rebuild_tensor_v3`, whose storage is plain bytes."""

    __slots__ = ()

    def __call__(
        self,
        storage: Any,
        offset: Any,
        shape: Any,
        strides: Any,
        _grad: Any,
        _hooks: Any,
        dtype: Any,
        flags: Any = None,
    ) -> _Tensor:
        if not isinstance(storage, _Storage) or not isinstance(dtype, _DType):
            raise _Refused("pickle-malformed", "a tensor without a storage or dtype")
        _refuse_flags(flags)
        return _Tensor(storage, str(dtype), offset, shape, strides)


class _RebuildParameter:
    """Stands in for `torch._utils._rebuild_parameter`: the tensor inside is what counts."""

    __slots__ = ()

    def __call__(self, data: Any, *_: Any) -> _Tensor:
        if not isinstance(data, _Tensor):
            raise _Refused("pickle-malformed", "a parameter without a tensor")
        return data


def _refuse_flags(flags: Any) -> None:
    # torch marks lazily negated or conjugated tensors here: their stored bytes are not their values.
    if flags:
        raise _Refused("pickle-malformed", "a lazily negated or conjugated tensor")


GLOBALS: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _RebuildTensor(),
    ("torch._utils", "_rebuild_tensor_v3"): _RebuildTypedTensor(),
    ("torch._utils", "_rebuild_parameter"): _RebuildParameter(),
    **{("torch", name): _StorageType(dtype) for name, dtype in STORAGES.items()},
    ("torch.storage", "UntypedStorage"): _StorageType(""),
    **{("torch", name): _DType(dtype) for name, dtype in DTYPES.items()},
}
"""Everything a pickle may name, and what it gets."""


class _TensorsOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return GLOBALS[module, name]
        except KeyError:
            raise _Refused("pickle-global", f"{module}.{name}") from None

    def persistent_load(self, identity: Any) -> _Storage:
        if not isinstance(identity, tuple) or len(identity) != 5 or identity[0] != "storage":
            raise _Refused("pickle-malformed", "a reference that is not a storage")
        _, kind, key, _, count = identity
        if not isinstance(kind, _StorageType) or not isinstance(key, str) or type(count) is not int:
            raise _Refused("pickle-malformed", "a storage reference that is not (type, key, device, count)")
        return _Storage(str(kind), key, count)


def read(stream: IO[bytes]) -> dict[str, Any]:
    """The answer for the parent: `{"tensors": [...]}` or `{"refused": [[code, subject], ...]}`."""
    try:
        value = _TensorsOnly(stream).load()
    except _Refused as refused:
        return {"refused": [[refused.code, refused.subject]]}
    except (
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        ImportError,
        LookupError,
        TypeError,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
    ) as error:  # fmt: skip - what the unpickler raises on damaged input, by its documentation and by trial
        return {"refused": [["pickle-malformed", f"{type(error).__name__}: {str(error)[:200]}"]]}
    if isinstance(value, _Tensor) or not isinstance(value, dict):
        return {"refused": [["pickle-not-a-dictionary", _kind(value)]]}
    problems = [problem for key, item in value.items() if (problem := _problem(key, item)) is not None]
    if problems:
        return {"refused": problems}
    return {
        "tensors": [
            [name, t.dtype, t.storage.key, t.storage.dtype, t.storage.size, t.offset, t.shape, t.strides]
            for name, t in value.items()
        ]
    }


def _problem(key: Any, item: Any) -> list[str] | None:
    if not isinstance(key, str):
        return ["pickle-value", f"a key that is a {_kind(key)}"]
    if isinstance(item, _Tensor):
        return None
    if isinstance(item, dict) and any(isinstance(value, _Tensor) for value in item.values()):
        return ["pickle-nested", key]
    return ["pickle-value", f"{key} ({_kind(item)})"]


def _kind(value: Any) -> str:
    return "tensor" if isinstance(value, _Tensor) else type(value).__name__.lstrip("_")


def main() -> None:
    """Limit this process, then answer."""
    # macOS refuses a limit below what is mapped already, its own libraries among it.
    with suppress(ValueError, OSError) if sys.platform == "darwin" else nullcontext():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))
    json.dump(read(sys.stdin.buffer), sys.stdout)


if __name__ == "__main__":
    main()
