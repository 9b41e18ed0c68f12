"""What git says when it refuses, and what to do next."""

import pytest

from toolroll.text.git.refusals import explain


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ("fatal: a.x: clean filter 'x y' failed", "Unsupported", "'x y'"),
        ("fatal: Unable to create '/w/.git/index.lock': File exists.\n\nAnother git", "Conflict", "Another git"),
        (
            "fatal: cannot lock ref 'HEAD': Unable to create '/w/.git/refs/heads/x.lock': File exists.",
            "Conflict",
            "x.lock",
        ),
        ("error: pathspec ':(literal,prefix:0)u' did not match any file(s) known to git", "NotFound", "no file 'u'."),
        (
            "error: ab^{commit}: expected commit type, but the object dereferences to blob type",
            "ValidationError",
            "blob",
        ),
        ("fatal: bad revision 'HEAD~1 HEAD'", "NotFound", "a..b"),
        (
            "error: Your local changes to the following files would be overwritten by merge:\n\ta\n\tb c\nPlease",
            "Conflict",
            "kept: a, b c. Commit",
        ),
        ("error: cannot rebase: You have unstaged changes.\nerror: Please commit or stash them.", "Conflict", "stash"),
        ("fatal: There is no merge to abort (MERGE_HEAD missing).", "NotFound", "no merge in progress"),
        ("error: no cherry-pick or revert in progress\nfatal: cherry-pick failed", "NotFound", "revert in progress"),
        ("fatal: No rebase in progress?", "NotFound", "no rebase in progress"),
        ("fatal: no upstream configured for branch 'main'", "NotFound", "Give `ref`"),
        ("fatal: couldn't find remote ref nope", "NotFound", "no branch 'nope'"),
        (
            "fatal: could not read Username for 'https://h': terminal prompts disabled",
            "PermissionDenied",
            "https://h wants a user name",
        ),
        ("fatal: Authentication failed for 'https://h/x'", "PermissionDenied", "https://h/x wants"),
        (
            "fatal: unable to access 'https://h/x/': The requested URL returned error: 403",
            "PermissionDenied",
            "https://h/x/ wants",
        ),
        ("fatal: unable to access 'https://h/': Could not resolve host: h", "PermissionDenied", "`network`"),
        ("fatal: transport 'ssh' not allowed", "Unsupported", "not by 'ssh'"),
        ("fatal: './x' does not appear to be a git repository", "NotFound", "'./x'"),
        ("!\trefs/heads/a:refs/heads/a\t[rejected] (fetch first)", "Conflict", "`pull` first"),
        ("!\trefs/heads/a:refs/heads/a\t[rejected] (stale info)", "Conflict", "`fetch`, look"),
        ("!\trefs/heads/a:refs/heads/a\t[remote rejected] (hook declined)", "Conflict", "refused it: hook declined"),
        ("The previous cherry-pick is now empty, possibly due to", "Conflict", "`sub` to skip"),
        ("fatal: 'one' is already checked out at '/w/one'", "Conflict", "'one' is checked out in another"),
        ("fatal: a branch is expected, got commit 'ab12'", "ValidationError", "'ab12' is no branch"),
        ("fatal: a branch is expected, got remote branch 'o/x'", "ValidationError", "'o/x' is no branch"),
        ("fatal: cannot switch branch while merging\nConsider", "Conflict", "while merging. End"),
        (
            "The following paths are ignored by one of your .gitignore files:\nx.log\nhint: Use",
            "ValidationError",
            "'x.log'.",
        ),
        ("fatal: your current branch 'main' does not have any commits yet", "NotFound", "no commits yet"),
        ("fatal: Not a valid object name: 'HEAD'.", "NotFound", "no commits yet"),
        ("fatal: Not a valid object name: 'nope'.", "NotFound", "no 'nope'"),
        ("fatal: no such ref: HEAD", "NotFound", "no commits yet"),
        ("fatal: pathspec ':(literal)a b' did not match any files", "NotFound", "no file 'a b'"),
        ("error: pathspec 'x' did not match any file(s) known to git", "NotFound", "no file 'x'"),
        ("fatal: bad revision 'zzz'", "NotFound", "no 'zzz'"),
        ("fatal: bad revision 'zzz^{commit}'", "NotFound", "no 'zzz'"),
        ("fatal: ambiguous argument 'q^{commit}': unknown revision or path", "NotFound", "no 'q'"),
        ("fatal: path 'q' does not exist in 'HEAD'", "NotFound", "no file 'q' in that commit"),
        ("fatal: path 'q' exists on disk, but not in 'HEAD'", "NotFound", "no file 'q' in that commit"),
        ("fatal: invalid object name 'main.x'.", "NotFound", "no 'main.x'"),
        ("fatal: invalid reference: q", "NotFound", "no 'q'"),
        ("fatal: a branch named 't' already exists", "Conflict", "branch 't' already"),
        ("error: branch 'n' not found.", "NotFound", "no branch 'n'"),
        ("error: The branch 't' is not fully merged.", "Conflict", "`force`"),
        ("error: Cannot delete branch 'main' checked out at '/w'", "Conflict", "is checked out"),
        ("error: cannot delete branch 'main' used by worktree at '/w'", "Conflict", "is checked out"),
        (
            "error: Your local changes to the following files would be overwritten by checkout:\n\ta",
            "Conflict",
            "stash",
        ),
        ("CONFLICT (content): Merge conflict in a", "Conflict", "<<<<<<<"),
        ("error: Committing is not possible because you have unmerged files.", "Conflict", "<<<<<<<"),
        ("error: stash@{0} is not a valid reference", "NotFound", "no such stash"),
        ("No stash entries found.", "NotFound", "no such stash"),
        ("The following paths are ignored by one of your .gitignore files:\nx", "ValidationError", ".gitignore"),
        ("fatal: file a has only 1 line", "ValidationError", "ends at line 1"),
        (
            "fatal: Unable to create '/w/.git/index.lock': Read-only file system",
            "PermissionDenied",
            "cannot be changed",
        ),
        ("fatal: not a git repository: '/w/.git'", "NotFound", "'/w/.git'"),
        ("hint: try\nfatal: something {new}\n", "ExecutionError", "git diff failed. fatal: something {new}"),
        ("usage: git diff [<options>]\n", "ValidationError", "`ref`"),
        ("", "ExecutionError", "said nothing"),
    ],
)
def test_the_error_says_what_to_do(said, code, words):
    error = explain(said, "diff")
    assert error.code == code
    assert words in error.message
    assert "hint:" not in error.message
