"""`trace`: work in a process of its own, stopped before each of its system calls that writes (`ptrace(2)`)."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tests.faults.calls import FILES, PATHS, SEND, name_of

if platform.machine() != "x86_64":
    raise RuntimeError("registers are read as an x86-64 has them")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long

TRACEME, PEEKUSER, POKEUSER, KILL_ON_EXIT = 0, 3, 6, 0x100000
SYSCALL, SETOPTIONS, GOOD_STOPS, FOLLOW_THREADS = 24, 0x4200, 0x1, 0x8
WALL = 0x40000000
"""Wait for threads too."""
_ORIGINAL_RAX, _RAX = 15 * 8, 10 * 8
_ARGUMENTS = tuple(8 * index for index in (14, 13, 12, 7, 9, 8))
"""Places of rdi, rsi, rdx, r10, r8, r9 in `struct user`."""
NO_CALL = 2**64 - 1


class Do(Enum):
    """What happens instead of a call, or before it."""

    GO_ON = "go on"
    KILL = "kill"


Answer = Do | int | None
"""An error number refuses the call; None does not count it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One system call that writes, before it is made."""

    index: int
    """How many such calls came before it."""
    number: int
    name: str
    path: str
    """What it changes, absolute; of a call to a server `socket`."""


@dataclass
class Run:
    """What became of the work."""

    calls: list[Call] = field(default_factory=list)
    code: int | None = None
    """None: killed."""


def forked(work: Callable[[], int], *, traced: bool) -> int:
    """A process, in a group of its own, that does `work` and ends with the code it returns; its number."""
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        if traced:
            _libc.ptrace(TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(work())
    finally:
        # Whatever was raised: this process must never go on as if it were the one that forked.
        os._exit(70)


def trace(work: Callable[[], int], answer: Callable[[Call], Answer]) -> Run:
    """Do `work` in a process of its own and ask `answer` before each call of it that writes."""
    child, run = forked(work, traced=True), Run()
    os.waitpid(child, WALL)
    _call(SETOPTIONS, child, KILL_ON_EXIT | GOOD_STOPS | FOLLOW_THREADS)
    _call(SYSCALL, child, 0)
    inside: dict[int, int | None] = {}
    while True:
        try:
            task, status = os.waitpid(-child, WALL)
        except ChildProcessError:
            return run
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if task == child:
                run.code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
            continue
        stopped, passed_on = os.WSTOPSIG(status), 0
        if stopped == signal.SIGTRAP | 0x80:
            if task in inside:
                error = inside.pop(task)
                if error is not None:
                    _poke(task, _RAX, 2**64 - error)
            else:
                inside[task] = _before(child, task, run, answer)
        elif stopped not in (signal.SIGTRAP, signal.SIGSTOP):
            passed_on = stopped
        _call(SYSCALL, task, passed_on)


def _before(child: int, task: int, run: Run, answer: Callable[[Call], Answer]) -> int | None:
    """The error number that a call about to be made will get instead of being made."""
    number = _peek(task, _ORIGINAL_RAX)
    arguments = tuple(_peek(task, place) for place in _ARGUMENTS)
    name = name_of(number, arguments)
    if name is None:
        return None
    call = Call(len(run.calls), number, name, _path(child, number, arguments))
    told = answer(call)
    if told is not None:
        run.calls.append(call)
    if told is Do.KILL:
        os.killpg(child, signal.SIGKILL)
    if isinstance(told, int):
        _poke(task, _ORIGINAL_RAX, NO_CALL)
        return told
    return None


def _path(child: int, number: int, arguments: tuple[int, ...]) -> str:
    """What a call changes."""
    if number in FILES:
        path = _link(child, f"fd/{arguments[FILES[number]] & 0xFFFFFFFF}")
        return "socket" if number in SEND or path.startswith("socket:") else path
    folder, place = PATHS[number]
    named = _text(child, arguments[place])
    here = "cwd" if folder is None or arguments[folder] & 0xFFFFFFFF == AT_FDCWD else f"fd/{arguments[folder]}"
    return os.path.normpath(Path(_link(child, here)) / named)


AT_FDCWD = 2**32 - 100


def _link(child: int, name: str) -> str:
    try:
        return str(Path(f"/proc/{child}/{name}").readlink())
    except OSError:
        return ""


def _text(child: int, address: int) -> str:
    """A string of the process."""
    with Path(f"/proc/{child}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        # Pages may end behind a string: no more than up to the next is read at once.
        found = b""
        while b"\0" not in found:
            found += memory.read(4096 - (address + len(found)) % 4096)
    return os.fsdecode(found.partition(b"\0")[0])


def _call(request: int, task: int, data: int) -> None:
    if _libc.ptrace(request, task, None, data) == -1 and ctypes.get_errno() != 3:
        raise OSError(ctypes.get_errno(), f"ptrace request {request}")


def _peek(task: int, place: int) -> int:
    ctypes.set_errno(0)
    return int(_libc.ptrace(PEEKUSER, task, place, None)) & NO_CALL


def _poke(task: int, place: int, value: int) -> None:
    _libc.ptrace(POKEUSER, task, place, value)
