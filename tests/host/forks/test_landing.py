"""Under `commit = "rules"` a command lands by what it changed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from toolroll import Context, Effect, Kit, ToolError, tool
from toolroll.host.approval.request import ApprovalRequest
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.kit import preset
from toolroll.policy.commands import TERMINAL, judge
from toolroll.policy.commit_rules import CommitRule
from toolroll.policy.rules import Policy


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Approver:
    """Answers as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answer = False
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> bool:
        self.asked.append(request)
        return self.answer


@pytest.fixture
def approver() -> Approver:
    return Approver()


@pytest.fixture
def repository(ws: Path, put: Callable[..., None]) -> Path:
    put({"kept.txt": "in git\n", "other.txt": "too\n"})
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "all")):
        subprocess.run(["git", *words], cwd=ws, check=True)
    put({"own.txt": "only here\n"})
    return ws


def rules(*own: CommitRule) -> Policy:
    return replace(preset("standard"), commit="rules", commit_rules=own)


def test_what_git_can_restore_lands_without_a_question(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver
) -> None:
    kit = open_kit(policy=rules(), approve=approver)
    result = kit.call("bash", {"command": "rm kept.txt; echo more >> other.txt; echo new > new.txt"})
    said = "Changed 3 files: kept.txt (deleted), new.txt (new), other.txt (+1 -0)."
    assert said in result.text
    assert [row["path"] for row in result.data["changes"]] == ["kept.txt", "new.txt", "other.txt"]
    assert not (repository / "kept.txt").exists()
    assert kit.call("bash", {"command": "cat new.txt | sort > /dev/null; ls"}).ok
    assert approver.asked == []
    assert kit.undo().ok
    assert (repository / "kept.txt").read_text() == "in git\n"


@pytest.mark.parametrize(
    "call",
    [
        ("bash", {"command": "rm own.txt; echo x > kept.txt"}),
        ("python", {"code": "open('own.txt', 'w').close()"}),
        ("profile", {"action": "hotspots", "code": "open('own.txt', 'w').close()"}),
        ("tests", {"path": "{ws}/test_own.py"}),
        ("lint", {"action": "format", "path": "{ws}/own.py"}),
    ],
)
def test_what_git_cannot_restore_is_asked_about_with_its_diff(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver, call: tuple[str, dict[str, object]]
) -> None:
    (repository / "test_own.py").write_text("def test_own():\n    open('own.txt', 'w').close()\n")
    (repository / "own.py").write_text("only  =  'here'\n")
    before = {path.name: path.read_bytes() for path in repository.iterdir() if path.is_file()}
    kit = open_kit(policy=rules(), approve=approver)
    arguments = {key: str(value).replace("{ws}", str(repository)) for key, value in call[1].items()}
    refused = kit.call(call[0], arguments)
    assert refused.error is not None
    assert refused.error.code == "PermissionDenied"
    assert "git could not restore it" in approver.asked[0].reason
    assert "-only" in approver.asked[0].text
    assert len(approver.asked) == 1
    assert {path.name: path.read_bytes() for path in repository.iterdir() if path.is_file()} == before
    approver.answer = True
    done = kit.call(call[0], arguments)
    assert done.ok
    assert "Changed " in done.text
    assert kit.undo().ok
    assert {path.name: path.read_bytes() for path in repository.iterdir() if path.is_file()} == before


