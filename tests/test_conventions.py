"""The rules of the house that a program can check."""

import ast
import gc
import json
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.purity import ALLOWED, find_impure_imports
from toolroll import tools as builtin
from toolroll.registry import discover

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "toolroll"
MODULES = sorted(SOURCE.rglob("*.py"))
HOST = SOURCE / "host"


def relative(path):
    return str(path.relative_to(ROOT))


@cache
def calls(tree):
    """The dotted names of everything that a module calls."""
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


@pytest.fixture(scope="module")
def trees():
    """Every module of the package, parsed once for all that is asked of it."""
    gc.disable()  # none of it is garbage, and to look for some takes longer than to parse
    try:
        return {module: ast.parse(module.read_text()) for module in MODULES}
    finally:
        gc.enable()


def broken(trees, rule, among=MODULES):
    """The modules that break a rule, each with what it breaks it by."""
    return {relative(module): found for module in among if (found := rule(module, trees[module]))}


def test_modules_and_functions_are_small(trees):
    def long(module, tree):
        lines, limit = module.read_text().count("\n"), 150 if "tools" in module.parts else 500
        sizes = {
            node.name: node.end_lineno - node.lineno + 1
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        return ([lines] if lines > limit else []) + [name for name, size in sizes.items() if size > 45]

    assert broken(trees, long) == {}


# A folder in which each file is one of many of a kind, found by listing it, grows with their number.
ONE_OF_A_KIND = {SOURCE / name for name in ("dialects", "text/code/syntax/languages")} | set(
    (SOURCE / "tools").glob("*/")
)
MAX_MODULES = 20


def test_folders_are_small():
    folders = {module.parent for module in MODULES} - ONE_OF_A_KIND
    sizes = {relative(folder): len(list(folder.glob("*.py"))) for folder in sorted(folders)}
    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES} == {}


def test_a_package_says_what_it_is_for_in_five_lines(trees):
    packages = [module for module in MODULES if module.name == "__init__.py" and HOST in module.parents]
    long = {relative(one): len((ast.get_docstring(trees[one]) or "").splitlines()) for one in packages}
    assert {name: lines for name, lines in long.items() if not 1 <= lines <= 5} == {}


def test_no_public_class_name_is_used_twice(trees):
    homes = defaultdict(list)
    for module, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(relative(module))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_the_context_is_known_to_no_engine(trees):
    def knows(_, tree):
        imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        return [name for name in imported if name == "toolroll.host.context"]

    assert broken(trees, knows, [module for module in MODULES if HOST in module.parents]) == {}


# The command line reads the files that its own user names.
HANDLESS = [module for module in MODULES if HOST not in module.parents and "cli" not in module.parts]
HANDS = (
    "open",
    "os.open",
    "os.rename",
    "os.remove",
    "os.unlink",
    "os.mkdir",
    "os.scandir",
    "os.listdir",
    "subprocess.",
)


def test_only_the_host_touches_the_world(trees):
    def hands(_, tree):
        return [name for name, _ in calls(tree) if name.startswith(HANDS) and name != "opener"]

    assert broken(trees, hands, HANDLESS) == {}
    pure = [module for module in MODULES if module.relative_to(SOURCE).parts[0] in ALLOWED]
    assert broken(trees, find_impure_imports, pure) == {}


def test_one_module_writes_to_the_terminal(trees):
    """What the command line prints may hold text of others: `screen.write` escapes it."""

    def writes(_, tree):
        made = [(name, ast.unparse(node.args[0]) if node.args else "") for name, node in calls(tree)]
        printed = {name for name, _ in made if name == "print" or name.endswith(("stdout.write", "stderr.write"))}
        return [*printed, *(to for name, to in made if name == "os.write" and (to in ("1", "2") or "sys.std" in to))]

    # The others: fixed texts, and programs of their own whose output is a protocol.
    own = ["cli/__init__", "cli/screen", "cli/completion", "host/error_line", "host/fleet/node_start"]
    own += ["host/shell/code_client", "host/convert/child", "mcp/http/__init__"]
    paths = {SOURCE / f"{name}.py" for name in own} | {one for one in MODULES if "drivers" in one.parts}
    assert broken(trees, writes, [module for module in MODULES if module not in paths]) == {}


@pytest.mark.parametrize(
    "line",
    [
        "import sqlite3",
        "import linecache",
        "import importlib",
        "from toolroll.host import requirement",
        "__import__('os')",
    ],
)
@pytest.mark.parametrize("room", ["text/lines.py", "policy/paths.py"])
def test_pure_code_imports_only_what_is_listed(room, line):
    assert find_impure_imports(SOURCE / room, ast.parse("import re\nfrom toolroll.result import ToolError")) == []
    assert find_impure_imports(SOURCE / room, ast.parse(line)) != []


