"""Workers behind `docker exec` and `kubectl exec`: stand-ins with the same command line run them in other namespaces."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.waiting import until
from toolroll import Fleet, ToolError
from toolroll.fleet.engines import open_engine, pipes
from toolroll.fleet.engines.pipes import PipeEngine, PipePool
from toolroll.host.fleet.carried_app import digest_toolroll
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.fleet.node_start import python_tag
from toolroll.host.fleet.sending import PackedBase
from toolroll.host.runtime.launcher import PACKAGE
from toolroll.host.sandbox.choose import probe_tiers

UNSHARE = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "--net",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
]
pytestmark = pytest.mark.skipif(
    not (shutil.which("unshare") and shutil.which("setpriv"))
    or subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode != 0
    or not any(one.tier == "landlock" and one.works for one in probe_tiers()),
    reason="no user namespaces for a stand-in, or no Landlock in it",
)

# A container "box" has our Python and this toolroll, "bare" has no Python. As in most containers, root has no rights there,
# and no user namespace can be made.
STAND_IN = """\
#!/bin/sh
words="$*"
case "$(basename "$0") $words" in
  "docker exec -i "*) shift 2; name=$1; shift ;;
  "kubectl exec -i -n space "*) shift 4; name=$1; shift; [ "$1" = -- ] || exit 64; shift ;;
  *) echo "unknown: $words" >&2; exit 64 ;;
esac
case $name in
  box) path=BIN:$PATH ;;
  bare) path=/nowhere; set -- /bin/sh "$2" "$3" ;;
  *) echo "Error response from daemon: No such container: $name" >&2; exit 1 ;;
esac
exec UNSHARE sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all --inh-caps=-all "$@"' \\
  sh env -i PATH="$path" HOME=ROOT PYTHONPATH=SOURCE "$@"
