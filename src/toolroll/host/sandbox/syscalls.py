"""System calls that Python lacks, with their numbers on x86_64 and aarch64."""

from __future__ import annotations

import _thread
import os
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from toolroll.host.linux import IS_LINUX

T = TypeVar("T")

_PR_SET_NO_NEW_PRIVS = 38
_LATEST = 10.0  # seconds within which a new thread must run; it may not where memory is short

# The name of a call, its number on x86_64 and on aarch64; "-" where the call does not exist.
_CALLS = """
    acct 163 89; add_key 248 217; bind 49 200; bpf 321 280; capset 126 91; chmod 90 -; chroot 161 51; clock_settime 227
    112; clone 56 220; clone3 435 435; connect 42 203; creat 85 -; delete_module 176 106; fanotify_init 300 262; fchmod
    91 52; fchmodat 268 53; fchmodat2 452 452; finit_module 313 273; fsconfig 431 431; fsmount 432 432; fsopen 430 430;
    fspick 433 433; init_module 175 105; io_uring_enter 426 426; io_uring_register 427 427; io_uring_setup 425 425;
    ioctl 16 29; ioperm 173 -; iopl 172 -; kcmp 312 272; kexec_file_load 320 294; kexec_load 246 104; keyctl 250 219;
    landlock_add_rule 445 445; landlock_create_ruleset 444 444; landlock_restrict_self 446 446; listen 50 201;
    lookup_dcookie 212 18; mknod 133 -; mknodat 259 33; modify_ldt 154 -; mount 165 40; mount_setattr 442 442;
    move_mount 429 429; mq_open 240 180; mq_unlink 241 181; msgctl 71 187; msgget 68 186; msgrcv 70 188; msgsnd 69 189;
    nfsservctl 180 42; open 2 -; open_by_handle_at 304 265; open_tree 428 428; open_tree_attr 467 467; openat 257 56;
    openat2 437 437; perf_event_open 298 241; pidfd_getfd 438 438; pidfd_open 434 434; pivot_root 155 41; prctl 157
    167; prlimit64 302 261; process_madvise 440 440; process_vm_readv 310 270; process_vm_writev 311 271; ptrace 101
    117; quotactl 179 60; quotactl_fd 443 443; reboot 169 142; request_key 249 218; seccomp 317 277; semctl 66 191;
    semget 64 190; semop 65 193; semtimedop 220 192; sendmmsg 307 269; sendmsg 46 211; sendto 44 206; setdomainname 171
    162; sethostname 170 161; setns 308 268; setsockopt 54 208; settimeofday 164 170; shmat 30 196; shmctl 31 195;
    shmget 29 194; shutdown 48 210; socket 41 198; socketpair 53 199; swapoff 168 225; swapon 167 224; syslog 103 116;
    truncate 76 45; umount2 166 39; unshare 272 97; uselib 134 -; userfaultfd 323 282; vhangup 153 58
"""
_SLOW = ("bind", "connect", "pidfd_getfd")  # they may wait for a file system, or for what a command does meanwhile
_MACHINES = (("x86_64", 0xC000003E), ("aarch64", 0xC00000B7))  # with the kernel's mark for each


@dataclass(frozen=True, slots=True)
class Machine:
    """A kind of processor: its name, the kernel's mark for it, and the numbers of its calls."""

    name: str
    audit: int
    numbers: dict[str, int]


def machines() -> tuple[Machine, ...]:
    """All that we know."""
    rows = [row.split() for row in _CALLS.split(";")]
    numbers = [{name: int(row[at]) for name, *row in rows if row[at] != "-"} for at in range(len(_MACHINES))]
    return tuple(Machine(*kind, calls) for kind, calls in zip(_MACHINES, numbers, strict=True))


def machine() -> Machine | None:
    """The one that this Python runs on, or None when it is not Linux, or another, or 32 bits wide."""
    if not IS_LINUX or struct.calcsize("P") != 8:
        return None
    return next((one for one in machines() if one.name == os.uname().machine), None)


class Kernel:
    """Calls by number. Every failure is an OSError."""

    def __init__(self, numbers: dict[str, int]) -> None:
        import ctypes

        self._numbers = numbers
        self._errno = ctypes.get_errno
        self._address = ctypes.addressof
        self._buffer = ctypes.create_string_buffer
        # Most are short: to let other threads run meanwhile would only mean to wait for these afterwards.
        self._syscall, self._slow_syscall = (one(None, use_errno=True).syscall for one in (ctypes.PyDLL, ctypes.CDLL))
        for one in (self._syscall, self._slow_syscall):
            one.restype, one.argtypes = ctypes.c_long, (ctypes.c_long,) * 6

    def call(self, name: str, *args: int | Any) -> int:
        """The result of the call; bytes are given as the address of a copy."""
        kept = [self._buffer(one, len(one)) if isinstance(one, bytes) else one for one in args]
        words = [one if isinstance(one, int) else self._address(one) for one in kept]
        call = self._slow_syscall if name in _SLOW else self._syscall
        return self._done(name, call(self._numbers[name], *words, *[0] * (5 - len(words))))

    def prctl(self, option: int, argument: int = 0) -> int:
        """Ask or tell about the calling thread."""
        return self._done("prctl", self._syscall(self._numbers["prctl"], option, argument, 0, 0, 0))

    def no_new_privileges(self) -> None:
        """From now on nothing that the calling thread starts gains rights by what it runs."""
        self.prctl(_PR_SET_NO_NEW_PRIVS, 1)

    def _done(self, name: str, result: int) -> int:
        if result < 0:
            number = self._errno()
            raise OSError(number, os.strerror(number), name)
        return result


def run_apart(work: Callable[[], T], undo: Callable[[T], None] = lambda _: None) -> T:
    """The result of `work`, done in a thread of its own, so that only that thread gives up what `work` gives up.

    The kernel has ended the thread when this returns. When the wait is interrupted, `undo` gets the result.
    """
    begun: list[int] = []
    done: list[T] = []
    failed: list[BaseException] = []
    over = threading.Event()

    def run() -> None:
        begun.append(_thread.get_native_id())
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            over.set()

    def wait() -> None:
        while not over.wait(_LATEST):
            if not begun:
                raise RuntimeError("a new thread did not come to run")
        while os.path.exists(f"/proc/self/task/{begun[0]}"):  # Python counts a thread as ended a little earlier
            time.sleep(0.00005)

    _thread.start_new_thread(run, ())  # a Thread would wait for its own start, where an interrupt loses the result
    try:
        wait()
    except BaseException:
        wait()
        for result in done:
            undo(result)
        raise
    if failed:
        raise failed[0]
    return done[0]
