"""`python`: a fresh interpreter on the workspace."""

import pytest


def test_it_prints_and_imports_from_the_workspace(kit, put):
    put({"mine.py": "VALUE = 42\n"})
    result = kit.call("python", {"code": "import mine, os\nprint(mine.VALUE, os.path.basename(os.getcwd()))"})
    assert (result.ok, result.text) == (True, "42 ws")


def test_a_traceback_is_short_and_names_no_temporary_file(kit):
    result = kit.call("python", {"code": "def f(n):\n    if n:\n        f(n - 1)\n    raise ValueError('bad')\nf(30)"})
    assert result.data["exit_code"] == 1
    assert "ValueError: bad" in result.text
    assert 'File "<code>", line 3, in f' in result.text
    assert "/tmp" not in result.text
    assert len(result.text.splitlines()) < 25


@pytest.mark.parametrize("code", ["x = input('name? ')", "import sys\nfor line in sys.stdin: print(line)"])
def test_code_that_waits_for_input_is_refused(kit, code):
    result = kit.call("python", {"code": code})
    assert result.error.code == "ValidationError"
    assert "stdin" in result.text


def test_input_that_only_running_shows_gets_a_hint(kit):
    result = kit.call("python", {"code": "ask = input\nask()"})
    assert result.data["exit_code"] == 1
    assert "Programs have no standard input (stdin) here: put the values into the code" in result.text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"code": " "}, "ValidationError"),
        ({"code": "print(1)", "timeout": -5}, "ValidationError"),
        ({"code": "import time; time.sleep(60)", "timeout": 0.5}, "TimeoutError"),
    ],
)
def test_bad_input(kit, arguments, code):
    assert kit.call("python", arguments).error.code == code


def test_a_syntax_error_says_where(kit):
    result = kit.call("python", {"code": "x = 1\nif x\n    pass"})
    assert "SyntaxError" in result.text
    assert "line 2" in result.text


def test_the_workspace_s_own_environment_is_used(kit, ws):
    folder = ws / ".venv/bin"
    folder.mkdir(parents=True)
    (folder / "python").write_text("#!/bin/sh\necho the project\\'s own\n")
    (folder / "python").chmod(0o755)
    assert kit.call("python", {"code": "print(1)"}).text == "the project's own"


def test_it_is_confined(kit, tmp_path, tier):
    outside = tmp_path / "outside"
    outside.write_text("for nobody\n")
    result = kit.call(
        "python", {"code": f"print(open({str(outside)!r}).read())\nopen({str(outside)!r}, 'a').write('x')"}
    )
    free = tier == "none"
    assert ("for nobody" in result.text, outside.read_text() != "for nobody\n") == (free, free)
