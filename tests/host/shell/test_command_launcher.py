"""Texts that are handed over by descriptor: what was shown is what runs."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from toolroll import Effect, ToolError
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.shell.command_launcher import SealedText, prepare_words
from toolroll.policy.rules import Policy

# Rewrites every file of the temporary folder, round after round.
SWAP = """
for round in $(seq 100000); do
    for file in "$TMPDIR"/* "$TMPDIR"/*/*; do
        [ -f "$file" ] && echo "print('EVIL')" > "$file"
    done
    touch round
done
"""
LONG = "# " + "x" * 110_000  # more than one argument of a program may hold


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def tier(request):
    try:
        choose_sandbox(request.param)
    except ToolError as error:
        pytest.skip(f"no {request.param} here: {error.message}")
    return request.param


def test_nothing_can_write_to_it():
    with SealedText("good", "<x>") as text:
        for attempt in (
            lambda: os.write(text.fd, b"evil"),
            lambda: os.ftruncate(text.fd, 0),
            lambda: os.ftruncate(text.fd, 100),
            lambda: os.write(os.open(text.path, os.O_RDWR), b"evil"),
        ):
            with pytest.raises(PermissionError):
                attempt()
        with open(text.path) as file:
            assert file.read() == "good"


def test_a_command_gets_it_by_descriptor_and_it_is_closed_after():
    with SealedText("print(__file__)", "<code>", main=True) as code, SealedText("two", "<b>") as other:
        argv, variables, fds = prepare_words(["python3", code], {"B": other})
        done = subprocess.run(argv, pass_fds=fds, capture_output=True, text=True, check=True)
        assert fds == [code.fd, other.fd]
        assert variables == {"B": other.path}
        assert code.relabelled(done.stdout) == "<code>\n"
        fd = code.fd
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


CASES = {
    "code": ("python", {"code": "print('good')"}, "good"),
    "a traceback": ("python", {"code": "def f():\n    raise ValueError('bad')\nf()"}, 'File "<code>", line 2, in f'),
    "its own file": ("python", {"code": "print(__file__, open(__file__).read() == 'x')"}, "<code> False"),
    "other processes": (
        "python",
        {"code": "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(1)']))"},
        "b'1\\n'",
    ),
    "a long command": ("bash", {"command": f"{LONG}\necho good $# ${{#BASH_SOURCE}}"}, "good 0"),
    "figures": ("profile", {"action": "time", "code": "sum(range(10))", "number": 10}, " a loop "),
    "memory": ("profile", {"action": "memory", "code": "a = [0] * 1000"}, "<code>"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_read_in_every_tier(open_kit, tier, case):
    name, arguments, said = CASES[case]
    result = open_kit(policy=Policy(sandbox=tier)).call(name, arguments)
    assert said in result.text


def test_processes_that_code_starts_find_it_too(open_kit):
    """What multiprocessing does where it does not fork, which is the default of newer Pythons."""
    code = (
        "import multiprocessing as mp\n"
        "def f(x): return x * x\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('spawn').Pool(1) as pool: print(pool.map(f, [3]))"
    )
    assert open_kit(policy=Policy(sandbox="none")).call("python", {"code": code}).text == "[9]"


def test_what_was_shown_runs_although_a_job_rewrites_all_it_finds(open_kit, put, ws, tier):
    put({"swap.sh": SWAP})
    asked = []

    def rounds():
        """Wait until the job has been through all files."""
        for _ in range(2):
            (ws / "round").unlink(missing_ok=True)
            until = time.monotonic() + 20
            while not (ws / "round").exists() and time.monotonic() < until:
                time.sleep(0.01)
            assert (ws / "round").exists()

    def approve(request):
        asked.append(request)
        if request.name != "bash":
            rounds()
        return True

    kit = open_kit(policy=Policy(ask=Effect.SHELL, sandbox=tier), approve=approve)
    assert kit.call("bash", {"command": "bash swap.sh", "background": True}).ok
    # The control: a file there is rewritten.
    assert kit.call("bash", {"command": "echo \"print('good')\" > $TMPDIR/code.py"}).ok
    rounds()
    assert "good" not in kit.call("bash", {"command": "python3 $TMPDIR/code.py"}).text
    for number in range(3):
        result = kit.call("python", {"code": f"print('good {number}')"})
        assert (result.ok, result.text) == (True, f"good {number}")
    assert " a loop " in kit.call("profile", {"action": "time", "code": "1", "number": 10}).text
    assert len(asked) == 7
