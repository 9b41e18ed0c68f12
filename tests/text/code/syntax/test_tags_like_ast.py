"""The tags of this project's own sources against Python's own parser: every function, class, line and decorator."""

import ast
import sysconfig
from pathlib import Path

import pytest

from toolroll.text.code.syntax.tags import tags

ROOT = Path(__file__).parents[4]
SOURCES = sorted(path for folder in ("src", "bench", "docs") for path in (ROOT / folder).rglob("*.py"))[::6]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def defined(node, above=(), *, in_class=False):
    """Kind, name, first and last line and decorators of all that a module defines, in its order."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            kind = "class" if isinstance(child, ast.ClassDef) else "method" if in_class else "function"
            decorators = [ast.unparse(one) for one in child.decorator_list]
            yield kind, ".".join((*above, child.name)), child.lineno, child.end_lineno, decorators
            yield from defined(child, (*above, child.name), in_class=kind == "class")
        else:
            yield from defined(child, above, in_class=in_class)


def same(text, expected):
    """Whether a decorator is the expected one; of a long one, its name."""
    return text.partition("(")[0] == expected.partition("(")[0] if text.endswith("…") else unparsed(text) == expected


def unparsed(text):
    return ast.unparse(ast.parse(text, mode="eval"))


def imported(tree):
    return sorted(node.lineno for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def called(tree):
    """Lines and names of the calls of names and attributes, but for those of decorators."""
    decorators = {
        id(one) for node in ast.walk(tree) for one in getattr(node, "decorator_list", []) if isinstance(one, ast.Call)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in decorators:
            if isinstance(node.func, ast.Name):
                yield node.func.lineno, node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield node.func.end_lineno, node.func.attr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_our_own_sources(path):
    source = path.read_text()
    tree = ast.parse(source)
    found = tags("python", source.encode())
    assert found.broken == 0
    ours = [tag for tag in found.definitions if tag.kind in ("function", "method", "class")]
    theirs = list(defined(tree))
    assert [(tag.kind, tag.path, tag.line, tag.end_line, len(tag.decorators)) for tag in ours] == [
        (*one, len(decorators)) for *one, decorators in theirs
    ]
    pairs = [pair for tag, one in zip(ours, theirs, strict=True) for pair in zip(tag.decorators, one[-1], strict=True)]
    assert [pair for pair in pairs if not same(*pair)] == []
    assert [tag.line for tag in found.definitions if tag.kind == "import"] == imported(tree)
    assert sorted((use.line, use.name) for use in found.uses_of() if use.kind == "call") == sorted(called(tree))


@pytest.mark.slow
def test_the_standard_library():
    """Every function and class of Python's own sources, some of which are there to be hard to parse."""
    different = {}
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts):
        try:
            source = path.read_bytes().decode()
            tree = ast.parse(source)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        found = [
            tag for tag in tags("python", source.encode()).definitions if tag.kind in ("function", "method", "class")
        ]
        ours = {(tag.kind, tag.path, tag.line, tag.end_line) for tag in found}
        theirs = {tuple(one[:4]) for one in defined(tree)}
        if ours != theirs:
            different[path.name] = ours ^ theirs
    # One test of the compiler closes brackets further left than the block that they are in.
    assert set(different) <= {"test_compile.py"}
