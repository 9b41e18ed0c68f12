"""Take files back to a point of the journal, and forward again."""

import pytest

from tests.tools.files.test_undo import tree
from toolroll.tools.files.rewind import rewind


def write(kit, path, content):
    assert kit.call("write", {"path": path, "content": content}).ok


def test_any_point_can_be_reached_from_any_other(kit, ws):
    states = [tree(ws)]
    calls = [
        ("write", {"path": "d/a.py", "content": "one = 1\n"}),
        ("checkpoint", {"name": "start"}),
        ("edit", {"path": "d/a.py", "old": "1", "new": "2"}),
        ("move", {"source": "d", "target": "e/f"}),
        ("undo", {}),
        ("undo", {}),
        ("write", {"path": "d/b", "content": "b"}),
        ("delete", {"path": "d", "recursive": True}),
        ("undo", {"path": "d/b"}),
        ("rewind", {"to": "2"}),
        ("bash", {"command": "mv d g; ln -s g/a.py l; echo b > g/b; chmod 700 g; echo three >> g/a.py"}),
        ("write", {"path": "g/b", "content": "c"}),
        ("bash", {"command": "rm -r g l; mkdir l; echo file > g"}),
    ]
    for name, arguments in calls:
        result = kit.call(name, arguments) if name != "checkpoint" else kit.checkpoint("start")
        assert result.ok, result.text
        states.append(tree(ws))
    assert states[10] == states[2]
    for point in (3, 11, 0, 13, 4, 8, 12, 2, 10, 6, 13, 7, 1, 12, 9, 5):
        result = kit.rewind(point)
        assert result.ok, result.text
        assert tree(ws) == states[point], point
    assert kit.rewind("start").ok
    assert tree(ws) == states[2]


def test_what_it_says(kit):
    write(kit, "a.txt", "one\n")
    kit.checkpoint("first")
    write(kit, "a.txt", "two\n")
    write(kit, "b.txt", "b")
    assert kit.rewind("first").text == (
        "Rewound to 'first', 2 changes undone. `rewind` to 4 goes back.\n"
        "Changed 2 files: b.txt (deleted), a.txt (+1 -1).\n"
        "a.txt\n@@ -1,1 +1,1 @@\n-two\n+one"
    )
    assert kit.rewind("first").text == "Nothing to take back: no change was recorded since 'first'."
    assert kit.call("undo", {"steps": 1}).text.startswith("Undone: write (entry 1)")  # a checkpoint is no change


def test_what_others_changed_is_listed_and_nothing_is_done(kit, ws):
    for name in ("a", "b", "c"):
        write(kit, name, name)
    (ws / "a").write_text("theirs")
    (ws / "c").unlink()
    before = tree(ws)
    result = kit.rewind(0)
    assert result.error.code == "Conflict"
    assert result.error.details == {"refused": ["'a' (changed by others since entry 1, write)"]}, "what is gone is gone"
    assert tree(ws) == before


def test_a_content_that_is_gone_is_listed(kit, ws):
    write(kit, "a", "one")
    write(kit, "a", "two")
    for blob in ws.parent.rglob("journal/blobs/*"):
        blob.unlink()
    assert "'a' (its content before entry 2, write, is not kept)" in kit.rewind(1).text
    assert (ws / "a").read_text() == "two"


def test_what_was_never_kept_is_listed_or_left_alone(open_kit, ws, put):
    put({"large": "x" * 2000, "small": "s"})
    kit = open_kit(limits={"undo_file_bytes": 1000})
    kit.call("bash", {"command": "echo > large; echo > small"})
    assert kit.rewind(0).error.details == {"refused": ["'large' (its content before entry 1, bash, is not kept)"]}
    assert (ws / "small").read_text() == "\n"
    assert "Not put back, because the contents were not kept: 'large'." in kit.rewind(0, partial=True).text
    assert ((ws / "large").read_text(), (ws / "small").read_text()) == ("\n", "s")


@pytest.mark.parametrize("to", ["nowhere", "9", "-1", "²", "9" * 5000])
def test_no_such_point(kit, to):
    write(kit, "a", "one")
    kit.checkpoint("somewhere")
    said = kit.rewind(to).text
    assert f"no point {to!r}" in said
    assert "Checkpoints: 'somewhere'. Or give an entry, 0 to 2." in said


def test_it_is_recorded(ctx):
    with pytest.raises(Exception, match="through the kit"):
        rewind(ctx, to="0")
