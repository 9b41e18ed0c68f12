"""`tests` and `lint` with cargo and rustfmt, where they are on PATH: `make toolchains`."""

import shutil

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("cargo") or not shutil.which("rustfmt"), reason="cargo or rustfmt is missing"),
]

LIB = """\
/// ```
/// assert_eq!(demo::add(1, 2), 3);
/// ```
pub fn add(a: i32, b: i32) -> i32 { a + b }
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn adds() { assert_eq!(add(1, 2), 3); }
    #[test]
    fn wrong() { assert_eq!(add(1, 2), 4); }
    #[test]
    #[ignore]
    fn later() {}
}
"""


def test_tests(run_tests, put):
    put({
        "Cargo.toml": '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": LIB,
        "tests/outer.rs": "#[test]\nfn outer() { assert_eq!(demo::add(1, 1), 2); }\n",
    })  # fmt: skip

    counts, text = run_tests()
    assert counts == [3, 1, 0, 1], text
    assert (
        "FAILED src/lib.rs::tests::wrong (src/lib.rs:11)\n  assertion `left == right` failed\n    left: 3\n   right: 4"
    ) in text
    assert run_tests(action="discover")[1] == (
        "5 tests in 2 files (cargo)\n"
        "src/lib.rs\n  tests::adds\n  tests::later\n  tests::wrong\n  add (line 1)\ntests/outer.rs\n  outer"
    )
    assert run_tests(path="src/lib.rs::tests::adds")[0] == [1, 0, 0, 0]
    assert run_tests(path="tests/outer.rs")[0] == [1, 0, 0, 0]
    assert "fits 'nope'" in run_tests(path="tests/outer.rs::nope")[1]
    assert "Coverage of cargo is not measured here." in run_tests(action="coverage")[1]
    put({"src/lib.rs": "pub fn add() -> i32 { nope }\n"})
    assert "cannot find value `nope`" in run_tests()[1]


def test_lint(kit, put, ws):
    put({
        "Cargo.toml": '[package]\nedition = "2021"\n',
        "src/lib.rs": "mod b;\nfn   a() { }\n",
        "src/b.rs": "fn b() {}\n",
        "src/bad.rs": "fn (\n",
    })  # fmt: skip
    found = kit.call("lint", {"path": "src"}).data["findings"]
    assert [(one["path"], one["code"]) for one in found] == [("src/bad.rs", "syntax"), ("src/lib.rs", "rustfmt")]
    assert kit.call("lint", {"action": "format", "path": "src/lib.rs"}).text.startswith(
        "Formatted 1 of 1 file (rustfmt).\nsrc/lib.rs\n@@ -1,2 +1,2 @@\n mod b;\n-fn   a() { }\n+fn a() {}"
    )
    assert (ws / "src/lib.rs").read_text() == "mod b;\nfn a() {}\n"
