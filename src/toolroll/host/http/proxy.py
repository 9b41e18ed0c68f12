"""The operator's HTTP proxy: tunnels to judged addresses, so that the proxy resolves no name."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from toolroll.policy import urls
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import httpcore2

_READ_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where the proxy listens, and the value of its Proxy-Authorization header."""

    host: str
    port: int
    authorization: str = ""

    def serves(self, address: str) -> bool:
        """Whether an address is reached through the proxy: all public ones are."""
        return urls.is_public(address)

    def tunnel(self, stream: httpcore2.NetworkStream, address: str, port: int, timeout: float) -> None:
        """Turn a connection to the proxy into one to the address, by CONNECT."""
        import h11

        place = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        headers = [("Host", place)]
        if self.authorization:
            headers.append(("Proxy-Authorization", self.authorization))
        connection = h11.Connection(h11.CLIENT)
        try:
            request = connection.send(h11.Request(method="CONNECT", target=place, headers=headers))
            stream.write(request or b"", timeout)
            while (event := connection.next_event()) is h11.NEED_DATA:
                connection.receive_data(stream.read(_READ_BYTES, timeout))
        except h11.RemoteProtocolError:
            raise self._refused("it does not speak HTTP") from None
        status = event.status_code if isinstance(event, h11.Response) else 0
        if not 200 <= status < 300 or connection.trailing_data[0]:
            raise self._refused(f"it answers CONNECT with status {status}")

    def _refused(self, why: str) -> ToolError:
        where = f"{self.host}:{self.port}"
        return ToolError(ErrorCode.NETWORK, f"The proxy at {where} opens no tunnel: {why}. Check TOOLROLL_PROXY.")


def parse(text: str) -> Proxy | None:
    """The proxy at a URL, http://user:password@host:port; None for an empty text, ToolError for anything else."""
    if not (text := text.strip()):
        return None
    try:
        url = urlsplit(text)
        host, port = url.hostname or "", url.port or 3128
    except ValueError:
        host, port = "", 0
    if not host or url.scheme != "http":
        # The value is not quoted: it may hold a password.
        raise ToolError(ErrorCode.UNSUPPORTED, "TOOLROLL_PROXY is not of the form http://host:port. Set or unset it.")
    user = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
    return Proxy(host, port, f"Basic {base64.b64encode(user.encode()).decode()}" if user != ":" else "")
