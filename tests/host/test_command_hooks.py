"""Commands of the configuration before and after calls."""

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


def test_a_command_that_does_not_exist_refuses(open_kit):
    settings = msgspec.convert({"hook": [{"event": "before", "command": "no-such-program"}]}, Settings)
    assert open_kit(settings=settings).call("ls", {}).error.code == "ExecutionError"


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
