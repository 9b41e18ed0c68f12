"""`toolroll call`: results on stdout, errors on stderr, and the exit status."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import until

Run = Callable[..., tuple[int, str, str]]
Put = Callable[[dict[str, str | bytes]], None]

FILES: dict[str, str | bytes] = {"a.txt": "one\ntwo\nthree\n", "5": "five\n"}

# Words, exit status, what stdout or (for an error) stderr holds.
CALLS = [
    ("read path=a.txt offset=2 limit=1", 0, "2\ttwo\n(Lines 2-2 of 3.)\n"),
    ("read path=5", 0, "1\tfive\n"),
    ("""read '{"path": "a.txt", "limit": 1}'""", 0, "1\tone\n"),
    ("grep pattern=t output=count", 0, "a.txt: 2\n"),
    ("find pattern=*.txt --json", 0, '"text": "a.txt"'),
    ("ls --dialect pigo path=.", 0, "[file] a.txt"),
    ("edit path=a.txt old=two new=2", 0, "-two\n+2\n"),
    ("read filePath=a.txt", 0, "1\tone"),
    ("ls --mode thinking", 0, "a.txt\n"),
    ("bash --sandbox none command='wc -l < a.txt' --json", 0, '"sandbox": "none"'),
    ("bash command='exit 3' --no-exit-code", 0, "Exit code: 3\n"),
    ("Bash --dialect claude-code command='exit 3'", 3, "ExecutionError: Exit code: 3\n"),
    ("ls --root nowhere", 2, "nowhere' cannot be opened: No such file or directory.\n"),
    ("read path=a.tx", 1, "NotFound: File not found: there is no 'a.tx'. Did you mean 'a.txt'?\n"),
    ("read path=a.tx", 1, "  try: toolroll call read path=a.txt\n"),
    ("gerp pattern=a", 1, "NotFound: Tool not found: there is no tool 'gerp'. Did you mean 'grep'?\n"),
    ("read", 1, "ValidationError: Invalid arguments. `path` is required (string)."),
    ("read path=", 1, "`path` is required and must not be empty."),
    ("read path=a.txt limit=0", 1, "`limit` must be at least 1, not 0."),
    ("read path=a.txt lmit=1", 1, "There is no parameter 'lmit'; did you mean `limit`?"),
    ("read path=../a.txt", 1, "SecurityError: '../a.txt' is outside the workspace"),
    (
        "write path=b content=x --mode thinking",
        1,
        "PermissionDenied: Tool not allowed in thinking mode: 'write'.",
    ),
    ("edit path=a.txt old=t new=T", 1, "Conflict: "),
    ("grep pattern='('", 1, "is not a valid regular expression"),
    ("", 2, "toolroll: Which tool? There are: "),
    (
        "read a.txt",
        2,
        "toolroll: Arguments are given as key=value, and 'a.txt' is not. Did you mean path=a.txt?\n",
    ),
    ("read path=a.txt limit=two", 2, "toolroll: limit must be an integer, not 'two'.\n"),
    ("read '{path}'", 2, "toolroll: The arguments are not valid JSON"),
    ("ls -C nowhere", 2, "Cannot open the workspace 'nowhere'"),
    ("ls -C a.txt", 2, "Cannot open the workspace 'a.txt': Not a directory."),
]


@pytest.mark.parametrize(("words", "status", "text"), CALLS)
def test_calls(quick: Run, put: Put, words: str, status: int, text: str) -> None:
    put(FILES)
    found, out, err = quick("call", *shlex.split(words))
    assert found == status
    assert text in (err if status else out)
    assert (out if status else "") == ""
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("bash command='kill -9 $$'", 137),
        ("tests framework=unittest", 1),
        ("lint path=bad.py", 1),
        ("lint path=bad.py --no-exit-code", 0),
        ("lint action=fix path=bad.py", 0),
        ("lint path=test_good.py", 0),
    ],
)
def test_the_exit_status_follows_the_outcome(quick: Run, put: Put, words: str, status: int) -> None:
    test = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        assert {}\n"
    put({"bad.py": "import os\n", "test_good.py": test.format(True), "test_bad.py": test.format(False)})
    found, out, err = quick("call", *shlex.split(words))
    assert (found, bool(out), err) == (status, True, "")


def test_further_roots(quick: Run, put: Put, tmp_path: Path) -> None:
    put(FILES)
    for name in ("lib", "more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b.txt").write_text(f"in {name}\n")
    roots = ("--root", str(tmp_path / "lib"), "--root", "../more")
    assert quick("call", "grep", "pattern=in", *roots) == (0, "lib/b.txt\n1:in lib\nmore/b.txt\n1:in more\n", "")


def test_results_and_errors_of_a_real_process(toolroll: Run, put: Put) -> None:
    put(FILES)
    assert toolroll("call", "read", "path=5") == (0, "1\tfive\n", "")
    status, out, err = toolroll("call", "read", "path=a.tx")
    assert (status, out, err.splitlines()[1]) == (1, "", "  try: toolroll call read path=a.txt")


def test_content_from_standard_input_is_kept_to_the_byte(toolroll: Run, ws: Path) -> None:
    content = b"a\r\nb = '@x'\n\tc"
    assert toolroll("call", "write", "path=new/b.txt", "content=@-", stdin=content) == (
        0,
        f"Created new/b.txt ({len(content)} bytes).\n",
        "",
    )
    assert (ws / "new" / "b.txt").read_bytes() == content


def test_all_arguments_from_standard_input(quick: Run, put: Put) -> None:
    put(FILES)
    assert quick("call", "read", "-", stdin=b'{"path": "5"}') == (0, "1\tfive\n", "")
    status, _, err = quick("call", "read", "-", stdin=b"[]")
    assert (status, "must be an object" in err) == (2, True)


def test_the_whole_result_as_json(quick: Run, put: Put) -> None:
    put(FILES)
    status, out, err = quick("call", "read", "path=5", "--json")
    result = json.loads(out)
    assert (status, err) == (0, "")
    assert set(result.pop("meta")) == {"seconds"}
    data = {
        "path": "5",
        "content": "five",
        "start": 1,
        "line_count": 1,
        "total_lines": 1,
        "truncated": False,
        "folder": False,
        "ended": True,
    }
    assert result == {"status": "success", "text": "1\tfive", "data": data, "error": None, "control": None}


def test_an_error_as_json(quick: Run, put: Put) -> None:
    put(FILES)
    status, out, err = quick("call", "read", "path=a.tx", "--json")
    result = json.loads(out)
    assert (status, err, result["status"]) == (1, "", "error")
    assert result["error"]["code"] == "NotFound"
    assert result["error"]["suggest"] == [{"name": "read", "arguments": {"path": "a.txt"}}]


def test_a_suggested_command_can_be_pasted(quick: Run, put: Put, ws: Path) -> None:
    put({"sub dir/it's.txt": "here\n"})
    options = ("--dialect", "cdd", "-C", str(ws / "sub dir"))
    _, _, err = quick("call", "read", "file_path=its.txt", *options)
    command = err.splitlines()[1].removeprefix("  try: ")
    name, *words = shlex.split(command)
    assert (name, quick(*words)) == ("toolroll", (0, "     1→here\n", ""))


def test_repairs_are_told(quick: Run, put: Put) -> None:
    put(FILES)
    assert quick("call", "read", "filePath=5") == (0, "1\tfive\n", "note: filePath read as path\n")


def test_help_of_a_tool(quick: Run) -> None:
    status, out, _ = quick("call", "write", "--help")
    assert status == 0
    assert out.startswith("usage: toolroll call write path=... content=... [key=value ...]\n\nCreate a file")
    assert "\n  overwrite  boolean. Replace an existing file. (default true)\n" in out


def test_a_terminal_is_not_made_to_do_things(quick: Run, put: Put) -> None:
    put({"evil.txt": "a\x1b]0;title\x07b\n"})
    assert quick("call", "read", "path=evil.txt")[1] == "1\ta\x1b]0;title\x07b\n"
    assert quick("call", "read", "path=evil.txt", FORCE_COLOR="1")[1] == "1\ta\\x1b]0;title\\x07b\n"


def test_diffs_are_coloured_for_people(quick: Run, put: Put) -> None:
    put(FILES)
    _, out, _ = quick("call", "edit", "path=5", "old=five", "new=V", FORCE_COLOR="1")
    assert "\x1b[31m-five\x1b[0m\n\x1b[32m+V\x1b[0m\n" in out


def test_words_that_are_not_unicode(toolroll: Run) -> None:
    status, out, err = toolroll("call", "read", b"path=\xff")
    assert (status, out) == (1, "")
    assert "not valid Unicode" in err


def test_output_that_the_encoding_lacks(toolroll: Run, put: Put) -> None:
    put({"a.txt": "→\n"})
    assert toolroll("call", "read", "path=a.txt", PYTHONIOENCODING="ascii")[:2] == (0, "1\t\\u2192\n")
    status, out, _ = toolroll("call", "read", "path=a.txt", "--json", PYTHONIOENCODING="ascii")
    assert (status, json.loads(out)["text"]) == (0, "1\t→")


def test_nothing_is_left_in_the_workspace(quick: Run, ws: Path) -> None:
    for words in (["tools"], ["doctor"], ["call", "ls"], ["call", "grep", "pattern=x"]):
        assert quick(*words)[0] == 0
    assert list(ws.iterdir()) == []


def test_a_signal_ends_the_command_too(ws, tmp_path, tier):
    """Also where the sandbox does not: what runs is ended before the program itself is."""
    number = signal.SIGINT if tier == "landlock" else signal.SIGTERM
    argv = [sys.executable, "-m", "toolroll", "call", "bash", "command=while true; do date > alive; sleep 0.05; done"]
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    running = subprocess.Popen([*argv, "--workspace", str(ws), "--sandbox", tier], env=env, stdout=subprocess.DEVNULL)
    assert until((ws / "alive").exists)
    running.send_signal(number)
    assert running.wait(30) in (130, 143)
    before = (ws / "alive").stat().st_mtime_ns
    time.sleep(0.3)
    assert (ws / "alive").stat().st_mtime_ns == before


def test_a_call_imports_only_what_it_uses(ws: Path) -> None:
    code = "import sys; from toolroll.cli import main; main(['call', 'ls', 'path=.']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ws, capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert {one for one in modules if one.startswith("toolroll.tools.") and one.count(".") > 2} == {
        "toolroll.tools.files.ls"
    }
    engines = {
        "code.structure",
        "http.client",
        "knowledge.semantic",
        "lsp.language_servers",
        "search.search",
        "shell.shell",
    }
    assert modules & {*(f"toolroll.host.{one}" for one in engines), "asyncio", "ssl", "logging"} == set()
    heavy = {
        "jsonschema_rs",
        "email",
        "pathlib",
        "tempfile",
        "urllib.parse",
        "httpx2",
        "toolroll.policy.secrets",
        "rich",
    }
    assert heavy & modules == set()


def test_a_tool_of_ones_own_that_raises_is_an_answer(quick, tmp_path):
    folder = tmp_path / "config/toolroll/tools"
    folder.mkdir(parents=True)
    source = "from toolroll import tool\n\n@tool()\ndef divide(a: int) -> int:\n    'Divide.'\n    return 1 // a\n"
    (folder / "own.py").write_text(source)
    status, out, err = quick("call", "divide", "a=0", XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert (status, "failed with ZeroDivisionError: " in out + err, "(own.py:6)" in out + err) == (1, True, True), (
        out + err
    )
    assert "Traceback" not in err
