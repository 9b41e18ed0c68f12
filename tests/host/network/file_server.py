"""A server of files, packages and git repositories on the loopback."""

from __future__ import annotations

import gzip
import http.server
import os
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.host.http.web import CERTIFICATES


class _Files(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, and its repositories by git's own program."""

    authorization = ""

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        if self._is_known():
            self._git()

    def do_GET(self) -> None:
        if not self._is_known():
            return
        if ".git/" in self.path:
            self._git()
        else:
            super().do_GET()

    def _is_known(self) -> bool:
        known = self.headers.get("authorization", "") == self.authorization
        if not known:
            self.send_error(401)
        return known

    def _git(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        env = {
            "GIT_PROJECT_ROOT": str(self.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "REMOTE_USER": "x",
            "PATH": os.defpath,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
        }
        answer = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=True).stdout
        head, _, rest = answer.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().splitlines():
            name, _, value = line.partition(": ")
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(rest)


@contextmanager
def serve_files(folder: Path, authorization: str = "", *, tls: bool = False) -> Iterator[int]:
    """The port of a server of this folder, for requests with this header."""
    handler = type("Handler", (_Files,), {"authorization": authorization})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    if tls:
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trust.load_cert_chain(CERTIFICATES / "server.pem")
        server.socket = trust.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def put_wheel(folder: Path) -> None:
    """A package `tiny` in an index `simple` in this folder."""
    wheel = folder / "simple" / "tiny" / "tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("tiny.py", "print('installed')\n")
        made.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        made.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr("tiny-1.0.dist-info/RECORD", "")
