"""`python -m toolroll` and the program `toolroll`: the daemon's fast client, or the whole command line."""

from __future__ import annotations

import sys

from toolroll import __version__
from toolroll.host.daemon.client import call_daemon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def answer(question: Mapping[str, str], is_withdrawn: Callable[[], bool]) -> str:
    """Ask the user of this terminal what the daemon asks."""
    from toolroll.cli.call_approver import answer_on_terminal

    return answer_on_terminal(question, is_withdrawn)


def main() -> int:
    """Run the command line of this process and return its exit status."""
    status = call_daemon(sys.argv[1:], __version__, answer)
    if status is None:
        from toolroll.cli import main as run  # it imports much

        status = run()
    return status


if __name__ == "__main__":
    sys.exit(main())
