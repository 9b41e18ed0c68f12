"""Real servers on real files."""

import sys

import pytest

from toolroll.host.lsp.answers import FileEdits, Location, Range
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ErrorCode, ToolError
from toolroll.text.edit.text_edits import Edit

from .conftest import found

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"), pytest.mark.timeout(300)]
needs_ty = pytest.mark.skipif(not found("ty"), reason="ty is not installed")
needs_clangd = pytest.mark.skipif(not found("clangd"), reason="clangd is not installed")
needs_gopls = pytest.mark.skipif(not found("gopls"), reason="gopls is not installed")
needs_tsc = needs_bash = pytest.mark.npm
needs_pyright = pytest.mark.npm(choice={"python": "pyright-langserver"})

LANGUAGES = [
    pytest.param("a.py", "x: int = {}\n", "''", "1", marks=needs_ty, id="ty"),
    pytest.param("a.c", "int *x = {};\n", "b", "0", marks=needs_clangd, id="clangd"),
    pytest.param("a.ts", "let x: number = {};\nx;\n", "''", "1", marks=needs_tsc, id="tsc"),
    pytest.param("a.py", "x: int = {}\n", "''", "1", marks=[needs_pyright, pytest.mark.slow], id="pyright"),
]


def places(report):
    return [(one.range.line, one.range.character, one.severity) for one in report.problems if one.severity != "hint"]


@pytest.mark.parametrize(("path", "text", "bad", "good"), LANGUAGES)
def test_many_edits_and_never_an_old_answer(path, text, bad, good, servers, put):
    value = text.index("{") + 1
    for n in range(8):
        before = "\n" * (n % 3)
        put({path: before + text.format(bad if n % 2 else good)})
        report = servers.diagnose([path], CancelToken())[0]
        wrong = [(n % 3 + 1, 5 if path == "a.ts" else value, "error")]
        assert places(report) == (wrong if n % 2 else []), n
    assert len(servers.running()) == 1


CHANGES = [
    pytest.param(
        {"lib.py": "def f() -> int: return 1\n", "a.py": "from lib import f\nx: str = f()\n"},
        "a.py",
        {"lib.py": "def f() -> str: return ''\n"},
        [(2, 10, "error")],
        [],
        marks=needs_ty,
        id="ty, changed",
    ),
    pytest.param(
        {"a.py": "from lib import f\n"},
        "a.py",
        {"lib.py": "f = 1\n"},
        [(1, 6, "error")],
        [],
        marks=needs_ty,
        id="ty, created",
    ),
    pytest.param(
        {"a.py": "from new.deep import f\n"},
        "a.py",
        {"new/__init__.py": "", "new/deep.py": "f = 1\n"},
        [(1, 6, "error")],
        [],
        marks=needs_ty,
        id="ty, created with its folder",
    ),
    pytest.param(
        {"a.py": "from lib import f\n", "lib.py": "f = 1\n"},
        "a.py",
        {"lib.py": None},
        [],
        [(1, 6, "error")],
        marks=needs_ty,
        id="ty, deleted",
    ),
    pytest.param(
        {"a.py": "x: int = ''\n"},
        "a.py",
        {"ty.toml": '[rules]\ninvalid-assignment = "ignore"\n'},
        [(1, 10, "error")],
        [],
        marks=needs_ty,
        id="ty, configured",
    ),
    pytest.param(
        {"lib.h": "int f(void);\n", "a.c": '#include "lib.h"\nint x(void) { return f(1); }\n'},
        "a.c",
        {"lib.h": "int f(int);\n"},
        [(2, 24, "error")],
        [],
        marks=needs_clangd,
        id="clangd, changed",
    ),
    pytest.param(
        {"a.c": "int x = Y;\n"},
        "a.c",
        {"compile_flags.txt": "-DY=1\n"},
        [(1, 9, "error")],
        [],
        marks=needs_clangd,
        id="clangd, configured",
    ),
    pytest.param(
        {"lib.ts": "export const f = 1;\n", "a.ts": 'import { f } from "./lib";\nexport const x: string = f;\n'},
        "a.ts",
        {"lib.ts": 'export const f = "";\n'},
        [(2, 14, "error")],
        [],
        marks=needs_tsc,
        id="tsc, changed",
    ),
    pytest.param(
        {"a.ts": 'import { f } from "./lib";\nf;\n'},
        "a.ts",
        {"lib.ts": "export const f = 1;\n"},
        [(1, 19, "error")],
        [],
        marks=needs_tsc,
        id="tsc, created",
    ),
]
OTHERS_OPEN = [
    pytest.param(True, *row.values, marks=row.marks, id=f"{row.id}, open") for row in CHANGES if len(row.values[0]) > 1
]


@pytest.mark.parametrize(
    ("also_open", "files", "asked", "change", "before", "after"),
    [*(pytest.param(False, *row.values, marks=row.marks, id=row.id) for row in CHANGES), *OTHERS_OPEN],
)
def test_a_change_of_another_file_is_known(also_open, files, asked, change, before, after, servers, put, ws):
    put(files)
    if also_open:
        servers.diagnose([path for path in files if path != asked], CancelToken())
    assert places(servers.diagnose([asked], CancelToken())[0]) == before
    for path, text in change.items():
        put({path: text}) if text is not None else (ws / path).unlink()
    assert places(servers.diagnose([asked], CancelToken())[0]) == after


