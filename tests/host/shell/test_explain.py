"""A failure that the sandbox caused says so, with the setting; an ordinary one does not."""

import os
import pwd
import subprocess

import pytest

from toolroll import Policy

WRITE = "The sandbox lets commands write only in the workspace and in $TMPDIR, not to '{seen}/x' (setting `roots`)."
AWAY = "The sandbox keeps commands away from '{home}/x'. The settings `readable` and `roots` add folders."
NETWORK = "The sandbox did not let it reach the network. The setting `network` names hosts for commands."


@pytest.fixture
def seen(tmp_path):
    """A folder outside the workspace that commands may read."""
    (tmp_path / "seen").mkdir()
    return tmp_path / "seen"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("touch {seen}/x", WRITE),
        ("mkdir {home}/x", AWAY),
        ("python3 -c 'import socket; socket.getaddrinfo(\"a.example\", 80)'", NETWORK),
        ("touch a.sh; ./a.sh", None),
        ("cat missing; cat /etc/missing", None),
        ("cd /; cat {seen}/missing", None),
        ("echo \"touch: cannot touch '{seen}/x': Permission denied\"", None),  # it succeeds
    ],
)
def test_the_cause_and_the_setting_are_named(open_kit, confined, seen, command, line):
    names = {"seen": str(seen), "home": pwd.getpwuid(os.getuid()).pw_dir}
    for name, value in names.items():
        command = command.replace(f"{{{name}}}", value)
    kit = open_kit(policy=Policy(readable=(str(seen),)))
    said = kit.call("bash", {"command": command}).text.splitlines()
    assert [one for one in said if one.startswith("The sandbox")] == ([line.format(**names)] if line else [])


@pytest.mark.parametrize("code", ["Lock()", "Value('B')"])
def test_shared_memory_that_others_use_is_named(open_kit, landlock, monkeypatch, code):
    monkeypatch.setattr("toolroll.host.sandbox.confined_start._is_unused", lambda _: False)
    kit = open_kit(policy=Policy(sandbox="landlock"))
    command = f'/usr/bin/python3 -c "import multiprocessing as m; m.{code}"'
    assert (
        kit.call("bash", {"command": command}).text.splitlines()[-1].startswith("Other programs have files in /dev/shm")
    )


def test_a_protected_path_is_named(open_kit, ws, bubblewrap):
    subprocess.run(["git", "init", "-q"], cwd=ws, check=True)
    kit = open_kit(policy=Policy(sandbox="bubblewrap"))
    text = kit.call("bash", {"command": "echo x > .git/hooks/pre-commit"}).text
    assert "The sandbox keeps '.git/hooks/pre-commit' as it is: it is protected (setting `protected`)." in text


def test_nothing_is_said_without_a_sandbox_or_with_the_network(open_kit, seen):
    said = f"echo 'Could not resolve host: a.example'; echo 'touch: {seen}/x: Permission denied'; exit 1"
    assert "The sandbox" not in open_kit(policy=Policy(sandbox="none")).call("bash", {"command": said}).text
    kit = open_kit(policy=Policy(network=True, readable=(str(seen),)))
    assert kit.call("bash", {"command": said}).text.endswith(WRITE.format(seen=seen))


def test_tests_and_python_say_it_too(open_kit, ws, seen):
    kit = open_kit(policy=Policy(readable=(str(seen),)))
    (ws / "test_a.py").write_text(f"def test_a():\n    open('{seen}/x', 'w')\n")
    assert WRITE.format(seen=seen) in kit.call("tests").text
    assert WRITE.format(seen=seen) in kit.call("python", {"code": f"open('{seen}/x', 'w')"}).text
