"""Which Python runs: the same in `bash`, `python` and `tests`."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from toolroll.host.shell.interpreter import find_python, name_python, names_program, walk_up
from toolroll.policy.rules import PRESETS, Policy

MINE = "#!/bin/sh\necho mine\n"


@pytest.fixture
def project(put, ws):
    put({".venv/bin/python": MINE, "sub/deep/a": "", "sub/venv/bin/python": MINE})
    for name in (".venv", "sub/venv"):
        (ws / name / "bin/python").chmod(0o755)
    return ws


@pytest.mark.parametrize(("folder", "folders"), [(".", ["."]), ("", ["."]), ("a/b", ["a/b", "a", "."])])
def test_above(folder, folders):
    assert list(walk_up(folder)) == folders


def test_the_nearest_environment_then_the_active_one_then_path_then_ours(project: Path, tmp_path: Path) -> None:
    assert find_python(str(project), "sub/deep", {}) == f"{project}/sub/venv/bin/python"
    assert find_python(str(project), ".", {"VIRTUAL_ENV": f"{project}/sub/venv"}) == f"{project}/.venv/bin/python"
    active = {"VIRTUAL_ENV": f"{project}/gone", "CONDA_PREFIX": f"{project}/sub/venv"}
    assert find_python(str(tmp_path), ".", active) == f"{project}/sub/venv/bin/python"
    on_path = {"VIRTUAL_ENV": "/gone", "PATH": f"/gone:{project}/sub/venv/bin"}
    assert find_python(str(tmp_path), ".", on_path) == f"{project}/sub/venv/bin/python"
    assert find_python(str(tmp_path), ".", {"PATH": "/gone"}) == sys.executable


def test_bash_and_python_run_the_environment_of_the_workspace(open_kit, project: Path) -> None:
    kit = open_kit(policy=Policy(sandbox="none"))
    assert kit.call("bash", {"command": "which python; echo $VIRTUAL_ENV"}).text == (
        f"{project}/.venv/bin/python\n{project}/.venv"
    )
    assert kit.call("bash", {"command": "python x.py; which python", "cwd": "sub/deep"}).text == (
        f"mine\n{project}/sub/venv/bin/python"
    )
    ran = kit.call("python", {"code": "1"})
    assert (ran.text, ran.meta["python"]) == ("mine", f"{project}/.venv/bin/python")
    (project / ".venv/bin/python").write_text("#!/bin/sh\necho 'ModuleNotFoundError: No module named x' >&2\nexit 1\n")
    for call in (("python", {"code": "import x"}), ("bash", {"command": "python -c 'import x'"})):
        assert kit.call(*call).text.endswith(f"Ran with {project}/.venv/bin/python."), call


@pytest.mark.parametrize("active", [True, False])
def test_all_run_the_same_python_in_a_workspace_without_environment(monkeypatch, open_kit, put, tmp_path, active):
    other = tmp_path / "other/bin"
    other.mkdir(parents=True)
    for name in ("python", "python3"):
        (other / name).write_text(f'#!/bin/sh\nOTHER=yes exec {sys.executable} "$@"\n')
        (other / name).chmod(0o755)
    monkeypatch.setenv("PATH", "/usr/bin:/bin" if active else f"{other}:/usr/bin:/bin")
    monkeypatch.setenv("VIRTUAL_ENV", str(other.parent) if active else "/gone")
    code = "import os\nassert os.environ.get('OTHER') == 'yes'\n"
    put({"test_a.py": f"{code}\ndef test_a(): pass\n", "a.py": code})
    kit = open_kit(policy=Policy(sandbox="none"))
    ran = kit.call("python", {"code": code})
    assert (ran.text, ran.meta["python"]) == ("(no output)", f"{other}/python{'' if active else '3'}")
    assert kit.call("bash", {"command": "python3 a.py; echo $?"}).text == "0"
    tested = kit.call("tests", {})
    assert (tested.data["passed"], "Ran with" in tested.text) == (1, False)


def test_our_own_python_is_named_and_has_the_packages_that_another_lacks(monkeypatch, open_kit, put, tmp_path):
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    named = f"Ran with {sys.executable}, which runs toolroll."
    kit = open_kit(policy=Policy(sandbox="none"))
    assert kit.call("python", {"code": "print(1)"}).text == f"1\n{named}"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without packages
    (tmp_path / "bin/python3").chmod(0o755)
    put({"test_a.py": "def test_a(): pass\n"})
    tested = kit.call("tests", {})
    assert (tested.data["passed"], tested.text.splitlines()[-1]) == (1, named)


def test_a_python_before_3_11_runs_code(open_kit, put, ws: Path) -> None:
    put({".venv/bin/python": '#!/bin/sh\n[ "$1" = -P ] && { echo "Unknown option: -P"; exit 2; }\necho "$#"\n'})
    (ws / ".venv/bin/python").chmod(0o755)
    assert open_kit(policy=Policy(sandbox="none")).call("python", {"code": "1"}).text == "1"


def test_a_program_in_the_workspace_is_not_taken_for_one_that_only_reads(open_kit, project: Path, put) -> None:
    put({".venv/bin/ls": "#!/bin/sh\necho evil\n"})
    (project / ".venv/bin/ls").chmod(0o755)
    kit = open_kit(policy=replace(PRESETS["ask"], sandbox="none"))
    for command in ("ls", "python --version", "cat a; ls"):
        assert "was refused" in kit.call("bash", {"command": command}).text, command
    assert "evil" not in kit.call("bash", {"command": "'l's sub"}).text
    assert kit.call("bash", {"command": "cat sub/deep/a"}).text == "(no output)"


def test_names_of_programs(project: Path, tmp_path: Path) -> None:
    for text in ("cd x && python -V", "'pyth'\"on\"", "p\\ython", "pyt\\\nhon", "$'\\x70ython'"):
        assert names_program(text, str(project), "."), text
    assert not names_program("pythonic", str(project), ".")
    assert not names_program("python", str(tmp_path / "state"), ".")
    assert name_python("fine", "python") == ""


def test_a_folder_that_is_no_path(kit) -> None:
    assert kit.call("bash", {"command": "echo", "cwd": "a\0b"}).error.code == "SecurityError"
