"""Notes on disk: journalled, beneath the workspace, and whole whoever writes at once."""

import os

import pytest

from toolroll import ToolError
from toolroll.host.knowledge.note_store import NoteStore

FOLDER = ".toolroll/notes"


@pytest.fixture
def kept(ctx):
    return NoteStore(ctx.files, ctx.token)


def test_looking_makes_nothing(kept, ws):
    assert kept.all() == ([], [])
    with pytest.raises(ToolError, match=r"There is no note 'a'\. Use action 'list'"):
        kept.read("a")
    with pytest.raises(ToolError, match="1 to 200 characters"):
        kept.create(" ", "x", "general", ())
    assert os.listdir(ws) == []


def test_one_title_twice_is_two_notes(kept, ws, put):
    put({f"{FOLDER}/PLAN-2.md/x": "a folder in the way"})
    ids = [kept.create("Plan", f"{number}", "general", ()).id for number in range(3)]
    assert ids == ["plan", "plan-3", "plan-4"]
    assert [kept.read(id).content for id in ids] == ["0", "1", "2"]


def test_an_id_stays_when_the_title_changes(kept, ws):
    made = kept.create("Plan", "text", "action", ["a"])
    changed = kept.update(made.id, "Another plan", None, None, [])
    assert (changed.id, changed.title, changed.type, changed.tags, changed.content) == (
        "plan",
        "Another plan",
        "action",
        (),
        "text",
    )
    assert os.listdir(ws / FOLDER) == ["plan.md"]


def test_notes_are_of_the_workspace_wherever_the_call_is_made(kit, ws, put):
    put({"sub/x": ""})
    ctx = kit.context(cwd="sub")
    NoteStore(ctx.files, ctx.token).create("Plan", "text", "general", ())
    assert os.listdir(ws / FOLDER) == ["plan.md"]


def test_files_made_by_hand(kept, ws, put):
    put({
        f"{FOLDER}/My idea.md": "# Big\ntext",
        f"{FOLDER}/bom.md": b"\xef\xbb\xbf---\ntitle: Marked\n---\nx",
        f"{FOLDER}/bad.md": b"caf\xe9",
        f"{FOLDER}/meta.md": "<meta charset=latin-1> caf\u00e9",
        f"{FOLDER}/other.txt": "no note",
        f"{FOLDER}/.hidden.md": "no note",
        f"{FOLDER}/folder.md/x": "no note",
        "outside.md": "no note",
    })  # fmt: skip
    (ws / FOLDER / "link.md").symlink_to("../../outside.md")
    os.utime(ws / FOLDER / "My idea.md", (0, 0))
    found, faults = kept.all()
    assert sorted((note.id, note.title) for note in found) == [("My idea", "Big"), ("bom", "Marked"), ("meta", "meta")]
    assert faults == ["'.toolroll/notes/bad.md' is not UTF-8 text. Save it as such."]
    assert found[-1].updated == "1970-01-01T00:00:00Z"
    assert kept.read("meta").content.endswith("caf\u00e9")
    with pytest.raises(ToolError, match="not UTF-8"):
        kept.read("bad")
    kept.update("bom", None, "new", None, None)
    assert (ws / FOLDER / "bom.md").read_bytes().startswith(b"\xef\xbb\xbf---\ntitle: Marked\nupdated: ")
    kept.delete("bad")
    assert not (ws / FOLDER / "bad.md").exists()


@pytest.mark.parametrize("link", [".toolroll", FOLDER])
def test_a_folder_that_leads_out_is_not_followed(kept, ws, tmp_path, link):
    (tmp_path / "outside" / "notes").mkdir(parents=True)
    (tmp_path / "outside" / "secret.md").write_text("secret")
    (tmp_path / "outside" / "notes" / "secret.md").write_text("secret")
    (ws / link).parent.mkdir(exist_ok=True)
    (ws / link).symlink_to(tmp_path / "outside")
    assert (ws / FOLDER / "secret.md").read_text() == "secret"  # the naive way
    for work in (
        lambda: kept.create("a", "b", "general", ()),
        kept.all,
        lambda: kept.read("secret"),
        lambda: kept.delete("secret"),
    ):
        with pytest.raises(ToolError) as caught:
            work()
        assert caught.value.code == "SecurityError"
    assert sorted(os.listdir(tmp_path / "outside")) == ["notes", "secret.md"]
    assert os.listdir(tmp_path / "outside" / "notes") == ["secret.md"]


def test_a_link_to_a_file_outside_is_not_followed(kept, ws, tmp_path, put):
    put({f"{FOLDER}/a.md": "mine"})
    (tmp_path / "secret.md").write_text("secret")
    (ws / FOLDER / "out.md").symlink_to(tmp_path / "secret.md")
    assert [note.id for note in kept.all()[0]] == ["a"]
    with pytest.raises(ToolError) as caught:
        kept.update("out", None, "changed", None, None)
    assert (caught.value.code, (tmp_path / "secret.md").read_text()) == ("SecurityError", "secret")


def test_what_others_wrote_since_is_not_overwritten(kept, ws):
    kept.create("Plan", "ours", "general", ())
    (ws / FOLDER / "plan.md").write_text("theirs")
    with pytest.raises(ToolError, match="was changed since you last read it") as caught:
        kept.update("plan", None, "ours again", None, None)
    assert (caught.value.code, caught.value.suggest[0].arguments) == ("Conflict", {"action": "read", "id": "plan"})
    assert kept.read("plan").content == "theirs"
    assert kept.update("plan", None, "both", None, None).content == "both"


WRITER = """
import sys
from toolroll import Kit
ROUNDS = 6
name, way, ws, state = sys.argv[1:]
with Kit(ws, state_dir=state) as kit:
    text = open(ws + "/.toolroll/notes/both.md").read()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(ROUNDS):
        assert kit.call("note", {"action": "create", "title": "Same", "content": f"{name} {number}"}).ok
        change = {"title": f"T{number}"} if name == "a" else {"content": f"C{number}"}
        while way == "safe":
            result = kit.call("note", {"action": "update", "id": "both", **change})
            if result.ok:
                break
            assert result.error.code == "Conflict", result.text
            kit.call("note", {"action": "read", "id": "both"})
    if way == "naive":
        old, new = ("Both", "T5") if name == "a" else ("text", "C5")
        open(ws + "/.toolroll/notes/both.md", "w").write(text.replace(old, new))
"""


@pytest.mark.parametrize("way", ["safe", "naive"])
def test_two_processes_lose_nothing(kept, ws, tmp_path, at_once, way):
    kept.create("Both", "text", "general", ())
    at_once(WRITER, *((name, way, str(ws), str(tmp_path / "state")) for name in "ab"))
    both = kept.read("both")
    assert ((both.title, both.content) == ("T5", "C5")) is (way == "safe")
    same = [note for note in kept.all()[0] if note.title == "Same"]
    assert sorted(note.content for note in same) == sorted(f"{name} {number}" for name in "ab" for number in range(6))
    assert {note.id for note in same} == {"same", *(f"same-{number}" for number in range(2, 13))}
