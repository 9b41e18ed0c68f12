"""Use the git repository: what it shows, what it changes, what it refuses, and that it runs nothing else."""

import os
import re
import shutil
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from toolroll.dialect import Dialect, View
from toolroll.policy.decision import Rule
from toolroll.policy.effects import Effect
from toolroll.policy.rules import PRESETS, Policy
from toolroll.text.git.names import LISTING, LOOKING
from toolroll.tools.dev.git import git

ONLY = Dialect("git", "Only git.", entries=(View.native(git),))
DATES = {f"GIT_{who}_DATE": "2026-01-02T03:04:05+0000" for who in ("AUTHOR", "COMMITTER")}
HASH = re.compile(r"\b[0-9a-f]{7,40}\b")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A user without settings."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.setenv("USER", "me")
    for name, value in DATES.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def kit(open_kit):
    return open_kit(ONLY)


@pytest.fixture
def losing(open_kit):
    """For a user who lets git lose work."""
    return open_kit(ONLY, policy=replace(PRESETS["standard"], allow_destructive=True))


@pytest.fixture
def unconfined(open_kit):
    """Without a sandbox, so that nothing but the settings keeps programs from being run."""
    return open_kit(ONLY, policy=Policy(sandbox="none"))


def run(folder, *words, check=True, env=None):
    """Plain git, as a person would run it."""
    done = subprocess.run(["git", *words], cwd=folder, check=check, capture_output=True, text=True, timeout=60, env=env)
    return done.stdout


