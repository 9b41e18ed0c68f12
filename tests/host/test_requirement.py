"""What is said of a package of an extra that is missing or of another version, and that nothing else imports one."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import toolroll
from toolroll.host.requirement import add_extra, install_command, require

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "toolroll"


def test_a_version_in_range_is_taken():
    require("dev", "pytest>=9,<100")


@pytest.mark.parametrize(
    ("requirement", "said"),
    [
        ("no-such-framework>=1.4,<2", "it is not installed"),
        ("pytest>=100.2,<101", f"{pytest.__version__} is installed"),
        ("pytest>=1,<9.0.1", f"{pytest.__version__} is installed"),
    ],
)
def test_another_version_or_none_is_named_with_the_command_that_helps(requirement, said):
    wanted = f"toolroll[langchain] needs {requirement}, but {said}. Run: {add_extra('langchain')}"
    with pytest.raises(ImportError, match=re.escape(wanted)):
        require("langchain", requirement)


@pytest.mark.parametrize(
    ("prefix", "origin", "pip", "command"),
    [
        ("/opt/env", "", True, "PY -m pip install 'toolroll[code]'"),
        ("/opt/env", "", False, "uv pip install --python PY 'toolroll[code]'"),
        ("/opt/env", "-e /src/toolroll", True, "PY -m pip install -e '/src/toolroll[code]'"),
        ("/opt/env", "/src/toolroll", True, "PY -m pip install '/src/toolroll[code]'"),
        ("/opt/env", "git+https://x/t", True, "PY -m pip install 'toolroll[code] @ git+https://x/t'"),
        ("/h/.local/share/uv/tools/toolroll", "", False, "uv tool install 'toolroll[mcp,code]'"),
        ("/h/.local/share/uv/tools/toolroll", "/src", False, "uv tool install '/src[mcp,code]'"),
        ("/h/.local/share/pipx/venvs/toolroll", "", True, "pipx runpip toolroll install 'toolroll[code]'"),
        ("/h/.cache/uv/archive-v0/x1", "", False, "uvx --from 'toolroll[code]' toolroll"),
    ],
)
def test_the_command_fits_how_this_copy_was_installed(prefix, origin, pip, command):
    assert install_command("code", ["mcp"], prefix, "PY", origin, pip=pip) == command


def required(module: Path) -> list[tuple[str, str]]:
    calls = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Call)]
    found = [node.args for node in calls if isinstance(node.func, ast.Name) and node.func.id == "require"]
    return [tuple(ast.literal_eval(one) for one in arguments) for arguments in found]


def test_each_module_requires_what_its_extra_installs():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    modules = [*SOURCE.glob("adapters/*.py"), *SOURCE.glob("fleet/engines/*.py")]
    found = [one for module in modules for one in required(module)]
    assert found
    assert [(extra, requirement) for extra, requirement in found if requirement not in extras[extra]] == []


def test_no_framework_is_imported_before_its_adapter():
    code = "import sys, toolroll.adapters, toolroll.kit; print(sorted({one.partition('.')[0] for one in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"langchain_core", "pydantic", "agents", "anthropic", "smolagents", "agno", "google", "ray"} & set(
        ast.literal_eval(done.stdout)
    )


def test_an_adapter_is_an_attribute_of_the_package():
    assert toolroll.adapters.approvals.__name__ == "toolroll.adapters.approvals"
    with pytest.raises(AttributeError, match="There is no adapter 'no_such'"):
        _ = toolroll.adapters.no_such
