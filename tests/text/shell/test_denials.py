"""What the system denied, as programs print it."""

import pytest

from toolroll.text.shell.denials import Denial, find_denials

SOCKET = """  File "/usr/lib/python3.11/socket.py", line 232, in __init__
    _socket.socket.__init__(self, family, type, proto, fileno)
PermissionError: [Errno 1] Operation not permitted"""


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("curl: (6) Could not resolve host: example.org", Denial("host", "example.org")),
        ("ssh: Could not resolve hostname github.com: Temporary failure in", Denial("host", "github.com")),
        ("Error: getaddrinfo EAI_AGAIN registry.npmjs.org", Denial("host", "registry.npmjs.org")),
        ("dial tcp: lookup proxy.golang.org: no such host", Denial("host", "proxy.golang.org")),
        ("<urlopen error [Errno -3] Temporary failure in name resolution>", Denial("host")),
        ("OSError: [Errno 101] Network is unreachable", Denial("host")),
        ("Error: connect EPERM 1.2.3.4:80 - Local (undefined:undefined)", Denial("socket")),
        ("Error: listen EPERM: operation not permitted 127.0.0.1:3000", Denial("socket")),
        ("dial unix /var/run/docker.sock: socket: operation not permitted", Denial("socket")),
        (SOCKET, Denial("socket")),
        ("touch: cannot touch '/etc/x': Read-only file system", Denial("file", "/etc/x")),
        ("mkdir: cannot create directory \u2018/root/x\u2019: Permission denied", Denial("file", "/root/x")),
        ("/usr/bin/bash: line 1: .git/config: Read-only file system", Denial("file", ".git/config")),
        ("PermissionError: [Errno 13] Permission denied: '/etc/x'", Denial("file", "/etc/x")),
        ("Error: EROFS: read-only file system, open '/etc/x'", Denial("file", "/etc/x")),
        ("open /etc/x: permission denied", Denial("file", "/etc/x")),
        ("java.io.FileNotFoundException: /etc/x (Permission denied)", Denial("file", "/etc/x")),
        ("cat: /root/.npmrc: No such file or directory", Denial("missing", "/root/.npmrc")),
        ("unshare: unshare failed: Operation not permitted", Denial("call", "unshare")),
        ("PermissionError: [Errno 1] Operation not permitted", None),
        ("cat: missing.txt: No such file or directory", None),
        ("AssertionError: 3 != 4", None),
        ("connect ECONNREFUSED 127.0.0.1:80", None),
    ],
)
def test_denials_are_found(output, found):
    assert next(find_denials(f"first\n{output}\nlast"), None) == found
