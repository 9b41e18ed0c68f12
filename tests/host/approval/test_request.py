"""The question that an approver is shown."""

import subprocess
from dataclasses import FrozenInstanceError

import msgspec
import pytest

from tests.values import assert_values
from toolroll import Context, Effect, dialects, tool
from toolroll.host.approval import request as module
from toolroll.host.approval.request import MAX_ROWS, Answer, ApprovalRequest, ChangedCall, Refusal, read_answer
from toolroll.mcp.approval import question
from toolroll.policy.commands import Rule
from toolroll.policy.rules import Policy


def body(arguments, runs=()):
    return ApprovalRequest("a", Effect.RUN, arguments, "r", runs).body


BODIES = [
    ({"path": "a.txt", "limit": 3, "all": True}, (), "path: a.txt\nlimit: 3\nall: true"),
    ({"content": "one\ntwo\n"}, (), "content:\n  | one\n  | two\n  | "),
    ({"edits": [{"old": "a\nb"}]}, (), 'edits:\n  | [\n  |   {\n  |     "old": "a\\nb"\n  |   }\n  | ]'),
    # What runs and is no argument comes after them, whole.
    ({"command": "ls"}, ("ls",), "command: ls"),
    ({"action": "commit"}, ("git commit -m 'a\nb'",), "action: commit\nruns:\n  | git commit -m 'a\n  | b'"),
    # Nothing is hidden, and no value looks like a line of the question.
    ({"command": "ls \u202e\x1b[8m\u200b"}, (), "command: ls \\u202e\\x1b[8m\\u200b"),
    ({"content": "x\npath: harmless"}, (), "content:\n  | x\n  | path: harmless"),
    ({"content": "x\r\npath: a\u2028path: b"}, (), "content:\n  | x\\r\n  | path: a\\u2028path: b"),
    ({"a\npath": "x"}, (), "a\\npath: x"),
    ({"list": ["\u202e\ud800"]}, (), 'list:\n  | [\n  |   "\\u202e\\ud800"\n  | ]'),
]


@pytest.mark.parametrize(("arguments", "runs", "shown"), BODIES)
def test_every_argument_is_shown(arguments, runs, shown):
    assert body(arguments, runs) == shown


def test_the_whole_question():
    request = ApprovalRequest(
        "wri\nte", Effect.WRITE, {"path": "a"}, "needs\n\u202eapproval", (), ("k",), "every\ncall"
    )
    shown = 'wri\\nte: needs\\n\\u202eapproval\n\npath: a\n\n"session" and "always" cover every\\ncall.'
    assert request.text == shown
    assert question(request) == f"May the agent do this?\n\n{shown}"
    assert "session" not in ApprovalRequest("write", Effect.WRITE, {"path": "a"}, "needs approval").text


def test_predicted_effects_are_in_the_question(open_kit):
    asked = []
    kit = open_kit(policy="ask", approve=lambda request: asked.append(request.text))
    kit.call("bash", {"command": "rm 'a\nb'; make https://example.org/ > c"})
    told = "- removes a\\nb\n- creates or overwrites c\n- may reach example.org\n"
    assert f"\n\nBy its words it\n{told}It may also do other things.\n\n" in asked[0]


def test_commands_are_what_runs_or_the_call():
    assert ApprovalRequest("bash", Effect.SHELL, {"command": "ls"}, "r", ("ls",)).commands == ("ls",)
    assert ApprovalRequest("write", Effect.WRITE, {"path": "a"}, "r").commands == ('write {"path": "a"}',)


@pytest.mark.parametrize("text", ["x\n" * MAX_ROWS, "x" * 80 * MAX_ROWS, "\n" * MAX_ROWS, "\u200b" * 20 * MAX_ROWS])
def test_rows_are_counted_as_they_are_shown(text):
    request = ApprovalRequest("write", Effect.WRITE, {"content": text}, "r")
    assert request.rows > MAX_ROWS
    assert request.rows - MAX_ROWS < MAX_ROWS


# What is shown is what runs.

