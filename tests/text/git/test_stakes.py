"""What would be lost, in one sentence."""

from toolroll.text.git.requests import GitOutput
from toolroll.text.git.stakes import describe_stake


def told(kind, verb, names, *printed):
    """The sentence when git prints these answers in turn."""
    plan = describe_stake(kind, verb, names)
    next(plan)
    for answer in printed:
        try:
            plan.send(GitOutput(answer))
        except StopIteration as done:
            return done.value
    raise AssertionError("it asks for more")


def test_changes_are_named():
    status = "1 .M N... 0 0 0 0 0 a\0u UU N... 0 0 0 0 0 0 0 b\x001 M. N... 0 0 0 0 0 c d\0"
    assert told("changes", "reset", (), status) == "`git reset` throws uncommitted changes away: b, c d, a."
    assert told("changes", "restore", ("a",), "") == ""
    many = "".join(f"1 .M N... 0 0 0 0 0 f{number}\0" for number in range(12))
    assert told("changes", "reset", (), many).endswith("f9 and 2 more.")
    assert told("untracked", "clean", (), "x\0y/\0") == "`git clean` deletes files that are in no commit: x, y/."


def test_commits_that_a_remote_has():
    assert told("pushed", "rebase", ("main",), "c three\nb two\na one\n", "c three\n") == (
        "`git rebase` rewrites commits that a remote has: b two, a one."
    )
    assert told("pushed", "rebase", ("main",), "c three\n", "c three\n") == ""
    assert told("pushed", "rebase", ("main",), "") == ""


def test_where_a_push_goes():
    url = "https://example.com/x.git\n"
    assert told("sent", "push", ("origin", "main"), url) == (
        "`git push` sends commits to origin (https://example.com/x.git), where others see them."
    )
    assert told("overwritten", "push", ("origin", "main"), url, "a one\n") == (
        "`git push` overwrites commits of origin (https://example.com/x.git): a one."
    )
    assert "others may have pushed to origin." in told("overwritten", "push", (), "", "")
