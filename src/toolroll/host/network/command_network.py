"""The network of the commands of one kit: the proxy, the ways to hosts of this machine, and the variables for both."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from toolroll.host.network.variables import cache_variables, proxy_variables
from toolroll.policy.effects import Effect
from toolroll.policy.network import PACKAGES, opened

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.network.gate import HostGate
    from toolroll.host.network.proxy import ProxyServer
    from toolroll.host.runtime.launcher import Sandbox

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_BACKLOG = 128


class CommandNetwork:
    """Opened with the first command. Where the policy names no hosts, or the tier cannot hold that, there is none."""

    def __init__(self, guard: Guard, environ: Mapping[str, str], workspace: Sequence[str]) -> None:
        self._guard = guard
        self._environ = environ
        self._workspace = workspace
        self._lock = threading.Lock()
        self.gate: HostGate | None = None
        self._servers: list[ProxyServer] = []

    def open(self, sandbox: Callable[[], Sandbox], temp: str) -> dict[str, str]:
        """Start what commands in the sandbox need; the variables that tell them, the user's own not over-written."""
        network = self._guard.policy.network
        names = network if isinstance(network, tuple) and Effect.NETWORK not in self._guard.policy.deny else ()
        found = self._open_proxy(sandbox(), names) if names else {}
        found |= cache_variables(temp, network=network is True or bool(found))
        return {name: value for name, value in found.items() if name not in self._guard.policy.environment.set}

    def close(self) -> None:
        with self._lock:
            servers, self._servers = self._servers, []
            if self.gate is not None:
                self.gate.token.cancel()
        for one in servers:
            one.close()

    def _open_proxy(self, sandbox: Sandbox, names: tuple[str, ...]) -> dict[str, str]:
        from toolroll.host.http.client import PROXY
        from toolroll.host.network.gate import HostGate
        from toolroll.host.network.registries import Registries, find_registries

        packages = find_registries(self._environ, self._workspace) if PACKAGES in names else Registries((), {})
        named = tuple(dict.fromkeys((*(one for one in names if one != PACKAGES), *packages.names)))
        with self._lock:
            gate = HostGate(named, self._guard, shown=names, proxy=self._environ.get(PROXY, ""))
            port = self._listen(sandbox, gate, "127.0.0.1", 0)
            if not port:
                return {}
            self.gate = gate
            for place in opened(named):
                host, _, number = place.rpartition(":")
                # Programs do not use a proxy for it, and mean their own loopback by it.
                if host in _LOOPBACK and not sandbox.open_port(int(number)):
                    self._listen(sandbox, gate, host.strip("[]"), int(number), f"http://{place}/")
        return {**proxy_variables(port, self._environ), **packages.variables}

    def _listen(self, sandbox: Sandbox, gate: HostGate, host: str, port: int, target: str = "") -> int:
        """The port of a new server in the network of the commands; 0 where there can be none."""
        from toolroll.host.network.proxy import ProxyServer

        try:
            listener = sandbox.make_socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError:
            return 0
        if listener is None:
            return 0
        try:
            listener.bind(("127.0.0.1" if host == "localhost" else host, port))
        except OSError:  # two names of one port
            listener.close()
            return 0
        listener.listen(_BACKLOG)
        self._servers.append(ProxyServer(listener, gate, target))
        return self._servers[-1].port
