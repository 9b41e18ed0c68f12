"""Lasting answers: they cover what was shown and no more."""

import pytest

from toolroll.host.approval.grants import Grants
from toolroll.host.runtime.state import State
from toolroll.policy.commands import Rule
from toolroll.policy.rules import PRESETS, Policy

EVERYTHING = Policy(
    ask=PRESETS["ask"].ask,
    rules=(
        Rule("ask", path="kept/**", effect="write"),
        Rule("ask", path="kept/secret", effect="write", reason="secret"),
    ),
)


def bash(command, **more):
    return "bash", {"command": command, **more}


def write(path):
    return "write", {"path": path, "content": "x"}


def python(code):
    return "python", {"code": code}


OTHERS = [
    # What was granted, and what must be asked about all the same.
    (bash("touch a"), bash("touch a b")),
    (bash("touch a"), bash("touch a; touch b")),
    (bash("touch a"), bash("cd sub && touch a")),
    (bash("touch a"), bash("touch a", cwd="sub")),
    (bash("make"), bash("make -f - <<X\nall:\n\ttouch b\nX")),
    (bash("make -f - <<X\nall:\nX"), bash("make -f - <<X\nall:\n\ttouch b\nX")),
    (bash("cat <<X > b\na\nX"), bash("cat <<X > b\nb\nX")),
    (bash("bash -s <<< 'touch a'"), bash("bash -s <<< 'touch b'")),
    (bash("python3 - <<X\n1\nX"), bash("python3 - <<X\n2\nX")),
    (bash("echo a | sh"), bash("echo b | sh")),
    (bash("uv run python a.py"), bash("uv run python -c 'print(1)'")),
    (bash("git submodule foreach true"), bash("git submodule foreach 'touch b'")),
    (python("print(1)"), python("print(2)")),
    (python("print(1)"), bash("python3 -c 'print(1)'")),
    (("profile", {"action": "hotspots", "code": "1"}), ("profile", {"action": "hotspots", "code": "2"})),
    (write("a"), ("edit", {"path": "a", "old": "x", "new": "y"})),
    (write("a"), write("kept/a")),
    (write("kept/a"), write("kept/b")),
    (write("kept/a"), write("kept/secret")),
    (write("kept/a"), ("delete", {"path": "kept/a"})),
]


@pytest.mark.parametrize(
    ("granted", "other", "answer"), [(*one, "session") for one in OTHERS] + [(*one, "always") for one in OTHERS[::4]]
)
def test_a_lasting_answer_is_no_wider_than_what_was_shown(open_kit, ws, granted, other, answer):
    (ws / "sub").mkdir()
    (ws / "a").write_text("x")
    seen = []
    kit = open_kit(policy=EVERYTHING, approve=lambda request: seen.append(request) or answer)
    kit.call(*granted)
    assert seen
    seen.clear()
    (kit if answer == "session" else open_kit(policy=EVERYTHING)).call(*granted)
    assert seen == []
    kit.call(*other)
    assert seen


def test_an_action_of_a_bundle_does_not_grant_another(open_kit, put):
    put({"a": "x"})
    seen = []
    kit = open_kit("coding-agent", policy=EVERYTHING, approve=lambda request: seen.append(request) or "session")
    for more in ({"action": "write", "content": "y"}, {"action": "write", "content": "z"}, {"action": "undo"}):
        kit.call("file", {"path": "a", **more})
    kit.call("mcp", {"action": "list_tools", "server": "x"})
    kit.call("mcp", {"action": "call_tool", "server": "x", "name": "y"})
    assert [one.arguments["action"] for one in seen] == ["write", "undo", "list_tools", "call_tool"]


def test_a_rule_is_asked_about_although_the_tool_is_granted(open_kit):
    seen, answers = [], ["session", "session", False]
    kit = open_kit(policy=EVERYTHING, approve=lambda request: seen.append(request) or answers.pop(0))
    calls = [kit.call(*write(path)).ok for path in ("a", "b", "kept/a", "kept/a", "kept/b")]
    assert (calls, len(seen)) == ([True, True, True, True, False], 3)


def test_what_is_granted_is_said(open_kit):
    seen = []

    def approve(request):
        seen.append(request.covers)
        return True

    kit = open_kit(policy=EVERYTHING, approve=approve)
    kit.call(*write("kept/a"))
    kit.call(*bash("touch a", cwd="kept"))
    open_kit("coding-agent", policy=EVERYTHING, approve=approve).call(
        "file", {"action": "write", "path": "b", "content": "x"}
    )
    assert seen == [
        "every call of 'write'",
        "every call of 'write' at 'kept/a'",
        "exactly this command in the folder 'kept'",
        "every call of 'file' with the action 'write'",
    ]


@pytest.mark.parametrize(
    "kept",
    [
        '{"tools": ["write"], "commands": [{"words": ["touch"], "exact": false}]}',
        '{"keys": ["write", ["tool"], [1], [], "x"]}',
        '{"keys": 3}',
        "[]",
    ],
)
def test_grants_of_other_versions_are_asked_about_again(open_kit, tmp_path, kept):
    (tmp_path / "state" / "grants").mkdir(parents=True)
    (tmp_path / "state" / "grants" / "grants.json").write_text(kept)
    seen = []
    kit = open_kit(policy=EVERYTHING, approve=lambda request: seen.append(request) or "always")
    assert [kit.call(*bash("touch a")).ok, kit.call(*write("b")).ok, len(seen)] == [True, True, 2]
    assert open_kit(policy=EVERYTHING).call(*write("c")).ok


def test_what_is_kept_can_be_read_and_taken_back_by_a_person(tmp_path):
    state = State(str(tmp_path / "state"))
    Grants(state).add(("tool", "write"))
    file = tmp_path / "state/grants/grants.json"
    assert file.read_text() == '{\n "keys": [\n  [\n   "tool",\n   "write"\n  ]\n ]\n}'
    assert Grants(state).keys == (("tool", "write"),)
    file.write_text("{")
    with pytest.raises(ValueError, match=r"is broken: .*Repair or remove it"):
        Grants(state)
    file.unlink()
    assert Grants(state).keys == ()