@needs_ty
def test_an_installed_package_is_known(servers, put):
    put({"a.py": "import thing\n", ".venv/pyvenv.cfg": f"home = {sys.base_prefix}/bin\nversion = 3.11.0\n"})
    put({".venv/lib/python3.11/site-packages/other.py": ""})
    assert places(servers.diagnose(["a.py"], CancelToken())[0]) == [(1, 8, "error")]
    put({".venv/lib/python3.11/site-packages/thing/__init__.py": ""})
    assert places(servers.diagnose(["a.py"], CancelToken())[0]) == []


@pytest.mark.parametrize(
    ("path", "text", "line", "character", "column"),
    [
        pytest.param("a.py", "\tx = 1\n", 1, 2, None, marks=needs_ty, id="a tab, which is a fault"),
        pytest.param("a.py", "if 1:\r\n\tx: int = ''\r\n", 2, 11, 11, marks=needs_ty, id="CRLF and tab"),
        pytest.param("a.py", "s = '😀😀'; x: int = 'ä'\n", 1, 20, 20, marks=needs_ty, id="astral"),
        pytest.param("a.py", "a = 1\rx: int = ''\n", 1, 16, 16, marks=needs_ty, id="a lone return"),
        pytest.param("a.c", 'char *s = "😀😀"; int *x = b;\r\n', 1, 26, 26, marks=needs_clangd, id="clangd astral"),
        pytest.param("a.c", "int a;\rint *x = b;\n", 1, 17, 17, marks=needs_clangd, id="clangd lone return"),
        pytest.param("a.ts", "'😀'; let x: number = '';x\r\n", 1, 10, 10, marks=needs_tsc, id="tsc astral"),
        pytest.param("a.ts", "1\rlet x: number = '';x\n", 1, 7, 7, marks=needs_tsc, id="tsc lone return"),
    ],
)
def test_positions(path, text, line, character, column, servers, put):
    put({path: text})
    found = [(one.range.line, one.range.character) for one in servers.diagnose([path], CancelToken())[0].problems]
    assert ((line, character) in found) == (column is not None), found


@needs_ty
def test_hover_and_definition_behind_astral_characters(servers, put):
    put({"a.py": "class Größe:\n    '''Wie groß. 😀'''\n\ns = '😀😀'; y = Größe()\r\n"})
    about = servers.hover("a.py", 4, 17, CancelToken())
    assert about.range == Range(4, 15, 4, 20)
    assert "Wie groß. 😀" in about.markdown
    assert servers.definition("a.py", 4, 17, CancelToken()).found == [Location("a.py", Range(1, 7, 1, 12))]


@needs_ty
def test_a_definition_outside_the_workspace_is_a_line_only(servers, put):
    put({"a.py": "import os\nos.getcwd()\n"})
    (place,) = servers.definition("a.py", 2, 5, CancelToken()).found
    assert (place.inside, place.path.endswith(".pyi"), place.range.line > 1) == (False, True, True)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            {"a.py": "def f(a: int) -> int: return a\n\nx: str = f(1)\n", "b.py": "from a import f\nx = f('')\n"},
            marks=needs_pyright,
            id="pyright",
        ),
        pytest.param(
            {
                "a.go": "package m\n\nfunc f(a int) int { return a }\n\nvar x string = f(1)\n",
                "b.go": 'package m\n\nvar y = f("")\n',
                "go.mod": "module m\n\ngo 1.19\n",
            },
            marks=needs_gopls,
            id="gopls",
        ),
    ],
)
def test_the_first_word_about_several_files_is_the_last(files, servers, put):
    """A server that is asked right after its start sends what it thinks before it has read what is imported."""
    put(files)
    asked = [path for path in files if path[0] in "ab"]
    assert [len(places(one)) for one in servers.diagnose(asked, CancelToken())] == [1, 1]


