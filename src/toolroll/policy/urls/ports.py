"""Ports at which no web server is to be expected, but something that a request could harm or tell secrets of."""

from __future__ import annotations

_WEB = frozenset({80, 443})
_FIRST_FREE = 1024  # below, every port has its own service
_SERVICES: dict[str, str] = {
    "a proxy": "1080 3128",
    "remote calls": "1099 2049 4045 5985 5986",
    "a tunnel": "1194 1723 4789",
    "a database": "1352 1433 1434 1521 2484 3050 3306 5432 5433 5984 6379 6380 7199 7474 7687 8086 9042 9160 9200 9300 "
    "11211 16379 26379 27017 27018 27019 28015 28017 33060 50000 50070",
    "a queue": "1883 4222 5671 5672 8883 9092 11300 15672 61613 61616",
    "the control of containers": "2375 2376 2377 4243 6443 10248 10249 10250 10255 10256 16509",
    "a registry of services": "2181 2379 2380 8200 8300 8301 8302 8500 8600",
    "a file service": "2121 3260 3690 8020 9418 10080 10809",
    "a directory": "3268 3269",
    "a remote screen": "3389 5631 5800 5900 5901 5902 5903 6000 6001 6002 6566",
    "telephony or chat": "1719 1720 3478 5060 5061 5222 5269 6665 6666 6667 6668 6669 6679 6697",
    "a debugger or a build": "4369 5005 5037 5555 7000 7001 7077 8009 9229",
    "a name or time service": "3659 5353 8125",
    "mail or a printer": "4190 9100",
    "a local model": "11434",
}
_DENIED = {int(port): what for what, ports in _SERVICES.items() for port in ports.split()}


def reason(port: int) -> str:
    """Why a port is not for the web; empty when it may be."""
    if port in _WEB:
        return ""
    if port < _FIRST_FREE:
        return f"port {port} is not a web port"
    return f"port {port} is that of {_DENIED[port]}, not a web port" if port in _DENIED else ""
