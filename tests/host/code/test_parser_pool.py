"""Parsing in children: what a hostile source does to them, and that the next one is parsed all the same."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from tests.launchers import LAUNCHER
from tests.waiting import gone
from toolroll import ErrorCode, Token, ToolError
from toolroll.host.code.parser_pool import ParserPool, TooHardError
from toolroll.text.code.map import file_facts
from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.tags import tags

CRASHES = b"- " * 20_000  # of YAML: each level is kept in a buffer that is too small for so many
ENDLESS = b"a?" * 60_000  # of Bash: the repair of errors takes time with the square of their number


@pytest.fixture
def parsers():
    made = ParserPool(LAUNCHER, 2)
    yield made
    made.close()


def parse(parsers, language, source, token=None):
    (made,) = parsers.every_tags([(language, source)], token)
    if isinstance(made, Exception):
        raise made
    return made


def children():
    """The processes that this one has started and that still run, by their numbers."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # that thread has ended just now
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are counted in /proc")


def test_a_child_gives_what_the_function_gives(parsers):
    source = b"class A:\n    def f(self): return g(1)\n"
    ours, expected = parse(parsers, "python", source), tags("python", source)
    assert (ours.facts, ours.definitions, ours.uses) == (expected.facts, expected.definitions, expected.uses)
    assert parsers.every_match([("python", source)], "g($A)")[0][0].text == "g(1)"


def test_every_language_loads_within_the_limits_of_a_child(parsers):
    """A query that takes seconds to compile would make each source of its language too hard."""
    for name in languages.names():
        assert parse(parsers, name, b"").definitions == ()


def test_a_source_that_crashes_the_parser(parsers):
    with pytest.raises(TooHardError, match="crashed the parser"):
        parse(parsers, "yaml", CRASHES)
    assert parse(parsers, "yaml", b"a: 1\n").definitions[0].name == "a"


def test_of_many_sources_only_the_hard_one_fails(parsers):
    made = parsers.every_tags([("yaml", b"a: 1\n"), ("yaml", CRASHES), ("yaml", b"b: 1\n")], whole=False)
    assert [isinstance(one, TooHardError) or one.definitions[0].name for one in made] == ["a", True, "b"]
    assert parsers.every_tags([]) == []


def test_sheets_are_those_that_the_function_makes(parsers):
    source = "class Größe:\n    def f(self): return g(1)\n".encode()
    with_tags, of_text = parsers.every_facts([("python", source), ("", source)], None)
    assert with_tags == msgspec.msgpack.encode(file_facts.make_facts(source.decode(), tags("python", source)))
    assert of_text == msgspec.msgpack.encode(file_facts.make_facts(source.decode(), None))


def test_without_a_child_it_would_crash_us():
    code = f"from toolroll.text.code.syntax.tags import tags; tags('yaml', {CRASHES[:4]!r} * 10_000)"
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGSEGV


@pytest.mark.slow
def test_a_source_that_takes_the_parser_long(parsers):
    with pytest.raises(TooHardError, match="took too long"):
        parse(parsers, "bash", ENDLESS)
    assert parse(parsers, "bash", b"f() { :; }\n").definitions[0].name == "f"


def test_a_call_that_is_cancelled_or_late_does_not_wait(parsers):
    late = Token(0.2)
    started = time.monotonic()
    with pytest.raises(ToolError) as caught:
        parse(parsers, "bash", ENDLESS, late)
    assert caught.value.code == ErrorCode.TIMEOUT
    cancelled = Token()
    threading.Timer(0.2, cancelled.cancel).start()
    with pytest.raises(ToolError) as caught:
        parse(parsers, "bash", ENDLESS, cancelled)
    assert caught.value.code == ErrorCode.CANCELLED
    assert time.monotonic() - started < 50


@needs_proc
@pytest.mark.parametrize("how", [signal.SIGALRM, signal.SIGKILL])
def test_a_child_that_ended_meanwhile_is_replaced(parsers, how):
    before = children()
    parse(parsers, "python", b"a = 1\n")
    (pid,) = children() - before
    os.kill(pid, how)
    if how == signal.SIGKILL:  # something is wrong with it: told once
        with pytest.raises(TooHardError):
            parse(parsers, "python", b"a = 1\n")
    assert parse(parsers, "python", b"a = 1\n").definitions[0].name == "a"


@needs_proc
def test_children_are_few_and_end_with_their_parent(parsers):
    before = children()
    sources = [f"def f{number}(): pass\n".encode() for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda source: parse(parsers, "python", source).definitions[0].name, sources))
    assert found == [f"f{number}" for number in range(40)]
    started = children() - before
    assert len(started) == 2
    parsers.close()
    assert children() & started == set()
    with pytest.raises(ToolError) as caught:
        parse(parsers, "python", b"a = 1\n")
    assert caught.value.code == ErrorCode.CANCELLED


@needs_proc
def test_children_end_when_their_parent_is_killed():
    code = (
        "import os, signal; from tests.launchers import LAUNCHER; from toolroll.host.code.parser_pool import ParserPool; parsers = ParserPool(LAUNCHER, 1);"
        "parsers.every_tags([('python', b'a = 1')]);"
        "print(open(f'/proc/self/task/{os.getpid()}/children').read(), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.PIPE, text=True)
    (pid,) = done.stdout.split()
    assert gone(int(pid))


def test_a_child_gets_nothing_of_our_environment(monkeypatch, parsers):
    """A grammar is a program of others: what it does not need it does not get."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("the environment of a process is read in /proc")
    monkeypatch.setenv("SOME_TOKEN", "secret")
    before = children()
    parse(parsers, "python", b"a = 1\n")
    (pid,) = children() - before
    names = {entry.partition(b"=")[0] for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if entry}
    assert names == {b"PATH", b"LANG"}


def test_work_is_spread_in_order_and_only_much_of_it_over_several(parsers):
    def seen(part):
        time.sleep(0.01)
        return threading.get_ident(), list(part)

    few, many = list(parsers.spread(seen, range(100))), list(parsers.spread(seen, range(1000)))
    assert [one for _, part in few for one in part] == list(range(100))
    assert [one for _, part in many for one in part] == list(range(1000))
    assert {who for who, _ in few} == {threading.get_ident()}
    assert len({who for who, _ in many} - {threading.get_ident()}) == parsers.most


def test_work_that_fails_ends_the_rest(parsers):
    done = []

    def fail(part):
        done.append(part)
        raise ToolError(ErrorCode.CANCELLED, "Enough.")

    with pytest.raises(ToolError, match="Enough"):
        list(parsers.spread(fail, range(16_000)))
    assert len(done) < 1000
