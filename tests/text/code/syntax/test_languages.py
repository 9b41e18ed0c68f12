"""Which language a file is in, and what is said when it is none that we know."""

import json
import subprocess
import sys

import pytest

from toolroll import ErrorCode, ToolError
from toolroll.text.code.syntax import languages

# Path, how the file begins, language.
FILES = [
    ("a.py", "", "python"),
    ("deep/er/a.PYI", "", "python"),
    ("a.jsx", "", "javascript"),
    ("a.mjs", "", "javascript"),
    ("a.ts", "", "typescript"),
    ("a.tsx", "", "tsx"),
    ("a.go", "", "go"),
    ("a.rs", "", "rust"),
    ("A.java", "", "java"),
    ("a.c", "", "c"),
    ("a.h", "int f(void);\n", "c"),
    ("a.h", "namespace n {\n", "cpp"),
    ("a.h", "std::string f();\n", "cpp"),
    ("a.hpp", "", "cpp"),
    ("a.cs", "", "csharp"),
    ("a.rb", "", "ruby"),
    ("Rakefile", "", "ruby"),
    ("a.php", "", "php"),
    ("a.sh", "", "bash"),
    ("a.json", "", "json"),
    ("a.yml", "", "yaml"),
    ("a.toml", "", "toml"),
    ("a.html", "", "html"),
    ("a.css", "", "css"),
    ("README.md", "", "markdown"),
    ("run", "#!/bin/sh\n", "bash"),
    ("run", "#!/usr/bin/env python3.11\n", "python"),
    ("run", "#!/usr/bin/env -S node --flag\n", "javascript"),
    ("run", "#! /opt/ruby/bin/ruby -w\n", "ruby"),
    ("run", "#!/usr/bin/awk -f\n", None),
    ("run", "print(1)\n", None),
    ("run.txt", "#!/bin/sh\n", None),
    (".bashrc", "#!/bin/sh\n", None),
    ("a.kt", "", None),
    ("LICENSE", "Copyright\n", None),
    ("py", "", None),
]


@pytest.mark.parametrize(("path", "head", "name"), FILES)
def test_a_file_has_a_language(path, head, name):
    found = languages.of(path, head.encode())
    assert (found.name if found else None) == name


def test_an_unknown_language_says_what_there_is():
    error = languages.unknown("a.kt")
    assert error.code == ErrorCode.UNSUPPORTED
    assert error.message == (
        "The language of 'a.kt' is not known. There are: Python, JavaScript, TypeScript, TSX, Go, Rust, Java, C, C++, "
        "C#, Ruby, PHP, Bash, JSON, YAML, TOML, HTML, CSS, Markdown. Use `grep` or `read` instead."
    )


def test_a_missing_grammar_says_how_to_add_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter_toml", None)  # what an import of it then finds
    with pytest.raises(ToolError) as caught:
        languages.grammar.__wrapped__("toml")
    assert (caught.value.code, caught.value.message) == (
        ErrorCode.UNSUPPORTED,
        "There is no grammar for TOML here. Add it with: pip install 'toolroll[code]'.",
    )


def test_nothing_heavy_is_imported_before_it_is_used():
    code = (
        "import sys, json, toolroll.host.code.structure, toolroll.tools.code.symbols, toolroll.tools.code.outline;"
        "import toolroll.tools.code.references;"
        "print(json.dumps([name for name in sys.modules if name.split('.')[0].startswith("
        "('tree_sitter', 'ast_grep', 'subprocess', 'asyncio', 'ctypes', 'concurrent', 'resource'))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
