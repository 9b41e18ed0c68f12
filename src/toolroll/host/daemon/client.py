"""The fast client: pass a `toolroll call` to the daemon of its workspace, if one runs.

It imports C modules and what Python has loaded at its start: `socket` and `hashlib` take longer than the call.
"""

from __future__ import annotations

import os
import sys

from toolroll.host.runtime.user_folders import state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Mapping, Sequence

SWITCH = "TOOLROLL_DAEMON"
"""The environment variable that is "off" for no daemon."""
PREFIX = "daemon-"
"""What the names of the sockets of daemons begin with."""
TAKEN, REFUSED = b"+", b"-"
"""The first byte of an answer: the call has begun, or the rest says why it is not taken."""
_MARK, _RECORD = (
    "TOOLROLL_RUN",
    "TOOLROLL_RECORD",
)  # the processes of a command have the first; the second records calls
VALUES = {
    **dict.fromkeys(("-d", "--dialect"), ""),
    **dict.fromkeys(("-C", "--workspace"), "workspace"),
    **dict.fromkeys(("-m", "--mode"), "mode"),
    **{f"--{name}": name for name in ("sandbox", "network", "root")},
    "--session": "",
}
"""The options of `toolroll call` with a value, and which part of the key each one sets."""
SWITCHES = {"--wide": "wide", **dict.fromkeys(("--json", "--exit-code", "--no-exit-code"), "")}
"""Those without one."""
_FOLDERS = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
_MAX_ADDRESS_BYTES = 100
_SIGINT_STATUS = 130
_CANCEL_TIMEOUT_S = 10.0
_LOST = "The daemon ended during this call, which may have taken effect. Look at the result before you call again."


def call_daemon(argv: Sequence[str], version: str) -> int | None:
    """The exit status of a command that a daemon has carried out; None if none has taken it."""
    if not argv or argv[0] != "call" or os.environ.get(SWITCH) == "off" or _RECORD in os.environ:
        return None
    options = scan(*argv[1:])
    if options is None:
        return None
    try:
        connection = connect(socket_name(options, version))
        if connection is None:
            return None
        try:
            return _ask(connection, argv)
        finally:
            connection.close()
    except (OSError, UnicodeError):
        return None
    except KeyboardInterrupt:
        return _SIGINT_STATUS


def scan(*words: str) -> dict[str, list[str]] | None:
    """The options of a call that choose a daemon; None for those that only the full parser knows."""
    found: dict[str, list[str]] = {}
    left = iter(words)
    for word in left:
        if word == "--":
            break
        if word == "-" or not word.startswith("-"):
            continue
        if word.startswith("--"):
            name, given, value = word.partition("=")
        else:
            name, given, value = word[:2], word[2:], word[2:]
        if name in SWITCHES and not given:
            found[SWITCHES[name]] = ["yes"]
        elif name in VALUES:
            one = value if given else next(left, None)
            if one is None:
                return None
            found.setdefault(VALUES[name], []).append(one)
        else:
            return None
    return found


def resolve(workspace: str) -> str:
    """The path that a workspace is known by, to be compared."""
    return os.path.realpath(workspace)


def socket_name(options: Mapping[str, Sequence[str]], version: str) -> str:
    """The name of a daemon's socket: by workspace, version of toolroll, and all that changes its policy."""
    from _blake2 import blake2b

    here = os.stat(__file__)
    parts = [version, __file__, str(here.st_mtime_ns), sys.prefix]
    parts.append(resolve(options.get("workspace", ["."])[-1]))
    parts += [f"{name}={options.get(name, [''])[-1]}" for name in ("mode", "sandbox", "network", "wide")]
    parts += [f"root={os.path.abspath(one)}" for one in options.get("root", ())]
    parts += sorted(f"{name}={value}" for name, value in os.environ.items() if _is_setting(name))
    digest = blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    return PREFIX + digest


def connect(name: str) -> socket | None:
    """A connection to a daemon of this user; None if there is none."""
    folder = os.path.join(state_dir(), "run")
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    from _socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, socket

    made = socket(AF_UNIX, SOCK_STREAM)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        is_long = len(os.fsencode(path)) > _MAX_ADDRESS_BYTES
        made.connect(f"/proc/self/fd/{fd}/{name}" if is_long else path)
        owner = int.from_bytes(made.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)[4:8], sys.byteorder)
        if owner == os.geteuid():
            return made
    except OSError:  # the daemon was killed
        pass
    finally:
        os.close(fd)
    made.close()
    return None


def send(connection: socket, kind: str, argv: Sequence[str] = ()) -> None:
    """Send a request with our streams, folder, umask and environment."""
    from _socket import SCM_RIGHTS, SOL_SOCKET

    umask = os.umask(0o077)
    os.umask(umask)
    encodings = [getattr(one, "encoding", None) or "utf-8" for one in (sys.stdin, sys.stdout, sys.stderr)]
    variables = [f"{name}={value}" for name, value in os.environ.items() if name != _MARK]
    fields = [kind, str(umask), *encodings, str(len(argv)), *argv, *variables]
    body = "\0".join(fields).encode("utf-8", "surrogateescape")
    data = b"%010d" % len(body) + body
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fds = b"".join(fd.to_bytes(4, sys.byteorder) for fd in (0, 1, 2, folder))
        sent = connection.sendmsg([data], [(SOL_SOCKET, SCM_RIGHTS, fds)])
    finally:
        os.close(folder)
    if sent < len(data):
        connection.sendall(data[sent:])


def _ask(connection: socket, argv: Sequence[str]) -> int | None:
    try:
        send(connection, "call", argv)
        answer = connection.recv(1)
        if answer != TAKEN:
            return None
        said = b""
        try:
            while more := connection.recv(64):
                said += more
        except OSError:
            pass
        if said.strip().isdigit():
            return int(said)
        sys.stderr.write(f"toolroll: {_LOST}\n")
        return 1
    except KeyboardInterrupt:
        return _cancel(connection)


def _cancel(connection: socket) -> int:
    """Let the daemon end the call, and wait until it has."""
    from _socket import SHUT_WR

    try:
        connection.shutdown(SHUT_WR)
        connection.settimeout(_CANCEL_TIMEOUT_S)
        while connection.recv(64):
            pass
    except (OSError, KeyboardInterrupt):
        pass
    return _SIGINT_STATUS


def _is_setting(name: str) -> bool:
    return name in _FOLDERS or (name.startswith("TOOLROLL_") and name not in (SWITCH, _MARK))
