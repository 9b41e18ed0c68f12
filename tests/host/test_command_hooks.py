"""Commands of the configuration before and after calls."""

import json
import sys

import msgspec
import pytest

from toolroll.host.settings import Layer, Settings, SettingsError, check_layer

CHECK = """
import json, sys
event = json.load(sys.stdin)
given = event["tool_input"]
if "forbidden" in given.get("content", ""):
    print("No such words here.", file=sys.stderr)
    sys.exit(2)
if given["path"] == "crash.txt":
    sys.exit(1)
if given["path"] == "deny.txt":
    print(json.dumps({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "by answer"}}))
if given["path"] == "other.txt":
    print(json.dumps({"hookSpecificOutput": {"updatedInput": {**given, "content": event["hook_event_name"]}}}))
if given["path"] == "bad.txt":
    print(json.dumps({"hookSpecificOutput": {"updatedInput": {"path": 7}}}))
if given["path"] == "ask.txt":
    print(json.dumps({"hookSpecificOutput": {"permissionDecision": "ask"}}))
"""


@pytest.fixture
def hooked(open_kit, tmp_path):
    def make(script, **options):
        path = tmp_path / "hook.py"
        path.write_text(script)
        rows = [{"event": "before", "command": f"{sys.executable} {path}", "tools": "write|edit*", **options}]
        return open_kit(settings=msgspec.convert({"hook": rows}, Settings))

    return make


@pytest.mark.parametrize(
    ("path", "content", "code", "said"),
    [
        ("a.txt", "x", None, "a.txt"),
        ("a.txt", "a forbidden word", "PermissionDenied", "A hook refused 'write': No such words here."),
        ("crash.txt", "x", "PermissionDenied", "failed (exit code 1)"),
        ("deny.txt", "x", "PermissionDenied", "A hook refused 'write': by answer"),
        ("bad.txt", "x", "ValidationError", "`path` must be a string"),
        ("ask.txt", "x", "PermissionDenied", "no approver is set up"),
    ],
)
def test_a_hook_allows_refuses_and_fails_closed(hooked, ws, path, content, code, said):
    result = hooked(CHECK).call("write", {"path": path, "content": content})
    assert (result.error and result.error.code) == code
    assert said in result.text
    assert [one.name for one in ws.iterdir()] == ([] if code else [path])


ANSWERS = [
    ({"decision": "block", "reason": "old form"}, "A hook refused 'write': old form"),
    ({"decision": "block"}, "A hook refused 'write': no reason given"),
    ({"continue": False, "stopReason": "halt"}, "A hook refused 'write': halt"),
    ({"continue": False}, "A hook refused 'write': no reason given"),
    ({"decision": "approve", "hookSpecificOutput": {"permissionDecision": "deny"}}, "A hook refused 'write'"),
    ({"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow"}}, "A hook refused 'write'"),
    ({"decision": "reject"}, "whose 'decision' is 'reject'. Allowed are: approve, block."),
    ({"hookSpecificOutput": {"permissionDecision": "Deny"}}, "is 'Deny'. Allowed are: allow, deny, ask."),
    ({"hookSpecificOutput": {"permissionDecision": "defer"}}, "is 'defer'. Allowed are: allow, deny, ask."),
    ({"continue": "no"}, "which cannot be read: Expected `bool`"),
    ({"decision": "approve", "reason": None, "systemMessage": "fine"}, ""),
    ({"continue": True, "hookSpecificOutput": {"permissionDecision": "allow"}}, ""),
    ({"suppressOutput": True}, ""),
]


@pytest.mark.parametrize(("answer", "refusal"), ANSWERS)
def test_answers_of_claude_code_hooks_before_a_call(hooked, ws, answer, refusal):
    result = hooked(f"print({json.dumps(answer)!r})").call("write", {"path": "a", "content": "x"})
    assert (result.error and result.error.code) == ("PermissionDenied" if refusal else None)
    assert refusal in result.text
    assert (ws / "a").exists() is not bool(refusal)


