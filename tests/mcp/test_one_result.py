"""One result on every transport: library, command line and MCP give the same codes and the same keys."""

import json
import subprocess
import sys

import pytest

from toolroll import Kit
from toolroll.cli import main

FILES = {"a.py": "def one():\n    return 1\n", "b.txt": "alpha\nbeta\n", "d/c.txt": "gamma\n"}
READ = {
    "cdd": ("read", "file_path"),
    "fosscode": ("read", "filePath"),
    "coding-agent": ("file", "path"),
    "koopa": ("readFile", "path"),
    "pigo": ("read", "path"),
}
OTHERS = {
    "cdd": [("glob", {"pattern": "*.txt"}), ("grep", {"pattern": "alpha"}), ("bash", {"command": "exit 3"})],
    "fosscode": [("list", {}), ("grep", {"pattern": "alpha"}), ("edit", {"filePath": "b.txt", "oldString": "no"})],
    "coding-agent": [("finish", {"result": "x"}), ("git", {"action": "status"}), ("terminal", {"command": "rm a"})],
    "koopa": [("listFiles", {"path": "d"}), ("getEnv", {"key": "API_KEY"}), ("getFileInfo", {"path": "a.py"})],
    "pigo": [("ls", {"path": "."}), ("grep", {"pattern": "alpha"}), ("bash", {"command": "exit 3"})],
}


def calls(dialect):
    name, path = READ[dialect]
    action = {"action": "read"} if dialect == "coding-agent" else {}
    paths = ("a.py", "b.txt", "none", "d", "../out")
    return [*((name, {**action, path: one}) for one in paths), *OTHERS[dialect]]


def ask_mcp(folder, dialect, made):
    """Each answer to these calls, in order."""
    first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    sent = [{"id": 0, "method": "initialize", "params": first}, {"method": "notifications/initialized"}]
    words = [sys.executable, "-m", "toolroll", "mcp", "--dialect", dialect, "--structured", "-C", str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        answers = []
        for number, (name, arguments) in enumerate(made, 1):
            sent.append({"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
        for message in sent:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            while "id" in message and (answer := json.loads(server.stdout.readline())).get("id") != message["id"]:
                pass
            if message.get("method") == "tools/call":
                answers.append(answer["result"])
        server.stdin.close()
    return answers


@pytest.mark.parametrize("dialect", READ)
def test_library_command_line_and_mcp_give_equal_codes_and_keys(ws, put, dialect, tmp_path, monkeypatch, capsys):
    put(FILES)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = calls(dialect)
    with Kit(ws, dialect) as kit:
        results = [kit.call(*one) for one in made]
    answers = ask_mcp(ws, dialect, made)
    for (name, arguments), result, answer in zip(made, results, answers, strict=True):
        main(["call", "-d", dialect, "-C", str(ws), "--json", name, json.dumps(arguments)])
        printed = json.loads(capsys.readouterr().out)
        code = None if result.error is None else str(result.error.code)
        assert (answer["isError"], answer.get("_meta", {}).get("code")) == (not result.ok, code), (name, arguments)
        if isinstance(result.wire, dict):
            assert printed.keys() == result.wire.keys() == answer["structuredContent"].keys(), (name, arguments)
            assert printed.get("error") == result.wire.get("error") == answer["structuredContent"].get("error")
            continue
        assert (printed["error"] or {}).get("code") == code, (name, arguments)
        if isinstance(result.data, dict):
            assert {*printed["data"], "answer"} == {*result.data, "answer"} == {*answer["structuredContent"]}
