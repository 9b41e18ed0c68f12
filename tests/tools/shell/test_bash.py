"""`bash`: what it prints, how it ends, where it runs, and bad input."""

import os
import time

import pytest

from tests.waiting import until
from toolroll import Kit
from toolroll.host.shell.command_result import ShownOutput
from toolroll.host.shell.output import FILE_BYTES
from toolroll.policy.rules import Policy


def test_output_in_order_and_the_exit_code(kit, tier):
    result = kit.call("bash", {"command": "echo out; echo err >&2; echo more; exit 3"})
    assert (result.ok, result.text) == (True, "out\nerr\nmore\nExit code: 3")
    assert result.data["exit_code"] == 3
    assert result.meta["sandbox"].removesuffix("-bin") == tier


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("true", "(no output)"),
        ("printf 'no newline'", "no newline"),
        ("printf 'caf\\xc3\\xa9\\n'", "café"),
        ("printf '\\033[31mred\\033[0m 10%%\\r100%%\\n'", "100%"),
        ("kill -9 $$", "Exit code: 137 (SIGKILL)"),
        ("printf 'ok\\0\\n'; echo more", "ok␀\nmore"),
        ("head -c 1000 /dev/urandom; true", "(1000 bytes of binary output, not shown)"),
    ],
)
def test_what_is_shown(kit, command, text):
    assert kit.call("bash", {"command": command}).text == text


def test_it_runs_in_the_workspace_or_below(kit, ws, put):
    put({"sub/a.txt": "x"})
    assert kit.call("bash", {"command": "pwd"}).text == str(ws)
    assert kit.call("bash", {"command": "pwd; ls", "cwd": "sub"}).text == f"{ws}/sub\na.txt"
    assert kit.call("bash", {"command": "pwd", "cwd": f"{ws}/sub"}).text == f"{ws}/sub"
    assert kit.call("bash", {"command": "echo made > sub/b.txt"}).ok
    assert (ws / "sub/b.txt").read_text() == "made\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"command": ""}, "ValidationError", "empty"),
        ({"command": "  \n"}, "ValidationError", "empty"),
        ({"command": "echo a\0b"}, "ValidationError", "NUL"),
        ({"command": "echo \ud800"}, "ValidationError", "Unicode"),
        ({"command": "pwd", "cwd": "missing"}, "NotFound", "Invalid path"),
        ({"command": "pwd", "cwd": "file.txt"}, "ValidationError", "Invalid path"),
        ({"command": "pwd", "cwd": "/etc"}, "SecurityError", "Invalid path"),
        ({"command": "pwd", "cwd": "../.."}, "SecurityError", "Invalid path"),
        ({"command": "pwd", "timeout": -1}, "ValidationError", "timeout"),
        ({"command": "pwd", "timeout": 0}, "ValidationError", "timeout"),
        ({"command": "pwd", "timeout": 1e12}, "ValidationError", "timeout"),
        ({}, "ValidationError", "command"),
    ],
)
def test_bad_input(kit, put, arguments, code, words):
    put({"file.txt": "x"})
    result = kit.call("bash", arguments)
    assert (result.ok, result.error.code) == (False, code)
    assert words in result.text


def test_a_timeout_is_an_error_with_what_was_printed(kit):
    started = time.monotonic()
    result = kit.call("bash", {"command": "echo before; sleep 100", "timeout": 0.5})
    assert (result.error.code, result.error.details["output"]) == ("TimeoutError", "before\n")
    assert "timed out" in result.text
    assert time.monotonic() - started < 50


def test_what_a_command_leaves_running_is_ended(kit, ws, tier):
    result = kit.call("bash", {"command": "(while true; do date > alive; sleep 0.05; done) & sleep 0.3; echo done"})
    assert result.text == "done\nChanged 1 file: alive (new)."
    before = (ws / "alive").stat().st_mtime_ns
    time.sleep(0.3)
    assert (ws / "alive").stat().st_mtime_ns == before


@pytest.mark.parametrize("lines", [18_000, 100_000], ids=["in memory", "more"])
def test_a_long_output_is_cut_in_the_middle_and_kept(kit, lines):
    result = kit.call("bash", {"command": f"echo FIRST; yes filler | head -n {lines}; echo LAST"})
    assert result.text.startswith("FIRST\n")
    assert "LAST" in result.text
    assert len(result.text) < 31_000
    handle = result.meta["spill"]
    assert kit.call("grep", {"pattern": "FIRST|LAST", "path": handle}).data["total"] == 2
    assert kit.call("read", {"path": handle, "offset": lines + 2, "limit": 1}).data["content"] == "LAST"


def test_nothing_to_read_and_no_terminal(kit, tier):
    assert kit.call("bash", {"command": "cat; read x; echo $?"}).text == "1"
    result = kit.call("bash", {"command": "read answer < /dev/tty"})
    assert result.data["exit_code"] != 0
    assert "no terminal" in result.text


def test_a_script_longer_than_an_argument(kit):
    command = "\n".join(f"x{number}={number}" for number in range(20_000)) + "\necho $x19999"
    assert len(command) > 200_000
    assert kit.call("bash", {"command": command}).text == "19999"


