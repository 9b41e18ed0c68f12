"""`toolroll journal` and `toolroll undo`."""

import json


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


def test_nothing_to_show_or_undo(quick):
    assert quick("journal")[:2] == (0, "The journal is empty: no tool has changed anything here.\n")
    status, out, err = quick("undo")
    assert (status, out) == (1, "")
    assert "nothing to undo" in err


def test_bad_numbers(quick):
    for words in (("undo", "--steps", "0"), ("undo", "--entry", "x"), ("journal", "-n", "-3")):
        status, _, err = quick(*words)
        assert status == 2
        assert err
