"""What a user sees of the whole: help, versions, wrong commands, interruptions and closed pipes."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toolroll as package
from toolroll import dialects
from toolroll.cli import COMMANDS
from toolroll.formats import FORMATS

Run = Callable[..., tuple[int, str, str]]

HELP = [(), ("--help",), ("-h",), ("help",)]


@pytest.mark.parametrize("words", HELP)
def test_help_lists_the_commands(quick: Run, words: tuple[str, ...]) -> None:
    status, out, err = quick(*words)
    assert (status, err) == (0, "")
    listed = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert listed[: len(COMMANDS)] == list(COMMANDS)


def test_version(toolroll: Run) -> None:
    assert toolroll("--version") == (0, f"toolroll {package.__version__}\n", "")


WRONG = [
    (
        ("tolls",),
        f"There is no command 'tolls'. Did you mean 'tools'? There are: {', '.join(COMMANDS)}.",
    ),
    (("--jason",), "There is no command '--jason'. Options come behind the command. There are: tools,"),
    (("tools", "--jsn"), "Unrecognized arguments: --jsn. See: toolroll tools --help"),
    (("tools", "more"), "Unrecognized arguments: more."),
    (("tools", "--dialect"), "Argument --dialect/-d: expected one argument."),
    (
        ("tools", "--dialect", "pgo"),
        f"no dialect 'pgo'. Did you mean 'pigo'? There are: {', '.join(dialects.names())}.",
    ),
    (("tools", "--mode", "yolo"), "There is no mode 'yolo'. There are: code, thinking."),
    (("tools", "--format", "opnai"), f"Did you mean 'openai'? There are: {', '.join(FORMATS)}."),
    (("tools", "-C", "nowhere"), "Cannot open the workspace 'nowhere': No such file or directory."),
    (("tools", "-C", ""), "The workspace is empty. Name a folder with -C DIR."),
    (("doctor", "-C", ""), "The workspace is empty."),
    (
        ("call", "ls", "--help", "-d", "pgo"),
        f"There is no dialect 'pgo'. There are: {', '.join(dialects.names())}.",
    ),
    (("completion",), "Which shell? There are: bash, zsh, fish."),
    (("completion", "csh"), "There is no shell 'csh'. Did you mean 'zsh'?"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_a_wrong_command_line_is_told_in_a_sentence(quick: Run, words: tuple[str, ...], message: str) -> None:
    status, out, err = quick(*words)
    assert (status, out) == (2, "")
    assert message in err
    assert err.startswith("toolroll: ")
    assert len(err.splitlines()) == 1


def test_help_of_a_command(quick: Run) -> None:
    assert quick("tools", "--help") == quick("help", "tools")
    assert quick("call", "read", "--help") == quick("help", "call", "read")
    assert quick("tools", "--help", "--dialect", "pgo")[1].startswith("usage: toolroll tools")


def test_a_wrong_command_line_of_a_real_process(toolroll: Run) -> None:
    status, out, err = toolroll("tolls")
    assert (status, out, err[:43]) == (2, "", "toolroll: There is no command 'tolls'. Did ")


def test_an_interrupt_ends_quietly_with_130(ws: Path, tmp_path: Path, env: dict[str, str]) -> None:
    # What is started in the background ignores the signal, and its children inherit that.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from toolroll.cli import main; sys.exit(main(['call', 'write', 'path=a', 'content=@../fifo']))"
    os.mkfifo(tmp_path / "fifo")
    argv, pipe = [sys.executable, "-c", code], subprocess.PIPE
    # Opening the pipe returns when the other side has begun to read it.
    with (
        subprocess.Popen(argv, cwd=ws, env=env, stdout=pipe, stderr=pipe) as running,
        (tmp_path / "fifo").open("wb"),
    ):
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, b"", b"")
    assert list(ws.iterdir()) == []


def test_a_closed_pipe_is_no_error(ws: Path, env: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    argv = [sys.executable, "-m", "toolroll", "tools", "--format", "openai"]
    done = subprocess.run(argv, cwd=ws, env=env, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


CLOSED = [
    ("<&-", "path=a", 0, "Created a (0 bytes).\n"),
    (">&-", "path=a", 0, ""),
    ("2>&-", "path=../a", 1, ""),
]


@pytest.mark.parametrize(("closed", "path", "status", "out"), CLOSED)
def test_a_closed_stream_leads_nowhere(
    ws: Path, env: dict[str, str], closed: str, path: str, status: int, out: str
) -> None:
    argv = ["sh", "-c", f'"$0" -m toolroll call write {path} content=@- {closed}', sys.executable]
    empty = subprocess.DEVNULL
    done = subprocess.run(argv, cwd=ws, env=env, stdin=empty, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (status, out, b"")
    assert [one.read_bytes() for one in ws.iterdir()] == ([] if status else [b""])


def test_help_and_version_load_no_kit(ws: Path, env: dict[str, str]) -> None:
    """Start-up is quick because only what a command needs is imported."""
    code = "import sys; from toolroll.cli import main; main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ws, env=env, capture_output=True, check=True, timeout=60)
    loaded = set(done.stdout.decode().split())
    assert loaded & {"toolroll.kit", "toolroll.dialects", "argparse", "rich"} == set()


def test_rich_is_for_terminals_only(ws: Path, env: dict[str, str]) -> None:
    calls = "; ".join(f"main({words!r})" for words in (["tools"], ["tools", "--json"], ["doctor"]))
    code = f"import sys; from toolroll.cli import main; {calls}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ws, env=env, capture_output=True, check=True, timeout=60)
    assert "rich" not in done.stdout.decode().split()
