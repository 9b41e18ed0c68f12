"""The fast client: pass a `toolroll call` to the daemon of its workspace, if one runs.

It imports C modules and what Python has loaded at its start: `socket`, `json` and `hashlib` take longer than the call.
So it writes and reads the few messages of its one call by itself; the daemon's side is a `Channel`.
"""

from __future__ import annotations

import os
import sys

from toolroll.host.runtime.user_folders import state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Answer = Callable[[Mapping[str, str], Callable[[], bool]], str]
    """Shows a question on the terminal, and returns what is typed; asks the function whether it was withdrawn."""

SWITCH = "TOOLROLL_DAEMON"
"""The environment variable that is "off" for no daemon."""
PREFIX = "control-daemon-"
"""What the names of the sockets of daemons begin with."""
JOBS = ".jobs"
"""Ends the name of the file, beside the socket, that lists the jobs which end with the daemon."""
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
_SO_PEERCRED = 17
_MAX_ADDRESS_BYTES = 100
_CHUNK_BYTES = 1 << 18
MAX_INPUT_BYTES = 32 << 20
_SIGINT_STATUS, _SIGPIPE_STATUS, _FAILED = 130, 141, 1
_BEGIN_TIMEOUT_S = 30.0
"""A daemon that has not begun with a call by then is stopped or stuck; it does not begin when the client is gone."""
_CANCEL_TIMEOUT_S = 10.0
_LOST = "The daemon ended during this call, which may have taken effect. Look at the result before you call again."
_CUT_OFF = "The daemon was killed, and its jobs ended with it:"


def call_daemon(argv: Sequence[str], version: str, answer: Answer | None = None) -> int | None:
    """The exit status of a command that a daemon has carried out; None if none has taken it."""
    if not argv or argv[0] != "call" or os.environ.get(SWITCH) == "off" or _RECORD in os.environ:
        return None
    options = scan(*argv[1:])
    if options is None:
        return None
    try:
        name = socket_name(options, version)
        connection = connect(name)
        if connection is None:
            return None
        try:
            return _DaemonCall(connection, name, answer).run(argv)
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
    from _socket import AF_UNIX, SOCK_STREAM, SOL_SOCKET, socket

    made = socket(AF_UNIX, SOCK_STREAM)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        is_long = len(os.fsencode(path)) > _MAX_ADDRESS_BYTES
        made.connect(f"/proc/self/fd/{fd}/{name}" if is_long else path)
        owner = int.from_bytes(made.getsockopt(SOL_SOCKET, _SO_PEERCRED, 12)[4:8], sys.byteorder)
        if owner == os.geteuid():
            return made
    except OSError:
        report_lost_jobs(name)
    finally:
        os.close(fd)
    made.close()
    return None


def report_lost_jobs(name: str) -> None:
    """Say once which jobs have ended with the daemon of this socket, which was killed."""
    path = os.path.join(state_dir(), "run", name + JOBS)
    try:
        with open(path, encoding="utf-8") as file:
            jobs = file.read()
        os.unlink(path)
    except OSError:
        return
    _complain(f"{_CUT_OFF}\n{jobs.rstrip()}")


def _is_setting(name: str) -> bool:
    return name in _FOLDERS or (name.startswith("TOOLROLL_") and name not in (SWITCH, _MARK))


def _complain(text: str) -> None:
    from toolroll.host.error_line import write_error_line

    write_error_line("toolroll", text)


def _is_terminal(number: int) -> bool:
    return (sys.stdin, sys.stdout, sys.stderr)[number] is not None and os.isatty(number)


def _write(number: int, data: bytes) -> None:
    """Write all of it to a standard stream, unless that was closed before the start."""
    if (sys.stdin, sys.stdout, sys.stderr)[number] is not None:
        while data:
            data = data[os.write(number, data) :]


class _Scan:
    """The options of the C scanner of JSON."""

    strict, object_hook, object_pairs_hook = False, None, None
    parse_float, parse_int, parse_constant = float, int, float


