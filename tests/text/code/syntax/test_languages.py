"""Which language a file is in, and what is said when it is none that we know."""

import json
import subprocess
import sys

import pytest

from toolroll import ErrorCode
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
    ("a.xyz", "", None),
    ("LICENSE", "Copyright\n", None),
    ("py", "", None),
]


@pytest.mark.parametrize(("path", "head", "name"), FILES)
def test_a_file_has_a_language(path, head, name):
    found = languages.detect(path, head.encode())
    assert (found.name if found else None) == name


def test_an_unknown_language_says_what_there_is():
    error = languages.unknown("a.xyz")
    assert error.code == ErrorCode.UNSUPPORTED
    head, _, titles = error.message.removesuffix(". Use `grep` or `read` instead.").partition(" There are: ")
    assert head == "The language of 'a.xyz' is not known."
    assert sorted(titles.split(", ")) == sorted(language.title for language in languages.every())


def test_a_language_has_the_name_of_its_module():
    assert [language.name for language in languages.every()] == list(languages.names())


@pytest.mark.parametrize("field", ["title", "suffixes", "files", "programs"])
def test_no_two_languages_share(field):
    values = [getattr(language, field) for language in languages.every()]
    every = values if field == "title" else [value for many in values for value in many]
    assert len(every) == len(set(every))


def test_a_language_is_imported_alone():
    code = (
        "import sys; from toolroll.text.code.syntax import languages; languages.get('go');"
        "print([name.rpartition('.')[2] for name in sys.modules if name.startswith(languages.__name__ + '.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['go']"


def test_nothing_heavy_is_imported_before_it_is_used():
    code = (
        "import sys, json, toolroll.host.code.structure, toolroll.tools.code.symbols, toolroll.tools.code.outline;"
        "import toolroll.tools.code.references;"
        "print(json.dumps([name for name in sys.modules if name.split('.')[0].startswith("
        "('tree_sitter', 'ast_grep', 'subprocess', 'asyncio', 'ctypes', 'concurrent', 'resource'))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
