"""Shells that remember: what lasts from one command to the next, and what does not."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from toolroll import Kit
from toolroll.host.files.sessions import SavedShell
from toolroll.host.shell import shell
from toolroll.host.shell.command_checks import keeps_shell
from toolroll.host.shell.shell_memory import ShellMemory, compare_variables, select_variables, show_variables
from toolroll.policy.rules import PRESETS, Policy
from toolroll.result import ToolError

UNKNOWN = (
    "The next command finds the folder and variables as they were before this one, "
    "which was ended, or replaced its shell or the trap of its exit."
)


@pytest.fixture
def kit(open_kit, put):
    put({"sub/deep/a": "", "other/b": ""})
    return open_kit(policy=Policy(sandbox="none"))


def run(kit: Kit, command: str, **arguments: object) -> str:
    return kit.call("bash", {"command": command, **arguments}).text


def test_folder_and_variables_last_until_they_change(kit: Kit, ws: Path) -> None:
    assert run(kit, "cd sub; export A=1 B=2 C; local_one=3") == "(no output)\nThe next command begins in 'sub'."
    assert run(kit, "unset B; cd deep; export A=$'x\\ny'; declare -rx R=7; f() { :; }; export -f f") == (
        "(no output)\nThe next command begins in 'sub/deep'."
    )
    assert run(kit, 'pwd; echo "$A" [$B] [$C] [$local_one] $R; R=8; type f') == (
        f"{ws}/sub/deep\nx\ny [] [] [] 7\n/usr/bin/bash: line 1: type: f: not found\nExit code: 1"
    )


def test_a_folder_for_one_command_and_shells_of_their_own(kit: Kit, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(kit, "pwd", cwd="sub") == f"{ws}/sub"
    assert run(kit, "pwd") == f"{ws}"
    run(kit, "cd sub; export A=1")
    assert run(kit, "cd deep; pwd; export A=2", cwd="sub") == f"{ws}/sub/deep"
    assert run(kit, "pwd; echo $A") == f"{ws}/sub\n2"
    assert run(kit, "pwd; echo [$A]; cd other", session="two") == f"{ws}\n[]\nThe next command begins in 'other'."
    assert run(kit, "pwd", session="two") == f"{ws}/other"
    assert run(kit, "pwd") == f"{ws}/sub"
    monkeypatch.setattr(shell, "QUICK_SECONDS", 10)
    job = kit.call("bash", {"command": "pwd; echo $A", "background": True})
    assert job.text == f"{ws}/sub\n2"


@pytest.mark.parametrize("name", ["a b", "../up", "x" * 65, "a\nb", "é", "-x"])
def test_a_bad_name_of_a_session(kit: Kit, name: str) -> None:
    assert "is no name for a `session`" in run(kit, "pwd", session=name)


@pytest.mark.parametrize(
    ("command", "said", "folder", "value"),
    [
        ("cd deep; export A=2; exit 3", "Exit code: 3\nThe next command begins in 'sub/deep'.", "sub/deep", "2"),
        ("set -eux; export A=2; false; cd deep", "+ export A=2\n+ A=2\n+ false\nExit code: 1", "sub", "2"),
        ("export A=2; kill -KILL $$", f"Exit code: 137 (SIGKILL)\n{UNKNOWN}", "sub", "1"),
        ("cd deep; exec true", f"(no output)\n{UNKNOWN}", "sub", "1"),
        ("cd deep; trap 'echo bye' EXIT", f"bye\n{UNKNOWN}", "sub", "1"),
        ("( cd deep; export A=2 )", "(no output)", "sub", "1"),
        ("set -f; IFS=d; export IFS A=2", "(no output)", "sub", "2"),
        (
            "export A=$(printf %017000d 0)",
            "(no output)\nNot remembered, because too long or no text: A.",
            "sub",
            "unset",
        ),
        ("export A=$'\\xff'", "(no output)\nNot remembered, because too long or no text: A.", "sub", "unset"),
        ("mkdir x; cd x; rmdir ../x", "again: 'sub/x' is outside, or gone.", ".", "1"),
        ("cd /", "again: '/' is outside, or gone.", ".", "1"),
    ],
)
def test_ends_of_a_shell(kit: Kit, ws: Path, command: str, said: str, folder: str, value: str) -> None:
    run(kit, "cd sub; export A=1")
    assert said in run(kit, command).replace(f"{ws}/", "")
    assert run(kit, 'pwd; echo "${A-unset}"') == f"{os.path.normpath(ws / folder)}\n{value}"


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("echo 'a b' > x.txt; cat x.txt | grep -c '# a'", True),
        ("make -j2 2>&1 | tail -5 && git status || exit 3", True),
        ("printf '%s\n' a >> x; ls $HOME *.py; ( ls; )", True),
        *((text, False) for text in ("cd sub", "\\cd sub", "{ c'd' sub; }", "true && . ./activate", "$A sub", "A=1")),
        *(
            (text, False)
            for text in (
                "A=1 make",
                "printf -v A 1",
                "ls {A}> x",
                "jobs -x cd sub",
                "for A in 1; do ls; done",
                "ls ${A:=1}",
                "ls $((A=1))",
            )
        ),
        *(
            (text, False)
            for text in ("f() { cd sub; }; f", "command cd sub", "read A < x", "ls `cd sub`", "if cd sub; then ls; fi")
        ),
    ],
)
def test_which_texts_leave_their_shell_as_it_was(text: str, keeps: bool) -> None:
    assert keeps_shell(text) is keeps


def test_functions_of_the_user_may_change_the_shell(open_kit, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws / "sub").mkdir()
    monkeypatch.setenv("BASH_FUNC_module%%", "() { cd sub; }")
    kit = open_kit(policy=Policy(sandbox="none"))
    assert run(kit, "module load") == "(no output)\nThe next command begins in 'sub'."


def test_a_command_that_ran_out_of_time_changes_nothing(kit: Kit, ws: Path) -> None:
    assert run(kit, "cd sub; export A=1; sleep 20", timeout=0.3).endswith(UNKNOWN)
    assert run(kit, "pwd; echo [$A]") == f"{ws}\n[]"


def test_a_path_that_was_unset_is_back(kit: Kit) -> None:
    path = run(kit, "echo $PATH; true")
    run(kit, "unset PATH HOME")
    assert run(kit, "echo $PATH; true") == path
    assert run(kit, "echo ${HOME:+home}") == "home"


def test_a_folder_that_is_gone(kit: Kit, ws: Path) -> None:
    run(kit, "mkdir gone; cd gone")
    os.rmdir(ws / "gone")
    assert run(kit, "pwd") == f"{ws}\nRan in '.': 'gone' is gone."


def test_what_only_reads_runs_with_the_first_path(kit: Kit, ws: Path) -> None:
    run(kit, "mkdir bin; echo 'echo evil' >bin/ls; chmod +x bin/ls; export PATH=$PWD/bin:$PATH A=1 BASH_ENV=bin/ls")
    said = "Ran without what earlier commands set: PATH, because it was judged to read only."
    assert run(kit, "ls sub; echo $A") == f"deep\n1\n{said}"
    assert run(kit, "ls sub; touch x").startswith("evil\n")


def test_the_approver_sees_the_variables_and_the_command_gets_no_other(open_kit, ws: Path) -> None:
    asked = []

    def approve(request):
        asked.append(request)
        return "session"

    kit = open_kit(policy=replace(PRESETS["ask"], sandbox="none"), approve=approve)
    run(kit, "export A=1 PATH=/evil:$PATH GIT_DIR=x LD_AUDIT=x CC=cc; unset PAGER")
    for _ in range(2):
        assert run(kit, 'touch a; echo "$A $CC [$GIT_DIR$LD_AUDIT] ${PAGER-unset}"').splitlines()[0] == "1 cc [] unset"
    assert [request.variables for request in asked] == [(), ("A=1", "CC=cc", "unset PAGER")]
    assert "with: A=1\nwith: CC=cc\nwith: unset PAGER" in asked[1].text
    assert "with these variables" in asked[1].text
    run(kit, "export API_KEY=hunter2hunter2")
    for _ in range(2):
        run(kit, "touch b")
    assert [request.variables for request in asked[3:]] == [("A=1", "API_KEY=(secret)", "CC=cc", "unset PAGER")] * 2


def test_variables_are_compared_and_bounded() -> None:
    first = {"PATH": "/bin", "A": "1", "GONE": "x", "odd.name": "x"}
    found = {"PATH": "/bin", "A": "2", "B": "", "PWD": "/", "SHELLOPTS": "x", "TOOLROLL_RUN": "x", "L": "x" * 20_000}
    found |= {f"N{i}": "y" * 10_000 for i in range(8)}
    changed, left_out = compare_variables(first, found, {"A": "0", "W": "kept", "GONE": "0"})
    assert {name for name in changed if not name.startswith("N")} == {"A", "B", "GONE", "W"}
    assert (changed["A"], changed["GONE"]) == ("2", None)
    assert left_out == ["L", "N6", "N7"]


@pytest.mark.parametrize(
    ("trust", "names"),
    [("open", "PATH LD_PRELOAD GIT_DIR CC A"), ("approved", "CC A GIT_AUTHOR_NAME"), ("reads", "A GIT_AUTHOR_NAME")],
)
def test_which_variables_a_command_gets(trust, names) -> None:
    every = dict.fromkeys(("PATH", "LD_PRELOAD", "GIT_DIR", "CC", "A", "GIT_AUTHOR_NAME"), "x")
    assert set(select_variables(every, trust)) >= set(names.split())
    assert trust == "open" or set(select_variables(every, trust)) == set(names.split())
    assert show_variables({"B": None, "A": "x=y"}) == ("A=x=y", "unset B")


def test_there_are_not_endlessly_many_shells() -> None:
    memory = ShellMemory()
    for number in range(50):
        memory.put("s", f"n{number}", SavedShell())
    assert memory.get("other", "new") is None
    with pytest.raises(ToolError, match=r"There are 50 sessions\. Use one of them: n0, n1,"):
        memory.get("s", "new")


def test_no_export_makes_more_of_the_machine_readable(open_kit, tmp_path: Path, confined) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/key").write_text("private")
    kit = open_kit()
    run(kit, f"export PATH={tmp_path}/secrets:$PATH CARGO_HOME={tmp_path}/secrets")
    assert "private" not in run(kit, f"echo $CARGO_HOME; cat {tmp_path}/secrets/key; touch a")


def test_a_held_command_goes_on_in_the_same_shell(kit: Kit, ws: Path) -> None:
    run(kit, "cd sub; export A=1")
    assert run(kit, "cd deep; export A=2$A; touch held", hold=True).startswith(
        "(no output)\nThe next command begins in 'sub/deep'."
    )
    assert run(kit, "pwd; echo $A") == f"{ws}/sub/deep\n21"


def test_of_the_last_command_only_the_end_is_kept(kit):
    kit.exec("seq 100000; echo why >&2; exit 3")
    kit.call("bash", {"command": "sleep 60", "background": True})  # a job has not ended
    last = kit.context().commands.memory.last
    assert (last.command, last.status) == ("seq 100000; echo why >&2; exit 3", 3)
    assert (last.output.endswith(b"100000\n\nwhy\n"), len(last.output) < 5_000) == (True, True)