MARK = "EVIL_MARK"
HIDING = {
    "body of a here-document": ("bash", {"command": f"python3 - <<'X'\nimport {MARK}\nX"}),
    "end of a long text": ("bash", {"command": f"python3 -c '{'#' * 2500}\nimport {MARK}'"}),
    "input of make": ("bash", {"command": f"make -f - <<X\nall:\n\t{MARK}\nX"}),
    "here-string": ("bash", {"command": f"bash -s <<< '{MARK} --now'"}),
    "a part that only reads": ("bash", {"command": f"cat <<X | tee b\n{MARK}\nX"}),
    "a job": ("bash", {"command": f"tee out <<X\n{MARK}\nX", "background": True}),
    "code": ("python", {"code": f"import {MARK}"}),
    "code to measure": ("profile", {"action": "hotspots", "code": f"import {MARK}"}),
    "setup to measure": ("profile", {"action": "time", "code": "1", "setup": f"import {MARK}"}),
    "a path behind long content": ("write", {"content": "x" * 3000, "path": f"{MARK}/tasks.json"}),
    "content": ("write", {"path": "b", "content": f"{'x' * 3000}\n{MARK}"}),
    "a patch": ("patch", {"patch": f"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+{MARK}\n"}),
    "an edit of many": ("multiedit", {"pattern": "*", "find": "x", "replace": MARK}),
    "a request": ("fetch", {"url": "https://example.com", "method": "POST", "body": f"{'x' * 3000}{MARK}"}),
    "a commit": ("git", {"action": "commit", "message": f"{'x' * 3000}\n{MARK}"}),
    "through another tool": ("call_tool", {"name": "python", "arguments": {"code": f"import {MARK}"}}),
}


@pytest.mark.parametrize("case", HIDING)
def test_the_approver_is_shown_all_that_runs(open_kit, put, ws, case):
    put({"a": "x\n"})
    for words in (["init", "-q"], ["add", "a"]):
        subprocess.run(["git", *words], cwd=ws, check=True)
    seen = []
    kit = open_kit(policy="ask", approve=lambda request: bool(seen.append(request)))
    kit.call(*HIDING[case])
    assert [(MARK in one.text, MARK in "".join(one.commands)) for one in seen] == [(True, True)]


SMALL = {"anthropic": 4, "codex": 4}
"""How many questions the smallest dialects have; others have five or more."""


@pytest.mark.parametrize("dialect", dialects.names())
def test_every_argument_of_every_tool_is_in_its_question(open_kit, put, dialect):
    put({"a.py": "x\n"})
    seen = []
    everything = Policy(ask=~Effect.NONE)
    kit = open_kit(dialect, policy=everything, approve=lambda request: bool(seen.append(request)), tools="all")
    for entry in kit.entries():
        for action, view in getattr(entry, "actions", {"": entry}).items():
            given = {name: sample(name, one) for name, one in view.schema["properties"].items()}
            kit.call(entry.name, {**given, entry.selector: action} if action else given)
    assert len(seen) >= SMALL.get(dialect, 5)
    for one in seen:
        lost = [value for value in one.arguments.values() if isinstance(value, str) and value not in one.text]
        assert (one.name, lost) == (one.name, [])


def sample(name, schema):
    """A value of its own for a parameter."""
    if "enum" in schema:
        return schema["enum"][0]
    kinds = {"string": f"mark-{name}", "integer": schema.get("minimum", 1), "number": 1, "boolean": True, "object": {}}
    return kinds.get(schema.get("type"), [])


def test_the_question_of_a_test_run_is_the_same_each_time(open_kit, put):
    """Or no lasting answer would ever serve again, and a stateless client would be asked for ever."""
    put({"test_a.py": "def test_a():\n    assert 1\n"})
    seen = []
    for kit in [open_kit(policy="ask", approve=lambda request: bool(seen.append(request.text))) for _ in range(2)]:
        for _ in range(2):
            kit.call("tests", {"action": "run"})
    assert len(seen) == 4
    assert len(set(seen)) == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"path": "a", "content": "x\n" * 1_001}),
        ("write", {"path": "a", "content": "x" * 100_000}),
        ("bash", {"command": "touch a #" + "x" * 100_000}),
        ("python", {"code": "open('a', 'w')\n" + "\n" * 1_001}),
    ],
)
def test_what_is_too_long_to_show_is_refused_and_never_cut(open_kit, ws, name, arguments):
    seen = []
    result = open_kit(policy="ask", approve=lambda request: not seen.append(request)).call(name, arguments)
    assert (result.error.code, seen, list(ws.iterdir())) == ("TooLarge", [], [])
    assert "Split it into smaller calls" in result.text