def begin(folder):
    run(folder, "init", "-q", "-b", "main", "--template=")
    with open(folder / ".git" / "config", "a") as file:
        file.write("[user]\nname = Ann\nemail = ann@example.com\n")


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A repository with one commit, to be copied."""
    folder = tmp_path_factory.mktemp("first")
    begin(folder)
    (folder / "src").mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / "src" / "b.py").write_text("b = 1\n")
    run(folder, "add", ".")
    run(folder, "commit", "-q", "-m", "first", env=os.environ | DATES)
    return folder


@pytest.fixture
def repo(first, ws):
    shutil.copytree(first, ws, dirs_exist_ok=True)
    return ws


def told(result):
    return HASH.sub("#", result.text)


def test_a_day_of_work(kit, repo, put):
    put({"a.txt": "one\ntwo\n", "new.txt": "n\n"})
    assert (
        told(kit.call("git", {"action": "status"})) == "On branch main\nNot staged:\n  M a.txt\nUntracked:\n  ? new.txt"
    )
    assert told(kit.call("git", {"action": "diff"})) == (
        "Not staged: 1 file, +1 -0\ndiff --git a/a.txt b/a.txt\nindex #..# 100644\n--- a/a.txt\n+++ b/a.txt\n"
        "@@ -1 +1,2 @@\n one\n+two"
    )
    assert told(kit.call("git", {"action": "add", "files": ["a.txt", "*.txt"]})) == (
        "Staged now: 2 files.\nOn branch main\nStaged:\n  M a.txt\n  A new.txt"
    )
    assert kit.call("git", {"action": "diff"}).text.startswith(
        "Staged: 2 files, +2 -0\n  a.txt +1 -0\n  new.txt +1 -0\n"
    )
    committed = kit.call("git", {"action": "commit", "message": "Second\n\nreset --hard; push --force"})
    assert told(committed) == "Committed # 2026-01-02 Ann: Second (HEAD -> main)\n2 files, +2 -0"
    assert run(repo, "log", "-1", "--format=%B").rstrip() == "Second\n\nreset --hard; push --force"
    assert told(kit.call("git", {"action": "log"})) == (
        "* # 2026-01-02 Ann: Second (HEAD -> main)\n* # 2026-01-02 Ann: first"
    )
    assert told(kit.call("git", {"action": "blame", "files": ["a.txt"]})) == (
        "# 2026-01-02 Ann: first\n1\tone\n# 2026-01-02 Ann: Second\n2\ttwo"
    )
    assert kit.call("git", {"action": "status"}).text.endswith("Nothing to commit, the working tree is clean.")


def test_a_commit_and_a_file_in_it(kit, repo):
    shown = kit.call("git", {"action": "show"})
    assert told(shown).startswith(
        "commit # (HEAD -> main)\nAuthor: Ann <ann@example.com>\nDate: 2026-01-02T03:04:05+00:00\n\n    first\n\n"
        "2 files, +2 -0\n  a.txt +1 -0\n  src/b.py +1 -0\ndiff --git a/a.txt b/a.txt\n"
    )
    assert shown.data["commit"]["hash"] == run(repo, "rev-parse", "HEAD").strip()
    assert kit.call("git", {"action": "show", "ref": "HEAD:src/b.py"}).text == "b = 1"
    assert kit.call("git", {"action": "show", "ref": ":a.txt"}).text == "one"
    assert kit.call("git", {"action": "show", "ref": ":/fir"}).data["commit"] == shown.data["commit"]
    assert kit.call("git", {"action": "show", "ref": "HEAD", "files": ["src"]}).data["files"] == [
        {"path": "src/b.py", "added": 1, "deleted": 0, "source": None}
    ]
    other = kit.call("git", {"action": "show", "files": ["other"]})
    assert (other.data["commit"], other.data["files"]) == (shown.data["commit"], [])
    assert "(None of `files` changed." in other.text


def test_a_merge_that_keeps_our_side(kit, repo, put):
    run(repo, "checkout", "-q", "-b", "topic")
    put({"a.txt": "topic\n"})
    run(repo, "commit", "-q", "-a", "-m", "topic")
    run(repo, "checkout", "-q", "main")
    put({"a.txt": "main\n"})
    run(repo, "commit", "-q", "-a", "-m", "ours")
    run(repo, "merge", "topic", check=False)
    put({"src/b.py": "b = 2\n"})
    assert kit.call("git", {"action": "status"}).text == (
        "On branch main, merge in progress, 1 conflict\nConflicts:\n  U a.txt\nNot staged:\n  M src/b.py"
    )
    differs = kit.call("git", {"action": "diff"})
    assert differs.text.startswith("Not staged: 2 files, +5 -1\n  a.txt +4 -0\n  src/b.py +1 -1\n")
    assert "+<<<<<<< HEAD\n main\n+=======\n+topic\n" in differs.text
    put({"a.txt": "main\n", "src/b.py": "b = 1\n"})
    assert kit.call("git", {"action": "add"}).text.endswith("Action `commit` concludes it.")
    assert kit.call("git", {"action": "commit", "message": "merged"}).ok
    assert len(run(repo, "log", "-1", "--format=%P").split()) == 2


@pytest.fixture
def forked(repo, put):
    """Two branches that have changed the same line, and of which one has deleted what the other changed."""
    run(repo, "checkout", "-q", "-b", "topic")
    put({"a.txt": "topic\n", "src/b.py": "b = 2\n"})
    run(repo, "commit", "-q", "-a", "-m", "topic")
    run(repo, "checkout", "-q", "main")
    put({"a.txt": "main\n"})
    run(repo, "rm", "-q", "src/b.py")
    run(repo, "commit", "-q", "-a", "-m", "ours")
    return repo


def test_a_merge_stops_with_both_sides_and_is_resolved(kit, forked):
    stopped = kit.call("git", {"action": "merge", "ref": "topic"})
    assert stopped.status == "partial"
    assert stopped.text.startswith(
        "The merge stopped. Merge in progress, 2 conflicts.\na.txt: both modified\n  lines 1-7\n  ours (HEAD):\n    main\n"
        "  base:\n    one\n  theirs (topic):\n    topic\nsrc/b.py: deleted by us\nResolve each file: "
    )
    assert stopped.data["files"][0]["hunks"][0]["theirs"] == "topic"
    assert kit.call("git", {"action": "conflicts"}).data["files"] == stopped.data["files"]
    held = kit.call("git", {"action": "add", "files": ["a.txt"]})
    assert (held.error.code, "still holds conflict markers in lines 1-7" in held.text) == ("Conflict", True)
    other = kit.call("git", {"action": "rebase", "sub": "abort"})
    assert (other.error.code, "no rebase in progress" in other.text) == ("NotFound", True)
    for action in ("merge", "rebase", "cherry-pick", "revert"):
        begun = kit.call("git", {"action": action, "ref": "topic"})
        assert (begun.error.code, "Merge in progress, 2 conflicts." in begun.text) == ("Conflict", True)
    resolved = kit.call("git", {"action": "resolve", "files": ["a.txt"], "content": "both\n"})
    assert resolved.text.startswith("Resolved a.txt.\nOn branch main, merge in progress, 1 conflict\n")
    assert kit.call("git", {"action": "resolve", "files": ["src/b.py"], "sub": "ours"}).ok
    done = kit.call("git", {"action": "merge", "sub": "continue"})
    assert told(done) == (
        "Continued the merge.\nOn branch main\nNothing to commit, the working tree is clean.\n"
        "(Branch main was at #: `undo` goes back, or, in a repository further down, action `reset` with sub `hard` and "
        "that `ref`.)"
    )
    assert (forked / "a.txt").read_text() == "both\n"
    assert not (forked / "src/b.py").exists()
    assert run(forked, "log", "-1", "--format=%s").strip() == "Merge branch 'topic'"


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_side_is_taken_for_all_files(kit, forked, side):
    kit.call("git", {"action": "merge", "ref": "topic"})
    assert kit.call("git", {"action": "resolve", "sub": side}).data["now"]["conflicts"] == []
    assert (forked / "a.txt").read_text() == {"ours": "main\n", "theirs": "topic\n"}[side]
    assert (forked / "src/b.py").exists() == (side == "theirs")


def test_a_rebase_is_continued_skipped_and_taken_back(kit, forked):
    before = run(forked, "rev-parse", "main")
    for sub in ("abort", "skip", "continue"):
        stopped = kit.call("git", {"action": "rebase", "ref": "topic"})
        assert "In a rebase, ours is what you rebase onto" in stopped.text
        assert kit.call("git", {"action": "status"}).text.startswith("On no branch, at ")
        kit.call("git", {"action": "resolve", "sub": "theirs"})
        done = kit.call("git", {"action": "rebase", "sub": sub})
        assert (done.ok, done.data["now"]["branch"], done.data["now"]["ongoing"]) == (True, "main", None), done.text
        assert (run(forked, "rev-parse", "main") == before) == (sub == "abort")
        assert kit.call("git", {"action": "reset", "sub": "hard", "ref": before.strip()}).ok
    assert run(forked, "rev-parse", "main") == before


STEPS = {
    "exec": "exec touch RAN\n",
    "x": "pick HEAD\n\t x\ttouch RAN",
    "break": "break\n",
    "merge": "merge -C HEAD topic\n",
    "not text": "pick HEAD\n\0",
    "long": "pick HEAD\n" * 10_001,
    "huge": "pick HEAD\n" * 3,
}


def plant(repo, steps, folder="rebase-merge"):
    """A rebase that nobody began, as any command can write it."""
    head = run(repo, "rev-parse", "HEAD")
    run(repo, "checkout", "-q", "--detach")
    (repo / ".git" / folder).mkdir()
    files = {"head-name": "refs/heads/main\n", "orig-head": head, "onto": head, "msgnum": "0\n", "end": "1\n"}
    for name, text in {**files, "interactive": "", "done": "", "git-rebase-todo": steps}.items():
        (repo / ".git" / folder / name).write_text(text)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_steps_that_could_run_a_program_are_not_continued(kit, repo, steps):
    plant(repo, steps)
    if steps == STEPS["huge"]:
        os.truncate(repo / ".git/rebase-merge/git-rebase-todo", 100_000_000)
    before = run(repo, "rev-parse", "HEAD", "main")
    for sub in ("continue", "skip"):
        result = kit.call("git", {"action": "rebase", "sub": sub})
        assert (result.error.code, "Nothing was started: only pick," in result.text) == ("SecurityError", True)
        assert "Sub `abort`" in result.text
        assert len(result.text) < 1000
    assert run(repo, "rev-parse", "HEAD", "main") == before


@pytest.mark.parametrize(
    ("action", "name", "text"),
    [
        ("rebase", "rebase-merge/strategy", "evil\n"),
        ("cherry-pick", "sequencer/opts", "[options]\n\tstrategy = evil\n"),
        ("revert", "sequencer/opts", '[options] STRATEGY="ort evil"\n'),
        ("cherry-pick", "sequencer/todo", "exec touch RAN\n"),
        ("rebase", "rebase-apply/next", "1\n"),
    ],
)
def test_what_else_could_run_a_program_is_not_continued(kit, repo, action, name, text):
    if name.startswith("rebase-merge"):
        plant(repo, "pick HEAD\n")
    (repo / ".git" / name).parent.mkdir(exist_ok=True)
    (repo / ".git" / name).write_text(text)
    result = kit.call("git", {"action": action, "sub": "continue"})
    assert (result.error.code, "Nothing was started" in result.text) == ("SecurityError", True)


def test_the_question_shows_the_steps(open_kit, forked):
    asked = []
    kit = open_kit(ONLY, approve=lambda one: asked.append(one.text) or True, policy=Policy(ask=Effect.SHELL))
    assert kit.call("git", {"action": "rebase", "ref": "topic"}).status == "partial"
    assert kit.call("git", {"action": "resolve", "sub": "theirs"}).ok
    (forked / ".git/rebase-merge/git-rebase-todo").write_text("drop HEAD  the last one\n")
    assert kit.call("git", {"action": "rebase", "sub": "continue"}).ok
    assert "drop HEAD  the last one" in asked[-1]
    assert "git rebase --continue" in asked[-1]


@pytest.mark.parametrize("where", ["nested", "w", "sub"])
def test_steps_of_other_repositories_and_working_trees_are_not_continued(kit, repo, where):
    if where == "nested":
        shutil.copytree(repo, repo / where)
    elif where == "w":
        run(repo, "worktree", "add", "-q", "-b", "w", "w")
    else:
        run(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"{repo}/.git", where)
    own = {"nested": "nested/.git", "w": ".git/worktrees/w", "sub": ".git/modules/sub"}[where]
    head = run(repo / where, "rev-parse", "HEAD")
    (repo / own / "rebase-merge").mkdir()
    files = {"head-name": "refs/heads/main\n", "orig-head": head, "onto": head, "interactive": "", "done": ""}
    for name, text in {**files, "git-rebase-todo": "exec touch RAN\n"}.items():
        (repo / own / "rebase-merge" / name).write_text(text)
    result = kit.call("git", {"action": "rebase", "sub": "continue", "files": [where]})
    assert (result.error.code, "there is 'exec touch RAN'" in result.text) == ("SecurityError", True)
    assert list(repo.rglob("RAN")) == []


@pytest.mark.parametrize("where", ["", "nested", "w"])
def test_what_was_not_done_is_named_with_the_command_that_does_it(open_kit, repo, where):
    """Signing, hooks and filters: by the git tool not, by the command that it names all of them."""
    folder = repo / where
    if where == "nested":
        shutil.copytree(repo, folder)
    elif where:
        run(repo, "worktree", "add", "-q", "-b", "w", "w")
    hooks = (folder if where == "nested" else repo) / ".git/hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "post-merge", "pre-push.sample"):
        (hooks / name).write_text(f"#!/bin/sh\n: > ran-{name}\n")
        (hooks / name).chmod(0o755 if name != "post-merge" else 0o644)
    run(folder, "config", "commit.gpgSign", "yes")
    run(folder, "branch", "topic")
    kit = open_kit(policy=Policy(allow_destructive=True))
    (folder / "a.txt").write_text("two\n")
    kit.call("git", {"action": "add", "files": [f"{where}/a.txt".strip("/")]})
    made = kit.call("git", {"action": "commit", "message": "two", "files": [where] if where else []})
    within = f"cd {where} && " if where else ""
    again = f"{within}git reset --soft HEAD~1 && git commit -C ORIG_HEAD"
    done = f"(Not done here: signing, the hook 'pre-commit', the hook 'commit-msg'. `bash` does it: {again})"
    assert made.text.endswith(done)
    run(folder, "config", "commit.gpgSign", "false")  # nobody has a key here
    kit.call("bash", {"command": again})
    assert {path.name for path in folder.glob("ran-*")} == {"ran-pre-commit", "ran-commit-msg"}
    assert run(folder, "log", "--format=%s") == "two\nfirst\n"


def test_files_of_a_filter_are_named_with_the_command_that_runs_it(open_kit, repo, put):
    kit = open_kit(policy=Policy(allow_destructive=True))
    put({".gitattributes": "*.x filter=turn\n", "a.x": "cba\n"})
    run(repo, "config", "filter.turn.clean", "tr ac ca")
    run(repo, "config", "filter.turn.smudge", "tr ac ca")
    refused = kit.call("git", {"action": "add"})
    assert (refused.error.code, "git add -- FILE" in refused.text) == ("Unsupported", True)
    assert kit.call("bash", {"command": "git add -- . && git commit -qm turned"}).ok
    put({"a.x": "other\n"})
    restored = kit.call("git", {"action": "restore", "files": ["a.x"], "force": True})
    assert "(Files of the filter 'turn' are as git stores them" in restored.text
    assert (repo / "a.x").read_text() == "abc\n"
    assert kit.call("bash", {"command": "rm a.x && git checkout -- a.x"}).ok
    assert (repo / "a.x").read_text() == "cba\n"


def test_a_partial_clone_and_a_git_that_fetches_by_itself(open_kit, repo, remote, tmp_path, monkeypatch):
    """An old git runs what a repository names to fetch an object that is missing; this one only says that it is old."""
    version = run(repo, "version").split()[2]
    with open(shutil.which("git"), "rb") as file:
        binary = file.read()
    if len(version) < 6 or version.encode() not in binary:
        pytest.skip("the version of this git is not in its file")
    (tmp_path / "old").mkdir()
    old = f"2.39.3{'x' * (len(version) - 6)}"
    (tmp_path / "old/git").write_bytes(binary.replace(version.encode(), old.encode()))
    (tmp_path / "old/git").chmod(0o755)
    run(repo, "config", "core.repositoryFormatVersion", "1")
    run(repo, "config", "extensions.partialClone", "origin")
    policy = Policy(sandbox="none", allow_destructive=True)
    assert open_kit(ONLY, policy=policy).call("git", {"action": "fetch"}).ok
    monkeypatch.setenv("PATH", f"{tmp_path}/old", prepend=os.pathsep)
    kit = open_kit(policy=policy)
    for action in ("fetch", "push"):
        result = kit.call("git", {"action": action})
        assert result.error.code == "Unsupported", result.text
        assert result.text.startswith(f"Nothing was started: this is a partial clone, and git version {old} fetches")
        assert result.text.endswith(f"a newer git: git {action}")
    assert kit.call("git", {"action": "status"}).ok


def test_settings_and_hooks_stay_as_they_are(open_kit, repo, tmp_path, tier):
    """git runs with the rights of `bash`, whatever it does by itself or is made to run."""
    kit = open_kit(ONLY, policy=Policy(sandbox=tier, allow_destructive=True))
    run(repo, "branch", "old")
    run(repo, "config", "branch.old.remote", "o")
    run(repo, "init", "-q", "--bare", "far")
    run(repo, "remote", "add", "o", "./far")
    script = program(repo, "pwned")
    run(repo, "config", "remote.o.uploadpack", f"{script}; git upload-pack")
    run(repo, "config", "remote.o.receivepack", f"{script}; git receive-pack")
    run(repo / "far", "config", "core.alternateRefsCommand", f"{script}; :")
    (repo / "far/objects/info/alternates").write_text(f"{repo}/.git/objects\n")
    before = (repo / ".git/config").read_bytes()
    for arguments in (
        {"action": "branch", "sub": "delete", "name": "old"},
        {"action": "push", "remote": "o"},
        {"action": "fetch", "remote": "o"},
        {"action": "worktree", "sub": "create", "name": "w", "files": ["w"], "ref": "o/main"},
        {"action": "worktree", "sub": "delete", "files": ["w"]},
    ):
        result = kit.call("git", arguments)
        assert result.ok, result.text
        assert (repo / ".git/config").read_bytes() == before, arguments
        assert traces(repo) == [], arguments
    assert "w" not in run(repo, "worktree", "list").split("/")


def test_commits_are_picked_and_reverted(kit, forked, put):
    put({"c.txt": "c\n"})
    run(forked, "add", ".")
    run(forked, "commit", "-q", "-m", "c")
    assert told(kit.call("git", {"action": "revert", "ref": "HEAD"})).startswith(
        "Reverted HEAD.\nOn branch main\nNothing"
    )
    assert not (forked / "c.txt").exists()
    assert kit.call("git", {"action": "cherry-pick", "ref": "HEAD~1"}).text.startswith("Picked HEAD~1.")
    assert (forked / "c.txt").exists()
    again = kit.call("git", {"action": "cherry-pick", "ref": "HEAD"})
    assert (again.error.code, "Set `sub` to skip" in again.text) == ("Conflict", True)
    assert kit.call("git", {"action": "cherry-pick", "sub": "skip"}).ok
    nothing = kit.call("git", {"action": "revert", "sub": "abort"})
    assert (nothing.error.code, "in progress" in nothing.text) == ("NotFound", True)


def test_a_merge_over_changes_is_refused_and_names_them(kit, forked, put):
    put({"a.txt": "unsaved\n"})
    refused = kit.call("git", {"action": "merge", "ref": "topic"})
    assert (refused.error.code, "were kept: a.txt." in refused.text) == ("Conflict", True)
    assert kit.call("git", {"action": "rebase", "ref": "topic"}).error.code == "Conflict"
    assert (forked / "a.txt").read_text() == "unsaved\n"


def test_changes_are_lost_only_with_force(kit, repo, put):
    calls = [
        {"action": "reset", "sub": "hard"},
        {"action": "restore", "files": ["a.txt"]},
        {"action": "restore", "files": ["."], "ref": "HEAD"},
    ]
    for arguments in calls:
        assert kit.call("git", arguments).ok, "nothing is lost in a clean tree"
        put({"a.txt": "unsaved\n"})
        refused = kit.call("git", arguments)
        assert (refused.error.code, "throws uncommitted changes away: a.txt." in refused.text) == ("Conflict", True)
        assert (repo / "a.txt").read_text() == "unsaved\n"
        assert kit.call("git", {**arguments, "force": True}).ok
        assert (repo / "a.txt").read_text() == "one\n"


def test_tags_and_working_trees(kit, repo):
    assert told(kit.call("git", {"action": "tag", "sub": "create", "name": "v1", "message": "One"})) == (
        "Created tag 'v1'.\nv1 # One"
    )
    assert kit.call("git", {"action": "tag", "sub": "create", "name": "v1"}).error.code == "Conflict"
    assert kit.call("git", {"action": "tag", "sub": "delete", "name": "v1"}).text.startswith("Deleted tag 'v1' (was ")
    made = kit.call("git", {"action": "worktree", "sub": "create", "name": "side", "files": ["trees/side"]})
    assert [one["branch"] for one in made.data["now"]["worktrees"]] == ["main", "side"]
    (repo / "trees/side/a.txt").write_text("other\n")
    assert kit.call("git", {"action": "status", "files": ["trees/side"]}).data["branch"] == "side"
    removal = {"action": "worktree", "sub": "delete", "files": ["trees/side"]}
    assert "would be lost" in kit.call("git", removal).text
    assert kit.call("git", {**removal, "force": True}).ok
    assert not (repo / "trees/side").exists()


@pytest.fixture
def remote(repo):
    """A bare repository in the workspace with a hook, as the remote of `main`."""
    run(repo, "init", "-q", "--bare", "-b", "main", "far.git")
    hook = repo / "far.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho hooked >&2; exit 1\n")
    hook.chmod(0o755)
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "exclude").write_text("far.git\nother\n")
    run(repo, "remote", "add", "origin", "./far.git")
    return repo / "far.git"


def test_push_asks_and_fetch_brings(open_kit, repo, remote, put):
    asked = []
    kit = open_kit(ONLY, approve=lambda one: asked.append(one.reason) or True)
    alone = open_kit(ONLY).call("git", {"action": "push"})
    assert (alone.error.code, "sends commits to a remote" in alone.text) == ("PermissionDenied", True)
    pushed = kit.call("git", {"action": "push"})
    assert pushed.text.startswith("Pushed main to origin.\nOn branch main\n"), "settings stay as they are"
    assert "`git branch -u origin/main` in a terminal" in pushed.text
    run(repo, "branch", "-q", "-u", "origin/main")
    assert len(asked) == 1
    assert run(remote, "log", "-1", "--format=%s", "main") == "first\n"
    run(repo, "clone", "-q", "far.git", "other")
    put({"other/a.txt": "theirs\n"})
    run(repo / "other", "-c", "user.name=B", "-c", "user.email=b@x", "commit", "-q", "-a", "-m", "theirs")
    run(repo / "other", "push", "-q", "--receive-pack=git -c core.hooksPath=/dev/null receive-pack")
    assert "main -> origin/main" in kit.call("git", {"action": "fetch"}).text
    put({"a.txt": "mine\n"})
    kit.call("git", {"action": "add", "files": ["a.txt"]})
    kit.call("git", {"action": "commit", "message": "mine"})
    behind = kit.call("git", {"action": "push"})
    assert (behind.error.code, "`pull` first" in behind.text) == ("Conflict", True)
    pulled = kit.call("git", {"action": "pull"})
    assert (pulled.status, pulled.data["ongoing"]) == ("partial", "merge")
    kit.call("git", {"action": "resolve", "sub": "ours"})
    kit.call("git", {"action": "merge", "sub": "continue"})
    assert kit.call("git", {"action": "push"}).ok
    refused = kit.call("git", {"action": "rebase", "ref": "HEAD~1"})
    assert (refused.error.code, "rewrites commits that a remote has: " in refused.text) == ("Conflict", True)
    run(repo, "reset", "-q", "--hard", "HEAD~1")
    count = len(asked)
    assert kit.call("git", {"action": "push", "force": True}).ok
    assert "overwrites" in asked[count]


REMOTES = [
    ("git@example.com:a/b.git", "Unsupported", "https://example.com/a/b.git"),
    ("ssh://git@example.com:22/a/b.git", "Unsupported", "https://example.com/a/b.git"),
    ("ext::touch pwned", "SecurityError", "'ext'"),
    ("/nowhere/x.git", "NotFound", "no repository at '/nowhere/x.git'"),
]


@pytest.mark.parametrize(("url", "code", "words"), REMOTES, ids=lambda value: value if ":" in str(value) else None)
def test_remotes_that_cannot_be_used(kit, repo, url, code, words):
    assert "has no remote" in kit.call("git", {"action": "fetch"}).text
    run(repo, "remote", "add", "origin", url)
    result = kit.call("git", {"action": "fetch"})
    assert (result.error.code, words in result.text) == (code, True), result.text
    assert "There are: origin." in kit.call("git", {"action": "fetch", "remote": "nope"}).text


class _WantsPassword(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Basic")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_remote_that_wants_a_password_fails_at_once(unconfined, repo, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _WantsPassword) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        run(repo, "remote", "add", "origin", f"http://127.0.0.1:{server.server_port}/x.git")
        began = time.monotonic()
        result = unconfined.call("git", {"action": "fetch"})
        server.shutdown()
    assert (result.error.code, "wants a user name or password" in result.text) == ("PermissionDenied", True)
    assert time.monotonic() - began < 40


class _Backend(BaseHTTPRequestHandler):
    """Git over http, as a web server does it."""

    root = ""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        length = self.headers.get("Content-Length", "0")
        told = {"GIT_PROJECT_ROOT": self.root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": length, "PATH": os.environ["PATH"]}  # fmt: skip
        body = self.rfile.read(int(length))
        answer = subprocess.run(["git", "http-backend"], input=body, env=told, capture_output=True, check=True).stdout
        self.wfile.write(b"HTTP/1.0 200 OK\r\n" + answer)

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        pass


def test_a_remote_over_http_is_reached_by_the_network_rule(open_kit, repo, tmp_path, bubblewrap):
    run(tmp_path, "init", "-q", "--bare", "-b", "main", "far.git")
    run(tmp_path / "far.git", "config", "http.receivepack", "true")
    backend = type("Backend", (_Backend,), {"root": str(tmp_path)})
    with ThreadingHTTPServer(("127.0.0.1", 0), backend) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        host = f"127.0.0.1:{server.server_port}"
        run(repo, "remote", "add", "origin", f"http://{host}/far.git")
        off = open_kit(ONLY, policy=Policy(sandbox="bubblewrap")).call("git", {"action": "fetch"})
        kit = open_kit(ONLY, policy=Policy(sandbox="bubblewrap", network=host), approve=lambda _: True)
        done = [kit.call("git", {"action": action}) for action in ("push", "fetch", "pull")]
        server.shutdown()
    assert (off.error.code, "`--network 127.0.0.1`" in off.text) == ("PermissionDenied", True)
    assert [one.text.partition("\n")[0] for one in done] == [
        "Pushed main to origin.",
        "Fetched from origin.",
        "Already up to date.",
    ]
    assert run(tmp_path / "far.git", "log", "-1", "--format=%s", "main") == "first\n"


def test_a_remote_is_tried_again_after_the_answer_about_its_host(open_kit, repo, tmp_path):
    name = socket.gethostname()
    try:
        local = socket.gethostbyname(name).startswith("127.")
    except OSError:
        local = False
    if not local:
        pytest.skip("the name of this machine is not one of its loopback")
    run(tmp_path, "init", "-q", "--bare", "-b", "main", "far.git")
    asked = []

    def approve(one):
        asked.append(one.reason)
        time.sleep(1.5)  # longer than git has time for
        return True

    with ThreadingHTTPServer(("127.0.0.1", 0), type("Backend", (_Backend,), {"root": str(tmp_path)})) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        host = f"{name}:{server.server_port}"
        run(repo, "remote", "add", "origin", f"http://{host}/far.git")
        dialect = Dialect("git", "Only git.", entries=(View("git", git, {"action": "action", "timeout": "timeout"}),))
        kit = open_kit(dialect, policy=Policy(network="example.org", hosts=(host,)), approve=approve)
        done = kit.call("git", {"action": "fetch", "timeout": 1})
        server.shutdown()
    assert (done.text.partition("\n")[0], asked) == ("Fetched from origin.", [f"a command wants to reach {host}"])


def drive(repo, put):
    """Name a program for differences in the settings of a repository with a change."""
    put({"a.txt": "two\n"})
    run(repo, "config", "diff.x.textconv", f"touch {repo}/pwned; cat")
    run(repo, "config", "diff.external", f"touch {repo}/pwned; true")
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "attributes").write_text("*.txt diff=x\n")


LOOKS = "git status -s && git diff | cat && git log --oneline"


def test_looking_needs_no_question_and_runs_no_program(open_kit, repo, put):
    asked = []
    drive(repo, put)
    asking = open_kit(policy=PRESETS["ask"], approve=lambda one: asked.append(one.reason))
    thinking = open_kit(mode="thinking")
    reading = open_kit(policy=PRESETS["read-only"])
    shown = [asking.call("bash", {"command": LOOKS}), thinking.call("terminal", {"command": LOOKS})]
    assert [" M a.txt" in one.text and "+two" in one.text and "first" in one.text for one in shown] == [True, True]
    for kit in (asking, thinking, reading):
        assert [kit.call("git", arguments).ok for arguments in (READS[0], READS[1], READS[3], READS[6])] == [True] * 4
    assert asked == []
    assert not (repo / "pwned").exists()
    for kit in (thinking, reading, open_kit("coding-agent", mode="thinking")):
        shown = kit.entry("git").schema["properties"]
        assert {"status", "branch"} <= set(shown["action"]["enum"]) <= LOOKING | LISTING
        assert not {"sub", "sub_action"} & set(shown)
    for kit in (thinking, reading):
        assert kit.call("git", {"action": "branch", "sub": "list"}).ok
        for arguments in ({"action": "add"}, {"action": "branch", "sub": "create", "name": "x"}, {"action": "fetch"}):
            assert kit.call("git", arguments).error.code == "PermissionDenied", arguments
    asking.call("bash", {"command": f"{LOOKS} && git add ."})
    assert len(asked) == 1
    assert open_kit().call("bash", {"command": LOOKS}).ok
    assert (repo / "pwned").exists(), "the control: where nothing is asked about, git does as the repository says"


LOSSES = [
    ("git reset --hard", "`git reset` throws uncommitted changes away: a.txt."),
    ("cd . && git checkout -- a.txt", "`git checkout` throws uncommitted changes away: a.txt."),
    ("git restore .", "`git restore` throws uncommitted changes away: a.txt."),
    ("git clean -fd", "`git clean` deletes files that are in no commit: new.txt."),
    ("git push --force origin main", "`git push` overwrites what others may have pushed to origin (./far.git)."),
    ("git push origin main", "`git push` sends commits to origin (./far.git), where others see them."),
]


def test_a_command_asks_about_the_work_that_it_would_lose(open_kit, repo, remote, put):
    asked = []
    kit = open_kit(approve=lambda one: asked.append(one.reason))
    for command in ("git reset --hard", "git restore .", "git clean -fd"):
        assert kit.call("bash", {"command": command}).ok, "nothing is lost in a clean tree"
    put({"a.txt": "unsaved\n", "new.txt": "n\n"})
    for command, reason in LOSSES:
        assert kit.call("bash", {"command": command}).error.code == "PermissionDenied"
        assert asked.pop().startswith(reason)
    forced = kit.call("git", {"action": "reset", "sub": "hard", "force": True})
    assert (forced.error.code, asked[0].startswith(LOSSES[0][1])) == ("PermissionDenied", True)
    assert (repo / "a.txt").read_text() == "unsaved\n"


CHANGED, NEW = "`git reset` throws uncommitted changes away: b.txt.", "deletes files that are in no commit: new.txt."
ELSEWHERE = [
    ("cd other && git reset --hard", CHANGED),
    ("git -C other reset --hard", CHANGED),
    ("git --git-dir=other/.git --work-tree=other reset --hard", CHANGED),
    ("bash -c 'cd other/deep && git reset --hard'", CHANGED),
    ("(cd other; git clean -fd)", NEW),
    ("cd other/deep && git clean -fd ..", NEW),
    ("cd gone; git reset --hard", "`git reset` throws uncommitted changes away: a.txt."),
    ('cd "$X"; git reset --hard', "`git reset` may lose work: the folder that it runs in is not known before it runs."),
    ("(cd other); git clean -fd", ""),
    ("cd other/deep && git clean -fd", ""),
    ("cd other && git clean -n", ""),
]


def test_the_work_is_looked_for_where_git_runs(open_kit, repo, put):
    put({"a.txt": "unsaved\n", "other/b.txt": "b\n", "other/deep/c.txt": "c\n"})
    begin(repo / "other")
    run(repo / "other", "add", ".")
    run(repo / "other", "commit", "-qm", "first")
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("other\n")
    put({"other/b.txt": "unsaved\n", "other/new.txt": "n\n"})
    asked = []
    kit = open_kit(approve=lambda one: asked.append(one.reason))
    for command, reason in ELSEWHERE:
        done = kit.call("bash", {"command": command})
        assert (done.ok, len(asked)) == (not reason, bool(reason)), (command, asked)
        assert reason in "".join(asked), (command, asked)
        asked.clear()
    assert (repo / "other/b.txt").read_text() == "unsaved\n"


def test_git_that_reads_in_another_repository_runs_nothing_of_its_settings(open_kit, repo, put):
    put({"other/b.txt": "b\n", "other/.gitattributes": "*.txt diff=x\n"})
    begin(repo / "other")
    for words in (["add", "."], ["commit", "-qm", "first"], ["config", "diff.x.textconv", "echo RAN;cat"]):
        run(repo / "other", *words)
    put({"other/b.txt": "c\n"})
    asked = []
    kit = open_kit(policy=PRESETS["ask"], approve=lambda one: asked.append(one.reason))
    shown = kit.call("bash", {"command": "cd other && git diff"}).text
    assert ("+c" in shown, "RAN" in shown, asked) == (True, False, [])
    assert not kit.call("bash", {"command": "cd - && git diff"}).ok
    assert len(asked) == 1


def test_undo_takes_back_the_files_of_a_reset_and_a_merge(open_kit, forked, put):
    kit = open_kit()
    put({"a.txt": "unsaved\n"})
    assert kit.call("git", {"action": "reset", "sub": "hard", "ref": "topic", "force": True}).ok
    assert (forked / "a.txt").read_text() == "topic\n"
    assert kit.call("undo", {}).ok
    assert ((forked / "a.txt").read_text(), (forked / "src/b.py").exists()) == ("unsaved\n", False)


def test_branches(kit, repo, put):
    created = kit.call("git", {"action": "branch", "sub": "create", "name": "topic"})
    assert told(created) == (
        "Created branch 'topic'.\n* main # first\n  topic # first\nTo work on it, set `sub` to switch."
    )
    assert told(kit.call("git", {"action": "branch", "sub": "switch", "name": "topic"})) == (
        "Switched to branch 'topic'.\nOn branch topic\nNothing to commit, the working tree is clean."
    )
    put({"a.txt": "topic\n"})
    kit.call("git", {"action": "add"})
    kit.call("git", {"action": "commit", "message": "topic"})
    kit.call("git", {"action": "branch", "sub": "switch", "name": "main"})
    kept = kit.call("git", {"action": "branch", "sub": "delete", "name": "topic"})
    assert (kept.error.code, "`force`" in kept.text) == ("Conflict", True)
    assert "topic" in run(repo, "branch")
    assert kit.call("git", {"action": "diff", "ref": "main..topic"}).data["parts"][0]["files"] == [
        {"path": "a.txt", "added": 1, "deleted": 1, "source": None}
    ]
    gone = kit.call("git", {"action": "branch", "sub": "delete", "name": "topic", "force": True})
    assert told(gone) == "Deleted branch 'topic'.\n* main # first"


def test_switching_keeps_changes_unless_forced(kit, repo, put):
    run(repo, "checkout", "-q", "-b", "topic")
    put({"a.txt": "topic\n"})
    run(repo, "commit", "-q", "-a", "-m", "topic")
    put({"a.txt": "unsaved\n"})
    refused = kit.call("git", {"action": "branch", "sub": "switch", "name": "main"})
    assert (refused.error.code, (repo / "a.txt").read_text()) == ("Conflict", "unsaved\n")
    assert kit.call("git", {"action": "branch", "sub": "switch", "name": "main", "force": True}).ok
    assert (repo / "a.txt").read_text() == "one\n"


def test_stashes(kit, losing, repo, put):
    put({"a.txt": "unsaved\n"})
    saved = kit.call("git", {"action": "stash", "sub": "save", "message": "half done"})
    assert told(saved).startswith(
        "Saved working directory and index state On main: half done\nOn branch main, 1 stashed"
    )
    assert (repo / "a.txt").read_text() == "one\n"
    assert kit.call("git", {"action": "stash", "sub": "list"}).text == "stash@{0} 2026-01-02 On main: half done"
    assert kit.call("git", {"action": "stash", "sub": "pop"}).text.startswith(
        "Took back stash@{0}.\nOn branch main\nNot"
    )
    assert (repo / "a.txt").read_text() == "unsaved\n"
    kit.call("git", {"action": "stash", "sub": "save"})
    put({"a.txt": "other\n"})
    run(repo, "commit", "-q", "-a", "-m", "other")
    conflict = kit.call("git", {"action": "stash", "sub": "pop"})
    assert (conflict.error.code, "<<<<<<<" in conflict.text) == ("Conflict", True)
    assert kit.call("git", {"action": "status"}).data["conflicts"] == [
        {"path": "a.txt", "kind": "conflict", "source": None}
    ]
    assert "The stash is kept." in conflict.text
    merging = kit.call("git", {"action": "commit", "message": "m"})
    assert (merging.error.code, "stash" in merging.text) == ("Conflict", False)
    assert losing.call("git", {"action": "stash", "sub": "drop"}).text == "Dropped stash@{0}.\nNo stashes."
    assert kit.call("git", {"action": "stash", "sub": "pop"}).error.code == "NotFound"


LOSES = "`git stash drop` throws stashed work away"


@pytest.mark.parametrize(
    ("options", "dropped"),
    [
        ({}, False),
        ({"approve": lambda asked: LOSES not in asked.reason}, False),
        ({"approve": lambda asked: LOSES in asked.reason}, True),
        ({"policy": replace(PRESETS["standard"], rules=(Rule("allow", command=("git",)),))}, True),
        ({"policy": replace(PRESETS["standard"], allow_destructive=True)}, True),
    ],
    ids=["nobody to ask", "declined", "approved", "a rule", "allow_destructive"],
)
def test_the_tool_and_the_shell_lose_work_by_the_same_consent(open_kit, repo, put, options, dropped):
    kit, theirs = open_kit(**options), open_kit("coding-agent", **options)
    calls = [
        (kit, "git", {"action": "stash", "sub": "drop"}),
        (kit, "bash", {"command": "git stash drop"}),
        (theirs, "git", {"action": "stash", "sub_action": "drop"}),
        (theirs, "code_exec", {"action": "shell", "code": "git -c a.b=c stash drop"}),
    ]
    for one, name, arguments in calls:
        put({"a.txt": "unsaved\n"})
        run(repo, "stash")
        result = one.call(name, arguments)
        assert (result.ok, run(repo, "stash", "list") == "") == (dropped, dropped)
        if not dropped:
            assert result.error.code == "PermissionDenied"
            assert LOSES in result.text
            run(repo, "stash", "drop")


def test_what_git_can_bring_back_runs_in_a_command(open_kit, repo):
    for command in ("git commit -q --amend -m again", "git reset -q --hard HEAD"):
        assert open_kit().call("bash", {"command": command}).ok
        blocked = open_kit("coding-agent").call("code_exec", {"action": "shell", "code": command})
        assert blocked.error.code == "PermissionDenied"


def test_values_that_are_empty_are_not_given(kit, repo):
    empty = {"ref": "", "name": "", "message": "", "lines": "", "files": []}
    assert kit.call("git", {"action": "status", **empty}).text == kit.call("git", {"action": "status"}).text
    assert "`message` is required" in kit.call("git", {"action": "commit", **empty}).text


def test_nothing_to_commit_is_told_with_what_there_is(kit, repo, put):
    put({"a.txt": "two\n"})
    result = kit.call("git", {"action": "commit", "message": "m"})
    assert (result.ok, result.error.code) == (False, "Conflict")
    assert result.text == (
        "Nothing was committed: nothing is staged. Stage files with action `add` first.\nOn branch main\nNot staged:\n"
        "  M a.txt"
    )


def test_a_stash_without_a_sub_saves_as_git_does(open_kit, repo, put):
    put({"a.txt": "two\n"})
    saved = open_kit().call("git", {"action": "stash"})
    assert (saved.ok, (repo / "a.txt").read_text(), run(repo, "stash", "list").count("\n")) == (True, "one\n", 1)
    thinking = open_kit(mode="thinking")
    assert thinking.call("git", {"action": "stash"}).error.code == "PermissionDenied"
    assert thinking.call("git", {"action": "stash", "sub": "list"}).text.startswith("stash@{0} ")


def test_gits_own_words_are_answered_with_the_call(open_kit, repo, put):
    kit = open_kit()
    put({"a.txt": "two\n"})
    run(repo, "branch", "topic")
    for arguments, text in (
        ({"command": "status -s"}, " M a.txt"),
        ({"command": "git log --oneline -1"}, "first"),
        ({"action": "checkout", "files": ["a.txt"], "force": True}, "Restored from"),
        ({"action": "checkout", "name": "topic"}, "Switched to branch 'topic'"),
    ):
        refused = kit.call("git", arguments)
        (call,) = refused.error.suggest
        assert text in kit.call(call.name, call.arguments).text, refused.text
    plain = kit.call("git", {"action": "checkout"})
    assert all(word in plain.text for word in ("`branch`", "`sub` 'switch'", "`restore`")), plain.text
    assert open_kit(mode="thinking").call("git", {"command": "log"}).error.suggest == ()


def test_before_the_first_commit(kit, ws, put):
    begin(ws)
    put({"a.txt": "one\n"})
    for arguments in (
        {"action": "log"},
        {"action": "show"},
        {"action": "blame", "files": ["a.txt"]},
        {"action": "stash", "sub": "save"},
        {"action": "branch", "sub": "create", "name": "x"},
    ):
        result = kit.call("git", arguments)
        assert (result.error.code, "no commits yet" in result.text) == ("NotFound", True), arguments
    assert kit.call("git", {"action": "status"}).text.startswith("On branch main, no commits yet\nUntracked")
    kit.call("git", {"action": "add"})
    assert kit.call("git", {"action": "commit", "message": "m"}).ok


INJECTIONS = [
    {"action": "show", "ref": "--output=pwned"},
    {"action": "show", "ref": "-O/tmp/x"},
    {"action": "show", "ref": "HEAD\n--output=pwned"},
    {"action": "show", "ref": "HEAD\0--output=pwned"},
    {"action": "show", "ref": "HEAD --output=pwned"},
    {"action": "show", "ref": "HEAD:../../../etc/passwd"},
    {"action": "show", "ref": "HEAD:/etc/passwd"},
    {"action": "show", "ref": " "},
    {"action": "diff", "ref": "--no-index"},
    {"action": "diff", "ref": "HEAD..--output=pwned"},
    {"action": "diff", "ref": "--output=pwned...HEAD"},
    {"action": "diff", "files": [":(exclude)x"]},
    {"action": "diff", "files": [":!x"]},
    {"action": "diff", "files": [":/"]},
    {"action": "diff", "files": ["/etc/passwd", "/dev/null"]},
    {"action": "diff", "files": ["../outside"]},
    {"action": "diff", "files": ["--no-index"]},
    {"action": "log", "ref": "--exec=touch pwned"},
    {"action": "log", "ref": "--all"},
    {"action": "log", "limit": -5},
    {"action": "log", "limit": "1 --output=pwned"},
    {"action": "log", "limit": 10**9},
    {"action": "log", "files": ["--output=pwned"]},
    {"action": "add", "files": ["--force"]},
    {"action": "add", "files": ["-A"]},
    {"action": "add", "files": ["--pathspec-from-file=/etc/passwd"]},
    {"action": "add", "files": ["/etc/passwd"]},
    {"action": "add", "files": ["src/../../outside"]},
    {"action": "add", "files": ["a\0b"]},
    {"action": "add", "files": ["a.txt\n--force"]},
    {"action": "add", "files": [""]},
    {"action": "add", "files": ["link/secret"]},
    {"action": "add", "files": [".git/config"]},
    {"action": "add", "files": ["a.txt"] * 2000},
    {"action": "show", "ref": "\udc80"},
    {"action": "branch", "sub": "create", "name": "\udc80"},
    {"action": "blame", "files": ["--contents=/etc/passwd"]},
    {"action": "blame", "files": ["a.txt"], "ref": "--contents=/etc/passwd"},
    {"action": "blame", "files": ["a.txt"], "ref": "-S/etc/passwd"},
    {"action": "blame", "files": ["a.txt"], "lines": "1,2 --contents=/etc/passwd"},
    {"action": "blame", "files": ["a.txt"], "lines": ":f"},
    {"action": "branch", "sub": "create", "name": "--force"},
    {"action": "branch", "sub": "create", "name": "-f"},
    {"action": "branch", "sub": "create", "name": "../../x"},
    {"action": "branch", "sub": "create", "name": "x.lock"},
    {"action": "branch", "sub": "create", "name": "a b"},
    {"action": "branch", "sub": "create", "name": "a\nb"},
    {"action": "branch", "sub": "create", "name": "x", "ref": "-D"},
    {"action": "branch", "sub": "switch", "name": "--discard-changes"},
    {"action": "branch", "sub": "switch", "name": "-"},
    {"action": "branch", "sub": "switch", "name": "@{-1}"},
    {"action": "branch", "sub": "delete", "name": "-D main"},
    {"action": "stash", "sub": "pop", "ref": "--index"},
    {"action": "stash", "sub": "pop", "ref": "stash@{0};x"},
    {"action": "stash", "sub": "clear"},
    {"action": "commit", "message": ""},
    {"action": "commit", "message": "a\0--amend"},
    {"action": "commit", "message": "x" * 200_000},
    {"action": "push"},
    {"action": "push", "remote": "--receive-pack=touch pwned"},
    {"action": "fetch", "remote": "ext::touch pwned"},
    {"action": "fetch", "remote": "../outside"},
    {"action": "pull", "ref": "--upload-pack=touch pwned"},
    {"action": "reset", "ref": "--hard"},
    {"action": "merge", "ref": "--squash"},
    {"action": "rebase", "ref": "--exec=touch pwned"},
    {"action": "cherry-pick", "ref": "--strategy=pwned"},
    {"action": "restore", "files": ["a.txt"], "ref": "--pathspec-from-file=/etc/passwd"},
    {"action": "tag", "sub": "create", "name": "--file=/etc/passwd"},
    {"action": "worktree", "sub": "create", "name": "w", "files": ["../pwned"]},
    {"action": "worktree", "sub": "create", "name": "w", "files": [".git/pwned"]},
    {"action": "resolve", "files": ["a.txt"], "content": "x"},
    {"action": "config"},
]


def test_no_value_becomes_an_option_or_leads_elsewhere(unconfined, repo, tmp_path):
    (tmp_path / "outside").write_text("secret")
    (repo / "link").symlink_to(tmp_path)
    before = state(repo)
    for arguments in INJECTIONS:
        result = unconfined.call("git", arguments)
        assert not result.ok, arguments
        assert "root:" not in result.text, arguments
        assert state(repo) == before, arguments
        assert not (tmp_path / "pwned").exists(), arguments
    assert not list(tmp_path.rglob("*pwned*"))


def test_the_control_of_the_injections(repo, tmp_path):
    """Taken as they come, such values do what they say."""
    run(repo, "show", "--output=pwned")
    assert (repo / "pwned").exists()
    run(repo, "branch", "victim")
    run(repo, "branch", "-d", *["-D", "victim"])
    assert "victim" not in run(repo, "branch")


def state(folder):
    """Every file of a repository but those that only remember when files were looked at."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.name != "index"}


