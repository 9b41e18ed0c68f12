"""The network of the commands of one kit: the proxy, a name server, and the settings that programs find both by."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from toolroll.host.network.variables import cache_variables, plain_address, proxy_variables, route_variables
from toolroll.policy.effects import Effect
from toolroll.policy.network import PACKAGES, opened, parse_scope

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.approval.request import ApprovalRequest
    from toolroll.host.network.gate import HostGate
    from toolroll.host.network.name_server import NameServer
    from toolroll.host.network.proxy import ProxyServer
    from toolroll.host.runtime.launcher import Sandbox

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_BACKLOG = 128
_MOST_NAMES = 200  # that have an address of the loopback, 127.64.0.1 and those after it
_NAME_SERVER = ("127.0.0.1", 53)


class CommandNetwork:
    """Opened with the first command. Where the policy names no hosts, or the tier cannot hold that, there is none."""

    def __init__(
        self,
        guard: Guard,
        environ: Mapping[str, str],
        workspace: Sequence[str],
        ask_before: Callable[[str], ApprovalRequest | None] = lambda _place: None,
    ) -> None:
        """`ask_before` says what is to be asked before a command connects to a host that the policy names."""
        self._guard = guard
        self._environ = environ
        self._workspace = workspace
        self._ask_before = ask_before
        self._lock = threading.Lock()
        self.gate: HostGate | None = None
        self._servers: list[ProxyServer | NameServer] = []
        self._private = False  # whether commands have a network of their own
        self._addresses: dict[str, str] = {}
        """Of names that commands have looked up."""

    def open(self, sandbox: Callable[[], Sandbox], temp: str) -> dict[str, str]:
        """Start what commands in the sandbox need; the variables that tell them, the user's own not over-written."""
        network = self._guard.policy.network
        names = network if isinstance(network, tuple) and Effect.NETWORK not in self._guard.policy.deny else ()
        found = self._open_proxy(sandbox(), names) if names else {}
        found |= cache_variables(temp, network=network is True or bool(found))
        if "CARGO_HOME" in found:
            self._write_cargo_settings(found["CARGO_HOME"])
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
        from toolroll.host.network.credentials import read_credentials
        from toolroll.host.network.gate import HostGate
        from toolroll.host.network.registries import Registries, find_registries

        packages = find_registries(self._environ, self._workspace) if PACKAGES in names else Registries((), {})
        named = tuple(dict.fromkeys((*(one for one in names if one != PACKAGES), *packages.names)))
        own = read_credentials(self._guard.policy.credentials, self._environ, self._workspace)
        credentials = {**own, **packages.credentials}
        with self._lock:
            proxy = self._environ.get(PROXY, "")
            gate = HostGate(
                named, self._guard, shown=names, proxy=proxy, credentials=credentials, ask_before=self._ask_before
            )
            self._private = self._serve_names(sandbox, gate)
            port = self._listen(sandbox, gate, "127.0.0.1", 0)
            if not port:
                return {}
            self.gate = gate
            for place in opened(named):
                host, _, number = place.rpartition(":")
                # Programs do not use a proxy for it, and mean their own loopback by it.
                if host in _LOOPBACK and not sandbox.open_port(int(number)):
                    self._listen(sandbox, gate, host.strip("[]"), int(number), f"http://{place}/")
        return {
            **proxy_variables(port, self._environ),
            **route_variables(packages.variables, gate.has_route, map(parse_scope, credentials)),
        }

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
        server = ProxyServer(listener, gate, sandbox.find_command, target, private=self._private)
        self._servers.append(server)
        return server.port

    def _serve_names(self, sandbox: Sandbox, gate: HostGate) -> bool:
        """Whether commands have a network of their own; start a name server there, if we may use its port."""
        from toolroll.host.network.name_server import NameServer

        try:
            sock = sandbox.make_socket(socket.AF_INET, datagrams=True)
        except OSError:
            return False
        if sock is None:
            return False
        try:
            sock.bind(_NAME_SERVER)
        except OSError:
            sock.close()
            return True
        self._servers.append(NameServer(sock, lambda name: self._find_address(sandbox, gate, name)))
        sandbox.set_resolver(_NAME_SERVER[0])
        return True

    def _find_address(self, sandbox: Sandbox, gate: HostGate, name: str) -> str:
        """The address of the loopback at which the ports of a host are served; empty if it may not be reached."""
        from toolroll.policy.urls import parse_host

        try:
            host = parse_host(name)
        except ValueError:
            return ""
        ports = gate.ports(host)
        if not ports and "." in host:
            gate.refuse_name(host)
        with self._lock:
            if (
                not ports
                or gate.token.cancelled
                or (host not in self._addresses and len(self._addresses) >= _MOST_NAMES)
            ):
                return ""
            if host not in self._addresses:
                address = f"127.64.0.{len(self._addresses) + 1}"
                self._addresses[host] = address
                for port in ports:
                    scheme = "https" if port == 443 else "http"
                    self._listen(sandbox, gate, address, port, f"{scheme}://{host}:{port}/")
            return self._addresses[host]

    def _write_cargo_settings(self, folder: str) -> None:
        """Crates come from where the user has them from; the user's own folder of cargo has credentials too."""
        from toolroll.host.network.cargo import format_settings, read_settings

        if settings := read_settings(self._environ, self._workspace):
            gate = self.gate
            text = format_settings(
                settings, lambda one: plain_address(one, gate.has_route if gate else lambda _: False)
            )
            os.makedirs(folder)
            with open(f"{folder}/config.toml", "w", encoding="utf-8") as file:
                file.write(text)
