"""What git is asked for each action."""

import pytest

from toolroll.policy.git import judge
from toolroll.result import ToolError
from toolroll.text.git.changes import Diff
from toolroll.text.git.plans import make_plan
from toolroll.text.git.requests import GitCommand, GitOutput, GitRequest, WorkingFile


def driven(asked, answers=None):
    """Every command of a plan when git prints nothing, and what became of it."""
    made, running, answer = [], make_plan(asked), None
    try:
        while True:
            yielded = running.send(answer)
            if isinstance(yielded, WorkingFile):
                answer = GitOutput("", "", 1)
                continue
            made.append(yielded)
            answer = (answers or {}).get(yielded.words[0], GitOutput(EMPTY.get(yielded.words[0], "")))
    except StopIteration as done:
        return made, done.value


EMPTY = {"show": "\0" * 9, "status": "1 A. N... 0 0 0 0 0 a\0"}
CALLS = [
    GitRequest("status"),
    GitRequest("diff"),
    GitRequest("diff", ref="main..topic", files=(":(literal)a",)),
    GitRequest("log", ref="topic"),
    GitRequest("show"),
    GitRequest("show", ref="HEAD:a.py"),
    GitRequest("blame", path="a", files=(":(literal)a",), lines="1-2"),
    GitRequest("branch"),
    GitRequest("stash"),
]
CHANGES = [
    GitRequest("add", files=(":(literal).",)),
    GitRequest("commit", message="--amend\n\nreset --hard; push -f"),
    GitRequest("branch", "create", name="feature/clean-f"),
    GitRequest("branch", "switch", name="topic"),
    GitRequest("branch", "delete", name="topic"),
    GitRequest("stash", "save", message="--all"),
    GitRequest("stash", "pop", ref="stash@{1}"),
    GitRequest("merge", ref="topic", message="--abort"),
    GitRequest("merge", "continue"),
    GitRequest("cherry-pick", ref="a..b"),
    GitRequest("revert", ref="HEAD"),
    GitRequest("restore", "staged", files=(":(literal)a",)),
    GitRequest("reset", files=(":(literal)a",)),
    GitRequest("tag", "create", name="v1", message="--force"),
    GitRequest("worktree", "create", name="x", path="-f"),
]
DESTROYS = [
    GitRequest("branch", "switch", name="topic", force=True),
    GitRequest("branch", "delete", name="topic", force=True),
    GitRequest("stash", "drop"),
    GitRequest("rebase", ref="main"),
    GitRequest("merge", "abort"),
    GitRequest("cherry-pick", "skip"),
    GitRequest("reset", "hard"),
    GitRequest("restore", files=(":(literal)a",)),
    GitRequest("tag", "delete", name="v1"),
    GitRequest("worktree", "delete", path="x", force=True),
]


def name(asked):
    return f"{asked.action} {asked.sub}"


@pytest.mark.parametrize("asked", CALLS, ids=name)
def test_what_looks_changes_nothing(asked):
    commands, _ = driven(asked)
    assert not asked.changes
    assert [one for one in commands if one.changes] == []
    assert {judge(one.words).decision for one in commands} <= {"allow", "ask"}


@pytest.mark.parametrize("asked", CHANGES, ids=name)
def test_what_changes_destroys_nothing(asked):
    commands, _ = driven(asked)
    assert asked.changes
    assert [one for one in commands if one.changes]
    assert {judge(one.words).decision for one in commands} <= {"allow", "ask"}


@pytest.mark.parametrize("asked", DESTROYS, ids=name)
def test_only_with_force_is_work_lost(asked):
    """The control of the test above: these commands are known to destroy."""
    commands, _ = driven(asked)
    assert "deny" in {judge(one.words).decision for one in commands}
    assert "deny" not in {judge(one.words, destructive=True).decision for one in commands}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (GitRequest("branch", "save"), "list, create, switch, delete, not 'save'"),
        (GitRequest("stash", "create"), "list, save, pop, drop, not 'create'"),
        (GitRequest("status", "create"), "not with 'status'"),
        (GitRequest("commit"), "`message` is required"),
        (GitRequest("commit", message="m", files=(":(literal)a",)), "`add` them first"),
        (GitRequest("blame"), "one file"),
        (GitRequest("blame", path=".", files=(":(literal).",)), "one file"),
        (GitRequest("blame", path="a", lines="1;2"), "10-20"),
        (GitRequest("blame", path="a", lines="-1"), "10-20"),
        (GitRequest("branch", name="topic"), "create, switch or delete"),
        (GitRequest("branch", "create"), "Which branch"),
        (GitRequest("branch", "switch"), "Which branch"),
        (GitRequest("branch", "delete"), "Which branch"),
        (GitRequest("stash", "pop", ref="main"), "no stash"),
        (GitRequest("show", ref="a..b"), "is a range"),
        (GitRequest("merge"), "`ref` is required"),
        (GitRequest("merge", "skip"), "list, continue, abort, not 'skip'"),
        (GitRequest("restore"), "`files` is required"),
        (GitRequest("reset", "hard", files=(":(literal)a",)), "whole tree"),
        (GitRequest("resolve"), "ours or theirs"),
        (GitRequest("tag", "create"), "Which tag"),
        (GitRequest("worktree", "create", name="x"), "one folder"),
        (GitRequest("push", "delete"), "Which branch"),
    ],
    ids=lambda value: name(value) if isinstance(value, GitRequest) else None,
)
def test_values_that_do_not_go_with_the_action(asked, words):
    with pytest.raises(ToolError, match=words):
        driven(asked)


def test_a_value_is_one_word_behind_its_option():
    commands, _ = driven(GitRequest("commit", message="-F /etc/passwd\n--amend"))
    assert commands[1].words[-1] == "--message=-F /etc/passwd\n--amend"
    commands, _ = driven(GitRequest("diff", ref="HEAD", files=(":(literal)--x",)))
    assert commands[0].words[-4:] == ("--end-of-options", "HEAD", "--", ":(literal)--x")


def test_submodules_are_left_out_of_what_is_added():
    """To see whether one has changed, git would run by the settings in it."""
    listed = GitOutput("100644 aaa 0\ta.py\x00160000 bbb 0\tvendor/lib x\0")
    commands, done = driven(GitRequest("add", files=(":(literal).",)), {"ls-files": listed})
    added = GitCommand(("add", "--", ":(literal).", ":(exclude,literal)vendor/lib x"), changes=True, strict=True)
    assert commands[1] == added
    assert done.note == "(Left out, being submodules: vendor/lib x.)"


def test_paths_of_a_repository_in_a_folder():
    commands, _ = driven(GitRequest("diff", inside="sub/"))
    assert {"--src-prefix=a/sub/", "--dst-prefix=b/sub/"} <= set(commands[0].words)


def test_nothing_differs():
    assert driven(GitRequest("diff"))[1] == Diff([])