def test_a_file_of_any_name(kit, repo, put):
    names = ["-x.py", "--force", "a b.py", "it's.py", "[id].tsx", "*.py", "\u00fc.py", "src/--odd.py", ":x"]
    put({"other.py": "2\n"} | dict.fromkeys(names, "1\n"))
    staged = []
    for name in names:
        staged.append({"path": name, "kind": "added", "source": None})
        added = kit.call("git", {"action": "add", "files": [typed(name)]})
        assert added.data["now"]["staged"] == sorted(staged, key=lambda one: one["path"].encode())
    assert kit.call("git", {"action": "commit", "message": "odd"}).ok
    for name in names:
        assert kit.call("git", {"action": "blame", "files": [typed(name)]}).data["lines"][0]["text"] == "1"
        assert kit.call("git", {"action": "log", "files": [typed(name)]}).data["commits"][0]["message"] == "odd"


def typed(name):
    return f"./{name}" if name.startswith(":") else name


READS = [
    {"action": "status"},
    {"action": "diff"},
    {"action": "diff", "ref": "HEAD"},
    {"action": "log"},
    {"action": "show"},
    {"action": "blame", "files": ["a.x"]},
    {"action": "branch"},
    {"action": "stash", "sub": "list"},
]
MERGES = [
    {"action": "merge", "ref": "other"},
    {"action": "resolve", "sub": "ours"},
    {"action": "merge", "sub": "abort"},
    {"action": "restore", "files": ["."], "force": True},
    {"action": "merge", "ref": "other"},
    {"action": "conflicts"},
    {"action": "resolve", "sub": "theirs"},
    {"action": "merge", "sub": "continue"},
    {"action": "reset", "sub": "hard", "ref": "HEAD~1", "force": True},
    {"action": "rebase", "ref": "other"},
    {"action": "resolve", "sub": "theirs"},
    {"action": "rebase", "sub": "continue"},
    {"action": "cherry-pick", "ref": "HEAD~1"},
    {"action": "cherry-pick", "sub": "abort"},
    {"action": "revert", "ref": "HEAD"},
    {"action": "tag", "sub": "create", "name": "v1", "message": "m"},
    {"action": "worktree", "sub": "create", "name": "w", "files": ["w"]},
    {"action": "fetch", "remote": "o"},
    {"action": "push", "remote": "o"},
    {"action": "pull", "remote": "o", "ref": "main"},
]
WRITES = [
    {"action": "add", "files": ["a.py"]},
    {"action": "add"},
    {"action": "add", "files": ["a.x"]},
    {"action": "commit", "message": "m"},
    {"action": "stash", "sub": "save"},
    {"action": "stash", "sub": "pop"},
    {"action": "branch", "sub": "create", "name": "t"},
    {"action": "branch", "sub": "switch", "name": "t"},
    {"action": "stash", "sub": "save"},
    {"action": "branch", "sub": "switch", "name": "other"},
    {"action": "stash", "sub": "pop"},
]

