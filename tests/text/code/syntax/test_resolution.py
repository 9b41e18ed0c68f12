"""Which definition a use most likely belongs to."""

import pytest

from toolroll.text.code.syntax.resolution import DefinedSymbol, choose_definition
from toolroll.text.code.syntax.source import SourceText
from toolroll.text.code.syntax.symbols import Symbol, find_places
from toolroll.text.code.syntax.tags import tags

# Language, files with the name `go`, and for each use its file, line and the file and line of its definition.
CASES = [
    (
        "python",
        {
            "a.py": "def go(): ...\ngo()\n",
            "b.py": "class B:\n    def go(self): self.go()\nb = B()\nb.go()\nx.go()\n",
            "c.py": "from a import go\ngo()\nimport a as z\nz.go()\nos.go()\n",
            "d.py": "go()\nfrom b import B\ndef f(x: B): x.go()\n",
        },
        {
            "a.py:2": "a.py:1", "b.py:2": "b.py:2", "b.py:4": "b.py:2", "b.py:5": "b.py:2", "c.py:1": "a.py:1",
            "c.py:2": "a.py:1", "c.py:4": "a.py:1", "c.py:5": "b.py:2", "d.py:1": None, "d.py:3": "b.py:2",
        },
    ),
    (
        "go",
        {
            "p/a.go": "package p\nfunc go_() {}\nfunc a() { go_() }\n",
            "p/b.go": "package p\nfunc b() { go_() }\n",
            "q/c.go": 'package q\nimport "x/p"\nfunc c() { p.go_(); go_() }\ntype T struct{}\nfunc (t *T) go_() {}\n',
            "q/d.go": "package q\nfunc d(t *T) {\n t.go_()\n}\n",
        },
        {"p/a.go:3": "p/a.go:2", "p/b.go:2": "p/a.go:2", "q/c.go:3": "p/a.go:2", "q/d.go:3": "q/c.go:5"},
    ),
    (
        "c",
        {
            "a.c": "static int go(void) { return 1; }\nint a(void) { return go(); }\n",
            "b.c": "int go(void) { return 2; }\n",
            "c.c": "int c(void) { return go(); }\n",
        },
        {"a.c:2": "a.c:1", "c.c:1": "b.c:1"},
    ),
    (
        "typescript",
        {
            "a.ts": "export function go() {}\n",
            "b.ts": "import { go } from './a';\ngo();\n",
            "c.ts": "export function go() {}\nfunction f() { go(); }\n",
        },
        {"b.ts:1": "a.ts:1", "b.ts:2": "a.ts:1", "c.ts:2": "c.ts:1"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("language", "files", "expected"), CASES, ids=[case[0] for case in CASES])
def test_the_most_likely_definition(language, files, expected):
    wanted = Symbol("go_" if language == "go" else "go")
    read = {path: tags(language, text.encode()) for path, text in files.items()}
    places = {path: find_places(read[path], SourceText(files[path].encode()), wanted, path) for path in files}
    defined = [DefinedSymbol(path, one.tag, read[path]) for path in files for one in places[path] if one.tag]
    found = {}
    for path in files:
        for one in places[path]:
            if not one.definition:
                at, _ = choose_definition(defined, path, read[path], files[path], one)
                chosen = None if at is None else f"{defined[at].path}:{defined[at].tag.name_line}"
                found.setdefault(f"{path}:{one.line}", chosen)
    assert found == expected