@pytest.mark.parametrize(
    ("files", "place", "references"),
    [
        pytest.param(
            {"a.py": "def f(): ...\n", "b.py": "from a import f\nf()\n", "c.py": "# f\n"},
            ("a.py", 1, 5),
            {("a.py", 1, 5), ("b.py", 1, 15), ("b.py", 2, 1)},
            marks=[needs_pyright, pytest.mark.slow],
            id="pyright",
        ),
        pytest.param(
            {"a.sh": "f() { echo 1; }\nf\n"},
            ("a.sh", 2, 1),
            {("a.sh", 1, 1), ("a.sh", 2, 1)},
            marks=needs_bash,
            id="bash",
        ),
        pytest.param(
            {
                "a.go": "package m\n\nfunc f() {}\n",
                "b.go": "package m\n\nfunc g() { f() }\n",
                "go.mod": "module m\n\ngo 1.19\n",
            },
            ("a.go", 3, 6),
            {("a.go", 3, 6), ("b.go", 3, 12)},
            marks=needs_gopls,
            id="gopls",
        ),
        pytest.param(
            {"a.py": "def f(): ...\n", "b.py": "from a import f\nf()\n", "c.py": "# f\n"},
            ("a.py", 1, 5),
            {("a.py", 1, 5), ("b.py", 1, 15), ("b.py", 2, 1)},
            marks=needs_ty,
            id="ty",
        ),
        pytest.param(
            {
                "a.h": "int f(void);\n",
                "a.c": '#include "a.h"\nint f(void) { return 1; }\n',
                "b.c": '#include "a.h"\nint g(void) { return f(); }\n',
            },
            ("a.c", 2, 5),
            {("a.h", 1, 5), ("a.c", 2, 5), ("b.c", 2, 22)},
            marks=needs_clangd,
            id="clangd",
        ),
        pytest.param(
            {
                "a.h": "struct S { int f() const; };\n",
                "a.cpp": '#include "a.h"\nint S::f() const { return 1; }\n',
                "b.cpp": '#include "a.h"\nint g(S s) { return s.f(); }\n',
                "c.cpp": "int f() { return 2; }\n",
            },
            ("b.cpp", 2, 23),
            {("a.h", 1, 16), ("a.cpp", 2, 8), ("b.cpp", 2, 23)},
            marks=needs_clangd,
            id="clangd, C++",
        ),
        pytest.param(
            {
                "inc/a.h": "int f(void);\n",
                "a.c": '#include "a.h"\nint f(void) { return 1; }\n',
                "b.c": '#include "a.h"\nint g(void) { return f(); }\n',
                "compile_flags.txt": "-xc\n-Iinc\n",
            },
            ("b.c", 2, 22),
            {("inc/a.h", 1, 5), ("a.c", 2, 5), ("b.c", 2, 22)},
            marks=needs_clangd,
            id="clangd, configured",
        ),
        pytest.param(
            {"a.ts": "export function f() {}\n", "b.ts": 'import { f } from "./a";\nf();\n'},
            ("a.ts", 1, 17),
            {("a.ts", 1, 17), ("b.ts", 1, 10), ("b.ts", 2, 1)},
            marks=needs_tsc,
            id="tsc",
        ),
    ],
)
def test_references_and_renames_reach_files_that_nobody_opened(files, place, references, servers, put):
    put(files)
    found = servers.references(*place, CancelToken())
    assert {(one.path, one.range.line, one.range.character) for one in found.found} == references
    assert found.complete
    renamed = servers.rename(*place, "ff", CancelToken())
    assert sorted((one.path, len(one.edits)) for one in renamed) == sorted(
        (path, sum(path == other for other, *_ in references)) for path in {path for path, *_ in references}
    )
    assert {one.path: one.text for one in renamed} == {path: files[path] for path, *_ in references}


@needs_ty
def test_a_rename_is_edits_of_the_text_that_is_there(servers, put):
    put({"a.py": "é = '😀'\r\nprint(é, '😀', é)\r\n"})
    text = "é = '😀'\r\nprint(é, '😀', é)\r\n"
    edits = [Edit(0, 1, "e"), Edit(15, 16, "e"), Edit(23, 24, "e")]
    assert servers.rename("a.py", 1, 1, "e", CancelToken()) == [FileEdits("a.py", text, edits)]


@needs_ty
def test_a_file_that_is_gone_or_no_text_is_not_judged(servers, put, ws):
    put({"a.py": "x: int = ''\n", "b.py": "x = 1\n", "c.py": b"\x00\x01"})
    assert places(servers.diagnose(["a.py"], CancelToken())[0]) == [(1, 10, "error")]
    (ws / "a.py").unlink()
    a, b, c = servers.diagnose(["a.py", "b.py", "c.py"], CancelToken())
    assert (a.problems, b.problems, c.problems) == (None, [], None)
    assert a.reason == c.reason == "it is gone, is no text, or is larger than 4 MB"


@needs_ty
def test_more_files_than_are_kept_open(servers, put):
    put({f"m{n}.py": f"x: int = {n if n % 10 else repr('')}\n" for n in range(150)})
    reports = servers.diagnose([f"m{n}.py" for n in range(150)], CancelToken())
    assert [len(one.problems) for one in reports] == [int(n % 10 == 0) for n in range(150)]


@needs_ty
@pytest.mark.parametrize(("line", "character"), [(3, 1), (1, 7), (0, 1), (1, 0), (99, 99)])
def test_a_position_outside_the_file_starts_no_server(line, character, servers, put):
    put({"a.py": "x = 1\ny = 2\n"})
    with pytest.raises(ToolError) as caught:
        servers.hover("a.py", line, character, CancelToken())
    assert caught.value.code is ErrorCode.VALIDATION
    assert servers.running() == []


@needs_ty
def test_what_is_remembered(servers, put):
    put({"a.py": "x: int = ''\n"})
    assert servers.previous("a.py") is None
    reports = servers.diagnose(["a.py"], CancelToken())
    assert servers.previous("a.py") is None
    servers.remember(reports)
    assert servers.previous("a.py") is reports[0]
