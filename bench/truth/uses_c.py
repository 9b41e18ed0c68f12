"""Who uses what, by libclang: each line [path, line, column] of standard input names a symbol, and is answered by all
places of it.

    python bench/truth/uses_c.py PROJECT [COMPILER OPTION ...]

Every source is parsed, and every header that none of them includes.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections import defaultdict
from pathlib import Path

from clang import cindex  # of the package libclang

Place = tuple[str, int, int]


def main() -> None:
    root, options = Path(sys.argv[1]).resolve(), sys.argv[2:]
    uses: dict[str, set[Place]] = defaultdict(set)
    symbols: dict[Place, str] = {}
    seen: set[str] = set()
    index = cindex.Index.create()
    for path in [*sorted(root.rglob("*.c")), *sorted(root.rglob("*.h"))]:
        if str(path) in seen:
            continue
        unit = index.parse(str(path), ["-x", "c", f"-I{root}", *options], options=1)  # with macros
        seen.update(str(Path(one.include.name).resolve()) for one in unit.get_includes())
        for cursor in unit.cursor.walk_preorder():
            of = cursor if cursor.kind.is_declaration() else cursor.referenced
            usr = of.get_usr() if of is not None else ""
            place = find_place(cursor, root) if usr else None
            if place is not None and is_named(root, place, of.spelling):
                uses[usr].add(place)
                symbols[place] = usr
    for line in sys.stdin:
        asked = json.loads(line)
        usr = symbols.get((asked[0], asked[1], asked[2]))
        print(json.dumps(sorted(uses[usr]) if usr else None), flush=True)


def find_place(cursor: cindex.Cursor, root: Path) -> Place | None:
    """Where the name stands in a file: for an argument of a macro, where it is written."""
    file, line, column, offset = cindex.c_object_p(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    cindex.conf.lib.clang_getFileLocation(
        cursor.location, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column), ctypes.byref(offset)
    )
    if not file:
        return None
    name = Path(str(cindex.File(file).name)).resolve()
    return (str(name.relative_to(root)), line.value, column.value) if name.is_relative_to(root) else None


_LINES: dict[str, list[str]] = {}


def is_named(root: Path, place: Place, name: str) -> bool:
    """Whether the name is written there, and not made by a macro."""
    path, line, column = place
    if path not in _LINES:
        _LINES[path] = (root / path).read_text(encoding="latin-1").split("\n")
    return bool(name) and _LINES[path][line - 1][column - 1 :].startswith(name)


if __name__ == "__main__":
    main()