# Who frames messages by itself, and why it is not `host/rpc`.
FRAMINGS = {
    "host/rpc/codecs": "the one",
    "host/runtime/python_child": "one request and one answer of our own Python children, which import nothing of ours",
    "host/code/parser_child": "its other end",
    "host/models/embedding/child": "its other end",
    "host/shell/code_client": "runs inside a program of the model: no module of ours can be there",
    "fleet/engines/arrivals": "a node's base comes as an archive behind a line, before there is a channel",
    "fleet/engines/pipes": "its other end",
    "fleet/engines/local": "the first line of a template, before there is a channel",
    "host/fleet/node_start": "runs where toolroll is not yet",
    "daemon/start": "one word of a process that has started",
    "host/network/proxy": "HTTP",
    "host/network/tls_route": "HTTP",
    "mcp/http/connection": "HTTP",
    "cli/screen": "what a person types",
    "host/daemon/client": "starts in 10 ms: one call, with no module of Python's library",
    "host/convert/converter": "what our own Python child says, line by line",
    "host/convert/child": "its other end",
    "host/dev/drivers/run_pytest": "runs inside a test run of the user",
    "cli/fleet/run": "results in a file",
    "host/files/journal/log": "a file",
    "host/knowledge/call_log": "a file",
    "host/files/journal/pending": "a file",
    "host/daemon/log": "a file",
    "host/fleet/frozen": "names of files",
    "host/search/python_engine": "lines of a file",
    "text/code/syntax/source": "lines of a file",
    "text/code/syntax/tags": "lines of a file",
    "host/files/file_ops": "a number of a digest",
    "host/runtime/process_marks": "a random number",
}
# The default; frames of our own children; and a fleet's, which hold the largest file that a lease reads.
LIMITS = {"host/rpc/codecs", "host/runtime/python_child", "fleet/worker"}
_FRAMING = re.compile(
    r"Content-Length|(?:to|from)_bytes\(.*\"big\"|SIZE_BYTES|\.readline\(|\.readexactly\(|\.(?:r?partition|split)\(b\"\\n\"\)"
    r"|(?:encode|dumps)\(.*\).* \+ b\"\\n\""
)


def test_messages_are_framed_in_one_place():
    """One channel: one way to frame, one limit, one "the peer is gone"."""
    texts = {str(one.relative_to(SOURCE).with_suffix("")): one.read_text() for one in MODULES}
    framing = {name for name, text in texts.items() if _FRAMING.search(text)}
    assert framing == FRAMINGS.keys()
    gone = {
        name for name, text in texts.items() if re.search(r"^class \w+\((?:ConnectionError|EOFError)\)", text, re.M)
    }
    limits = {name for name, text in texts.items() if re.search(r"^_?MAX_(?:MESSAGE|FRAME)_BYTES = .*<<", text, re.M)}
    assert (gone, limits) == ({"host/rpc/codecs"}, LIMITS)


FORBIDDEN = (
    "os.system",
    "os.popen",
    "subprocess.run",
    "subprocess.check_output",
    "subprocess.call",
    "os.path.realpath",
)
# Where the root itself is opened there is nothing above it to be beneath; the launcher looks for programs outside of it.
# What trust.py, settings.py and the daemon's client resolve is only compared.
MAY_RESOLVE = {
    HOST / "daemon" / "client.py",
    HOST / "files" / "root.py",
    HOST / "doctor.py",
    HOST / "files" / "trust.py",
    HOST / "runtime" / "launcher.py",
    HOST / "settings.py",
}


def test_no_naive_way_into_the_world(trees):
    """A path is never resolved first and opened later; no shell, no unbounded capture, no code between fork and exec."""

    def naive(module, tree):
        found = [name for name, _ in calls(tree) if name in FORBIDDEN and module not in MAY_RESOLVE]
        keywords = {keyword.arg for _, call in calls(tree) for keyword in call.keywords}
        return found + sorted(keywords & {"shell", "preexec_fn", "capture_output"})

    assert broken(trees, naive) == {}


def test_every_module_and_public_name_is_explained(trees):
    def unexplained(module, tree):
        said = module.name == "__main__.py" or ast.get_docstring(tree)
        public = [
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and not ast.get_docstring(node)
            and node.name != "tool"  # which is explained once, not in each of its overloads
        ]
        return ([] if said else ["the module itself"]) + public

    assert broken(trees, unexplained) == {}


def test_names_are_plain_words(trees):
    def vague(module, _):
        return sorted({"utils", "helpers", "manager", "base", "common", "misc"} & set(module.stem.split("_")))

    assert broken(trees, vague) == {}


@pytest.mark.parametrize("tool", list(discover(builtin)), ids=lambda tool: tool.name)
def test_a_tool_is_one_file_with_its_own_test(tool):
    folder = f"{tool.category}/{tool.name}.py"
    assert (SOURCE / "tools" / folder).is_file()
    assert (ROOT / "tests" / "tools" / tool.category / f"test_{tool.name}.py").is_file()


@pytest.mark.parametrize("tool", list(discover(builtin)), ids=lambda tool: tool.name)
def test_every_parameter_is_described(tool):
    assert [one.name for one in tool.parameters if not one.schema.get("description")] == []


def test_dialects_are_data():
    for module in (SOURCE / "dialects").glob("*.py"):
        if module.name != "__init__.py":
            tree = ast.parse(module.read_text())
            kinds = (ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.Try)
            assert [node for node in ast.walk(tree) if isinstance(node, kinds)] == [], module.name


def test_the_import_is_light():
    """Nothing heavy or optional comes with `import toolroll`."""
    heavy = [
        "asyncio",
        "ctypes",
        "rich",
        "re2",
        "pathspec",
        "charset_normalizer",
        "argparse",
        "subprocess",
        "jsonschema_rs",
        "opentelemetry",
    ]
    code = f"import sys, json; from toolroll import Kit; print(json.dumps([name for name in {heavy} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
