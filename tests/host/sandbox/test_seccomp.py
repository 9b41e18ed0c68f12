"""The seccomp filter: as a program, on both machines, and in the kernel of this one."""

from __future__ import annotations

import errno
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll.host.runtime.launcher import AccessRules, Sandbox, python_paths
from toolroll.host.sandbox.seccomp import SeccompFilter
from toolroll.host.sandbox.syscalls import Machine, machines

Run = Callable[..., tuple[int, str]]

ALLOWED, ANNOUNCED = 0, -1
UNIX, INET, INET6, NETLINK, PACKET, ALG, VSOCK = 1, 2, 10, 16, 17, 38, 40
STREAM, DATAGRAM, SEQPACKET, CLOEXEC = 1, 2, 5, 0o2000000
NEW_USER, THREAD = 0x10000000, 0x3D0F00


def decide(program: bytes, arch: int, number: int, *args: int) -> int:
    """What the kernel would do with a call: the errno, 0 to let it pass, -1 to announce it."""
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, arch, 0, *args, *[0] * (6 - len(args)))
    code = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        kind, yes, no, k = code[at]
        at += 1
        if kind == 0x20:
            (value,) = struct.unpack_from("=I", data, k)
        elif kind == 0x54:
            value &= k
        elif kind == 0x06:
            assert k in (0x7FFF0000, 0x7FC00000) or k >> 16 == 5  # let pass, announce, or an errno: never a kill
            return {0x7FFF0000: ALLOWED, 0x7FC00000: ANNOUNCED}.get(k, k & 0xFFFF)
        else:
            at += yes if {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[kind] else no


OFFLINE, ONLINE = SeccompFilter(network=False, alone=False), SeccompFilter(network=True, alone=False)
ALONE, ALONE_ONLINE = SeccompFilter(network=False, alone=True), SeccompFilter(network=True, alone=True)
OLD = SeccompFilter(network=False, alone=False, truncation=True)
SERVED = SeccompFilter(network=False, alone=False, announced=True)
ALL = (OFFLINE, ONLINE, ALONE, ALONE_ONLINE, OLD)

# A call with its arguments, and the filters that let it pass.
ROWS: list[tuple[str, tuple[int, ...], tuple[SeccompFilter, ...]]] = [
    ("prctl", (38, 1), ALL),
    ("landlock_restrict_self", (3, 0), ALL),
    ("ioctl", (0, 0x5413), ALL),  # the size of the terminal
    ("ioctl", (0, 0x5412), ()),
    ("ioctl", (0, 0x7700005412), ()),  # the kernel looks at the low half only
    ("ioctl", (0, 0x541C), ()),
    ("clone", (THREAD,), ALL),
    ("clone", (17,), ALL),
    ("clone", (NEW_USER | 17,), ()),
    ("clone", (0x20000,), ()),
    ("clone", (0x40000000,), ()),
    ("unshare", (NEW_USER,), ()),
    ("setns", (3, 0), ()),
    ("mount", (), ()),
    ("open_tree", (), ()),
    ("io_uring_setup", (), ()),
    ("bpf", (), ()),
    ("keyctl", (), ()),
    ("userfaultfd", (), ()),
    ("perf_event_open", (), ()),
    ("open_by_handle_at", (), ()),
    ("init_module", (), ()),
    ("kexec_load", (), ()),
    ("ptrace", (), (ALONE, ALONE_ONLINE)),
    ("process_vm_writev", (), (ALONE, ALONE_ONLINE)),
    ("shmget", (), (ALONE, ALONE_ONLINE)),
    ("mq_open", (), (ALONE, ALONE_ONLINE)),
    ("prlimit64", (0, 7), ALL),
    ("prlimit64", (1234, 7), (ALONE, ALONE_ONLINE)),
    ("socket", (UNIX, STREAM), (ALONE,)),
    ("socket", (INET, STREAM), (ONLINE, ALONE, ALONE_ONLINE)),
    ("socket", (INET6, DATAGRAM | CLOEXEC), (ONLINE, ALONE, ALONE_ONLINE)),
    ("socket", (NETLINK, 3, 0), (ONLINE, ALONE, ALONE_ONLINE)),
    ("socket", (NETLINK, 3, 9), ()),
    ("socket", (PACKET, 3), ()),
    ("socket", (ALG, SEQPACKET), ()),
    ("socket", (VSOCK, STREAM), ()),
    ("socketpair", (UNIX, STREAM | CLOEXEC), ALL),
    ("socketpair", (UNIX, SEQPACKET), ALL),
    ("socketpair", (UNIX, DATAGRAM), (ALONE,)),
    ("socketpair", (INET, STREAM), ()),
    ("truncate", (), (OFFLINE, ONLINE, ALONE, ALONE_ONLINE)),
    ("openat", (0, 0, 0), ALL),
    ("openat", (0, 0, 0o1101), ALL),  # to write
    ("openat", (0, 0, 0o1000), (OFFLINE, ONLINE, ALONE, ALONE_ONLINE)),  # to read, and empty it
    ("open", (0, 0o1000), (OFFLINE, ONLINE, ALONE, ALONE_ONLINE)),
    ("open", (0, 0o1001), ALL),
    # Modes with a special bit, by every call that can set one; a mode that is not read does not count.
    *((name, (0, 0o755), ALL) for name in ("chmod", "fchmod", "creat", "mknod")),
    *((name, (0, 0, 0o1777), ALL) for name in ("fchmodat", "fchmodat2", "mknodat")),
    *(
        (name, (0, mode), ())
        for name in ("chmod", "fchmod", "creat", "mknod")
        for mode in (0o4755, 0o2755, 0x70000984D)
    ),
    *((name, (0, 0, mode), ()) for name in ("fchmodat", "fchmodat2", "mknodat") for mode in (0o4755, 0o102755)),
    ("open", (0, 0o101, 0o644), ALL),
    ("open", (0, 0o101, 0o4755), ()),
    ("open", (0, 0o1, 0o4755), ALL),
    ("openat", (0, 0, 0o102, 0o600), ALL),
    ("openat", (0, 0, 0o102, 0o2755), ()),
    ("openat", (0, 0, 0o20000001, 0o4700), ()),
    ("openat", (0, 0, 0o2, 0o4755), ALL),
]


@pytest.mark.parametrize(
    ("machine", "call", "args", "passes"),
    [(machine, *row) for machine in machines() for row in ROWS if row[0] in machine.numbers],
    ids=lambda one: one if isinstance(one, str) else one.name if isinstance(one, Machine) else "",
)
def test_what_is_let_pass(
    machine: Machine, call: str, args: tuple[int, ...], passes: tuple[SeccompFilter, ...]
) -> None:
    found = {one: decide(one.program(machine), machine.audit, machine.numbers[call], *args) for one in ALL}
    assert found == {one: ALLOWED if one in passes else errno.EPERM for one in ALL}


# A call with its arguments, and what becomes of it where calls that give an address are announced.
SERVED_ROWS: list[tuple[str, tuple[int, ...], int]] = [
    *((name, (3, 0, 16), ANNOUNCED) for name in ("bind", "connect", "listen")),
    *(("socket", (family, STREAM | CLOEXEC, 0), ALLOWED) for family in (UNIX, INET, INET6)),
    *(
        ("socket", (family, kind, 0), errno.EPERM)
        for family in (UNIX, INET, INET6)
        for kind in (DATAGRAM, 3, SEQPACKET)
    ),
    ("socket", (INET, STREAM, 6), ALLOWED),
    *(("socket", (INET, STREAM, protocol), errno.EPERM) for protocol in (17, 132, 256, 262)),
    ("socket", (NETLINK, 3, 0), ALLOWED),
    ("socket", (NETLINK, 3, 4), errno.EPERM),
    *(("socket", (family, STREAM, 0), errno.EPERM) for family in (PACKET, ALG, VSOCK)),
    ("socketpair", (UNIX, STREAM), ALLOWED),
    ("socketpair", (UNIX, DATAGRAM), errno.EPERM),
    *((name, (3, 0, 0, 0x4000), ALLOWED) for name in ("sendto", "sendmmsg")),
    *((name, (3, 0, 0, 0x20004000), errno.EPERM) for name in ("sendto", "sendmmsg")),
    ("sendmsg", (3, 0, 0x4000), ALLOWED),
    ("sendmsg", (3, 0, 0x20000000), errno.EPERM),
    *(("setsockopt", (3, *one), ALLOWED) for one in ((1, 2), (1, 15), (6, 1), (0, 1), (0, 2), (41, 26), (41, 67))),
    *(("setsockopt", (3, *one), errno.EPERM) for one in ((1, 25), (1, 62), (6, 30), (6, 31), (0, 4), (0, 50))),
    *(("setsockopt", (3, *one), errno.EPERM) for one in ((41, 57), (41, 6), (41, 76), (132, 1), (270, 1), (284, 1))),
    ("io_uring_setup", (), errno.EPERM),
    ("pidfd_getfd", (), errno.EPERM),
]


@pytest.mark.parametrize("machine", machines(), ids=lambda one: one.name)
def test_what_is_announced(machine: Machine) -> None:
    program = SERVED.program(machine)
    rows = [(row, decide(program, machine.audit, machine.numbers[row[0]], *row[1])) for row in SERVED_ROWS]
    assert [row for row, found in rows if found != row[2]] == []
    assert decide(program, 0x40000003, 102) == errno.EPERM  # i386, where one call is all of them
    others = [one.program(machine) for one in ALL]
    assert ANNOUNCED not in [decide(one, machine.audit, machine.numbers["connect"]) for one in others]


@pytest.mark.parametrize("machine", machines(), ids=lambda one: one.name)
def test_other_machines_and_calls_that_libc_can_do_without(machine: Machine) -> None:
    for one in ALL:
        program = one.program(machine)
        assert len(program) < 8 * 250
        assert decide(program, machine.audit, machine.numbers["clone3"]) == errno.ENOSYS
        assert decide(program, machine.audit, machine.numbers["openat2"]) == errno.ENOSYS
        assert decide(program, 0x40000003, 1) == errno.EPERM  # i386
        assert decide(program, 0x40000028, 1) == errno.EPERM  # 32-bit arm
        x32 = errno.EPERM if machine.name == "x86_64" else ALLOWED
        assert decide(program, machine.audit, 0x40000000 | 39) == x32


@pytest.mark.parametrize("machine", machines(), ids=lambda one: one.name)
def test_a_call_that_no_rule_names_is_let_pass(machine: Machine) -> None:
    """Rules are found by halves: a border that is off by one would decide about the neighbours of a call."""
    for one in ALL:
        program, named = one.program(machine), {machine.numbers.get(name) for name in one._blocks()}
        found = {number for number in range(600) if decide(program, machine.audit, number)}
        assert found <= named
        assert {machine.numbers[name] for name in ("mount", "setns", "bpf", "clone3")} <= found
        assert len(program) <= 8 * 150


CALLS = """
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 0, "aarch64": 1}[os.uname().machine]

def call(*numbers, args=()):
    done = libc.syscall(ctypes.c_long(numbers[number]), *(ctypes.c_long(one) for one in args))
    return "done" if done >= 0 else errno.errorcode[ctypes.get_errno()]

def pair(kind):
    try:
        for one in socket.socketpair(socket.AF_UNIX, kind):
            one.close()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

other = os.getppid() if len(sys.argv) < 2 else int(sys.argv[1])
print("io_uring_setup", call(425, 425, args=(1, 0)))
print("unshare", call(272, 97, args=(0x10000000,)))
print("clone3", call(435, 435, args=(0, 0)))
print("keyctl", call(250, 219, args=(0, -3, 0)))
print("bpf", call(321, 280, args=(0, 0, 0)))
print("shmget", call(29, 194, args=(0, 4096, 0o1600)))
print("ptrace", call(101, 117, args=(0, 0, 0, 0)))
print("prlimit", call(302, 261, args=(other, 7, 0, 0)))
print("limits of its own", call(302, 261, args=(0, 7, 0, 0)))
print("stream pair", pair(socket.SOCK_STREAM))
print("datagram pair", pair(socket.SOCK_DGRAM))
print("vsock", call(41, 198, args=(40, 1, 0)))

def mode(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def unpack():
    import io, tarfile
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        one = tarfile.TarInfo("unpacked")
        one.mode = 0o4755
        archive.addfile(one)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        archive.extraction_filter = None
        for one in archive:
            archive.extract(one, filter="fully_trusted")

os.umask(0)
os.close(os.open("x", os.O_CREAT | os.O_WRONLY, 0o755))
print("plain chmod", mode(lambda: os.chmod("x", 0o700)))
print("setuid chmod", mode(lambda: os.chmod("x", 0o4755)))
print("setuid fchmod", mode(lambda: os.fchmod(os.open("x", os.O_RDONLY), 0o4755)))
print("setuid open", mode(lambda: os.open("y", os.O_CREAT | os.O_WRONLY, 0o4755)))
print("setuid tmpfile", mode(lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755)))
print("setuid mknod", mode(lambda: os.mknod("z", 0o104755)))
mode(unpack)  # which may go on without the mode
"""

HELD = {"io_uring_setup", "unshare", "keyctl", "bpf", "vsock"}
HELD |= {f"setuid {one}" for one in ("chmod", "fchmod", "open", "tmpfile", "mknod")}


@pytest.mark.skipif(sys.platform != "linux", reason="calls of Linux")
def test_the_kernel_of_this_machine_agrees(run: Run, sandbox: Sandbox, ws: Path) -> None:
    (ws / "calls.py").write_text(CALLS)
    python = AccessRules((str(ws),), python_paths())
    status, said = run(sandbox, [sys.executable, "calls.py"], access=python)
    found = dict(line.rsplit(" ", 1) for line in said.splitlines())
    shared = {"shmget", "ptrace", "prlimit", "datagram pair"}
    held = HELD if sandbox.whole else HELD | shared
    assert status == 0
    assert {name for name, result in found.items() if result == "EPERM"} == held
    assert found["clone3"] == "ENOSYS"
    assert found["limits of its own"] == found["stream pair"] == found["plain chmod"] == "done"
    assert [one.name for one in ws.iterdir() if one.stat().st_mode & 0o6000] == []
