"""`terminal`: commands that only read, and nothing else."""

from dataclasses import replace

import pytest

from toolroll import Kit
from toolroll.policy.decision import Rule
from toolroll.policy.rules import PRESETS


@pytest.fixture
def kit(open_kit, put):
    put({"a.txt": "b\na\n", "sub/b.txt": "inner\n"})
    return open_kit()


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("sort a.txt | head -1", "a"),
        ("cat a.txt && wc -l < a.txt", "b\na\n2"),
        ("find . -name '*.txt' | sort", "./a.txt\n./sub/b.txt"),
        ("cd sub && cat b.txt", "inner"),
        ("grep -c b a.txt; echo $?", "1\n0"),
        ("awk '{print $1}' a.txt", "b\na"),
        ("sed -n 1p a.txt", "b"),
    ],
)
def test_reading_is_allowed(kit, command, text):
    result = kit.call("terminal", {"command": command})
    assert (result.ok, result.text) == (True, text)


@pytest.mark.parametrize(
    "command",
    [
        "touch x",
        "ls; touch x",
        "echo hi > x",
        "sed -i s/a/b/ a.txt",
        "find . -delete",
        "awk 'BEGIN{system(\"touch x\")}'",
        "sort -o x a.txt",
        "python3 -c 'print(1)'",
        "echo $(touch x)",
        "rm a.txt",
    ],
)
def test_everything_else_is_refused(kit, ws, command):
    result = kit.call("terminal", {"command": command})
    assert result.error.code == "SecurityError"
    assert sorted(path.name for path in ws.iterdir()) == ["a.txt", "sub"]


def test_a_folder_that_is_entered_stays_entered(kit, ws):
    assert kit.call("terminal", {"command": "cd sub"}).text == f"{ws}/sub"
    assert kit.call("terminal", {"command": "ls"}).text == "b.txt"
    assert kit.call("terminal", {"command": "cd .."}).text == str(ws)
    assert kit.call("terminal", {"command": "cd /etc"}).error.code == "SecurityError"
    assert kit.call("terminal", {"command": "cd none"}).error.code == "NotFound"
    (ws / "sub").rename(ws / "gone")
    assert kit.call("terminal", {"command": "pwd"}).text == str(ws)
    assert kit.call("terminal", {"command": "cd gone"}).ok
    (ws / "gone").rename(ws / "sub")
    assert kit.call("terminal", {"command": "cd ../sub"}).text == f"{ws}/sub"


def test_it_is_there_while_thinking(ws, tmp_path):
    with Kit(ws, mode="thinking", state_dir=tmp_path / "s") as kit:
        assert "terminal" in kit.names()
        assert "bash" not in kit.names()


@pytest.mark.parametrize(
    "policy",
    [
        replace(PRESETS["standard"], rules=(Rule("deny", command=("cd",)),)),
        replace(PRESETS["standard"], allow_cd=False),
    ],
    ids=["a rule", "allow_cd"],
)
def test_cd_can_be_denied(open_kit, put, policy):
    put({"sub/b.txt": "inner\n"})
    kit = open_kit(policy=policy)
    for command in ("cd sub", "cd sub && cat b.txt"):
        assert kit.call("terminal", {"command": command}).error.code == "SecurityError"
    assert kit.call("terminal", {"command": "cat sub/b.txt"}).text == "inner"