class _DaemonCall:
    """The one call of a client: the only one on its connection."""

    def __init__(self, connection: socket, name: str, answer: Answer | None) -> None:
        from _json import make_scanner

        self._connection, self._name, self._answer = connection, name, answer
        self._scan: Any = make_scanner(_Scan)  # type: ignore[arg-type]  # it reads these attributes alone
        self._rest = b""
        self._begun = False

    def run(self, argv: Sequence[str]) -> int | None:
        """Send the command line, answer what the daemon asks, and print; None if the daemon has not begun with it."""
        self._connection.settimeout(_BEGIN_TIMEOUT_S)
        try:
            self._send_call(argv)
            while (message := self._receive()) is not None:
                if "of" in message:
                    self._serve(message)
                elif message.get("id") == 1:
                    return self._end(message)
        except KeyboardInterrupt:
            return self._cancel()
        except OSError:
            pass
        if not self._begun:
            return None
        _complain(_LOST)
        report_lost_jobs(self._name)
        return _FAILED

    def _send_call(self, argv: Sequence[str]) -> None:
        umask = os.umask(0o077)
        os.umask(umask)
        variables = [f"{name}={value}" for name, value in os.environ.items() if name != _MARK]
        encodings = [getattr(one, "encoding", None) or "utf-8" for one in (sys.stdout, sys.stderr)]
        texts = {"argv": argv, "variables": variables, "folder": [os.getcwd()], "encodings": encodings}
        packed = [f'"{name}":"{_pack(os.fsencode(chr(0).join(words)))}"' for name, words in texts.items()]
        terminals = ",".join("true" if _is_terminal(number) else "false" for number in range(3))
        params = ",".join([*packed, f'"terminals":[{terminals}]', f'"umask":{umask}'])
        self._send('"id":1,"method":"run","params":{' + params + "}")

    def _send(self, fields: str) -> None:
        self._connection.sendall(f'{{"jsonrpc":"2.0",{fields}}}\n'.encode())

    def _receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while b"\n" not in self._rest:
            data = self._connection.recv(_CHUNK_BYTES)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = self._scan(line.decode(), 0)[0]
        return found

    def _serve(self, message: Mapping[str, Any]) -> None:
        """Take an event of our call, or answer a question of it."""
        from _json import encode_basestring_ascii

        if message["method"] == "begun":
            self._begun = True
            self._connection.settimeout(None)
        if "id" not in message:
            return
        try:
            given = _read_input() if message["method"] == "input" else self._ask(message["params"])
            self._send(f'"id":{message["id"]},"result":{encode_basestring_ascii(given)}')
        except (OSError, ValueError) as error:
            told = encode_basestring_ascii(str(error))
            self._send(f'"id":{message["id"]},"error":{{"code":-32000,"message":{told}}}')

    def _ask(self, question: Mapping[str, str]) -> str:
        if self._answer is None:
            raise ValueError("this program does not ask")
        from select import select

        # While the daemon waits for the answer it sends nothing but that it does not want it any more.
        return self._answer(question, lambda: bool(self._rest or select([self._connection], [], [], 0)[0]))

    def _end(self, message: Mapping[str, Any]) -> int | None:
        """Print what the call has printed; its exit status."""
        from binascii import a2b_base64

        if (error := message.get("error")) is not None:
            if self._begun or (error.get("data") or {}).get("tell"):
                _complain(error["message"])
            return _FAILED if self._begun else None
        try:
            for number, data in message["result"]["output"]:
                _write(number, a2b_base64(data))
        except BrokenPipeError:
            return _SIGPIPE_STATUS
        except OSError as failed:
            _complain(failed.strerror or str(failed))
            return _FAILED
        status: int = message["result"]["status"]
        return status

    def _cancel(self) -> int:
        """Let the daemon end the call, and wait until it has."""
        try:
            self._send('"method":"$/cancelRequest","params":{"id":1}')
            self._connection.settimeout(_CANCEL_TIMEOUT_S)
            while (message := self._receive()) is not None and message.get("id") != 1:
                pass
        except (OSError, KeyboardInterrupt):
            pass
        return _SIGINT_STATUS


def _pack(data: bytes) -> str:
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode()


def _read_input() -> str:
    """Standard input, whole."""
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise ValueError(f"Standard input has more than {MAX_INPUT_BYTES:,} bytes. Give a file: key=@FILE.")
    return _pack(data)
