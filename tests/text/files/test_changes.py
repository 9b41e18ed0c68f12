from toolroll.text.files.changes import MAX_ROWS, Change, change_rows, describe_changes


def test_a_change_counts_lines_and_says_what_became_of_the_path():
    made = [
        Change.of_contents("a.py", b"x\ny\nz\n", b"x\n1\n2\nz\n"),
        Change.of_contents("b.py", None, b"x\n"),
        Change.of_contents("old.py", b"x\n", None),
        Change.of_contents("a.bin", b"\0", b"\0\1"),
        Change("new", "renamed", origin="old"),
        Change("run.sh", "mode"),
        Change("big.log", "modified", kept=False),
    ]
    assert describe_changes(made) == (
        "Changed 7 files: a.py (+2 -1), b.py (new), old.py (deleted), a.bin (changed), new (from old), "
        "run.sh (mode), big.log (changed, not kept)."
    )
    assert change_rows(made) == [
        {"path": "a.py", "kind": "modified", "added": 2, "removed": 1},
        {"path": "b.py", "kind": "created", "added": 1, "removed": 0},
        {"path": "old.py", "kind": "deleted", "added": 0, "removed": 1},
        {"path": "a.bin", "kind": "modified"},
        {"path": "new", "kind": "renamed", "from": "old"},
        {"path": "run.sh", "kind": "mode"},
        {"path": "big.log", "kind": "modified", "kept": False},
    ]


def test_the_line_is_bounded_and_shows_odd_names_on_one_line():
    many = [Change(f"{number}\n", "created") for number in range(12)]
    assert describe_changes(many[:1]) == "Changed 1 file: 0\\n (new)."
    assert describe_changes(many).endswith("9\\n (new) and 2 more.")
    assert describe_changes(many[:2], 30).endswith("1\\n (new) and 28 more.")
    assert describe_changes([]) == ""
    assert len(change_rows(many * 10)) == MAX_ROWS