def test_what_a_job_reads_is_asked_about(open_kit):
    seen = []
    kit = open_kit(policy="ask", approve=lambda request: not seen.append(request))
    job = kit.call("bash", {"command": "bash", "background": True}).data["job"]
    kit.call("job", {"action": "output", "id": job})
    assert kit.call("job", {"action": "input", "id": job, "input": "touch evil\n"}).ok
    assert [one.commands for one in seen] == [("bash",), ("bash", "touch evil\n")]
    assert (seen[1].key, "touch evil" in seen[1].text) == ((), True)


def test_rules_hold_for_what_a_job_reads(open_kit):
    rules = (Rule("deny", command=("git", "push")), Rule("ask", command=("touch",)))
    seen = []
    kit = open_kit(policy=Policy(rules=rules), approve=lambda request: bool(seen.append(request)))
    job = kit.call("bash", {"command": "bash", "background": True}).data["job"]
    texts = ("git push\n", "touch a\n", "echo b\n")
    results = [kit.call("job", {"action": "input", "id": job, "input": text}) for text in texts]
    assert [one.error and one.error.code for one in results] == ["SecurityError", "PermissionDenied", None]
    assert [one.commands for one in seen] == [("bash", "touch a\n")]


def test_what_was_shown_runs_whatever_happens_to_the_arguments(open_kit, ws):
    given = {"edits": [{"path": "a", "new": "good"}]}

    @tool(Effect.WRITE)
    def change(ctx: Context, edits: list[dict[str, str]]) -> str:
        """Change files."""
        ctx.files.write(edits[0]["path"], edits[0]["new"])
        return "changed"

    def approve(request):
        request.arguments["edits"][0]["new"] = "evil of the approver"
        given["edits"][0]["new"] = "evil of the caller"
        return True

    kit = open_kit(policy="ask", approve=approve)
    kit.register(change)
    assert kit.call("change", given).ok
    assert (ws / "a").read_text() == "good"


def test_a_request_cannot_be_changed():
    request = ApprovalRequest("bash", Effect.SHELL, {"command": "ls"}, "needs approval", ("ls",))
    for name in ("name", "arguments", "reason", "runs", "key", "covers"):
        with pytest.raises(FrozenInstanceError):
            setattr(request, name, "other")
    assert not hasattr(request, "__dict__")


def test_values_stay_as_they_are():
    assert_values(module)


def test_letters_of_every_script_are_shown_as_they_are():
    request = ApprovalRequest("multiedit", Effect.WRITE, {"edits": ["größer", {"a": "字"}]}, "needs approval")
    assert "größer" in request.body
    assert "字" in request.body
    assert request.commands == ('multiedit {"edits": ["größer", {"a": "字"}]}',)


@pytest.mark.parametrize("answer", [True, False, "once", "session", "always", Refusal("no a"), ChangedCall({"a": [1]})])
def test_an_answer_is_read_as_it_was_sent(answer: Answer) -> None:
    assert read_answer(msgspec.json.decode(msgspec.json.encode(answer))) == answer


def test_words_are_answers() -> None:
    assert read_answer("no", "why") == Refusal("why")
    assert read_answer("once", arguments={"a": 1}) == ChangedCall({"a": 1})
    for wrong in ("yes", "", None, 1, {"answer": "changed"}, {"answer": "session"}, ["once"]):
        with pytest.raises(ValueError, match="There is no answer"):
            read_answer(wrong)


def test_a_request_is_read_as_it_was_sent() -> None:
    effects = Effect.SHELL | Effect.WRITE
    request = ApprovalRequest(
        "a", effects, {"b": [1]}, "r", ("x",), ("k",), "c", ("V=1",), (("p", "w"),), ("q",), "h", True
    )
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(request)), ApprovalRequest) == request
