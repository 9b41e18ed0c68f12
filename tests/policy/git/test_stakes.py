"""What a git command puts at stake, by its words."""

import shlex

import pytest

from toolroll.policy.git import PUBLISHING, find_folder, find_loss, find_stake

ROWS = [
    ("reset --hard", "changes", ()),
    ("-C sub reset -q --har HEAD~1", "changes", ()),
    ("checkout -f main", "changes", ()),
    ("checkout -- a.py b", "changes", ("a.py", "b")),
    ("checkout .", "changes", (".",)),
    ("restore a.py", "changes", ("a.py",)),
    ("restore -SW a.py", "changes", ("a.py",)),
    ("switch --discard-changes main", "changes", ()),
    ("clean -fd build", "untracked", ("build",)),
    ("clean -fdx", "ignored", (".",)),
    ("rebase main", "pushed", ("main",)),
    ("rebase", "pushed", ("@{upstream}",)),
    ("commit --amend --no-edit", "pushed", ("HEAD~1",)),
    ("push", "sent", ("",)),
    ("push origin main", "sent", ("origin", "main")),
    ("push -f origin HEAD:refs/heads/x", "overwritten", ("origin", "x")),
    ("push origin +main", "overwritten", ("origin", "main")),
]


@pytest.mark.parametrize(("text", "kind", "names"), ROWS, ids=[row[0] for row in ROWS])
def test_what_is_at_stake(text, kind, names):
    stake = find_stake(["git", *shlex.split(text)])
    assert (stake.kind, stake.names) == (kind, names)


@pytest.mark.parametrize(
    ("text", "folder"),
    [("reset --hard", "."), ("-C a -C b --no-pager status", "./a/b"), ("-C a -C /b log", "/b"), ("", "."),
     ("--git-dir=x/.git --work-tree x clean -fd", "./x"), ("-C a --work-tree=b -c x=y log", "./a/b"), ("-C", ".")],
)  # fmt: skip
def test_the_folder_that_git_works_in(text, folder):
    assert find_folder(["git", *text.split()]) == folder


@pytest.mark.parametrize(
    "text",
    ["status", "reset", "reset --soft HEAD~1", "restore --staged a.py", "checkout main", "checkout -b x", "switch main",
     "clean -n", "clean -nfd", "rebase --continue", "rebase --abort", "commit -m --amend", "push --dry-run -f", "", "-v"],
)  # fmt: skip
def test_nothing_is_at_stake(text):
    assert find_stake(["git", *shlex.split(text)]) is None


def test_a_push_needs_consent_and_is_no_loss():
    for rule in PUBLISHING:
        for text in rule.examples:
            assert rule.reason in find_loss(["git", *text.split()], final=True), text
        assert [text for text in rule.fine if find_loss(["git", *text.split()], final=True)] == []
    assert "overwrites" in find_loss(["git", "push", "origin", "+main"], final=True)
    assert "overwrites" in find_loss(["git", "push", "--force"], final=True)
    assert find_loss(["git", "reset", "--hard"], final=True) is None
