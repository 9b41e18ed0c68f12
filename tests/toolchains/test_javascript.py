"""`tests` and `lint` with jest, vitest, node --test, eslint and prettier from npm: `make toolchains`."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.npm import node
from toolroll import Policy

pytestmark = pytest.mark.slow

IMPORTS = {
    "jest": "const { sum } = require('../sum.js');\n",
    "vitest": "import { describe, it, expect } from 'vitest';\nimport { sum } from '../sum.js';\n",
    "node": "const { describe, it } = require('node:test');\nconst assert = require('node:assert');\n"
    "const { sum } = require('../sum.js');\n",
}
TEST = """\
describe('sum', () => {
  it('adds', () => { CHECK(3); });
  it('wrong', () => { CHECK(4); });
  it.skip('later', () => {});
});
"""


@pytest.fixture
def packages(monkeypatch):
    """The folder node_modules, with the Node of the development requirements on PATH."""
    monkeypatch.setenv("PATH", os.path.dirname(node.program()), prepend=os.pathsep)
    return node.packages(Path(__file__).with_name("package.json"))


@pytest.fixture
def kit(open_kit, packages, ws):
    (ws / "node_modules").symlink_to(packages)
    return open_kit(policy=Policy(readable=(str(packages),)))


@pytest.mark.parametrize("name", ["jest", "vitest", "node"])
def test_tests(run_tests, put, ws, name):
    package = {"scripts": {"test": "node --test"}} if name == "node" else {"devDependencies": {name: "*"}}
    checks = "assert.strictEqual(sum(1, 2), " if name == "node" else "expect(sum(1, 2)).toBe("
    put({
        ".gitignore": "node_modules\n",
        "package.json": json.dumps(package),
        "sum.js": "export const sum = (a, b) => a + b;\n" if name == "vitest" else "exports.sum = (a, b) => a + b;\n",
        "test/sum.test.js": IMPORTS[name] + TEST.replace("CHECK(", checks),
        "test/other.test.js": IMPORTS[name].replace("../sum.js", "node:path") + "it('other', () => {});\n",
    })  # fmt: skip
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=ws, check=True)

    line = IMPORTS[name].count("\n") + 3
    counts, text = run_tests()
    assert counts == [2, 1, 0, 1], text
    assert f"FAILED test/sum.test.js::sum > wrong (test/sum.test.js:{line})" in text
    assert "test/sum.test.js" in run_tests(action="discover")[1]
    assert run_tests(path="test/sum.test.js::sum > adds")[0] == [1, 0, 0, 0]
    assert run_tests(keyword="wrong")[0] == [0, 1, 0, 0]
    assert run_tests(path="test/other.test.js")[0] == [1, 0, 0, 0]
    assert "fits 'nope'" in run_tests(path="test/sum.test.js::nope")[1]
    _, covered = run_tests(action="coverage")
    assert ("@vitest/coverage-v8" if name == "vitest" else "100%  sum.js") in covered
    with (ws / "sum.js").open("a") as file:
        file.write("// changed\n")
    assert run_tests(affected=True)[0] == ([2, 1, 0, 1] if name == "node" else [1, 1, 0, 1])
    put({"test/bad.test.js": "it('bad', ( => {});\n"})
    counts, text = run_tests()
    assert counts == [2, 1, 1, 1], text
    assert "ERROR test/bad.test.js" in text
    assert "Here's what you can do" not in text


ESLINT = {"eslint.config.mjs": "export default [{ rules: { 'no-var': 'error' } }];\n"}


@pytest.mark.parametrize(
    ("name", "action", "settings", "before", "after"),
    [
        ("eslint", "fix", ESLINT, "var x = 1;\n", "let x = 1;\n"),
        ("prettier", "format", {".prettierrc": "{}\n"}, "let   x = 1\n", "let x = 1;\n"),
    ],
)
def test_lint(kit, put, ws, name, action, settings, before, after):
    put({"package.json": f'{{"devDependencies": {{"{name}": "*"}}}}', "a.js": before, **settings})
    found = kit.call("lint", {"path": "a.js"})
    assert [one["path"] for one in found.data["findings"]] == ["a.js"], found.text
    # Both are installed; one that has no configuration keeps nothing from the other.
    assert ("eslint could not look: " in found.text) is (name == "prettier")
    assert kit.call("lint", {"action": action, "path": "a.js"}).ok
    assert (ws / "a.js").read_text() == after
    put({"a.js": "let x = ;\n"})
    assert "syntax" in kit.call("lint", {"path": "a.js"}).text
