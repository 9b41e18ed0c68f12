"""`python -m toolroll` and the program `toolroll`: the daemon's fast client, or the whole command line."""

import sys

from toolroll import __version__
from toolroll.host.daemon.client import call_daemon


def main() -> int:
    """Run the command line of this process and return its exit status."""
    status = call_daemon(sys.argv[1:], __version__)
    if status is None:
        from toolroll.cli import main as run  # it imports much

        status = run()
    return status


if __name__ == "__main__":
    sys.exit(main())
