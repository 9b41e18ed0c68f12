"""Programs of a project, and the files that they leave for us."""

import ast
import shutil
import sys
from pathlib import Path

import pytest

from toolroll.host.dev import projects


def test_the_nearest_program_of_the_project_comes_first(ctx, put, ws, monkeypatch):
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    put({"node_modules/.bin/tool": "", "web/node_modules/.bin/tool": "", "web/.venv/bin/python": "", "notes/tool": ""})
    for path in ("node_modules/.bin/tool", "web/node_modules/.bin/tool", "web/.venv/bin/python"):
        (ws / path).chmod(0o755)
    assert ctx.projects.program("tool", "web/src") == f"{ws}/web/node_modules/.bin/tool"
    assert ctx.projects.program("tool", "notes") == f"{ws}/node_modules/.bin/tool"
    assert ctx.projects.program("no-such-tool", "web") is None
    assert ctx.projects.python("web/src") == f"{ws}/web/.venv/bin/python"
    assert ctx.projects.python("notes") == shutil.which("python3")


def test_scripts_go_with_all_that_lies_beside_them(ctx, ws):
    with ctx.projects.scripts({"one": ("text", ".txt")}) as made:
        path = Path(made["one"])
        assert path.read_text() == "text"
        assert ws not in path.parents
        Path(f"{path}.d").mkdir()
        Path(f"{path}.d/x").write_text("more")
        assert projects.read_report(str(path), ".d/x") == b"more"
    assert not list(path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd"])
def test_a_link_in_place_of_a_report_is_not_followed(tmp_path, target):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "temp").mkdir()
    link = tmp_path / "temp/report"
    link.symlink_to(target)
    assert link.read_bytes(), "the plain way follows it"
    assert projects.read_report(str(link)) == b""


@pytest.mark.parametrize("name", ["run_pytest", "run_unittest", "measure_coverage", "check_syntax"])
def test_drivers_run_on_old_pythons_without_us(name):
    tree = ast.parse(projects.driver_source(name), feature_version=(3, 8))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    tops = {module.partition(".")[0] for module in imported}
    assert tops <= {*sys.stdlib_module_names, "pytest", "coverage"}
