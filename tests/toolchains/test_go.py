"""`tests` and `lint` with go and gofmt, where they are on PATH: `make toolchains`."""

import shutil

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("go") or not shutil.which("gofmt"), reason="go or gofmt is missing"),
]

TEST = """\
package demo

import "testing"

func TestOk(t *testing.T) {
	t.Run("sub one", func(t *testing.T) {})
}

func TestWrong(t *testing.T) {
	if Sum(1, 2) != 4 {
		t.Errorf("got %d", Sum(1, 2))
	}
}

func TestLater(t *testing.T) { t.Skip("later") }
"""
PANIC = 'package sub\n\nimport "testing"\n\nfunc TestPanic(t *testing.T) { var m map[string]int; m["a"] = 1 }\n'


def test_lint(kit, put, ws):
    put({"a.go": "package a\nfunc  f() { }\n", "bad.go": "package a\nfunc (\n"})
    found = kit.call("lint", {}).data["findings"]
    assert [(one["path"], one["code"]) for one in found] == [("bad.go", "syntax"), ("a.go", "gofmt")]
    formatted = kit.call("lint", {"action": "format", "path": "a.go"})
    assert formatted.text.startswith("Formatted 1 of 1 file (gofmt)."), formatted.text
    assert (ws / "a.go").read_text() == "package a\n\nfunc f() {}\n"


def test_tests(run_tests, put):
    put({
        "go.mod": "module demo\n\ngo 1.18\n",
        "a.go": "package demo\n\nfunc Sum(a, b int) int { return a + b }\n",
        "a_test.go": TEST,
        "sub/b_test.go": PANIC,
    })  # fmt: skip
    counts, text = run_tests()  # compiles the standard library once
    assert counts == [2, 2, 0, 1], text
    assert "FAILED .::TestWrong (a_test.go:11)\n  a_test.go:11: got 3" in text
    assert "FAILED sub::TestPanic (sub/b_test.go:5)\n  panic: assignment to entry in nil map" in text
    assert run_tests(action="discover")[1] == (
        "4 tests in 2 files (go)\n.\n  TestOk\n  TestWrong\n  TestLater\nsub\n  TestPanic"
    )
    assert run_tests(path="a_test.go::TestOk/sub one")[0] == [2, 0, 0, 0]
    assert run_tests(keyword="Wrong")[0] == [0, 1, 0, 0]
    assert run_tests(path="sub")[0] == [0, 1, 0, 0]
    assert "fits 'TestNope'" in run_tests(path="a_test.go::TestNope")[1]
    assert " 100%  a.go" in run_tests(action="coverage")[1]
    put({"sub/b_test.go": "package sub\nfunc x() { nope }\n"})
    counts, text = run_tests()
    assert counts == [2, 1, 1, 1], text
    assert "ERROR sub (sub/b_test.go:2)\n  sub/b_test.go:2:12: undefined: nope" in text
