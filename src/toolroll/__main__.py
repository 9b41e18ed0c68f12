"""`python -m toolroll` is the command line."""

import sys

from toolroll.cli import main

if __name__ == "__main__":
    sys.exit(main())
