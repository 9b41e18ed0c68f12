"""`toolroll up`, and the daemon that a job starts."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import toolroll as package
from tests.waiting import until
from toolroll.daemon.start import DaemonError, start_daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a daemon on Linux only")


def is_running(command: str) -> bool:
    """Whether a process has this command line, words and all."""
    wanted = command.replace(" ", "\0").encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if wanted in path.read_bytes():
                return True
    return False


def test_a_job_starts_the_daemon_and_the_next_call_survives_its_death(toolroll, quick, ws, env):
    """From the first call to `--stop`: the daemon is used, killed in a call, and nothing is lost."""
    job = f"sleep 6{os.getpid()}"
    status, said, _ = toolroll("call", "bash", f"command={job}", "background=true")
    assert (status, "Still running as job 1." in said) == (0, True)
    _, about, _ = quick("up", "--status")
    assert "jobs: 1" in about
    daemon = int(about.split(",")[0].removeprefix("process "))
    assert quick("up")[:2] == (0, f"The daemon of {str(ws)!r} runs.\n")
    words = [sys.executable, "-m", "toolroll", "call", "bash", "command=touch begun; sleep 600"]
    with subprocess.Popen(words, cwd=ws, env=env, stderr=subprocess.PIPE, text=True) as client:
        assert until((ws / "begun").exists)
        os.kill(daemon, signal.SIGKILL)
        said = client.communicate()[1]
    assert (client.returncode, "The daemon ended during this call" in said) == (1, True)
    assert f"its jobs ended with it:\n  job 1: {job}\n" in said
    assert quick("call", "ls") == (0, "begun\n", "")
    assert quick("up", "--status")[:2] == (1, "No daemon runs here.\n")
    assert until(lambda: not is_running(job))


def test_daemons_of_two_versions_live_side_by_side(toolroll, quick, tmp_path):
    """An upgrade under way: each client finds the daemon of its own version, and `up` those of all."""
    here, newer = Path(package.__file__).parent, tmp_path / "newer" / "toolroll"
    newer.mkdir(parents=True)
    for one in here.iterdir():
        (newer / one.name).symlink_to(one)
    (newer / "__init__.py").unlink()
    text = (here / "__init__.py").read_text()
    assert package.__version__ in text
    (newer / "__init__.py").write_text(text.replace(package.__version__, "99.1"))
    paths = os.pathsep.join([str(newer.parent), os.environ.get("PYTHONPATH", "")])
    assert quick("up")[0] == 0
    try:
        job = ("call", "bash", f"command=sleep 7{os.getpid()}", "background=true")
        assert "Still running as job 1." in toolroll(*job, PYTHONPATH=paths)[1]
        about = quick("up", "--status")[1].splitlines()
    finally:
        stopped = quick("up", "--stop")[1].splitlines()
    found = sorted((one.split(", ")[1], one.split(", ")[-1]) for one in about)
    assert found == [(f"version {package.__version__}", "jobs: 0"), ("version 99.1", "jobs: 1")]
    assert sorted(stopped) == sorted(f"Stopped: {one}" for one in about)
    assert quick("up", "--status")[1] == "No daemon runs here.\n"


def test_what_cannot_be_started_is_explained(quick, ws, monkeypatch, tmp_path):
    assert quick("up", "-C", "missing")[0] == 2
    status, _, said = quick("up", TOOLROLL_DAEMON="off")
    assert (status, 'daemon = "off"' in said) == (2, True)
    assert quick("up", TOOLROLL_RUN="x")[2] == "toolroll: A command of a tool cannot start a daemon.\n"
    status, _, said = quick("call", "bash", "command=sleep 1", "background=true", TOOLROLL_DAEMON="off")
    assert (status, "No command goes on in the background" in said) == (1, True)


def test_a_daemon_that_cannot_listen_is_explained(ws, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.chdir(ws)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(DaemonError, match="Not a directory"):
        start_daemon([])
