"""A small language server that behaves as its first argument says: for what good servers do not do on demand."""

import json
import os
import subprocess
import sys
import threading
import time

MANNER = sys.argv[1]
PULLS = MANNER not in ("late", "unversioned", "old only", "grows")
texts = {}
asked = {"count": 0}
replies = []
lock = threading.Lock()
loaded = threading.Event()


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with lock:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()


def receive():
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    if not length:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(length))


def problem(message, line=0):
    place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}}
    return {"range": place, "severity": 1, "message": message, "source": "fake"}


def judged(uri):
    return [problem(f"bad line {at + 1}", at) for at, line in enumerate(texts[uri][1].split("\n")) if "bad" in line]


def publish(uri, version, items):
    send(
        {
            "method": "textDocument/publishDiagnostics",
            "params": {"uri": uri, "diagnostics": items} | ({"version": version} if version else {}),
        }
    )


def later(seconds, *call):
    timer = threading.Timer(seconds, call[0], call[1:])
    timer.daemon = True
    timer.start()


def changed(uri, version, old):
    if MANNER == "late":  # what it thought of the text before comes first, and again later
        if old is not None:
            publish(uri, old[0], [problem("old")])
        later(0.2, publish, uri, version, judged(uri))
        if old is not None:
            later(0.1, publish, uri, old[0], [problem("old")])
    elif MANNER == "unversioned":
        publish(uri, None, [problem("old")])
        later(0.2, publish, uri, None, judged(uri))
    elif MANNER == "old only":
        publish(uri, version - 1, [problem("old")])


def answer(method, params):
    if method == "initialize":
        can = {"textDocumentSync": 1, "hoverProvider": True, "renameProvider": True, "definitionProvider": True}
        return can | ({"diagnosticProvider": {}} if PULLS else {})
    if method == "textDocument/diagnostic":
        uri = params["textDocument"]["uri"]
        if MANNER == "loading" and not loaded.is_set():
            return []
        return replies[0] if MANNER == "asks" else judged(uri)
    return None


def handle_rename(uri, params):
    name = {"start": params["position"], "end": params["position"] | {"character": params["position"]["character"] + 1}}
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    edit = {"range": place, "newText": "new"}
    kinds = {
        "creates": {"documentChanges": [{"kind": "create", "uri": uri + "x"}]},
        "outside": {"changes": {"file:///etc/hosts": [edit]}},
        "overlaps": {"changes": {uri: [edit, edit]}},
        "missing": {"changes": {uri + "x": [edit]}},
        "nothing": None,
        "renames": {"changes": {uri: [{"range": name, "newText": params["newName"]}]}},
        "breaks": {"changes": {uri: [edit | {"newText": "(l"}]}},
    }
    return kinds[MANNER]


def handle(message):
    method, params, number = message.get("method"), message.get("params"), message.get("id")
    if method is None:
        replies.append(message)
    elif method == "textDocument/didOpen":
        document = params["textDocument"]
        texts[document["uri"]] = (document["version"], document["text"])
        changed(document["uri"], document["version"], None)
    elif method == "textDocument/didChange":
        uri, version = params["textDocument"]["uri"], params["textDocument"]["version"]
        old = texts[uri]
        texts[uri] = (version, params["contentChanges"][0]["text"])
        changed(uri, version, old)
    elif method == "exit":
        sys.exit(0)
    elif number is not None:
        reply(method, params, number)


def reply(method, params, number):
    asked["count"] += method == "textDocument/diagnostic"
    if MANNER == "hang" and method != "initialize":
        time.sleep(300)
    if MANNER == "dies" and method == "textDocument/diagnostic":
        print("I cannot go on", file=sys.stderr, flush=True)
        os._exit(3)
    if MANNER == "modified" and method == "textDocument/diagnostic" and asked["count"] < 3:
        send({"id": number, "error": {"code": -32801, "message": "content modified"}})
    elif MANNER == "refuses" and method == "textDocument/diagnostic":
        send({"id": number, "error": {"code": -32603, "message": "it is too ugly"}})
    elif method == "initialize":
        send({"id": number, "result": {"capabilities": answer(method, params)}})
    elif method == "textDocument/diagnostic":
        send({"id": number, "result": {"kind": "full", "items": answer(method, params)}})
    elif method == "textDocument/rename":
        if MANNER == "refuses rename":
            send({"id": number, "error": {"code": -32602, "message": "that is a keyword"}})
        else:
            send({"id": number, "result": handle_rename(params["textDocument"]["uri"], params)})
    else:
        send({"id": number, "result": None})


def ask_the_client():
    """Requests of a server, and then what came back as the message of a problem."""
    questions = [
        ("workspace/configuration", {"items": [{"section": "typescript"}, {"section": "none"}]}),
        ("client/registerCapability", {"registrations": []}),
        ("window/workDoneProgress/create", {"token": 1}),
        ("workspace/applyEdit", {"edit": {"changes": {}}}),
        ("workspace/unheard", {}),
    ]
    others = []
    for at, (method, params) in enumerate(questions):
        send({"id": f"q{at}", "method": method, "params": params})
        while len(replies) <= at:
            message = receive()
            handle(message) if "method" not in message else others.append(message)
    told = [one.get("result", (one.get("error") or {}).get("code")) for one in replies]
    replies.insert(0, [problem(json.dumps(told))])
    for message in others:
        handle(message)


def main():
    if MANNER == "deaf":
        time.sleep(300)
    if MANNER == "prints":
        print("error TS5023: Unknown compiler option '--lsp'.", flush=True)
        time.sleep(300)
    if MANNER == "grows":
        held = bytearray(300 << 20)
        held[::4096] = b"x" * len(held[::4096])
    if MANNER == "parent":
        child = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL)
        with open("child.pid", "w") as file:
            file.write(str(child.pid))
    first = receive()
    reply(first["method"], first["params"], first["id"])
    receive()  # initialized
    if MANNER == "loading":
        send({"method": "$/progress", "params": {"token": "load", "value": {"kind": "begin", "title": "Loading"}}})
        done = {"method": "$/progress", "params": {"token": "load", "value": {"kind": "end"}}}
        later(0.5, lambda: (loaded.set(), send(done)))
    if MANNER == "asks":
        receive()  # the settings
        ask_the_client()
    while True:
        handle(receive())


main()
