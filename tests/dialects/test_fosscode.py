"""fosscode: results as {success, data, error, metadata}, backups, the first of several matches."""

import pytest


@pytest.fixture
def kit(open_kit):
    return open_kit("fosscode")


def test_a_result_on_the_wire(kit, put):
    put({"a.txt": "l1\nl2\n"})
    wire = kit.call("read", {"filePath": "a.txt"}).wire
    assert (wire["success"], wire["data"]) == (
        True,
        {"content": "l1\nl2\n", "startLine": 1, "totalLines": 2, "truncated": False},
    )


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "code"),
    [
        ("read", {}, "validation", "INVALID_PARAMETER"),
        ("read", {"filePath": "/etc/passwd"}, "security", "ACCESS_DENIED"),
        ("read", {"filePath": "a.exe"}, "security", "ACCESS_DENIED"),
        ("read", {"filePath": "none.txt"}, "execution", "EXECUTION_FAILED"),
    ],
)
def test_an_error_on_the_wire(kit, put, name, arguments, kind, code):
    put({"a.exe": "MZ"})
    wire = kit.call(name, arguments).wire
    assert (wire["success"], wire["metadata"]["errorType"], wire["metadata"]["errorCode"]) == (False, kind, code)
    assert ("Access denied" in wire["error"]) is (kind == "security")


def test_an_edit_keeps_a_backup_unless_told_not_to(kit, put, ws):
    put({"a.txt": "x x\n"})
    data = kit.call("edit", {"filePath": "a.txt", "oldString": "x", "newString": "$&"}).wire["data"]
    assert (data["replacementsMade"], data["backupCreated"]) == (1, True)
    assert (ws / "a.txt").read_text() == "$& x\n"
    assert (ws / data["backupPath"]).read_text() == "x x\n"
    kit.call("edit", {"filePath": "a.txt", "oldString": "x", "newString": "y", "createBackup": False})
    assert len(list(ws.iterdir())) == 2


def test_one_undo_takes_the_backup_away_too(kit, put, ws):
    put({"a.txt": "x\n"})
    kit.call("edit", {"filePath": "a.txt", "oldString": "x", "newString": "y"})
    assert kit.undo().ok
    assert [path.name for path in ws.iterdir()] == ["a.txt"]


def test_globs_as_lists(kit, put):
    put({"a.ts": "foo", "b.ts": "foo", "c.ts": "foo"})
    arguments = {"pattern": "*.ts", "find": "foo", "replace": "bar", "exclude": ["a.*", "b.*"]}
    data = kit.call("multiedit", arguments).wire["data"]
    assert [one["path"] for one in data["filesChanged"]] == ["c.ts"]
