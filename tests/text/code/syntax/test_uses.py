"""Where a symbol is defined and used in one source."""

import pytest

from toolroll import ErrorCode, ToolError
from toolroll.text.code.syntax.source import SourceText
from toolroll.text.code.syntax.symbols import Symbol, find_places, near, parse_symbol, receiver
from toolroll.text.code.syntax.tags import tags

SYMBOLS = [
    ("name", Symbol("name")),
    (" name() ", Symbol("name")),
    ("Class.method", Symbol("method", "Class")),
    ("a.b.Class.method", Symbol("method", "a.b.Class")),
    ("ns::Type::f", Symbol("f", "ns.Type")),
    ("Class#method", Symbol("method", "Class")),
    ("p->field", Symbol("field", "p")),
    ("App\\Models\\User", Symbol("User", "App.Models")),
    ("$variable", Symbol("variable", "", "$variable")),
    ("@field", Symbol("field")),
    ("open?", Symbol("open?")),
]


@pytest.mark.parametrize(("typed", "expected"), SYMBOLS)
def test_a_symbol_as_people_write_it(typed, expected):
    assert parse_symbol(typed) == expected


@pytest.mark.parametrize("typed", ["", ".", "two words", "a.b c", "$", "()"])
def test_what_is_no_symbol(typed):
    with pytest.raises(ToolError, match="is no name of a symbol") as caught:
        parse_symbol(typed)
    assert caught.value.code == ErrorCode.VALIDATION


def found(language, source, typed, path="pkg/mod.py"):
    data = source.encode()
    made = find_places(tags(language, data), SourceText(data), parse_symbol(typed), path)
    return [
        f"{one.line}:{one.column} {'=' if one.definition else ''}{one.kind}{'' if one.sure else '?'}" for one in made
    ]


PYTHON = """\
from core import Engine  # Engine
import core

class Car(Engine):
    "Engine"
    engine: "Engine" = Engine()
    def start(self, with_: Engine) -> None:
        self.start(f"Engine {Engine.start}")
        other.start(Engineer, Engine=core.Engine)

def start(): return Engine
"""
JAVASCRIPT = """\
import { open } from "./open";
/* open */ class Door { open() { return this.open(open, `open ${open}`, /open/); } }
const $open = door?.open
  .open(), s = 'open';
"""
BASH = """\
run() { echo run ./run run.sh "run $(run) $run"; }
trap run EXIT # run
"""
# Language, source, symbol, places: "=" marks definitions, "?" what is told by its name only.
FOUND = [
    (
        "python",
        PYTHON,
        "Engine",
        "1:18 import, 4:11 inherit, 6:14 type, 6:24 call, 7:28 type, 8:30 name, 9:31 name, 9:43 attribute, 11:21 name",
    ),
    ("python", PYTHON, "start", "7:9 =method, 8:14 call, 8:37 attribute, 9:15 call, 11:5 =function"),
    ("python", PYTHON, "Car.start", "7:9 =method, 8:14 call, 8:37 attribute?, 9:15 call?"),
    ("python", PYTHON, "Engine.start", "8:14 call?, 8:37 attribute, 9:15 call?"),
    ("python", PYTHON, "mod.start", "8:14 call?, 8:37 attribute?, 9:15 call?, 11:5 =function"),
    (
        "python",
        PYTHON,
        "core.Engine",
        "1:18 import, 4:11 inherit, 6:14 type, 6:24 call, 7:28 type, 8:30 name, 9:31 name, 9:43 attribute, 11:21 name",
    ),
    ("python", PYTHON, "missing", ""),
    (
        "javascript",
        JAVASCRIPT,
        "open",
        "1:10 import, 2:25 =method, 2:46 call, 2:51 name, 2:65 name, 3:21 attribute, 4:4 call",
    ),
    ("bash", BASH, "run", "1:1 =function, 1:14 name, 1:38 call, 1:44 name, 2:6 name"),
    (
        "c",
        "#define TWICE(x) plus(x)\nint plus(int x);\nint y = TWICE(plus(1)); // plus\n",
        "plus",
        "1:18 name, 2:5 =function, 3:15 call",
    ),
    (
        "ruby",
        "def empty?; end\nempty?\n# empty?\nputs 'empty?', \"#{empty?}\"\n",
        "empty?",
        "1:5 =function, 2:1 call, 4:19 call",
    ),
    (
        "php",
        "<?php\nfunction load($load) { return load($load, 'load'); }\n",
        "load",
        "2:10 =function, 2:16 name, 2:31 call, 2:37 name",
    ),
    ("python", "größe = 1\nprint(größe, große)\n", "größe", "1:1 =variable, 2:7 name"),
    ("python", 'def f(x: "list[Car]"): "Car"\n', "Car", "1:16 name"),
    ("javascript", "const $el = el\n$go(`$el ${$el}`)\n", "$el", "1:7 =variable, 2:12 name"),
    ("javascript", "class P { #x = 1; f() { return this.#x } }\n", "P.#x", "1:12 =variable, 1:38 attribute"),
    ("rust", "macro_rules! mac { () => {} }\nfn f() { mac!() }\n", "mac!", "1:14 =function, 2:10 call"),
]


@pytest.mark.parametrize(("language", "source", "typed", "expected"), FOUND)
def test_find_places(language, source, typed, expected):
    assert ", ".join(found(language, source, typed)) == expected


RECEIVERS = [
    ("x = ", None),
    ("os.path.", "os.path"),
    ("  return self.", "self"),
    ("ns::inner::", "ns.inner"),
    ("p->", "p"),
    ("door?.", "door"),
    ("super().", "super()"),
    ("  .", ""),
    ("f(x)[1].", ""),
]


@pytest.mark.parametrize(("before", "expected"), RECEIVERS)
def test_what_stands_before_a_name(before, expected):
    assert receiver(before) == expected


def test_names_that_are_near():
    lines = ["class Engine:", "engine = Engines()", "other words"]
    assert near("Enginee", lines) == ["Engine", "Engines", "engine"]
    assert near("ENGINE", lines) == ["Engine", "engine"]
    assert near("zzz", lines) == []