def test_an_unknown_decision_names_the_command(hooked, tmp_path):
    text = hooked("""print('{"decision": "no"}')""").call("write", {"path": "a", "content": "x"}).text
    assert f"The hook '{sys.executable} {tmp_path / 'hook.py'}' gave an answer whose" in text


@pytest.mark.parametrize(
    ("answer", "added"),
    [
        ({"decision": "block", "reason": "Format it."}, "\nFormat it."),
        ({"hookSpecificOutput": {"additionalContext": "See the style guide."}}, "\nSee the style guide."),
        ({"continue": False, "stopReason": "halt"}, "\nhalt"),
        (
            {"decision": "no"},
            "whose 'decision' is 'no'. Allowed are: approve, block. Ask the user to correct the hook.]",
        ),
        ({"suppressOutput": True}, ""),
    ],
)
def test_answers_of_claude_code_hooks_after_a_call(hooked, ws, answer, added):
    kit = hooked(f"print({json.dumps(answer)!r})", event="after")
    result = kit.call("write", {"path": "a", "content": "x"})
    assert (result.ok, (ws / "a").read_text()) == (True, "x")
    assert result.text.endswith(added)


def test_the_approver_sees_the_arguments_that_run(hooked, ws):
    changed = {"path": "b", "content": "changed"}
    answer = {"hookSpecificOutput": {"permissionDecision": "ask", "updatedInput": changed}}
    kit, seen = hooked(f"print({json.dumps(answer)!r})"), []

    def approve(request):
        seen.append(request.arguments)
        return True

    assert kit.call("write", {"path": "a", "content": "x"}, approve=approve).ok
    assert (seen, (ws / "b").read_text()) == ([changed], "changed")


def test_a_hook_changes_arguments_of_the_tools_it_names(hooked, ws):
    kit = hooked(CHECK)
    assert kit.call("write", {"path": "other.txt", "content": "x"}).ok
    assert (ws / "other.txt").read_text() == "PreToolUse"
    assert kit.call("delete", {"path": "other.txt"}).ok  # not one of its tools: it would fail


def test_a_hook_that_takes_too_long_refuses(hooked):
    result = hooked("import time; time.sleep(60)", timeout=0.2).call("write", {"path": "a", "content": "x"})
    assert (result.error.code, "did not end in time" in result.text) == ("PermissionDenied", True)


def test_a_hook_is_confined(hooked, ws, tmp_path, put):
    """It may run code that the workspace brings, such as the settings of a linter."""
    put({"plant.txt": ""})
    secret = tmp_path / "secret"
    secret.write_text("for nobody")
    script = f"""
import sys
for attempt in (lambda: open({str(secret)!r}), lambda: open({str(ws / "made")!r}, "w")):
    try:
        attempt()
    except OSError as error:
        print(type(error).__name__, file=sys.stderr)
sys.exit(2)
"""
    assert hooked(script).call("write", {"path": "a", "content": "x"}).text.count("PermissionError") == 2
    assert not (ws / "made").exists()


def test_what_a_hook_says_after_a_call_is_added(hooked, ws):
    script = "import json, sys; print(json.load(sys.stdin)['tool_response']['status'], file=sys.stderr); sys.exit(2)"
    kit = hooked(script, event="after")
    assert kit.call("write", {"path": "a", "content": "x"}).text.endswith("\nsuccess")
    assert kit.call("write", {"path": "../a", "content": "x"}).text.endswith("\nerror")


