"""The seccomp filter: which of the kernel's calls a command may make, as a program for the kernel.

What is refused gives EPERM and never kills, so that programs print their ordinary errors. Pointers cannot be
followed by such a program, so nothing here depends on what they point to.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolroll.host.sandbox.syscalls import Kernel, Machine

Instruction = tuple[int, int, int, int]
Block = tuple[Instruction, ...]  # what decides about a call; it ends in a return

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCH, _ARGS = 0, 4, 16  # where these are in what the kernel shows to the filter
_ALLOW: Instruction = (_RETURN, 0, 0, 0x7FFF0000)
_X32 = 0x40000000
_SET_MODE_FILTER = 1
_ANNOUNCE: Instruction = (_RETURN, 0, 0, 0x7FC00000)
_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _TYPE = 1, 5, 0xF
_NETLINK_ROUTE = 0
_TCP = 6
_FAST_OPEN = 0x20000000  # a flag of sending, by which a socket is connected
# Options of sockets by their level: all but these, which change where packets go; or these alone. Routes by other
# machines (IP_OPTIONS, IPV6_RTHDR) would carry a packet out whose address was found to be good.
_OPTIONS_BUT = {1: (25, 62), _TCP: (30, 31)}  # SO_BINDTODEVICE, SO_BINDTOIFINDEX; TCP_FASTOPEN_CONNECT, TCP_ULP
_OPTIONS_ONLY = {0: (1, 2), 41: (16, 26, 67)}  # IP_TOS, IP_TTL; IPV6_UNICAST_HOPS, IPV6_V6ONLY, IPV6_TCLASS
# New mount, cgroup, uts, ipc, user, pid and network namespaces; a new time namespace is no flag of clone.
_NAMESPACES = 0x7E020000
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: both can type for the user
_TRUNC, _ACCESS = 0o1000, 0o3
_CREATES = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE
_SPECIAL_BITS = 0o6000
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""Which argument is a mode. Of a new folder the kernel leaves the special bits out itself."""

# fmt: off
# The kernel's own parts, other namespaces, other processes, and calls that have hidden other calls.
_NEVER = (
    "acct", "add_key", "bpf", "chroot", "clock_settime", "delete_module", "fanotify_init", "finit_module",
    "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "io_uring_enter", "io_uring_register",
    "io_uring_setup", "ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie",
    "modify_ldt", "mount", "mount_setattr", "move_mount", "nfsservctl", "open_by_handle_at", "open_tree",
    "open_tree_attr", "perf_event_open", "pidfd_getfd", "pivot_root", "process_madvise", "quotactl",
    "quotactl_fd", "reboot", "request_key", "setdomainname", "sethostname", "setns", "settimeofday", "swapoff",
    "swapon", "syslog", "umount2", "unshare", "uselib", "userfaultfd", "vhangup",
)
# Memory, queues and debugging that would reach other programs of the user where there are no namespaces.
_SHARED = (
    "mq_open", "mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd", "process_vm_readv", "process_vm_writev",
    "ptrace", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmget",
)
# fmt: on


