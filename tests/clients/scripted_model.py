"""A model that follows a script: an HTTP server on 127.0.0.1 to which a real client is pointed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.clients.wire_formats import FORMATS, Calls, Item, ModelRequest, WireFormat


class ScriptedModel(ThreadingHTTPServer):
    """Asks for the calls of a script, one step after another, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self, script: Sequence[Calls], *, bare: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.bare = bare
        self.requests: list[ModelRequest] = []
        self.faults: list[str] = []
        self.outside: list[str] = []
        """Other machines that the client wanted to reach."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def last(self) -> ModelRequest:
        """The request with the most results."""
        return max(self.requests, key=lambda one: len(one.results))

    def choose(self, request: ModelRequest) -> str | Calls:
        """The step after the results in a conversation, so that requests may be repeated."""
        if not request.own:
            return "{}"  # a title, a summary, a choice of a model
        self.requests.append(request)
        done = len(request.results)
        for step in self.script:
            if done < len(step):
                return step
            done -= len(step)
        return "Done."


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedModel

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send("application/json", b"")

    def do_GET(self) -> None:
        self._send("application/json", b'{"data": [], "models": [], "object": "list"}')

    def do_CONNECT(self) -> None:
        self.server.outside.append(self.path)
        self._send("text/plain", b"There is no network.", 403)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.partition("?")[0]
        form = next((one for one in FORMATS if one.path in path), None)
        if form is None or path.endswith("count_tokens"):
            self._send("application/json", b'{"input_tokens": 10}')
            return
        try:
            self._answer(form, body, streams="stream" in path or body.get("stream", False))
        except (LookupError, ValueError) as error:  # the client waits for an answer, the test for its end
            self.server.faults.append(repr(error))
            self._send("application/json", json.dumps({"error": {"message": repr(error)}}).encode(), 400)

    def _answer(self, form: WireFormat, body: Item, *, streams: bool) -> None:
        request = replace(form.read(body), bare=self.server.bare)
        answer = form.answer(request, self.server.choose(request)) | {"model": body.get("model", "scripted")}
        if not streams:
            self._send("application/json", json.dumps(answer).encode())
            return
        lines = [
            (f"event: {event['type']}\n" if form.has_event_names else "") + f"data: {json.dumps(event)}\n\n"
            for event in form.stream(answer)
        ]
        self._send("text/event-stream", "".join([*lines, form.end]).encode())

    def _send(self, kind: str, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve_script(script: Sequence[Calls], *, bare: bool = False) -> Iterator[ScriptedModel]:
    """A model that listens until the block ends; `bare`: its client offers toolroll's tools alone, by their own names."""
    with ScriptedModel(script, bare=bare) as model:
        thread = threading.Thread(target=model.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield model
        finally:
            model.shutdown()
            thread.join()
