"""Real work of real programs: undone, and what cannot be is named beforehand."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.host.capture.test_capture import GIT, commit, picture
from tests.waiting import until
from toolroll import Kit
from toolroll.host.runtime.dir_entries import SETTLED_NS
from toolroll.kit import preset

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


@pytest.fixture
def work(open_kit: Callable[..., Kit]) -> Kit:
    """A kit whose commands run without a sandbox: the subject is what they do to files."""
    return open_kit(policy=replace(preset("standard"), sandbox="none"))


def run(kit: Kit, command: str) -> Any:
    ran = kit.call("bash", {"command": command, "timeout": 100})
    assert ran.ok, ran.text
    assert ran.data["exit_code"] == 0, ran.text
    return ran


def make_wheel(folder: Path, name: str) -> None:
    """A package that pip installs."""
    folder.mkdir(exist_ok=True)
    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "x = 1\n")
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


@pytest.mark.slow
def test_pip_install_is_undone(ws: Path, work: Kit, put: Callable[..., None], tmp_path: Path):
    make_wheel(tmp_path / "wheels", "first")
    make_wheel(tmp_path / "wheels", "second")
    put({"requirements.txt": "first\n", "vendor/kept.py": "y = 2\n"})
    before = picture(ws, exact=True)
    pip = f"{sys.executable} -m pip install -q --no-index --find-links {tmp_path}/wheels --target vendor first second"
    ran = run(work, f"{pip} && echo second >> requirements.txt")
    assert {"requirements.txt", "vendor/first/__init__.py"} <= {one["path"] for one in ran.data["changes"]}
    assert work.call("undo").ok
    assert picture(ws, exact=True) == before


@needs_npm
@pytest.mark.slow
def test_npm_install_is_undone(ws: Path, work: Kit, put: Callable[..., None], tmp_path: Path):
    package = tmp_path / "left"
    package.mkdir()
    (package / "package.json").write_text('{"name": "left", "version": "1.0.0"}')
    put({"package.json": '{"name": "app", "version": "1.0.0"}', ".gitignore": "node_modules/\n"})
    commit(ws)
    before = picture(ws, exact=True)
    ran = run(work, f"HOME={tmp_path} npm install --offline --no-audit --no-fund --install-links {package}")
    assert {"package.json", "package-lock.json", "node_modules/"} <= {one["path"] for one in ran.data["changes"]}
    assert work.call("undo").ok
    assert picture(ws, exact=True) == before


def test_the_files_of_a_rebase_come_back(ws: Path, work: Kit, put: Callable[..., None]):
    put({"a": "1\n2\n3\n", "b": "1\n"})
    commit(ws)
    for command in ("branch -M trunk", "branch side"):
        subprocess.run([*GIT, *command.split()], cwd=ws, check=True)
    put({"a": "0\n1\n2\n3\n"})
    subprocess.run([*GIT, "commit", "-qam", "main"], cwd=ws, check=True)
    subprocess.run([*GIT, "checkout", "-q", "side"], cwd=ws, check=True)
    put({"b": "2\n"})
    subprocess.run([*GIT, "commit", "-qam", "side"], cwd=ws, check=True)
    before = picture(ws)
    ran = run(work, f"{' '.join(GIT)} rebase -q trunk")
    assert [one["path"] for one in ran.data["changes"]] == ["a"]
    assert work.call("undo").ok
    assert picture(ws) == before


_WRITER = """
import sqlite3, sys
base = sqlite3.connect("data.db")
for line in sys.stdin:
    base.execute("insert into t values (?)", (line,))
    base.commit()
    print("written", flush=True)
