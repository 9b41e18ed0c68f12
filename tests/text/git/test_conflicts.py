"""Conflict markers taken apart, and what to do next."""

from toolroll.text.git.conflicts import ConflictHunk, how_to_go_on, parse_hunks

DIFF3 = (
    "a\n<<<<<<< HEAD\nmine\n||||||| 1a2b\nold\n=======\n>>>>>>> topic\nb\n<<<<<<< HEAD\n=======\nx\ny\n>>>>>>> topic\n"
)


def test_both_sides_and_the_base():
    assert parse_hunks(DIFF3) == [
        ConflictHunk(2, 7, "mine", "old", "", "HEAD", "topic"),
        ConflictHunk(9, 13, "", None, "x\ny", "HEAD", "topic"),
    ]
    assert str(parse_hunks(DIFF3)[0]) == (
        "  lines 2-7\n  ours (HEAD):\n    mine\n  base:\n    old\n  theirs (topic):\n    (nothing)"
    )


def test_text_that_only_looks_like_a_conflict():
    for text in (
        "Title\n=======\ntext\n",
        ">>>>>>> x\n",
        "<<<<<<< HEAD\nno end\n",
        "",
        "<<<<<<<x\n=======\n>>>>>>>x\n",
    ):
        assert parse_hunks(text) == []


def test_a_long_side_is_cut():
    text = "<<<<<<< HEAD\n" + "line\n" * 100 + "=======\n" + "x" * 10_000 + "\n>>>>>>> t\n"
    (hunk,) = parse_hunks(text)
    assert hunk.ours.endswith("line\n... (60 more lines)")
    assert len(hunk.theirs) == 4000
    assert hunk.last == 104


def test_names_in_markers_cannot_forge_lines():
    (hunk,) = parse_hunks("<<<<<<< HEAD\x1b[2J\na\n=======\nb\x1b[1m\n>>>>>>> t\u202e\n")
    assert not {"\x1b", "\u202e"} & set(str(hunk))


def test_what_to_do_next():
    assert how_to_go_on("merge", 0) == "Action `merge` with sub `continue` concludes it; sub `abort` goes back."
    assert how_to_go_on("", 0) == how_to_go_on("bisect", 0) == ""
    assert how_to_go_on("", 1).endswith("or edit it and `add` it.")
    assert "theirs your own commit" in how_to_go_on("rebase", 1)