def test_a_rule_denies(repository: Path, open_kit: Callable[..., Kit], approver: Approver) -> None:
    policy = rules(CommitRule(decision="allow"), CommitRule(decision="deny", path="kept.txt", reason="it stays"))
    result = open_kit(policy=policy, approve=approver).call("bash", {"command": "echo x > kept.txt; echo y > new"})
    assert result.text == (
        "Nothing was changed: a rule forbids modify 'kept.txt' (it stays). Do it without that, or ask the user."
    )
    assert (approver.asked, (repository / "new").exists()) == ([], False)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"command": "git add own.txt"}, "Repository: staged 1 file."),
        ({"command": "sleep 9", "background": True}, "cannot be looked at before"),
    ],
)
def test_repositories_and_jobs_are_asked_about(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver, more: dict[str, object], said: str
) -> None:
    kit = open_kit(policy=rules(), approve=approver)
    assert not kit.call("bash", more).ok
    assert said in approver.asked[0].reason
    approver.answer = True
    assert kit.call("bash", more).ok
    staged = subprocess.run(["git", "diff", "--cached", "--name-only"], cwd=repository, capture_output=True, check=True)
    assert staged.stdout == (b"own.txt\n" if "git" in str(more["command"]) else b"")


def test_a_new_repository_lands_as_new_files_and_its_hooks_are_asked_about(
    ws: Path, put: Callable[..., None], open_kit: Callable[..., Kit], approver: Approver
) -> None:
    put({"a.txt": "one\n"})
    kit = open_kit(policy=rules(), approve=approver)
    refused = [
        "git init -q; echo evil > .git/hooks/pre-commit",
        "git init -q sub; git -C sub config core.fsmonitor evil",
    ]
    for at, command in enumerate(refused):
        assert not kit.call("bash", {"command": command}).ok
        assert len(approver.asked) == at + 1
        assert "evil" in str(approver.asked[-1].arguments["diff"])
    assert os.listdir(ws) == ["a.txt"]
    who = "git -c user.name=a -c user.email=a@b"
    ran = kit.call("bash", {"command": f"git init -q; git add -A; {who} commit -qm one; git clone -q . sub"})
    assert ran.ok, ran.text
    assert len(approver.asked) == len(refused)
    assert ran.text.endswith("Changed 3 files: .git (new), sub/.git (new), sub/a.txt (new).")
    for folder in (ws, ws / "sub"):
        status = subprocess.run(["git", "status", "--short"], cwd=folder, capture_output=True, text=True, check=True)
        assert "a.txt" not in status.stdout
    approver.answer = True
    assert kit.call("bash", {"command": f"{who} commit -q --allow-empty -m two"}).ok
    assert kit.call("undo", {"steps": 2}).ok
    assert sorted(os.listdir(ws)) == [".git", "a.txt", "sub"]
    assert os.listdir(ws / "sub") == [".git"]


def test_a_held_fork_is_judged_when_it_is_committed(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver
) -> None:
    kit = open_kit(policy=replace(rules(), commit="ask"), approve=approver)
    held = kit.call("bash", {"command": "echo x > kept.txt", "hold": True})
    assert not kit.call("commit", {"fork": held.meta["fork"]}).ok
    assert approver.asked[0].reason == "all changes of commands need approval"
    approver.answer = True
    assert kit.call("commit", {"fork": held.meta["fork"]}).ok
    assert (repository / "kept.txt").read_text() == "x\n"


def test_a_command_may_name_the_workspace_by_its_path(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver, bubblewrap: object
) -> None:
    kit = open_kit(policy=replace(rules(), sandbox="bubblewrap"), approve=approver)
    command = f"cd {repository} && echo x > {repository}/new && rm -rf .git/hooks {repository}/.git/hooks; pwd"
    assert str(repository) in kit.call("bash", {"command": command}).text
    assert (repository / "new").exists()
    assert (repository / ".git/hooks").exists()
    assert not kit.call("bash", {"command": f"rm {repository}/own.txt"}).ok
    assert "git could not restore it" in approver.asked[0].reason


def test_without_mounts_a_command_that_names_the_workspace_is_asked_about(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver
) -> None:
    kit = open_kit(policy=replace(rules(), sandbox="none"), approve=approver)
    assert not kit.call("bash", {"command": f"rm {repository}/own.txt"}).ok
    assert "by its absolute path" in approver.asked[0].reason
    assert (repository / "own.txt").exists()


