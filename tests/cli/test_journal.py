"""The journal from the command line."""

import json
import re


def test_what_was_done_is_shown_and_taken_back(quick, ws):
    quick("call", "write", "path=a.txt", "content=one")
    quick("call", "edit", "path=a.txt", "old=one", "new=two")
    status, out, _ = quick("journal")
    assert status == 0
    assert [line.split()[0::2] for line in out.splitlines()] == [["1", "write"], ["2", "edit"]]
    assert quick("undo") == (0, "Undone: edit (entry 2). Put back: a.txt.\na.txt\n@@ -1,1 +1,1 @@\n-two\n+one\n", "")
    assert (ws / "a.txt").read_text() == "one"
    rows = json.loads(quick("journal", "--json", "-n", "2")[1])
    assert [(row["entry"], row["undone"], row["undoes"]) for row in rows] == [(2, True, []), (3, False, [2])]
    assert quick("undo", "--entry", "3")[0] == 0
    assert (ws / "a.txt").read_text() == "two"


def test_calls_commands_and_edits_in_one_line_of_time(quick):
    quick("call", "write", "path=a.txt", "content=one\ntwo\n")
    quick("checkpoint", "before the edit")
    quick("call", "bash", "command=printf x")
    quick("call", "edit", "path=a.txt", "old=two", "new=2\nthree")
    quick("call", "move", "source=a.txt", "target=b.txt")
    quick("call", "bash", "command=mv b.txt c.txt; echo hi > d")
    quick("call", "bash", "command=sudo\ttrue")
    shown = quick("journal", "--diff")[1]
    assert [re.sub(r"  20\S+  ", " ", line).strip() for line in shown.splitlines()] == [
        "1 write          a.txt",
        "a.txt (new)", "@@ -1,0 +1,2 @@", "+one", "+two",
        "2 checkpoint     before the edit",
        "bash           printf x",
        "3 edit           a.txt",
        "a.txt (+2 -1)", "@@ -1,2 +1,3 @@", "one", "-two", "+2", "+three",
        "4 move           a.txt, b.txt",
        "b.txt (from a.txt)",
        "5 bash           mv b.txt c.txt; echo hi > d: b.txt, c.txt, d",
        "c.txt (from b.txt)",
        "d (new)", "@@ -1,0 +1,1 @@", "+hi",
        "bash           sudo\\ttrue (SecurityError)",
    ]  # fmt: skip


def test_blame(quick, ws):
    (ws / "a.txt").write_text("old\n")
    quick("call", "insert", "path=a.txt", "line=1", "content=first")
    quick("call", "move", "source=a.txt", "target=b.txt")
    with open(ws / "b.txt", "a") as file:
        file.write("by hand\n")
    quick("call", "insert", "path=b.txt", "line=4", "content=last")
    quick("call", "bash", "command=echo end >> b.txt")
    quick("call", "bash", "command=mv b.txt c.txt")
    assert [line.split() for line in quick("blame", "c.txt")[1].splitlines()] == [
        ["1", "insert", "1", "first"],
        ["before", "2", "old"],
        ["others", "3", "by", "hand"],
        ["3", "insert", "4", "last"],
        ["4", "bash:", "echo", "end", ">>", "b.txt", "5", "end"],
    ]
    row = {"line": 1, "entry": 1, "by": "insert", "text": "first"}
    assert json.loads(quick("blame", "c.txt", "--json")[1])[0] == row
    assert "no 'b.txt'" in quick("blame", "b.txt")[2]
    assert quick("blame")[0] == 2


def test_checkpoint_and_rewind(quick, ws):
    quick("call", "write", "path=a.txt", "content=one")
    assert quick("checkpoint", "start")[1].startswith("Checkpoint 'start' is entry 2")
    quick("call", "write", "path=a.txt", "content=two")
    assert quick("rewind", "start")[1].startswith("Rewound to 'start', 1 change undone. `rewind` to 3 goes back.\n")
    assert (ws / "a.txt").read_text() == "one"
    assert quick("rewind", "3")[0] == 0
    assert (ws / "a.txt").read_text() == "two"
    status, _, err = quick("rewind", "strat")
    assert (status, "Did you mean 'start'?" in err) == (1, True)
    assert (quick("rewind")[0], quick("checkpoint")[0]) == (2, 2)


def test_nothing_to_show_or_undo(quick):
    assert quick("journal")[:2] == (0, "The journal is empty: no call has changed files or run programs here.\n")
    status, out, err = quick("undo")
    assert (status, out) == (1, "")
    assert "nothing to undo" in err


def test_bad_numbers(quick):
    for words in (("undo", "--steps", "0"), ("undo", "--entry", "x"), ("journal", "-n", "-3")):
        status, _, err = quick(*words)
        assert status == 2
        assert err


def test_damage_is_found_repaired_and_old_secrets_are_forgotten(quick, tmp_path):
    for text in ("secret", "two", "three"):
        quick("call", "write", "path=a.txt", f"content={text}")
    quick("call", "write", "path=b.txt", "content=other")
    quick("call", "write", "path=b.txt", "content=more")
    assert quick("journal", "verify") == (0, "The journal is intact.\n", "")
    assert [json.loads(line)["number"] for line in quick("journal", "export")[1].splitlines()] == [1, 2, 3, 4, 5]
    assert quick("journal", "forget", "a.txt")[1].startswith("Removed 3 kept contents of 'a.txt'.")
    kept = {one.read_bytes() for one in (tmp_path / "state").rglob("journal/blobs/*")}
    assert kept == {b"other", b"more"}
    log = next((tmp_path / "state").rglob("log.jsonl"))
    lines = log.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"write", b"wrote")
    log.write_bytes(b"\n".join(lines))
    next(one for one in (tmp_path / "state").rglob("journal/blobs/*") if one.read_bytes() == b"other").write_bytes(
        b"damaged"
    )
    said = quick("journal", "verify")
    assert said[0] == 1
    assert said[1].startswith("1 line of the log cannot be read: `--repair` removes it;")
    assert len(said[1].splitlines()) == 2
    assert "5 changes since" in (doctor := quick("doctor")[1])
    assert "1 damaged, see `toolroll journal verify`" in doctor
    assert quick("journal", "verify", "--repair")[0] == 0
    assert quick("journal", "verify")[1] == "The journal is intact.\n"
    assert quick("journal", "wrong")[0] == 2
