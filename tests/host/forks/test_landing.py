"""Under `commit = "rules"` a command lands by what it changed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from toolroll import Kit
from toolroll.host.approval.request import ApprovalRequest
from toolroll.kit import preset
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
    ],
)
def test_what_git_cannot_restore_is_asked_about_with_its_diff(
    repository: Path, open_kit: Callable[..., Kit], approver: Approver, call: tuple[str, dict[str, object]]
) -> None:
    kit = open_kit(policy=rules(), approve=approver)
    refused = kit.call(*call)
    assert refused.error is not None
    assert refused.error.code == "PermissionDenied"
    assert "git could not restore it" in approver.asked[0].reason
    assert "-only here" in approver.asked[0].text
    assert (repository / "own.txt").read_text() == "only here\n"
    assert (repository / "kept.txt").read_text() == "in git\n"
    approver.answer = True
    assert kit.call(*call).ok
    assert not (repository / "own.txt").exists() or (repository / "own.txt").read_text() == ""


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
