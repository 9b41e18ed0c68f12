"""Workers on the nodes of a Ray cluster: one actor a node, which starts them there and carries their lines."""

from __future__ import annotations

import io
import os
import socket
import threading
from typing import Any

from toolroll.host.requirement import require

require("ray", "ray>=2.60,<3")

import ray
from ray._private import ray_constants
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from toolroll.fleet.engines.pipes import RUN_SENT_CODE, NodePipe, PipeEngine, PipePool, StartStop, explain_end
from toolroll.host.fleet import node_processes
from toolroll.host.fleet.sending import PackedBase
from toolroll.result import ErrorCode, ToolError

_CONNECT_SECONDS = 5.0
_START_SECONDS = 60.0
_END_SECONDS = 40.0
_WRITE_SECONDS = 130.0  # later than the bound of `NodePipe.write`, which says what was not taken
_STOP_SECONDS = 5.0
_READ_BYTES = 1 << 20
_LOCAL_STORE_BYTES = 100 << 20
_QUIET = {"log_to_driver": False, "logging_level": "ERROR"}


class RayOutput(io.RawIOBase):
    """What a process on a node writes; it ends with the process, with the node, or when it is stopped."""

    def __init__(self, node: Any, number: int) -> None:
        self._read, self._number = node.read.options(concurrency_group="output"), number
        self.is_stopped = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        coming = self._read.remote(self._number, len(buffer))
        while True:
            try:
                data: bytes = ray.get(coming, timeout=_STOP_SECONDS)
            except GetTimeoutError:
                if self.is_stopped:  # and the node does not say so, for it is frozen
                    return 0
            except RayError:
                return 0
            else:
                buffer[: len(data)] = data
                return len(data)


class RayPipe(NodePipe):
    """A worker on a node of the cluster."""

    _part_bytes = 1 << 20

    def __init__(self, node: Any) -> None:
        """ToolError if the node is gone, or cannot start the actor."""
        try:
            self._number: int = ray.get(node.start.remote(RUN_SENT_CODE), timeout=_START_SECONDS)
        except GetTimeoutError as error:
            raise ToolError(
                ErrorCode.TIMEOUT, f"Ray has not started an actor there in {_START_SECONDS:g} s."
            ) from error
        except RayError as error:
            raise ToolError(ErrorCode.NETWORK, "The node is gone.") from error
        self._node = node
        self._send, self._finish = (one.options(concurrency_group="input") for one in (node.send, node.finish))
        self._output = RayOutput(node, self._number)
        self._answers = io.BufferedReader(self._output, _READ_BYTES)

    def send(self, line: bytes) -> None:
        self._send.remote(self._number, line)  # in order, for the group has one thread

    def _write_part(self, part: bytes) -> None:
        """Send a part, and wait until the worker has taken it."""
        try:
            ray.get(self._send.remote(self._number, part), timeout=_WRITE_SECONDS)
        except RayError as error:
            raise BrokenPipeError("The node is gone.") from error

    def finish(self) -> None:
        self._finish.remote(self._number)

    def stop(self) -> None:
        self._output.is_stopped = True
        self._node.stop.remote(self._number)

    def wait(self) -> str:
        try:
            status, said = ray.get(self._node.wait.remote(self._number), timeout=_END_SECONDS)
        except RayError:
            return self._offence or "the loss of its node"
        return self._offence or explain_end(f"status {status}", said.strip())


class RayPool(PipePool):
    """One node of the cluster."""

    def __init__(
        self, name: str, found: dict[str, Any], base: PackedBase, connecting: threading.Lock, starts: StartStop
    ) -> None:
        """ToolError if its actor does not start."""
        cores = int(found["Resources"]["CPU"])
        groups = {"input": 1, "output": 2 * cores + 8}
        where = NodeAffinitySchedulingStrategy(found["NodeID"], soft=False)
        actor = ray.remote(num_cpus=0, max_concurrency=8, concurrency_groups=groups)(node_processes.NodeProcesses)
        self._node = actor.options(scheduling_strategy=where).remote()
        super().__init__(name, [], base, connecting, starts)
        self.cores = cores

    def _open_pipe(self) -> RayPipe:
        return RayPipe(self._node)

    def close(self) -> None:
        super().close()
        ray.kill(self._node)


class RayEngine(PipeEngine):
    """The living nodes of a cluster that have CPUs. Ray counts no CPUs for the workers."""

    def __init__(self, address: str) -> None:
        """`address` is "local" or "//host:port"; ToolError if no cluster answers there."""
        self._is_own = not ray.is_initialized()
        if self._is_own:
            _connect(address.removeprefix("//"))
        ray.cloudpickle.register_pickle_by_value(node_processes)
        nodes = [one for one in ray.nodes() if one["Alive"] and one["Resources"].get("CPU", 0) >= 1]
        self._found = {f"ray:{one['NodeName']}/{one['NodeID'][:6]}": one for one in nodes}
        if not nodes:
            self._shut_down()
            raise ToolError(ErrorCode.NOT_FOUND, "No node of the Ray cluster has a CPU.")
        self._set_nodes(self._found)

    def _open_pool(self, name: str, base: PackedBase) -> RayPool:
        return RayPool(name, self._found[name], base, self._nodes[name].connecting, self._starts)

    def close(self) -> None:
        self._shut_down()

    def _shut_down(self) -> None:
        ray.cloudpickle.unregister_pickle_by_value(node_processes)
        if self._is_own:
            ray.shutdown()


def _start_local() -> None:
    """Start Ray on this machine. It listens on 127.0.0.1 alone, and reports nothing."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False  # else Ray listens for other machines, whatever address it is given
    try:
        ray.init("local", include_dashboard=False, object_store_memory=_LOCAL_STORE_BYTES, **_QUIET)
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def _connect(address: str) -> None:
    if address == "local":
        _start_local()
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"'ray:{address}' is no address of a Ray cluster. Give ray://host:6379 or ray:local.")
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "1")  # else Ray tries for minutes
        ray.init(address, **_QUIET)
    except (OSError, RuntimeError, RayError) as error:
        ray.shutdown()
        why = str(error).partition("\n")[0].rstrip(".")
        said = f"No Ray cluster answers at {address}: {why}. Give the address that `ray start --head` prints."
        raise ToolError(ErrorCode.NETWORK, said) from error
