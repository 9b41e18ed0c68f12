"""Compiles Python files, given as arguments: a line of JSON for each that does not parse, and how many at the end.

It runs in the project's own interpreter and keeps to what Python 3.8 knows.
"""

import json
import sys
import warnings


def main() -> None:
    """Nothing is executed and nothing is written."""
    warnings.simplefilter("ignore")
    for path in sys.argv[1:]:
        try:
            with open(path, "rb") as file:
                compile(file.read(), path, "exec", dont_inherit=True)
        except SyntaxError as error:
            found = {"line": error.lineno or 1, "column": error.offset or 1, "message": error.msg}
            print(json.dumps({"path": path, **found}))
        except (ValueError, RecursionError, MemoryError) as error:
            print(json.dumps({"path": path, "line": 1, "column": 1, "message": str(error)}))
    print(json.dumps({"checked": len(sys.argv) - 1}))


if __name__ == "__main__":
    main()