def test_a_missing_program_says_how_to_get_it(kit):
    result = kit.call("bash", {"command": "PATH=/nowhere; npm install"})
    assert (result.data["exit_code"], result.data["missing"]) == (127, "npm")
    assert "Node" in result.text


def test_the_environment_arrives_without_secrets(open_kit, monkeypatch, tier):
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-value-0123456789")
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "shop.settings")
    monkeypatch.setenv("PYTHONPATH", "src")
    monkeypatch.setenv("TOOLROLL_MODEL", "openai:x")
    script = {"command": 'echo "$DJANGO_SETTINGS_MODULE,$PYTHONPATH,$MY_API_KEY,$TOOLROLL_MODEL,$CFLAGS"'}
    assert open_kit().call("bash", script).text == "shop.settings,src,,,"
    chosen = {"pass": ["MY_API_*"], "set": {"CFLAGS": "-O2"}, "only": ["PYTHONPATH"]}
    operated = open_kit(environment=chosen).call("bash", script).text
    assert operated == ",src,sk-very-secret-value-0123456789,,-O2"


def test_a_command_cannot_reach_out_of_the_workspace(kit, ws, tmp_path, confined):
    (tmp_path / "outside.txt").write_text("for nobody\n")
    result = kit.call("bash", {"command": "cat ../outside.txt; echo broken > ../outside.txt; rm -f ../outside.txt"})
    assert "for nobody" not in result.text
    assert (tmp_path / "outside.txt").read_text() == "for nobody\n"
    refused = kit.call("bash", {"command": 'python3 -c \'open("/usr/toolroll-was-here", "w")\''})
    assert refused.data["exit_code"] != 0
    assert ("The sandbox lets commands write only in the workspace" in refused.text) == os.access("/usr", os.W_OK)
    assert not os.path.exists("/usr/toolroll-was-here")


def test_a_banned_program_is_refused_before_anything_runs(kit, ws):
    result = kit.call("bash", {"command": "touch made; curl http://example.org/"})
    assert result.error.code == "SecurityError"
    assert "curl" in result.text
    assert not (ws / "made").exists()
    assert kit.call("bash", {"command": "echo curl is a word"}).text == "curl is a word"


def test_hooks_and_settings_of_the_repository_are_kept(kit, ws, confined):
    assert os.system(f"git init -q {ws}") == 0
    before = (ws / ".git/config").read_bytes()
    result = kit.call("bash", {"command": "echo evil > .git/hooks/pre-commit; echo '[core]' >> .git/config; true"})
    assert not (ws / ".git/hooks/pre-commit").exists()
    assert (ws / ".git/config").read_bytes() == before
    assert ".git" in result.text


def test_cancelling_ends_it(kit, ws, tier):
    import threading

    from toolroll.host.runtime.cancellation import CancelToken

    token = CancelToken()
    threading.Timer(0.3, token.cancel).start()
    started = time.monotonic()
    result = kit.call("bash", {"command": "sleep 100 & wait"}, token=token)
    assert result.error.code == "Cancelled"
    assert time.monotonic() - started < 50


FOLDERS = [  # a command, and the folder that the next one begins in
    ("cd sub && echo hi", "sub"),
    ("set -euC; cd deep; exit 3", "sub/deep"),
    ("(cd /); bash -c 'cd /'; exec true", "sub/deep"),
    ("trap 'echo bye' EXIT; cd ..", "sub/deep"),
    ("cd /tmp", "."),
    ("cd sub/deep", "sub/deep"),
    ("rmdir ../deep", "."),
]


def test_the_folder_of_the_shell_is_kept_where_a_dialect_asks_for_it(open_kit, ws, tier):
    (ws / "sub" / "deep").mkdir(parents=True)
    shell = open_kit("anthropic")
    for command, folder in FOLDERS:
        text = shell.call("bash", {"command": command}).text
        here = shell.call("bash", {"command": 'pwd; echo "[$BASH_ENV]"'}).text
        assert here == f"{os.path.normpath(ws / folder)}\n[]", command
    assert text.splitlines()[:2] == [
        "(no output)",
        f"The next command begins in the workspace again: '{ws}/sub/deep' is outside, or gone.",
    ]
    assert shell.call("bash", {"command": "cd sub"}).text == "(no output)\nThe next command begins in 'sub'."
    shell.call("bash", {"restart": True})
    assert shell.call("bash", {"command": "pwd"}).text == str(ws)


@pytest.mark.parametrize(
    ("dialect", "tool", "word", "text"),
    [
        ("native", "bash", "command", "/sub\n1"),
        ("claude-code", "Bash", "command", "/sub\n"),
        ("codex", "exec_command", "cmd", "\n"),
    ],
)
def test_what_lasts_is_the_dialect_s_choice(open_kit, put, ws, dialect, tool, word, text):
    put({"sub/a": ""})
    kit = open_kit(dialect)
    kit.call(tool, {word: "cd sub; export A=1"})
    assert f"{ws}{text}" in kit.call(tool, {word: "pwd; echo $A"}).text + "\n"