def test_a_failure_lands_what_it_changed_and_a_cancelled_call_nothing(
    repository: Path, open_kit: Callable[..., Kit]
) -> None:
    kit = open_kit(policy=rules())
    assert kit.call("python", {"code": "open('new', 'w').close(); raise SystemExit(3)"}).data["exit_code"] == 3
    assert (repository / "new").exists()
    token = CancelToken()
    threading.Timer(0.5, token.cancel).start()
    assert not kit.call("python", {"code": "open('later', 'w').close(); import time; time.sleep(30)"}, token=token).ok
    assert not (repository / "later").exists()


def test_exec_lands_by_rules(repository: Path, open_kit: Callable[..., Kit], approver: Approver) -> None:
    kit = open_kit(policy=rules(), approve=approver)
    done = kit.exec(["tee", "new"], stdin=b"x")
    assert (done.stdout, [one.path for one in done.changes]) == (b"x", ["new"])
    assert (repository / "new").read_bytes() == b"x"
    with pytest.raises(ToolError, match="git could not restore it"):
        kit.exec("rm own.txt")
    assert (repository / "own.txt").exists()


def test_a_custom_tool_that_runs_commands_is_held_too(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver
) -> None:
    @tool(Effect.SHELL)
    def clean(ctx: Context) -> str:
        """Remove a file."""
        return str(ctx.shell.run("rm own.txt", seconds=9).status)

    kit = open_kit(policy=rules(), approve=approver)
    kit.register(clean)
    assert not kit.call("clean").ok
    assert (repository / "own.txt").exists()


READS = (
    "git log --oneline -5 && git status",
    "git diff HEAD; git show HEAD:kept.txt | grep -n git; git branch -a; git stash list",
    "nl -ba kept.txt | sed -n '1,3p'; for one in *.txt; do wc -l $one; done",
    "python3 -c 'print(open(\"own.txt\").read())'; cat own.txt > /tmp/x && sort /tmp/x",
    "find . -name '*.txt' | xargs grep -l only; awk 1 own.txt",
)
LOSES = (
    "rm -rf data own.txt .env",
    "find . -type f -delete",
    "git clean -fdxq; git checkout -q .",
    "git reset -q --hard",
    "git stash drop -q; git branch -D other",
    "mv own.txt kept.txt",
    "perl -i -pe 's/./x/' own.txt other.txt; truncate -s 0 .env",
    "python3 -c 'import shutil; shutil.rmtree(\"data\")'",
    "true > own.txt; dd if=/dev/zero of=other.txt bs=1 count=9",
    "tar cf all.tar data && rm -r data",
    "ln -sf kept.txt own.txt; cp kept.txt .env",
)


@pytest.mark.parametrize("command", READS)
def test_a_command_that_only_reads_asks_nothing(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver, command: str
) -> None:
    kit = open_kit(policy=rules(), approve=approver)
    assert kit.call("bash", {"command": command}).ok
    assert approver.asked == []