"""


def test_a_database_that_a_job_writes_comes_back(ws: Path, work: Kit, put: Callable[..., None]):
    with closing(sqlite3.connect(ws / "data.db")) as base:
        base.execute("create table t (x)")
    put({"writer.py": _WRITER})
    before = picture(ws)
    job = work.call("bash", {"command": f"{sys.executable} writer.py", "background": True}).data["job"]
    for text in ("one\n", "two\n"):
        said = work.call("job", {"action": "input", "id": job, "input": text, "wait": 0.05}).text
        deadline = time.monotonic() + 20
        while "written" not in said and time.monotonic() < deadline:
            said = work.call("job", {"action": "output", "id": job, "wait": 0.05}).text
        until(lambda: (ws / "data.db").stat().st_ctime_ns < time.time_ns() - SETTLED_NS)  # else it is not kept for sure
        work.call("history")  # one entry for each row
    work.call("job", {"action": "kill", "id": job})
    assert len(work._services.journal.entries()) == 2
    assert work.call("undo").ok
    with closing(sqlite3.connect(ws / "data.db")) as base:
        assert base.execute("select x from t").fetchall() == [("one\n",)]
    assert work.call("undo").ok
    assert picture(ws) == before


@pytest.mark.slow
def test_a_build_of_5000_outputs_in_an_ignored_folder_is_one_row(
    ws: Path, open_kit: Callable[..., Kit], put: Callable[..., None]
):
    put({".gitignore": "out/\n", "a": "1\n"})
    commit(ws)
    before, asked = picture(ws), []
    kit = open_kit(policy="ask", approve=lambda request: asked.append(request.reason) or True)
    ran = run(kit, "mkdir out; for i in $(seq 5000); do echo $i > out/$i.o; done; echo 2 > a")
    assert [one["path"] for one in ran.data["changes"]] == ["a", "out/"]
    assert kit.call("undo").ok
    assert picture(ws) == before
    put({"out/x": "1\n"})
    ran = run(kit, "rm -r out; echo 2 > a")
    assert "`undo` could not put back: out/ (ignored)." in asked[-1]
    assert "out/ (deleted, not kept)" in ran.text


def test_a_repack_changes_no_file_and_old_contents_are_still_found(ws: Path, work: Kit, put: Callable[..., None]):
    put({f"d/{number}": f"{number}\n" * 9 for number in range(60)})
    commit(ws)
    before = picture(ws)
    run(work, "rm d/1*; echo 2 > d/2")
    ran = work.call("bash", {"command": "git repack -adq && git prune"})
    assert "changes" not in (ran.data or {})
    run(work, "rm -r d")
    assert work.call("undo", {"steps": 2}).ok
    assert picture(ws) == before


_SMALL = """
import os, sys, subprocess
from dataclasses import replace
from pathlib import Path
sys.path[:0] = [%(path)r]
from toolroll import Kit
from toolroll.kit import preset
ws, small = Path(sys.argv[1]), Path(sys.argv[2])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", small], check=True)
with Kit(ws, state_dir=small / "state") as kit:
    kit.call("bash", {"command": "echo 1 > first"})
    fill = os.open(small / "fill", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(fill, b"x" * 4096):
            pass
    except OSError:
        pass
    (ws / "mine").write_bytes(b"y" * 300_000)
    ran = kit.call("bash", {"command": "echo 2 > a; rm mine"})
    print(ran.ok, ran.text.splitlines()[-1].replace(str(small), "DISK"), (ws / "a").read_text().strip())
    print(kit.undo().text.replace(str(small), "DISK"))
    print(kit.call("write", {"path": "a", "content": "4"}).text.replace(str(small), "DISK"))
    with Kit(ws, state_dir=small / "state", policy=replace(preset("standard"), commit="rules")) as held:
        print(held.call("bash", {"command": "echo 3 > b"}).text.replace(str(small), "DISK"), sorted(os.listdir(ws)))
    os.close(fill)
    os.unlink(small / "fill")
    print(kit.call("bash", {"command": "echo 3 > a"}).text.splitlines()[-1])
    print(kit.call("undo").ok, (ws / "a").read_text().strip())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_on_a_full_disk_a_command_runs_with_a_sentence_and_under_rules_changes_nothing(
    ws: Path, put: Any, tmp_path: Path
):
    put({"a": "1\n"})
    (tmp_path / "small").mkdir()
    code = _SMALL % {"path": str(Path(__file__).parents[3] / "src")}
    argv = ["unshare", "-m", sys.executable, "-c", code, ws, tmp_path / "small"]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    said = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    where = (
        "No space left on device on the disk 'DISK' for toolroll's state folder 'DISK/state', without which no change"
    )
    where += " could be undone; XDG_STATE_HOME may name a folder on another disk."
    assert said.stdout.splitlines() == [
        f"True Its changes cannot be undone: {where} 2",
        f"Entry 2 (bash) cannot be undone: {where} Look at the files. To undo an older change, name its entry "
        "or its path.",
        f"{where} Free some room on that disk, then try again.",
        f"Nothing was merged: {where} ['a', 'first']",
        "Changed 1 file: a (+1 -1).",
        "True 2",
    ], said.stderr