def test_closing_the_kit_ends_it(kit, ws, tier):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(kit.call, "bash", {"command": "touch begun; sleep 100"})
        until((ws / "begun").exists)
        kit.close()
        assert call.done() or call.result(50).error.code == "Cancelled"
    assert call.result().error.code == kit.call("bash", {"command": "true"}).error.code == "Cancelled"


def test_live_output_is_told(kit):
    told = []
    kit.call(
        "bash",
        {"command": "for i in 1 2 3; do echo line $i; sleep 0.2; done"},
        progress=lambda _done, _total, note: told.append(note),
    )
    assert told[0] == "line 1"


def test_a_command_that_takes_long_becomes_a_job(open_kit):
    kit = open_kit(limits={"foreground_seconds": 0.3})
    result = kit.call("bash", {"command": "echo begun; sleep 0.6; echo ended"})
    assert (result.ok, result.data["outcome"], result.data["job"]) == (True, "running", 1)
    assert result.meta["next"] == {"name": "job", "arguments": {"action": "output", "id": 1}}
    polled = kit.call("job", {"action": "output", "id": 1, "wait": 20})
    assert (polled.data["output"], polled.data["state"]) == ("begun\nended\n", "exited with 0")
    assert kit.call("bash", {"command": "sleep 20", "timeout": 0.2}).error.code == "TimeoutError"


def test_without_a_sandbox_only_by_name(ws, tmp_path):
    with Kit(ws, state_dir=tmp_path / "s", policy=Policy(sandbox="none")) as kit:
        result = kit.call("bash", {"command": f"echo reached > {tmp_path}/out.txt"})
    assert result.meta["sandbox"] == "none"
    assert (tmp_path / "out.txt").read_text() == "reached\n"


def test_a_program_by_words_without_a_shell(open_kit):
    result = open_kit("koopa").call("executeCommand", {"command": "printf", "args": ["%s|", "a b", "$HOME;ls", "*"]})
    assert result.text == "a b|$HOME;ls|*|"


@pytest.mark.parametrize(
    ("limits", "command", "code", "words"),
    [
        (
            {"memory_bytes": 100 << 20},
            "python3 -c 'x = bytearray(1 << 30); input()'; sleep 20",
            "ExecutionError",
            "memory",
        ),
        ({"processes": 20}, "for i in $(seq 40); do sleep 20 & done; wait", "ExecutionError", "processes"),
        ({"file_bytes": 1 << 20}, "sleep 0.3; head -c 2000000 /dev/zero > big; stat -c %s big", None, "1048576"),
    ],
)
def test_limits_of_the_operator(open_kit, limits, command, code, words, tier):
    """Those of single processes are put on right after the start, so what forks in that moment may be without."""
    result = open_kit(limits=limits).call("bash", {"command": command, "timeout": 60})
    assert (result.error.code if result.error else None) == code
    assert words in result.text


def test_the_limit_of_work(open_kit):
    result = open_kit(limits={"cpu_seconds": 1}).call("bash", {"command": "while :; do :; done", "timeout": 60})
    assert (result.error, "SIGXCPU" in result.text) == (None, True)


@pytest.mark.parametrize(("network", "told"), [(False, True), (True, False)])
def test_the_missing_network_is_told_of_only_where_it_is_missing(open_kit, network, told):
    said = "echo 'Could not resolve host: example.com'; exit 6"
    result = open_kit(policy=Policy(network=network)).call("bash", {"command": said})
    said = "The sandbox did not let it reach 'example.com'. The setting `network` (--network example.com) allows it"
    assert (said in result.text) == told


def test_the_timeout_says_when_a_command_becomes_a_job(kit):
    about = kit.entry("bash").schema["properties"]["timeout"]["description"]
    assert about.endswith(f"after {kit.limits.foreground_seconds:g} it is a `job`.")


def test_a_note_says_how_much_of_a_long_output_is_kept():
    assert ShownOutput("", "spill:1", FILE_BYTES).note.startswith("[Cut. The whole output is kept: ")
    assert ShownOutput("", "spill:1", 10**8).note.startswith("[Cut. Of 100000000 bytes the first and last are kept: ")


PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n.txt\n+hi\n*** End Patch\nEOF"


def test_apply_patch_is_carried_out_by_the_patch_tool_where_the_shell_is(kit, put, ws):
    put({"sub/a.txt": ""})
    assert kit.call("bash", {"command": "cd sub"}).ok
    applied = kit.call("bash", {"command": PATCH})
    assert applied.text == "Applied:\ncreate sub/n.txt (+1 -0)"
    assert kit.call("undo", {}).ok
    assert not (ws / "sub/n.txt").exists()


def test_apply_patch_is_a_program_of_the_user_in_other_dialects(open_kit, ws):
    with open_kit("claude-code") as kit:
        assert "command not found" in kit.call("Bash", {"command": PATCH}).text
    assert list(ws.iterdir()) == []