"""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of the stand-ins, which are on PATH."""
    home, bin = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    bin.mkdir()
    ours = {
        "BIN": os.path.dirname(sys.executable),
        "ROOT": str(home),
        "SOURCE": os.path.dirname(PACKAGE),
        "UNSHARE": " ".join(UNSHARE),
    }
    text = STAND_IN
    for name, value in ours.items():
        text = text.replace(name, value)
    for name in ("docker", "kubectl"):
        (bin / name).write_text(text)
        (bin / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(bin), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return home


def files_in(folder: Path) -> list[Path]:
    return [one for one in folder.rglob("*") if one.is_file()]


def test_a_lease_in_a_container(node: Path, ws: Path) -> None:
    (ws / "a.txt").write_text("one\n")
    with Fleet(ws, engine="docker:box,none,bare") as fleet:
        assert sorted(one for one in fleet.problems if "left out" in one) == [
            "docker:bare is left out: there is no Python 3.11 or newer.",
            "docker:none is left out: status 1: Error response from daemon: No such container: none",
        ]
        lease = fleet.lease()
        assert fleet.problems[-1] == (
            "docker:box: leases are made by copy: overlays do not work here; "
            "commands are confined by landlock, for bubblewrap does not work here"
        )
        assert lease.call("read", {"path": "a.txt"}).text == "1\tone"
        assert lease.workspace.startswith(str(node))
        assert lease.exec("cat a.txt; echo two > b.txt").stdout == b"one\n"
        assert "b.txt" in lease.diff()
        assert files_in(node)
    assert files_in(node) == []
    assert sorted(one.name for one in ws.iterdir()) == ["a.txt"]


def test_a_base_is_sent_once(node: Path, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws / "a.txt").write_text("one\n")
    frozen, problems = FrozenCopy(str(ws), None, 10**9), list[str]()
    engine = open_engine("kubectl:space/box")
    with closing(engine), closing(frozen), engine.open_pools(frozen, problems.append) as (pool,):
        first = pool.start()
        monkeypatch.delattr(PackedBase, "copy_to")
        for pipe in (first, pool.start()):
            assert Path(pool.place.path, "a.txt").read_text() == "one\n"
            pipe.finish()
            assert pipe.wait() == "status 0: it said nothing"
    assert problems == []
    assert files_in(node) == []


def test_each_base_of_a_task_file_is_sent_when_its_turn_comes(node: Path, tmp_path: Path) -> None:
    """A node that could not be used for the first base is named once."""
    tasks = tmp_path / "tasks.jsonl"
    lines = list[str]()
    for name in ("first", "second", "third"):
        base = tmp_path / name
        base.mkdir()
        (base / "name.txt").write_text(name)
        task = {"base": str(base), "check": "cat name.txt"}
        lines += [json.dumps({"id": f"{name} {number}", **task}) for number in range(2)]
    tasks.write_text("\n".join(lines))
    words = ["fleet", "run", str(tasks), "--width", "2", "--engine", "docker:box,none"]
    done = subprocess.run([sys.executable, "-m", "toolroll", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (tmp_path / "tasks.results.jsonl").read_text() + done.stderr
    rows = map(json.loads, (tmp_path / "tasks.results.jsonl").read_text().splitlines())
    found = [(row["id"], row["status"], row["output"]) for row in rows]
    assert sorted(found) == [(f"{n} {number}", "passed", n) for n in ("first", "second", "third") for number in (0, 1)]
    assert done.stderr.count("docker:none is left out") == 1
    assert files_in(node) == []


@pytest.mark.parametrize("spec", ["ftp:host", "ssh", "ssh:", "ssh:a,,b", "docker:-v", "kubectl:space/-v", "toolroll"])
def test_an_engine_that_is_not_known_is_named(spec: str) -> None:
    with pytest.raises(ValueError, match=spec):
        open_engine(spec)


def find_problems(ws: Path, spec: str) -> list[str]:
    """What an engine says of nodes that it cannot use. With a second base they are not tried again."""
    frozen, problems = FrozenCopy(str(ws), None, 10**9), list[str]()
    engine = open_engine(spec)
    for _ in range(2):
        with engine.open_pools(frozen, problems.append) as pools:
            assert pools == []
    engine.close()
    frozen.close()
    return problems


SSH = """\
#!/bin/sh
case "$*" in
  *" -- silent "*) exec sleep 100 ;;
  *" -- changed "*) cat >&2 <<'END'
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
Offending ED25519 key in /home/me/.ssh/known_hosts:1
Host key verification failed.
END
  exit 255 ;;
esac
"""


@pytest.mark.parametrize(
    ("host", "seconds", "said"),
    [
        ("silent", 0.1, "it did not answer within 0.1 s."),
        ("changed", 60.0, "its host key has changed. If that is right, remove the old one with `ssh-keygen -R`."),
    ],
)
def test_a_host_that_cannot_be_used_is_said_in_one_sentence(
    node: Path, ws: Path, monkeypatch: pytest.MonkeyPatch, host: str, seconds: float, said: str
) -> None:
    program = node.parent / "bin" / "ssh"
    program.write_text(SSH)
    program.chmod(0o755)
    monkeypatch.setattr(pipes, "_HELLO_SECONDS", seconds)
    assert find_problems(ws, f"ssh:{host}") == [f"ssh:{host} is left out: {said}"]


def test_a_fleet_without_nodes_says_why(node: Path, ws: Path) -> None:
    with pytest.raises(ToolError, match="No such container: none"):
        Fleet(ws, engine="docker:none")
    assert files_in(node.parent / "cache") == []


FROZEN = """\
#!/bin/sh
say() { echo "$1"; }
case "$*" in
  *" -- hello "*) sleep 100 ;;
  *" -- unpack "*) say "$HELLO"; sleep 100 ;;
  *" -- start "*) say "$HELLO"; say '{"started": true}'; sleep 100 ;;
  *" -- take "*) say "$HELLO"; say '{"started": true}'; say '{"is_missing": true}'; sleep 100 ;;
  *" -- base "*) say "$HELLO"; say '{"started": true}'; say '{"is_missing": false}'; sleep 100 ;;
  *" -- endless "*) say "$HELLO"; exec cat /dev/zero ;;
esac
"""


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("hello", "it did not answer within 0.3 s."),
        ("unpack", "it did not unpack toolroll within 0.3 s."),
        ("start", "toolroll did not start there within 0.3 s."),
        ("take", "it did not take the next part of what was sent within 0.3 s."),
        ("base", "it did not unpack the base within 0.3 s."),
        ("endless", f"it sent a line of more than {1 << 20} bytes. Check what its programs print"),
    ],
)
def test_a_node_that_freezes_at_the_start_is_left_out(
    node: Path, ws: Path, monkeypatch: pytest.MonkeyPatch, host: str, said: str
) -> None:
    program = node.parent / "bin" / "ssh"
    program.write_text(FROZEN)
    program.chmod(0o755)
    hello = {"tag": python_tag(), "installed": digest_toolroll(), "unpacked": []}
    monkeypatch.setenv("HELLO", json.dumps(hello))
    for name in ("_HELLO_SECONDS", "_ANSWER_SECONDS", "_UNPACK_SECONDS"):
        monkeypatch.setattr(pipes, name, 60.0 if host == "endless" else 0.3)
    (ws / "large").write_bytes(os.urandom(1 << 20))
    assert find_problems(ws, f"ssh:{host}") == [f"ssh:{host} is left out: {said}"]


@pytest.fixture
def silent(node: Path) -> Iterator[tuple[PipeEngine, Path]]:
    """An engine with a node that accepts a connection and says nothing, and a file with a line for each time."""
    program, times = node.parent / "bin" / "ssh", node.parent / "times"
    program.write_text(f"#!/bin/sh\necho started >> {times}; exec sleep 100")
    program.chmod(0o755)
    engine = open_engine("ssh:silent")
    assert isinstance(engine, PipeEngine)
    with closing(engine):
        yield engine, times


def test_a_node_that_is_being_tried_is_tried_once(
    silent: tuple[PipeEngine, Path], ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, times = silent
    monkeypatch.setattr(pipes, "_HELLO_SECONDS", 0.5)
    problems = list[str]()

    def open_pools(_: int) -> list[str]:
        with closing(FrozenCopy(str(ws), None, 10**9)) as frozen, engine.open_pools(frozen, problems.append) as pools:
            return [one.name for one in pools]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(open_pools, range(4))) == [[]] * 4
    assert problems == ["ssh:silent is left out: it did not answer within 0.5 s."]
    assert (times.read_text(), engine.has_nodes) == ("started\n", False)


def test_a_run_that_ends_waits_for_no_node(silent: tuple[PipeEngine, Path], ws: Path) -> None:
    """Which it would do for a minute."""
    engine, times = silent
    problems = list[str]()

    def open_pools() -> Sequence[PipePool]:
        with closing(FrozenCopy(str(ws), None, 10**9)) as frozen, engine.open_pools(frozen, problems.append) as pools:
            return pools

    with ThreadPoolExecutor(1) as threads:
        opening = threads.submit(open_pools)
        until(times.exists)
        engine.stop()
        assert opening.result(30) == []
    assert open_pools() == []
    assert (times.read_text(), problems) == ("started\n", [])


def test_only_the_end_of_what_a_client_says_is_kept() -> None:
    pipe = pipes.start_client(["sh", "-c", "head -c 3000000 /dev/zero >&2; echo >&2; echo last >&2; exit 3"])
    pipe.finish()
    assert pipe.wait() == "status 3: last"
    assert len(pipe._errors.text()) < 1 << 16