SHELL_LINES = {
    "a redirection and a status": "echo nope >&2; exit 2",
    "a status alone": "exit 2",
    "an and-list": "true && exit 2",
    "a pipe": "cat | grep -q forbidden && { echo nope >&2; exit 2; }",
    "a condition": "if grep -q forbidden; then exit 2; fi",
    "a variable": "code=2; exit $code",
    "a group": "(exit 2)",
    "an answer": """echo '{"decision": "block"}' | cat""",
    "the home folder": "~/hooks/refuse.sh",
    "a variable of the path": '"$HOME"/hooks/refuse.sh',
    "the project": '"$CLAUDE_PROJECT_DIR"/refuse.sh',
    "a program that does not exist": "no-such-program",
    "a missing program in a list": "no-such-program && true",
    "words without an end": "( exit 0",
    "a signal": "kill -9 $$",
}


@pytest.mark.parametrize("line", SHELL_LINES.values(), ids=SHELL_LINES)
def test_a_hook_is_a_shell_line_and_refuses(open_kit, ws, tmp_path, monkeypatch, line):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for place in (tmp_path / "home" / "hooks" / "refuse.sh", ws / "refuse.sh"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("#!/bin/sh\nexit 2\n")
        place.chmod(0o755)
    kit = open_kit(settings=msgspec.convert({"hook": [{"event": "before", "command": line}]}, Settings))
    result = kit.call("write", {"path": "a", "content": "forbidden"})
    assert (result.error.code, (ws / "a").exists()) == ("PermissionDenied", False)


def test_a_hook_takes_no_program_of_the_workspace(open_kit, ws, tmp_path, monkeypatch):
    """The first folder of PATH is one that commands can write to."""
    (ws / "bin").mkdir()
    for name in ("grep", "rg"):
        (ws / "bin" / name).write_text("#!/bin/sh\nexit 0\n")
        (ws / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{ws}/bin:bin:/usr/bin:/bin")
    line = "grep -q forbidden && exit 2; exit 0"
    kit = open_kit(settings=msgspec.convert({"hook": [{"event": "before", "command": line}]}, Settings))
    assert kit.call("write", {"path": "a", "content": "x"}).ok
    assert not kit.call("write", {"path": "b", "content": "forbidden"}).ok


def test_a_call_has_its_result_where_the_command_after_it_does_not_exist(open_kit, ws):
    settings = msgspec.convert({"hook": [{"event": "after", "command": "no-such-program"}]}, Settings)
    kit = open_kit(settings=settings)
    result = kit.call("write", {"path": "a", "content": "x"})
    assert (result.ok, (ws / "a").read_text()) == (True, "x")
    assert "[Hook 'no-such-program' failed: " in result.text
    kit.write_bytes("b", b"y")
    assert (ws / "b").read_bytes() == b"y"


def test_a_hook_runs_in_the_workspace_of_a_fork(hooked, ws, put):
    """It reads what the call has written there, and not the base."""
    put({"a.txt": "of the base"})
    script = f"""
import json, os, sys
event = json.load(sys.stdin)
print(event["cwd"] == os.getcwd(), open("a.txt").read(), file=sys.stderr)
try:
    print(open({str(ws / "a.txt")!r}).read(), file=sys.stderr)
except PermissionError as error:
    print("not readable", file=sys.stderr)
sys.exit(2)
"""
    kit = hooked(script, event="after")
    with kit.fork() as fork:
        said = fork.call("write", {"path": "a.txt", "content": "of the fork"}).text
        assert said.endswith("\nTrue of the fork\nnot readable")
    assert kit.call("write", {"path": "b", "content": "x"}).text.endswith("\nTrue of the base\nof the base")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"event": "during", "command": "x"}, "There are: before, after"),
        ({"event": "before"}, "command"),
        ({"event": "before", "command": " "}, "The command is empty"),
        ({"event": "before", "command": "'x"}, "No closing quotation"),
        ({"event": "before", "command": "x", "tool": "y"}, "tool"),
        ({"event": "before", "command": "x", "timeout": 0}, "timeout"),
    ],
)
def test_a_wrong_row_is_named(row, said):
    with pytest.raises(SettingsError, match=said):
        check_layer(Layer("toolroll.toml", {"hook": [row]}))