@dataclass(frozen=True, slots=True)
class SeccompFilter:
    """What the filter is to be like."""

    network: bool  # sockets of the internet may be had
    alone: bool  # the command has namespaces of its own, so that it finds no other processes, queues and sockets
    truncation: bool = False
    """The filter also keeps files that may only be read from being emptied, as Landlock does since ABI 3."""
    announced: bool = False
    """Streams are allowed, and calls that give them an address are announced to the process with the listener."""

    def program(self, machine: Machine) -> bytes:
        """The instructions, as the kernel and bubblewrap read them.

        The kernel compiles them for every command, and asks them about each of its calls by number alone, to know
        which need not be asked about later: so there are few of them, and a few decide about each call.
        """
        blocks = {machine.numbers[name]: tuple(one) for name, one in self._blocks().items() if name in machine.numbers}
        spans = _spans(blocks)
        if machine.name == "x86_64":
            spans.append((_X32, (_refuse(),)))
        found = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, machine.audit), _refuse(), (_LOAD, 0, 0, _NUMBER)]
        return b"".join(struct.pack("=HBBI", *one) for one in (*found, *_search(spans)))

    def _blocks(self) -> dict[str, list[Instruction]]:
        """By the name of a call: what decides about it. Each block ends in a return."""
        blocks = {name: [_refuse()] for name in (*_NEVER, *(() if self.alone else _SHARED))}
        blocks["clone3"] = [_refuse(errno.ENOSYS)]  # libc then takes clone, whose flags can be seen
        blocks["clone"] = [_argument(0), (_ANY_BIT, 0, 1, _NAMESPACES), _refuse(), _ALLOW]
        blocks["ioctl"] = [_argument(1), *(step for one in _TERMINAL_INPUT for step in _refuse_if(one)), _ALLOW]
        blocks["socket"] = self._socket()
        blocks["socketpair"] = self._socketpair()
        if self.announced:
            blocks |= _announced()
        if not self.alone:  # limits of another process could end it
            blocks["prlimit64"] = [_argument(0), (_EQUAL, 1, 0, 0), _refuse(), _ALLOW]
        if self.truncation:
            blocks["truncate"] = [_refuse()]
        blocks |= {name: _mode(index) for name, index in _MODES.items()}
        blocks["openat2"] = [_refuse(errno.ENOSYS)]  # its flags and mode cannot be seen
        blocks["open"], blocks["openat"] = self._open(1), self._open(2)
        return blocks

    def _open(self, flags: int) -> list[Instruction]:
        """Refuse to make a program with special bits."""
        keeps = [(_ANY_BIT, 0, 2, _TRUNC), (_ANY_BIT, 1, 0, _ACCESS), _refuse()] if self.truncation else []
        mode = _mode(flags + 1)  # which is only read for a new file
        # A file that is opened for reading only may not be emptied: Landlock sees no right to write in that.
        return [_argument(flags), *keeps, (_ANY_BIT, 0, len(mode) - 1, _CREATES), *mode]

    def _socket(self) -> list[Instruction]:
        if self.announced:
            return _streams()
        families = [_INET, _INET6] if self.network or self.alone else []
        if self.alone and not self.network:
            families.append(_UNIX)  # with a network of its own it can name only its own sockets
        if not families:
            return [_refuse()]
        found = [_argument(0)]
        for family in families:
            found += [(_EQUAL, 0, 1, family), _ALLOW]
        return [
            *found,
            (_EQUAL, 1, 0, _NETLINK),
            _refuse(),
            _argument(2),
            (_EQUAL, 1, 0, _NETLINK_ROUTE),
            _refuse(),
            _ALLOW,
        ]

    def _socketpair(self) -> list[Instruction]:
        """Pairs that stay pairs: one of datagrams could be sent on to any socket that has a name."""
        found = [_argument(0), (_EQUAL, 1, 0, _UNIX), _refuse()]
        if self.alone and not self.network:
            return [*found, _ALLOW]
        kind = [
            _argument(1),
            (_AND, 0, 0, _TYPE),
            (_EQUAL, 2, 0, _STREAM),
            (_EQUAL, 1, 0, _SEQPACKET),
            _refuse(),
            _ALLOW,
        ]
        return found + kind


def _spans(blocks: Mapping[int, Block]) -> list[tuple[int, Block]]:
    """The numbers from which on another block decides, and that block; what has none is let pass."""
    passed: Block = (_ALLOW,)
    found = [(0, passed)]
    for number in sorted({*blocks, *(one + 1 for one in blocks)}):
        block = blocks.get(number, passed)
        if block != found[-1][1]:
            found.append((number, block))
    return found


