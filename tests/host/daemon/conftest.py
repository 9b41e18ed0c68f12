"""The fixtures of the daemon, for its client."""

from tests.daemon.conftest import by_daemon, here, start

__all__ = ["by_daemon", "here", "start"]
