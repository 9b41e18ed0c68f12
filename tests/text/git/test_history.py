"""Commits, branches and stashes, taken apart."""

from toolroll.text.git import history
from toolroll.text.git.changes import FileCounts
from toolroll.text.git.history import Branch, Commit, Stash


def record(number, message, refs="", parents=""):
    full = f"{number:040x}"
    return "\0".join(("", full, full[-7:], "Ann", "ann@x", "2026-01-02T03:04:05+00:00", refs, parents, message, ""))


def made(number, message, refs=(), parents=()):
    full = f"{number:040x}"
    return Commit(full, full[-7:], "Ann", "ann@x", "2026-01-02T03:04:05+00:00", list(refs), list(parents), message)


def test_a_log_keeps_its_graph():
    printed = f"*   {record(3, 'Merge', 'HEAD -> main, tag: v1', 'b c')}\n|\\  \n| * {record(2, 'topic')}\n|/  \n* {record(1, 'first')}\n"
    found = history.parse_log(printed, 10)
    assert found.commits == [
        made(3, "Merge", ["HEAD -> main", "tag: v1"], ["b", "c"]),
        made(2, "topic"),
        made(1, "first"),
    ]
    assert str(found) == (
        "*   0000003 2026-01-02 Ann: Merge (HEAD -> main, tag: v1)\n|\\\n| * 0000002 2026-01-02 Ann: topic\n|/\n"
        "* 0000001 2026-01-02 Ann: first"
    )
    assert found.note == ""


def test_a_log_says_when_there_is_more():
    printed = "\n".join(f"* {record(number, 'x')}" for number in range(3))
    found = history.parse_log(printed, 2)
    assert len(found.commits) == 2
    assert str(found).count("\n") == 1
    assert "`limit`" in found.note
    assert history.parse_log(printed, 3).note == ""


def test_an_empty_log():
    assert str(history.parse_log("", 5)) == "No commits."


def test_a_subject_cannot_draw_on_the_screen():
    found = history.parse_log(f"* {record(1, chr(27) + '[2J' + chr(0x1F) + 'x')}", 5)
    assert str(found) == "* 0000001 2026-01-02 Ann: \\x1b[2J\\x1fx"


def test_a_commit_with_its_changes():
    printed = f"{record(2, 'Subject' + chr(10) * 2 + 'Body' + chr(10), 'main', 'p1 p2')}\0\n1\t0\ta\0\0diff --git\n"
    found = history.parse_shown_commit(printed)
    assert (found.commit, found.files, found.patch) == (
        made(2, "Subject\n\nBody", ["main"], ["p1", "p2"]), [FileCounts("a", 1, 0)], "diff --git\n",
    )  # fmt: skip
    assert str(found) == (
        f"commit {2:040x} (main)\nAuthor: Ann <ann@x>\nDate: 2026-01-02T03:04:05+00:00\nMerge of: p1 p2\n\n"
        "    Subject\n    \n    Body\n\n1 file, +1 -0\n  a +1 -0\ndiff --git"
    )


def test_a_commit_without_changes():
    assert str(history.parse_shown_commit(f"{record(1, 'empty')}\0")).endswith("    empty\n\nNo changes.")


def test_branches():
    rows = (
        (" ", "refs/heads/a", "111", "origin/a", "ahead 1, behind 2", "one"),
        ("*", "refs/heads/main", "222", "", "", "two\x1b[0m"),
        (" ", "refs/remotes/origin/a", "333", "", "", "three"),
    )
    found = history.parse_branches("".join("\0".join(row) + "\n" for row in rows))
    assert found.branches == [
        Branch("main", "222", "two\x1b[0m", current=True),
        Branch("a", "111", "one", upstream="origin/a", track="ahead 1, behind 2"),
        Branch("origin/a", "333", "three", remote=True),
    ]
    assert (
        str(found) == "* main 222 two\\x1b[0m\n  a 111 [origin/a: ahead 1, behind 2] one\n  remotes/origin/a 333 three"
    )
    assert str(history.parse_branches("")) == "No branches yet: there is no commit."


def test_stashes():
    found = history.parse_stashes("stash@{0}\x002026-01-02T00:00:00+00:00\0On main: wip\n")
    assert found.stashes == [Stash("stash@{0}", "2026-01-02T00:00:00+00:00", "On main: wip")]
    assert str(found) == "stash@{0} 2026-01-02 On main: wip"
    assert str(history.parse_stashes("")) == "No stashes."