def _search(spans: Sequence[tuple[int, Block]]) -> list[Instruction]:
    """Find the span of the number that is loaded, by halves, and decide as its block does; each is there once."""
    steps: list[tuple[int, int | Block, int | Block]] = []

    def halve(low: int, high: int) -> int | Block:
        if high - low == 1:
            return spans[low][1]
        middle, here = (low + high) // 2, len(steps)
        steps.append((0, 0, 0))  # its place, before those of its halves: a jump is forward only
        steps[here] = (spans[middle][0], halve(middle, high), halve(low, middle))
        return here

    halve(0, len(spans))
    places: dict[int | Block, int] = {at: at for at in range(len(steps))}
    ending: list[Instruction] = []
    for _, block in spans:
        if block not in places:
            places[block] = len(steps) + len(ending)
            ending += block
    jumps = [(_AT_LEAST, places[yes] - at - 1, places[no] - at - 1, k) for at, (k, yes, no) in enumerate(steps)]
    return [*jumps, *ending]


def install(kernel: Kernel, program: bytes, *, announced: bool = False) -> int:
    """Put the filter upon the calling thread, for good; it must have given up new privileges.

    `announced`: the result is a descriptor, for the caller to close, by which announced calls are received. A call that
    was received waits for its answer whatever signal comes but one that kills: under a timer it would never end.
    """
    import ctypes

    flags = _NEW_LISTENER | _WAIT_KILLABLE if announced else 0
    code = ctypes.create_string_buffer(program, len(program))
    words = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    return kernel.call("seccomp", _SET_MODE_FILTER, flags, words)


def _streams() -> list[Instruction]:
    """Sockets of TCP and unix streams, and those that list the network's interfaces."""
    stream = [_argument(1), (_AND, 0, 0, _TYPE), (_EQUAL, 1, 0, _STREAM), _refuse()]
    plain = [_argument(2), (_EQUAL, 2, 0, 0), (_EQUAL, 1, 0, _TCP), _refuse(), _ALLOW]
    listing = [_argument(2), (_EQUAL, 1, 0, _NETLINK_ROUTE), _refuse(), _ALLOW]
    families = [(_EQUAL, 4 - at, 0, one) for at, one in enumerate((_INET, _INET6, _UNIX))]  # to `stream`
    netlink = (_EQUAL, 1 + len(stream) + len(plain), 0, _NETLINK)
    return [_argument(0), *families, netlink, _refuse(), *stream, *plain, *listing]


def _announced() -> dict[str, list[Instruction]]:
    """What gives a socket an address is announced; what would do the same in another way is refused."""
    found = {name: [_ANNOUNCE] for name in ("bind", "connect", "listen")}
    for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        found[name] = [_argument(flags), (_ANY_BIT, 0, 1, _FAST_OPEN), _refuse(), _ALLOW]
    options = [_argument(1)]
    for level, numbers in (_OPTIONS_BUT | _OPTIONS_ONLY).items():
        hit, other = (_refuse(), _ALLOW) if level in _OPTIONS_BUT else (_ALLOW, _refuse())
        decide = [_argument(2), *(step for one in numbers for step in ((_EQUAL, 0, 1, one), hit)), other]
        options += [(_EQUAL, 0, len(decide), level), *decide]
    found["setsockopt"] = [*options, _refuse()]
    return found


def _argument(index: int) -> Instruction:
    """Load the low half of an argument: the kernel takes no more of a descriptor, a family or a set of flags."""
    return (_LOAD, 0, 0, _ARGS + 8 * index)


def _refuse(number: int = errno.EPERM) -> Instruction:
    return (_RETURN, 0, 0, 0x00050000 | number)


def _refuse_if(value: int) -> list[Instruction]:
    return [(_EQUAL, 0, 1, value), _refuse()]


def _mode(index: int) -> list[Instruction]:
    """Refuse the setuid and setgid bits: others who may run such a program would run it as the user."""
    return [_argument(index), (_ANY_BIT, 0, 1, _SPECIAL_BITS), _refuse(), _ALLOW]
