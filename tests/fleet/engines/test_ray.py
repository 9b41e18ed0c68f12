"""The fleet on a Ray cluster of three simulated nodes. Run by `make ray`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("ray") is None:
    pytest.skip("ray is missing: run `make ray`", allow_module_level=True)
# Before Ray is imported: it then listens on 127.0.0.1 only, and reports nothing.
os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")

from ray.cluster_utils import Cluster

from tests.waiting import until
from toolroll import Fleet, ToolError
from toolroll.fleet.engines import open_engine
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.fleet.sending import PackedBase

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "node_ip_address": "127.0.0.1"}
TASKS = 24


class RayNodes:
    """A cluster on this machine, each node with a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.caches = [folder / f"node{number}" for number in range(3)]
        for cache in self.caches:
            cache.mkdir()
        first, *more = [NODE | {"env_vars": {"XDG_CACHE_HOME": str(cache)}} for cache in self.caches]
        self._cluster = Cluster(initialize_head=True, head_node_args=first | {"include_dashboard": False})
        self._more = [self._cluster.add_node(**how, wait=False) for how in more]
        self._cluster.wait_for_nodes()
        self.engine = f"ray://{self._cluster.address}"

    def kill_last(self) -> None:
        self._cluster.remove_node(self._more.pop(), allow_graceful=False)

    def files(self) -> list[str]:
        """What is left on the nodes that live, also while it is being removed."""
        return [
            name for cache in self.caches[: 1 + len(self._more)] for _, _, names in os.walk(cache) for name in names
        ]

    def close(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayNodes]:
    with closing(RayNodes(tmp_path_factory.mktemp("ray"))) as nodes:
        yield nodes


@pytest.fixture(autouse=True)
def source(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number in range(TASKS):
        (ws / f"m{number}.py").write_text(f"x{number} = {number}\n")
    return ws


def test_a_base_is_sent_once_to_each_node(nodes: RayNodes, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent, copy_to = list[str](), PackedBase.copy_to

    def count(self: PackedBase, target: Any) -> None:
        sent.append(self.offer.digest)
        copy_to(self, target)

    monkeypatch.setattr(PackedBase, "copy_to", count)
    frozen, problems = FrozenCopy(str(source), None, 10**9), list[str]()
    with (
        closing(frozen),
        closing(open_engine(nodes.engine)) as engine,
        engine.open_pools(frozen, problems.append) as pools,
    ):
        pipes = [pool.start() for pool in pools for _ in range(2)]
        assert len(sent) == 3
        assert len({pool.place.path for pool in pools}) == 3
        for pipe in pipes:
            pipe.finish()
        assert [pipe.wait() for pipe in pipes] == ["status 0: it said nothing"] * 6
    assert problems == []
    assert nodes.files() == []


def test_leases_are_spread_over_nodes_and_are_whole_kits(nodes: RayNodes, source: Path) -> None:
    with Fleet(source, engine=nodes.engine) as fleet:
        leases = [fleet.lease() for _ in range(3)]
        homes = {cache for cache in nodes.caches for lease in leases if lease.workspace.startswith(str(cache))}
        assert homes == set(nodes.caches)
        first, second, _ = leases
        assert first.call("edit", {"path": "m1.py", "old": "x1", "new": "y1"}).ok
        assert first.exec("cat m1.py; exit 3").code == 3
        assert first.call("grep", {"pattern": "^y1"}).text == "m1.py\n1:y1 = 1"
        assert second.call("read", {"path": "m1.py"}).text == "1\tx1 = 1"
        assert "-x1 = 1\n+y1 = 1\n" in first.diff()
        assert second.diff() == ""
    assert nodes.files() == []


def run_file(tasks: Path, source: Path, engine: str) -> subprocess.Popen[str]:
    words = ["fleet", "run", str(tasks), "-C", str(source), "--width", "12", "--engine", engine]
    results = ["--results", str(results_of(tasks, engine))]
    return subprocess.Popen([sys.executable, "-m", "toolroll", *words, *results], stdout=subprocess.PIPE, text=True)


def results_of(tasks: Path, engine: str) -> Path:
    return tasks.with_name(f"{engine.partition(':')[0]}.jsonl")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The results without what may differ: times, and who ran them."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        for name in ("seconds", "attempt", "worker"):
            row.pop(name, None)
        for call in row["calls"]:
            del call["ms"]
    return sorted(rows, key=lambda row: int(row["id"]))


def test_an_interrupted_program_leaves_nothing_on_the_nodes(nodes: RayNodes, source: Path) -> None:
    code = "import sys, time; from toolroll import Fleet; kit = Fleet(*sys.argv[1:2], engine=sys.argv[2]).lease()\n"
    code += "kit.call('write', {'path': 'new.txt', 'content': 'new'}); print(flush=True); time.sleep(300)"
    with subprocess.Popen([sys.executable, "-c", code, str(source), nodes.engine], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"\n"
        assert nodes.files()
        program.kill()
    until(lambda: nodes.files() == [])


def test_no_task_is_lost_with_a_node(nodes: RayNodes, source: Path, tmp_path: Path) -> None:
    """The last test, for it kills a node. The results are those of the local engine."""
    tasks = tmp_path / "tasks.jsonl"
    with tasks.open("w") as file:
        for number in range(TASKS):
            edit = ["edit", {"path": f"m{number}.py", "old": f"x{number} = {number}", "new": f"y = {number}"}]
            calls = [edit, ["grep", {"pattern": "^y = "}], ["bash", {"command": "sleep 0.3; cat new.txt"}]]
            task = {"id": str(number), "setup": ["echo new > new.txt"], "calls": calls, "check": f"test {number} != 5"}
            print(json.dumps(task), file=file)
    assert run_file(tasks, source, "local").wait() == 1
    results = results_of(tasks, nodes.engine)
    with run_file(tasks, source, nodes.engine) as program:
        until(lambda: results.exists() and results.read_text())
        nodes.kill_last()
        assert program.wait() == 1
    rows = read_rows(results)
    assert [row["status"] for row in rows] == ["failed" if number == 5 else "passed" for number in range(TASKS)]
    assert rows == read_rows(results_of(tasks, "local"))
    assert nodes.files() == []


def test_an_address_where_no_cluster_answers_is_named(source: Path) -> None:
    with pytest.raises(ToolError, match=r"No Ray cluster answers at 127.0.0.1:1: .*refused"):
        Fleet(source, engine="ray://127.0.0.1:1")
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        with pytest.raises(ToolError, match=f"No Ray cluster answers at 127.0.0.1:{other.server_port}: "):
            Fleet(source, engine=f"ray://127.0.0.1:{other.server_port}")
        other.shutdown()


LOCAL = """
import sys, ray
from toolroll import Fleet
with Fleet(sys.argv[1], engine="ray:local") as fleet:
    print(fleet.lease().call("read", {"path": "m1.py"}).text, ray.nodes()[0]["NodeManagerAddress"])
print(ray.is_initialized())
"""


def test_ray_on_this_machine_alone_listens_for_no_other(source: Path, tmp_path: Path) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    words = [sys.executable, "-c", LOCAL, str(source)]
    done = subprocess.run(words, env=own, cwd=tmp_path, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "1\tx1 = 1 127.0.0.1\nFalse\n"


@pytest.mark.parametrize("spec", ["ray", "ray://", "ray://host", "ray:somewhere"])
def test_a_spec_without_an_address_is_refused(source: Path, spec: str) -> None:
    with pytest.raises(ValueError, match="is no address of a Ray cluster"):
        Fleet(source, engine=spec)
