"""Looking up the addresses of a name, without waiting for it longer than anybody wants to."""

from __future__ import annotations

import socket
import threading

from toolroll.host.http.deadline import Patience
from toolroll.result import ErrorCode, ToolError

_TICK = 0.01


def addresses(name: str, patience: Patience) -> list[str]:
    """The addresses of a name as the system knows them; ToolError when it has none."""
    found: list[str] = []
    failed: list[OSError] = []

    def ask() -> None:
        try:
            answers = socket.getaddrinfo(name.encode("ascii"), None, type=socket.SOCK_STREAM)
        except OSError as error:
            failed.append(error)
        else:
            found.extend(dict.fromkeys(str(answer[4][0]) for answer in answers))

    # The system's resolver cannot be interrupted: a thread asks it, and is left behind when the answer is late.
    asking = threading.Thread(target=ask, name="toolroll lookup", daemon=True)
    asking.start()
    while asking.is_alive():
        asking.join(min(_TICK, patience.left()))
    if not found:
        why = f" ({failed[0].strerror})" if failed and failed[0].strerror else ""
        raise ToolError(ErrorCode.NETWORK, f"The name {name!r} cannot be looked up{why}. Check it, or try again later.")
    return found
