"""What `cargo test` prints."""

import pytest

from toolroll.text.dev.tests.cargo import read
from toolroll.text.dev.tests.model import Case, Failure, Frame, Raw

RUN = """\
   Compiling demo v0.1.0 (/w)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 1.27s
     Running unittests src/lib.rs (target/debug/deps/demo-8348ca7a80742723)

running 4 tests
test tests::later ... ignored
test tests::adds ... ok
test tests::panics - should panic ... ok
test tests::wrong ... FAILED

failures:

---- tests::wrong stdout ----
printed

thread 'tests::wrong' (5021) panicked at src/lib.rs:12:39:
assertion `left == right` failed
  left: 3
 right: 4
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::wrong

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.25s

error: test failed, to rerun pass `--lib`
     Running tests/outer.rs (target/debug/deps/outer-c3f780f4ebc756c0)

running 1 test
test outer ... FAILED

failures:

---- outer stdout ----
Error: "no"


failures:
    outer

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests demo

running 1 test
test src/lib.rs - add (line 2) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.17s
"""
LIST = """\
     Running unittests src/lib.rs (target/debug/deps/demo-8348ca7a80742723)
tests::adds: test
     Running tests/outer.rs (target/debug/deps/outer-c3f780f4ebc756c0)
outer: test
   Doc-tests demo
src/lib.rs - add (line 2): test
"""


def raw(output, action="run"):
    return Raw(action, "/w", ".", "", output)


def test_a_run():
    run = read(raw(RUN))
    assert run.tests == [
        Case("src/lib.rs::tests::later", "src/lib.rs", None, "skipped"),
        Case("src/lib.rs::tests::adds", "src/lib.rs"),
        Case("src/lib.rs::tests::panics", "src/lib.rs"),
        Case("src/lib.rs::tests::wrong", "src/lib.rs", None, "failed"),
        Case("tests/outer.rs::outer", "tests/outer.rs", None, "failed"),
        Case("src/lib.rs::add (line 2)", "src/lib.rs", 2),
    ]
    message = "assertion `left == right` failed\n  left: 3\n right: 4"
    assert run.failures == [
        Failure("src/lib.rs::tests::wrong", "src/lib.rs", 12, "failed", message, [Frame("src/lib.rs", 12)], "printed"),
        Failure("tests/outer.rs::outer", "tests/outer.rs", None, "failed", 'Error: "no"'),
    ]
    assert (run.ended, run.deselected) == (True, 3)


def test_a_program_that_ends_itself():
    text = RUN.replace("test outer ... FAILED", "error: test failed, to rerun pass `--test outer`\n\nCaused by:\n  process didn't exit successfully: `/w/target/outer` (exit status: 7)").replace("---- outer stdout ----\nError: \"no\"\n", "").replace("test result: FAILED. 0 passed; 1 failed", "")  # fmt: skip
    run = read(raw(text))
    why = "Its program ended (exit status: 7) with 1 tests not over."
    assert run.failures[1:] == [Failure("tests/outer.rs", "tests/outer.rs", None, "error", why)]
    assert (run.ended, read(raw(text[: text.index("Caused by")])).ended) == (True, False)


@pytest.mark.parametrize("said", ["panicked at 'no luck', src/lib.rs:3:5", "panicked at src/lib.rs:3:5:\nno luck"])
def test_old_and_new_panics(said):
    text = f"     Running unittests src/lib.rs (x)\n\n---- a stdout ----\nthread 'a' {said}\n\n\nfailures:\n"
    assert read(raw(text)).failures == [
        Failure("src/lib.rs::a", "src/lib.rs", 3, "failed", "no luck", [Frame("src/lib.rs", 3)])
    ]


def test_listed():
    assert read(raw(LIST, "discover")).tests == [
        Case("src/lib.rs::tests::adds", "src/lib.rs"),
        Case("tests/outer.rs::outer", "tests/outer.rs"),
        Case("src/lib.rs::add (line 2)", "src/lib.rs", 2),
    ]


def test_what_does_not_compile_is_no_run():
    run = read(raw("   Compiling demo v0.1.0 (/w)\nerror[E0425]: cannot find value `x`\n --> src/lib.rs:1:1\n"))
    assert (run.ended, run.tests, run.failures) == (False, [], [])