class WorkAtRisk:
    """A repository with everything that git could not restore, and a kit whose approver lets nothing land."""

    def __init__(self, above: Path) -> None:
        self.above, self.asked = above, 0
        self.make()

    def make(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=self.above))
        put = "git init -q; git config user.name a; git config user.email a@b; mkdir data; echo in git > kept.txt"
        ignored = "printf 'data/\\n.env\\n' > .gitignore; echo first > other.txt; git add -A; git commit -qm one; git branch other"
        own = "echo stashed > other.txt; git stash -q; echo changed > other.txt; echo own > own.txt; echo d > data/d"
        subprocess.run(f"{put}; {ignored}; {own}; echo secret > .env", shell=True, cwd=self.folder, check=True)
        policy = replace(rules(), sandbox="bubblewrap", allow_destructive=True)
        state = tempfile.mkdtemp(dir=self.above)
        self.kit = Kit(self.folder, policy=policy, approve=self.answer, state_dir=state)
        self.before = self.read()

    def answer(self, request: ApprovalRequest) -> bool:
        """Yes to the text of a command, no to its effects."""
        lands = request.effects != Effect.SHELL or "cannot be looked at" in request.reason
        self.asked += lands
        return not lands

    def read(self) -> dict[str, bytes]:
        """All files and links but the one that git has, and what the repository knows."""
        files = (path for path in self.folder.rglob("*") if ".git" not in path.relative_to(self.folder).parts)
        found = {
            str(one): os.readlink(one).encode() if one.is_symlink() else one.read_bytes()
            for one in files
            if one.is_file()
        }
        words = "git for-each-ref; git stash list; git ls-files -s; git reflog; cat .git/config"
        ran = subprocess.run(words, shell=True, cwd=self.folder, capture_output=True, check=False)
        found.pop(str(self.folder / "kept.txt"), None)
        return {**found, "git": ran.stdout}

    def run(self, command: str) -> list[str]:
        """What is lost after the command."""
        self.kit.call("bash", {"command": command, "timeout": 5})
        now, before = self.read(), self.before
        if now != before:  # something has landed
            self.kit.close()
            self.make()
        return [path for path, content in before.items() if now.get(path) != content]


@pytest.fixture
def work(tmp_path: Path, bubblewrap: object) -> Iterator[WorkAtRisk]:
    made = WorkAtRisk(tmp_path)
    yield made
    made.kit.close()


def test_nothing_is_lost_without_an_answer(work: WorkAtRisk) -> None:
    for number, command in enumerate(LOSES, 1):
        assert (command, work.run(command)) == (command, [])
        assert (command, work.asked) == (command, number)


@pytest.mark.slow
@pytest.mark.skipif("TOOLROLL_CORPORA" not in os.environ, reason="TOOLROLL_CORPORA names no folder of corpora")
@pytest.mark.parametrize("name", ["destructive_shell", "git_destructive", "command_policy"])
def test_nothing_of_the_corpora_loses_anything(work: WorkAtRisk, name: str) -> None:
    lines = Path(os.environ["TOOLROLL_CORPORA"], f"{name}.jsonl").read_text().splitlines()
    for given in (json.loads(line)["input"] for line in lines):
        if isinstance(given, str) or "argv" in given:
            command = given if isinstance(given, str) else shlex.join(["git", *given["argv"]])
            assert (command, work.run(command)) == (command, [])


@pytest.mark.slow
@pytest.mark.skipif(
    "TOOLROLL_RECORDED" not in os.environ, reason="TOOLROLL_RECORDED names no file of recorded commands"
)
def test_recorded_commands_that_only_read_ask_nothing(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver
) -> None:
    lines = Path(os.environ["TOOLROLL_RECORDED"]).read_text().splitlines()
    kit = open_kit(policy=rules(), approve=approver)
    known = [one for line in lines if judge(one := json.loads(line)["command"], TERMINAL).decision == "allow"]
    for command in known[:: max(1, len(known) // 200)]:
        kit.call("bash", {"command": command, "timeout": 5})
    assert approver.asked == []


def test_the_git_tool_asks_once_before_it_loses_work(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver
) -> None:
    kit = open_kit(policy=rules(), approve=approver)
    (repository / "kept.txt").write_text("changed\n")
    restore = {"action": "restore", "files": ["kept.txt"], "force": True}
    assert not kit.call("git", restore).ok
    assert (len(approver.asked), (repository / "kept.txt").read_text()) == (1, "changed\n")


def test_what_git_is_given_to_read_only_is_not_remembered(repository: Path, open_kit: Callable[..., Kit]) -> None:
    kit = open_kit(policy=rules())
    assert kit.call("bash", {"command": "git status --short"}).text == "?? own.txt"
    assert kit.call("bash", {"command": "env | grep -c GIT_CONFIG_KEY; cat own.txt"}).text == "0\nonly here"
    assert kit.call("bash", {"command": "cat own.txt"}).text == "only here"