# What a repository that somebody else has made may say, each with a program of its own, and the plain command that
# does as it says; None where that takes more than one. Those of a group are in force together.
HOSTILE = {
    "drivers": {
        "diff driver": ('[diff "x"]\ncommand = {program}\n', ["diff"], "diff=x"),
        "diff driver without a name": ('[diff ""]\ncommand = {program}\n', ["diff"], "diff="),
        "textconv": ('[diff "t"]\ntextconv = {program}\n', ["diff"], "diff=t"),
        "textconv of blame": ('[diff "tb"]\ntextconv = {program}\n', ["blame", "{file}"], "diff=tb"),
        "clean filter": ('[filter "x"]\nclean = {program}\n', ["add", "{file}"], "filter=x"),
        "clean filter without a name": ('[filter ""]\nclean = {program}\n', ["add", "{file}"], "filter="),
        "smudge filter": ('[filter "s"]\nsmudge = {program}\n', ["checkout", "--", "{file}"], "filter=s"),
        "filter process": ('[filter "p"]\nprocess = {program}\n', ["add", "{file}"], "filter=p"),
        "filter with = in its name": ('[filter "x=y"]\nclean = {program}\n', ["add", "{file}"], "filter=x=y"),
        "merge driver": ('[merge "x"]\ndriver = {program}\n', ["merge", "other"], "merge=x"),
        "merge driver without a name": ('[merge ""]\ndriver = {program}\n', ["merge", "other"], "merge="),
    },
    "programs": {
        "fsmonitor": ("[core]\nfsmonitor = {program}\n", ["status"], ""),
        "external diff": ("[diff]\nexternal = {program}\n", ["diff"], ""),
        "signing": ("[commit]\ngpgSign = true\n[gpg]\nprogram = {program}\n", ["commit", "-a", "-m", "m"], ""),
        "editor": ("[core]\neditor = {program}\n", ["commit", "-a"], ""),
        "ssh": ('[core]\nsshCommand = {program}\n[remote "o"]\nurl = ssh://localhost/x\n', ["fetch", "o"], ""),
        "alias": ("[alias]\nst = !{program}\n", ["st"], ""),
        "credential helper": ("[credential]\nhelper = !{program}\n", None, ""),
        "pack hook": ("[uploadpack]\npackObjectsHook = {program}\n", None, ""),
    },
    "hooks": {
        "hooks": ("", ["commit", "-a", "-m", "m"], ""),
        "signing with ssh": (
            '[commit]\ngpgSign = true\n[gpg]\nformat = ssh\n[gpg "ssh"]\nprogram = {program}\n'
            "[user]\nsigningKey = a.py\n",
            ["commit", "--no-verify", "-a", "-m", "m"],
            "",
        ),
    },
    "hooks in the working tree": {"hooks": ("[core]\nhooksPath = .evil\n", ["commit", "-a", "-m", "m"], "")},
    "included files": {
        "included file": ("[include]\npath = ../{program}.cfg\n", ["status"], "filter=included-file"),
        "included for this branch": (
            '[includeIf "onbranch:main"]\npath = ../{program}.cfg\n',
            ["status"],
            "filter=included-for-this-branch",
        ),
        "included for another branch": (
            '[includeIf "onbranch:t"]\npath = ../{program}.cfg\n',
            ["-c", "alias.go=!git checkout -q -b t; git status", "go"],
            "filter=included-for-another-branch",
        ),
    },
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A repository of somebody else: two branches that have both changed the same files."""
    folder = tmp_path_factory.mktemp("begun")
    begin(folder)
    for number, words in enumerate((["-b", "main"], ["-b", "other"], ["main"])):
        if number:
            run(folder, "checkout", "-q", *words)
        for name in ("a.py", "a.x", *(f"{nth}.d" for nth in range(max(map(len, HOSTILE.values()))))):
            (folder / name).write_text(f"{number:02}\n")
        run(folder, "add", ".")
        run(folder, "commit", "-q", "-m", f"number {number}")
    return folder


def program(folder, name):
    """A program that leaves a trace of its own."""
    path = folder / "programs" / name.replace(" ", "-")
    path.parent.mkdir(exist_ok=True)
    (folder / "traces").mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n: > '{folder}/traces/{name}'\n")
    path.chmod(0o755)
    return path


def traces(folder):
    return sorted(path.name for path in (folder / "traces").iterdir())


def hostile(begun, folder, group, names):
    """A repository with changes in it, whose settings name programs."""
    shutil.copytree(begun, folder)
    (folder / ".evil").mkdir()
    (folder / ".git" / "info").mkdir()
    for nth, (name, (config, _, attribute)) in enumerate(group.items()):
        if name not in names:
            continue
        script = program(folder.parent, name)
        with open(folder / ".git" / "info" / "attributes", "a") as file:  # of every branch
            file.write(f"{nth}.d {attribute}\n")
        (folder / f"{script.name}.cfg").write_text(
            f'[core]\nfsmonitor = {script}\n[filter "{script.name}"]\nclean = {script}\n'
        )
        with open(folder / ".git" / "config", "a") as file:
            file.write(config.format(program=script.name if ".cfg" in config else script))
        if name == "hooks":
            for hook in HOOKS:
                shutil.copy(script, folder / ".evil" / hook)
            shutil.copytree(folder / ".evil", folder / ".git" / "hooks")
    change(folder, 4)


HOOKS = (
    "pre-commit", "commit-msg", "post-commit", "post-checkout", "post-index-change", "reference-transaction",
    "pre-merge-commit", "prepare-commit-msg", "post-merge", "pre-rebase", "post-rewrite", "pre-push",
)  # fmt: skip


def change(folder, number):
    """Other content of the same size, so that git must look inside."""
    for path in (folder / "a.py", folder / "a.x", *folder.glob("*.d")):
        path.write_text(f"{number:02}\n")
        os.utime(path, (number, number))


@pytest.mark.parametrize("group", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_repository_runs_nothing(open_kit, ws, tmp_path, begun, group):
    for nth, (name, (_, control, _)) in enumerate(group.items()):
        if control is not None:
            folder = tmp_path / f"control {nth}"
            hostile(begun, folder, group, [name])
            if control[0] == "merge":
                run(folder, "checkout", "-q", "-f")
            run(folder, *(word.format(file=f"{nth}.d") for word in control), check=False)
            assert traces(tmp_path) == [name], "plain git does as the repository says"
            (tmp_path / "traces" / name).unlink()
    ws.rmdir()
    hostile(begun, ws, group, group)
    kit = open_kit(ONLY, policy=Policy(sandbox="none"))
    merges = MERGES if group.keys() & {"merge driver", "editor", "signing with ssh"} else []
    for number, arguments in enumerate((*READS, *merges, *WRITES, *READS[:3]), 5):
        if arguments.get("sub") in ("save", "create"):
            change(ws, number)
        kit.call("git", arguments)
        assert traces(tmp_path) == [], arguments


def test_a_setting_that_cannot_be_named_is_refused(open_kit, repo):
    """What is not UTF-8 could not be overridden."""
    with open(repo / ".git" / "config", "ab") as file:
        file.write(b'[filter "\xff"]\nclean = touch pwned\n')
    result = open_kit(ONLY, policy=Policy(sandbox="none")).call("git", {"action": "status"})
    assert (result.error.code, "git is not run there" in result.text) == ("SecurityError", True)


@pytest.mark.parametrize("way", ["gitdir", "commondir", "objects"])
def test_a_repository_elsewhere_is_not_used(open_kit, ws, tmp_path, first, way):
    """Even without a sandbox; plain git would show it."""
    elsewhere = shutil.copytree(first, tmp_path / "elsewhere")
    if way == "gitdir":
        (ws / "link").symlink_to(elsewhere)
        (ws / ".git").write_text("gitdir: link/.git\n")
    else:
        shutil.copytree(first / ".git", ws / ".git")
    if way == "commondir":
        (ws / ".git" / "commondir").write_text(f"{elsewhere}/.git\n")
    if way == "objects":
        shutil.rmtree(ws / ".git" / "objects")
        (ws / ".git" / "objects").symlink_to(elsewhere / ".git" / "objects")
    assert run(ws, "log", "--format=%s") == "first\n"
    result = open_kit(ONLY, policy=Policy(sandbox="none")).call("git", {"action": "log"})
    assert result.error.code in ("PermissionDenied", "SecurityError")


def test_a_submodule_runs_nothing(open_kit, ws, tmp_path):
    script = program(tmp_path, "pwned")
    inner = ws / "sub"
    inner.mkdir()
    begin(inner)
    (inner / "a.x").write_text("1\n")
    (inner / ".gitattributes").write_text("*.x filter=x diff=x\n")
    run(inner, "add", ".")
    run(inner, "commit", "-q", "-m", "inner")
    begin(ws)
    (ws / ".gitmodules").write_text('[submodule "sub"]\npath = sub\nurl = ./x\n')
    run(ws, "add", ".")
    run(ws, "commit", "-q", "-m", "outer")
    with open(inner / ".git" / "config", "a") as file:
        file.write(f'[filter "x"]\nclean = {script}\n[diff "x"]\ncommand = {script}\n')
    trace = tmp_path / "traces" / "pwned"

    def touch(number):
        (inner / "a.x").write_text(f"{number % 10}\n")  # of the same size, so that git must look inside
        os.utime(inner / "a.x", (number, number))

    for number, control in enumerate((["status"], ["diff"], ["add", "."], ["-c", "diff.submodule=diff", "diff"]), 2):
        touch(number)
        if number == 5:
            run(inner, "-c", "filter.x.clean=", "commit", "-q", "-a", "-m", "more")
        run(ws, *control)
        assert trace.exists(), f"plain git does as the submodule says on {control}"
        trace.unlink()
    run(ws, "config", "diff.submodule", "diff")
    kit = open_kit(ONLY, policy=Policy(sandbox="none"))
    (ws / "b.txt").write_text("b\n")
    commit = {"action": "commit", "message": "m"}
    calls = [*READS[:5], commit, {"action": "add"}, {"action": "add", "files": ["sub"]}, commit, *WRITES[4:]]
    for number, arguments in enumerate(calls, 7):
        touch(number)
        kit.call("git", arguments)
        assert not trace.exists(), arguments


def test_missing_objects_are_not_fetched(open_kit, repo, tmp_path):
    """A partial clone asks its remote for them, by the program that the settings name."""
    script = program(tmp_path, "pwned")
    lost = run(repo, "rev-parse", "HEAD:a.txt").strip()
    shutil.copytree(repo, tmp_path / "origin")
    (repo / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    with open(repo / ".git" / "config", "a") as file:
        file.write(
            '[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = o\n[protocol "file"]\nallow = always\n'
            f'[remote "o"]\npromisor = true\nurl = {tmp_path}/origin\nuploadpack = {script}\n'
        )
    trace = tmp_path / "traces" / "pwned"
    run(repo, "show", "HEAD", check=False)
    assert trace.exists(), "plain git does as the repository says"
    trace.unlink()
    kit = open_kit(ONLY, policy=Policy(sandbox="none"))
    assert not kit.call("git", {"action": "show"}).ok
    assert not trace.exists()


def test_a_file_with_a_filter_is_not_stored_without_it(kit, repo, put):
    """It may be a filter that encrypts."""
    put({".gitattributes": "*.secret filter=crypt\n*.bin filter=lfs\n"})
    run(repo, "config", "filter.crypt.clean", "rot13")
    for name in ("a.secret", "a.bin"):
        put({name: "in the clear"})
        result = kit.call("git", {"action": "add", "files": [name]})
        assert (result.error.code, "is not run here" in result.text) == ("Unsupported", True)
    assert run(repo, "diff", "--cached", "--name-only") == ""
    assert kit.call("git", {"action": "add", "files": [".gitattributes"]}).ok


def test_looking_changes_nothing(open_kit, repo, put, tier):
    kit = open_kit(ONLY)
    put({"a.txt": "two\n"})
    os.utime(repo / "src/b.py", (1, 1))  # git would like to note that it is as before
    before = {**state(repo), "index": (repo / ".git/index").read_bytes()}
    for arguments in ({**one, **({"files": ["a.txt"]} if one["action"] == "blame" else {})} for one in READS):
        assert kit.call("git", arguments).ok, arguments
    assert {**state(repo), "index": (repo / ".git/index").read_bytes()} == before
    run(repo, "status")
    assert (repo / ".git/index").read_bytes() != before["index"], "plain git notes it"


@pytest.mark.parametrize(
    ("settings", "local", "author"),
    [
        ("", {}, "me <me@localhost>"),
        ('[user]\nname = "J\u00fcrgen Q"\nemail = q@x\n', {}, "J\u00fcrgen Q <q@x>"),
        ("[user]\nname = Q\nemail = q@x\n", {"user.name": "Local", "user.email": "l@x"}, "Local <l@x>"),
        ("[user]\nname = Q\nemail = q@x\n[include]\npath = more\n", {}, "Q <more@x>"),
    ],
)
def test_commits_are_made_in_the_users_name(open_kit, ws, put, home, settings, local, author):
    (home / ".gitconfig").write_text(settings)
    (home / "more").write_text("[user]\nemail = more@x\n")
    run(ws, "init", "-q")
    for name, value in local.items():
        run(ws, "config", name, value)
    put({"a": "1"})
    kit = open_kit(ONLY)
    kit.call("git", {"action": "add"})
    assert kit.call("git", {"action": "commit", "message": "m"}).ok
    assert run(ws, "log", "--format=%an <%ae>%n%cn <%ce>") == f"{author}\n{author}\n"


def test_what_the_user_ignores_everywhere_is_ignored(open_kit, repo, put, home):
    (home / ".gitconfig").write_text("[core]\nexcludesFile = ~/mine\n[core]\nfsmonitor = /bin/false\n")
    (home / "mine").write_text("*.swp\n")
    put({"a.swp": "", "b.txt": ""})
    assert open_kit(ONLY).call("git", {"action": "add"}).data["now"]["staged"] == [
        {"path": "b.txt", "kind": "added", "source": None}
    ]


def test_without_git(open_kit, repo, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = open_kit(ONLY).call("git", {"action": "status"})
    assert (result.error.code, "There is no git here." in result.text) == ("Unsupported", True)


def test_without_a_repository(kit, ws, put):
    result = kit.call("git", {"action": "status"})
    assert (result.error.code, "Ask the user to run `git init`" in result.text) == ("NotFound", True)
    (ws / "inner").mkdir()
    begin(ws / "inner")
    put({"inner/a.txt": "1\n"})
    assert "give `files` in one of 'inner'" in kit.call("git", {"action": "status"}).text
    assert kit.call("git", {"action": "status", "files": ["inner"]}).data["untracked"] == ["inner/a.txt"]
    assert kit.call("git", {"action": "add", "files": ["inner/a.txt"]}).data["now"]["staged"] == [
        {"path": "inner/a.txt", "kind": "added", "source": None}
    ]
    assert "+++ b/inner/a.txt" in kit.call("git", {"action": "diff", "files": ["inner/a.txt"]}).text
    mixed = kit.call("git", {"action": "add", "files": ["inner/a.txt", "b.txt"]})
    assert (mixed.error.code, "one repository at a time" in mixed.text) == ("ValidationError", True)


def test_a_workspace_inside_a_repository(open_kit, ws, put, tmp_path):
    begin(tmp_path)
    put({"a.txt": "1\n"})
    result = open_kit(ONLY).call("git", {"action": "status"})
    assert result.error.code == "PermissionDenied"
    assert f"The repository is at {str(tmp_path)!r}, above the workspace" in result.text
    reading = open_kit(ONLY, policy=Policy(readable=(str(tmp_path / ".git"),)))
    assert reading.call("git", {"action": "status"}).data["untracked"] == ["./"]
    assert reading.call("git", {"action": "add"}).error.code == "PermissionDenied"


def test_a_linked_working_tree_whose_repository_is_elsewhere(open_kit, ws, tmp_path):
    main = tmp_path / "main"
    main.mkdir()
    begin(main)
    run(main, "commit", "-q", "--allow-empty", "-m", "m")
    ws.rmdir()
    run(main, "worktree", "add", "-q", str(ws))
    result = open_kit(ONLY).call("git", {"action": "status"})
    assert (result.error.code, "open the main working tree" in result.text) == ("PermissionDenied", True)


def test_a_broken_repository(kit, ws):
    (ws / ".git").mkdir()
    result = kit.call("git", {"action": "status"})
    assert (result.error.code, "not a whole one" in result.text) == ("NotFound", True)


NOT_THERE = [
    ({"action": "add", "files": ["nope"]}, "NotFound", "no file 'nope'"),
    ({"action": "diff", "ref": "nope"}, "NotFound", "no 'nope'"),
    ({"action": "log", "ref": "nope"}, "NotFound", "no 'nope'"),
    ({"action": "show", "ref": "nope"}, "NotFound", "no 'nope'"),
    ({"action": "show", "ref": "HEAD:nope"}, "NotFound", "no file 'nope' in that commit"),
    ({"action": "branch", "sub": "switch", "name": "nope"}, "NotFound", "no 'nope'"),
    ({"action": "branch", "sub": "delete", "name": "nope"}, "NotFound", "no branch 'nope'"),
    ({"action": "branch", "sub": "delete", "name": "main"}, "Conflict", "is checked out"),
    ({"action": "branch", "sub": "create", "name": "main"}, "Conflict", "already"),
    ({"action": "branch", "sub": "create", "name": "x", "ref": "nope"}, "NotFound", "no 'nope'"),
    ({"action": "blame", "files": ["a.txt"], "lines": "50-60"}, "ValidationError", "ends at line 1"),
    ({"action": "stash", "sub": "pop"}, "NotFound", "no such stash"),
    ({"action": "branch", "sub": "switch", "name": "v1"}, "ValidationError", "Create one with it as `ref`"),
]


def test_what_is_not_there(kit, repo):
    run(repo, "tag", "v1")
    for arguments, code, words in NOT_THERE:
        result = kit.call("git", arguments)
        assert (result.error.code, words in result.text) == (code, True), result.text


def test_a_file_that_was_never_committed_has_no_authors(kit, repo):
    result = kit.call("git", {"action": "blame", "files": ["src/--odd.py"]})
    assert (result.status, result.data["lines"]) == ("partial", [])
    assert "There is no file 'src/--odd.py' in HEAD" in result.text


def test_calls_side_by_side(kit, repo, put):
    put({f"p{number}": "" for number in range(8)})
    with ThreadPoolExecutor(4) as pool:
        calls = ({"action": "add", "files": [f"p{number}"]} for number in range(8))
        assert [one.ok for one in pool.map(lambda arguments: kit.call("git", arguments), calls)] == [True] * 8
    assert run(repo, "diff", "--cached", "--name-only").split() == [f"p{number}" for number in range(8)]


def test_a_large_difference_is_cut_and_counted_in_full(kit, repo, put):
    put({"a.txt": "".join(f"line {number}\n" for number in range(50_000))})
    result = kit.call("git", {"action": "diff"})
    assert result.text.startswith("Not staged: 1 file, +50000 -1\n")
    assert len(result.text) < 60_000
    assert result.meta["spill"].startswith("spill:")


def test_the_log_says_when_there_is_more(kit, repo):
    for number in range(3):
        run(repo, "commit", "-q", "--allow-empty", "-m", f"number {number}")
    result = kit.call("git", {"action": "log", "limit": 2})
    assert [one["message"] for one in result.data["commits"]] == ["number 2", "number 1"]
    assert "raise `limit`" in result.text
    assert len(kit.call("git", {"action": "log", "limit": 4}).data["commits"]) == 4
