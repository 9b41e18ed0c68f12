"""What of toolroll itself lies in a workspace, and which folders are one: judged by what is on the disk afterwards."""

import glob
import json
import os
import pwd
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toolroll
from toolroll import Kit
from toolroll.host.files.trust import Trust, WorkspaceError, _found, _trail, examine
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, ToolError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tiers are of Linux")
SITE = "sub/env/lib/site-packages"
PATCH = f"--- /dev/null\n+++ b/{SITE}/new.pth\n@@ -0,0 +1 @@\n+import os\n"
BEGIN = f"*** Begin Patch\n*** Add File: {SITE}/new.pth\n+import os\n*** End Patch\n"


def needs(tier: str) -> str:
    try:
        choose_sandbox(tier)
    except ToolError as error:
        pytest.skip(error.message)
    return tier


@pytest.fixture(params=["bubblewrap", "landlock"])
def tier(request: pytest.FixtureRequest) -> str:
    return needs(request.param)


@pytest.fixture
def lived_in(ws: Path, put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that holds the environment toolroll runs from, in a folder of a folder."""
    put({"a.txt": "one\n", "sub/b.txt": "two\n", "sub/env/pyvenv.cfg": "home\n", f"{SITE}/dep.py": "x = 1\n"})
    (ws / "way").symlink_to("sub/env")
    monkeypatch.setattr(sys, "prefix", str(ws / "sub" / "env"))
    return ws


def seen(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write", {"path": f"{SITE}/new.pth", "content": "import os\n"}),
        ("write", {"path": "way/lib/site-packages/new.pth", "content": "import os\n"}),
        ("write", {"path": "sub/x/../env/new.pth", "content": "import os\n"}),
        ("write", {"path": "sub/ENV/new.pth", "content": "import os\n"}),
        ("write", {"path": f"{SITE}/dep.py", "content": "x = 2\n"}),
        ("edit", {"path": f"{SITE}/dep.py", "old": "x", "new": "y"}),
        ("insert", {"path": f"{SITE}/dep.py", "line": 1, "content": "y"}),
        ("replace_lines", {"path": f"{SITE}/dep.py", "start": 1, "end": 1, "content": "y"}),
        ("multiedit", {"path": "sub/env", "pattern": "**/*.py", "find": "x", "replace": "y"}),
        ("patch", {"patch": PATCH}),
        ("patch", {"patch": BEGIN}),
        ("move", {"source": "a.txt", "target": f"{SITE}/new.pth"}),
        ("move", {"source": "sub/env/pyvenv.cfg", "target": "mine"}),
        ("move", {"source": "sub/env", "target": "other"}),
        ("move", {"source": "sub", "target": "other"}),
        ("copy", {"source": "a.txt", "target": f"{SITE}/new.pth"}),
        ("copy", {"source": "sub/b.txt", "target": "way/"}),
        ("delete", {"path": "sub/env/pyvenv.cfg"}),
        ("delete", {"path": "sub/env", "recursive": True}),
        ("delete", {"path": "sub", "recursive": True}),
    ],
)
def test_no_tool_changes_what_toolroll_runs_from(lived_in, open_kit, tool, arguments):
    (lived_in / "sub" / "x").mkdir()
    before = seen(lived_in)
    kit = open_kit()
    for path in (f"{SITE}/dep.py", "sub/env/pyvenv.cfg"):
        assert kit.call("read", {"path": path}).ok
    result = kit.call(tool, arguments)
    assert (result.error and result.error.code, seen(lived_in)) == (ErrorCode.SECURITY, before)


def test_undo_does_not_reach_into_it_either(ws, put, open_kit, monkeypatch):
    put({"env/pyvenv.cfg": "home\n"})
    outside = open_kit()
    assert outside.call("write", {"path": "env/new.pth", "content": "import os\n"}).ok
    assert outside.call("delete", {"path": "env/new.pth"}).ok
    monkeypatch.setattr(sys, "prefix", str(ws / "env"))
    result = open_kit().call("undo", {})
    assert (result.error and result.error.code, seen(ws)) == (ErrorCode.SECURITY, {"env/pyvenv.cfg": b"home\n"})


ATTACKS = f"""
echo import os > {SITE}/new.pth
echo y >> {SITE}/dep.py
rm -rf sub/env
mv sub/env other
mv sub other
mkdir -p sub/env && echo home > sub/env/mine
ln sub/env/pyvenv.cfg hard && echo y >> hard
ln -sfn /tmp sub/env
rm -rf sub
chmod 777 {SITE}
"""


def test_no_command_changes_it_under_bubblewrap(lived_in, open_kit):
    before = seen(lived_in)
    kit = open_kit(policy=Policy(sandbox=needs("bubblewrap")))
    for line in ATTACKS.strip().splitlines():
        kit.call("bash", {"command": line})
        assert seen(lived_in / "sub" / "env") == seen_in(before, "sub/env/"), line
    done = kit.call(
        "bash", {"command": "echo new > a.txt; mkdir -p sub/more; echo new > sub/more/c; cat way/pyvenv.cfg"}
    )
    assert done.text == "home\nChanged 2 files: a.txt (+1 -1), sub/more/c (new)."
    assert ((lived_in / "a.txt").read_text(), (lived_in / "sub/more/c").read_text()) == ("new\n", "new\n")


def seen_in(files: dict[str, bytes], prefix: str) -> dict[str, bytes]:
    return {path.removeprefix(prefix): data for path, data in files.items() if path.startswith(prefix)}


def test_under_landlock_commands_are_refused_and_the_rest_works(lived_in, open_kit):
    before = seen(lived_in)
    kit = open_kit(policy=Policy(sandbox=needs("landlock")))
    result = kit.call("bash", {"command": "echo new > a.txt"})
    assert (result.error and result.error.code, seen(lived_in)) == (ErrorCode.SECURITY, before)
    assert "sub/env" in result.text
    assert "uv tool install toolroll" in result.text
    assert kit.call("grep", {"pattern": "one"}).ok
    assert kit.call("write", {"path": "c.txt", "content": "c"}).ok
    assert kit.call("terminal", {"command": "cat a.txt"}).text.startswith("one")


def test_git_does_not_check_out_into_it(lived_in, open_kit):
    def git(*words: str) -> None:
        who = [word for name in ("user.name", "user.email") for word in ("-c", f"{name}=x")]
        subprocess.run(["git", *who, *words], cwd=lived_in, check=True, capture_output=True)

    git("init", "-qb", "main")
    git("add", "a.txt")
    git("commit", "-qm", "a")
    git("checkout", "-qb", "evil")
    (lived_in / SITE / "new.pth").write_text("import os\n")
    git("add", "-f", f"{SITE}/new.pth")
    git("commit", "-qm", "b")
    git("checkout", "-q", "main")
    before = seen(lived_in / "sub" / "env")
    kit = open_kit(policy=Policy(sandbox=needs("bubblewrap")))
    kit.call("git", {"action": "branch", "sub": "switch", "name": "evil"})
    assert seen(lived_in / "sub" / "env") == before


def test_an_environment_that_is_a_link_cannot_be_held(ws, put, tmp_path, open_kit, monkeypatch):
    (tmp_path / "env").mkdir()
    (ws / "env").symlink_to(tmp_path / "env")
    monkeypatch.setattr(sys, "prefix", str(ws / "env"))
    kit = open_kit(policy=Policy(sandbox=needs("bubblewrap")))
    results = [
        kit.call("bash", {"command": "rm env; mkdir env"}),
        kit.call("delete", {"path": "env"}),
        kit.call("move", {"source": "env", "target": "other"}),
    ]
    assert [one.error and one.error.code for one in results] == [ErrorCode.SECURITY] * 3
    assert (ws / "env").is_symlink()


def test_a_projects_own_environment_is_a_folder_like_any_other(ws, put, open_kit):
    put({".venv/pyvenv.cfg": "home\n"})
    kit = open_kit()
    assert kit.call("write", {"path": ".venv/lib/x.pth", "content": "x"}).ok
    assert kit.call("bash", {"command": "echo y > .venv/lib/y.pth"}).ok
    assert (ws / ".venv/lib/y.pth").read_text() == "y\n"


CHILD = """
import json, sys
from toolroll import Kit
from toolroll.policy.rules import Policy
ws, tier, calls = sys.argv[1:4]
with Kit(ws, policy=Policy(sandbox=tier)) as kit:
    print(json.dumps([kit.call(name, arguments).ok for name, arguments in json.loads(calls)]))
"""


def test_in_a_real_environment(ws, tmp_path, tier):
    """As a project has it that lists toolroll among its packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ws / ".venv"], check=True)
    (site,) = glob.glob(f"{ws}/.venv/lib/python*/site-packages")
    paths = [one for one in sys.path if one.endswith("site-packages")] + [str(Path(toolroll.__file__).parents[1])]
    Path(site, "product.pth").write_text("\n".join(paths) + "\n")
    evil = f"open({str(tmp_path / 'ran')!r}, 'w').close()"
    calls = [
        ("bash", {"command": f'echo "{evil}" > {site}/zz.pth'}),
        ("write", {"path": f"{site}/zy.pth", "content": f"import os; {evil}\n"}),
        ("write", {"path": f"{ws}/.venv/pyvenv.cfg", "content": "home = /tmp\n"}),
        ("bash", {"command": "ln -sf /bin/sh .venv/bin/python"}),
        ("write", {"path": "fine.txt", "content": ""}),
    ]
    before = seen(ws / ".venv")
    python, env = (
        str(ws / ".venv/bin/python"),
        {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "s")},
    )
    words = [python, "-c", CHILD, str(ws), tier, json.dumps(calls)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)
    ran = tier == "bubblewrap"  # the command is started, and fails by itself
    assert (json.loads(done.stdout or "0"), done.stderr) == ([ran, False, False, ran, True], "")
    subprocess.run([python, "-c", ""], check=True)
    assert (seen(ws / ".venv"), (tmp_path / "ran").exists()) == (before, False)


def test_what_lies_around_the_workspace_is_not_imported(ws, tmp_path, open_kit, monkeypatch):
    (ws / "sub").mkdir()
    (tmp_path / "apart").mkdir()
    (tmp_path / "link").symlink_to(ws)
    own = [one for one in sys.path if one not in ("", ".")]
    around = ["", ".", "sub", str(ws), str(ws / "sub"), str(tmp_path), str(tmp_path / "link"), f"{ws}/../{ws.name}"]
    monkeypatch.chdir(ws)
    apart = [str(tmp_path / "apart"), f"{tmp_path}/apart/../apart"]
    monkeypatch.setattr(sys, "path", [*around, *own, *apart])
    open_kit()
    assert sys.path == [*own, *apart]
    monkeypatch.chdir(tmp_path / "apart")
    monkeypatch.setattr(sys, "path", ["", *own])
    open_kit()
    assert sys.path == [str(tmp_path / "apart"), *own]  # and does not become the workspace with a change of folder


def test_a_module_that_a_tool_wrote_is_not_imported_by_us(ws, tmp_path):
    (ws / "agent.py").write_text(
        "import sys\n"
        "from toolroll import Kit\n"
        "sys.modules.pop('difflib', None)\n"
        "with Kit('.', state_dir=sys.argv[1]) as kit:\n"
        "    kit.call('write', {'path': 'difflib.py', 'content': 'raise SystemExit(9)\\n'})\n"
        "    import difflib\n"
    )
    done = subprocess.run([sys.executable, "-m", "agent", tmp_path / "state"], cwd=ws, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


# What may be a workspace.


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "people" / "home"
    made.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(made))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return made


@pytest.mark.parametrize("folder", ["/", "{home}", "{home}/..", "{home}/../..", "{link}", "{system}", "{home}/sub/.."])
def test_a_home_and_what_holds_one_are_refused(home, tmp_path, folder):
    (tmp_path / "link").symlink_to(home)
    (home / "sub").mkdir()
    system = pwd.getpwuid(os.geteuid()).pw_dir
    if folder == "{system}" and not os.access(system, os.R_OK | os.X_OK):
        pytest.skip(f"the home folder that the system names, {system}, is not there")
    path = folder.format(home=home, link=tmp_path / "link", system=system)
    with pytest.raises(WorkspaceError, match=r"name a folder .*-C DIR.*, or say that you mean it .*--wide"):
        Kit(path)
    with pytest.raises(WorkspaceError, match="whole machine" if folder == "/" else "is a home folder or holds one"):
        examine(path)
    assert list(home.rglob("*")) == [home / "sub"]
    with Kit(home / "sub") as kit:
        assert kit.workspace == str(home / "sub")


@pytest.mark.parametrize(
    "folder",
    [
        Path(toolroll.__file__).parent,
        Path(toolroll.__file__).parents[1],
        Path(toolroll.__file__).parent / "tools",
        Path(os.__file__).parent,
        *[Path(one) for one in sys.path if one.endswith("site-packages")][:1],
        Path(sys.prefix),
    ],
)
def test_where_toolroll_lives_is_no_workspace(folder):
    with pytest.raises(WorkspaceError, match=r"toolroll itself lives in .* name another folder, or install toolroll"):
        Kit(folder)


@pytest.mark.parametrize("folder", ["/proc", "/proc/self", "/sys", "/dev"])
def test_the_kernels_folders_are_no_workspace(folder):
    with pytest.raises(WorkspaceError, match="holds no files but the kernel's"):
        Kit(folder)


def test_where_toolroll_keeps_its_state_is_no_workspace(home):
    for name in (".config/toolroll", ".local/state/toolroll/x"):
        (home / name).mkdir(parents=True)
        with pytest.raises(WorkspaceError, match="toolroll itself lives in"):
            Kit(home / name)


SECRETS = (".ssh/id_rsa", ".netrc", ".config/gh/hosts.yml", ".config/toolroll/rules.toml", ".local/state/toolroll/x")


@pytest.fixture
def filled(home: Path) -> Path:
    for name in (*SECRETS, "project/a.txt"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("" if name.endswith(".toml") else f"KEY of {name}\n")
    (home / "way").symlink_to(".ssh")
    return home


@pytest.mark.parametrize("whole", [False, True])
def test_secrets_of_a_wide_workspace_are_out_of_reach_of_tools(filled, whole):
    before, start = seen(filled), f"{str(filled)[1:]}/" if whole else ""
    with Kit("/" if whole else filled, policy=Policy(wide=True)) as kit:

        def refused(tool: str, **arguments: object) -> None:
            result = kit.call(tool, arguments)
            assert (tool, arguments, result.error and result.error.code) == (tool, arguments, ErrorCode.SECURITY)

        for name in (*SECRETS, "way/id_rsa", ".aws/not-there-yet"):
            path = start + name
            refused("write", path=path, content="x")
            if not name.startswith(".aws"):
                refused("read", path=path)
                refused("stat", path=path)
                refused("grep", path=path, pattern="KEY")
                refused("copy", source=path, target=f"{start}project/copy")
                refused("outline", path=path)
        refused("ls", path=f"{start}.ssh")
        refused("find", path=f"{start}way", pattern="*")
        refused("move", source=f"{start}.ssh", target=f"{start}project/ssh")
        refused("move", source=f"{start}.config", target=f"{start}project/config")
        refused("delete", path=f"{start}.config", recursive=True)
        refused("copy", source=f"{start}.config", target=f"{start}project/config")
        found = kit.call("grep", {"path": start or ".", "pattern": "KEY", "include": "**/.*/**"}).text
        found += kit.call("grep", {"path": start or ".", "pattern": "KEY"}).text
        found += kit.call("find", {"path": start or ".", "pattern": "**", "hidden": True, "ignored": True}).text
        found += kit.call("ls", {"path": start or ".", "depth": 5}).text
        assert "KEY of project/a.txt" in found
        assert not [
            name for name in (*SECRETS, "id_rsa", "hosts.yml") if f"KEY of {name}" in found or f"/{name}" in found
        ]
        if whole:
            refused("read", path="proc/self/environ")
            refused("write", path="etc/new", content="x")
    assert {path: data for path, data in seen(filled).items() if path in before} == before
    assert not (filled / "project/copy").exists()


@pytest.mark.parametrize("whole", [False, True])
def test_secrets_of_a_wide_workspace_are_out_of_reach_of_commands(filled, tier, whole):
    before = seen(filled)
    with Kit("/" if whole else filled, policy=Policy(wide=True, sandbox=tier)) as kit:
        reading = " ".join(f"{filled}/{name}" for name in SECRETS)
        attack = (
            f"cat {reading}; cd {filled}; mv .config c; mv .ssh s; rm -rf .ssh .netrc .config/toolroll; cat c/gh/* s/*"
        )
        assert "KEY" not in kit.call("bash", {"command": attack}).text
        assert "KEY" not in kit.call("terminal", {"command": f"cat {reading}"}).text
        work = kit.call("bash", {"command": f"cat {filled}/project/a.txt && echo new > {filled}/project/b.txt"})
    assert {path: data for path, data in seen(filled).items() if path in before} == before
    if tier == "bubblewrap":
        assert work.text.splitlines()[0] == "KEY of project/a.txt"
        assert (filled / "project/b.txt").read_text() == "new\n"
    else:
        assert "Install bubblewrap" in work.text


def test_a_command_cannot_make_our_configuration_either(home):
    with Kit(home, policy=Policy(wide=True, sandbox=needs("bubblewrap"))) as kit:
        kit.call("bash", {"command": "mkdir -p .config/toolroll && echo '{}' > .config/toolroll/mcp.json"})
    assert not (home / ".config/toolroll/mcp.json").exists()


def test_a_state_folder_in_the_workspace_is_ours_alone(ws, tier):
    state = ws / "deep" / "state"
    with Kit(ws, state_dir=state, policy=Policy(sandbox=tier)) as kit:
        assert kit.call("write", {"path": "a.txt", "content": "one\n"}).ok
        assert state.is_dir()
        log = str(next(path for path in state.rglob("*") if path.is_file()).relative_to(ws))
        assert kit.call("read", {"path": log}).error.code == ErrorCode.SECURITY
        assert kit.call("delete", {"path": "deep", "recursive": True}).error.code == ErrorCode.SECURITY
        before = seen(state)
        told = kit.call(
            "bash", {"command": f"cat {log}; mv deep shallow; rm -rf deep; mkdir -p deep/state; ls -A deep/state"}
        )
        assert seen(state).keys() >= before.keys()
        assert "one" not in told.text
        assert kit.call("undo", {}).ok
    assert not (ws / "a.txt").exists()


def test_no_setting_opens_our_configuration_to_commands(ws, tmp_path, tier, monkeypatch):
    for name in ("toolroll/mcp.json", "other"):
        (tmp_path / "conf" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf" / name).write_text('{"mcpServers": {}}')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "conf"))
    with Kit(ws, state_dir=tmp_path / "state", policy=Policy(sandbox=tier, readable=(str(tmp_path / "conf"),))) as kit:
        assert kit.call("bash", {"command": f"cat {tmp_path}/conf/other"}).text == '{"mcpServers": {}}'
        assert "mcpServers" not in kit.call("bash", {"command": f"cat {tmp_path}/conf/toolroll/mcp.json"}).text


def test_an_ordinary_workspace_has_nothing_locked_or_hidden(ws):
    found = examine(str(ws))
    assert (found.locks, found.hides) == ((), False)


def test_what_modules_come_from_is_no_workspace_and_what_else_a_prefix_holds_may_be_one(ws, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(ws.parent))  # as /usr of /usr/src/app
    assert examine(str(ws)).locks == ()
    imports, _ = _found((f"{ws}/site-packages", f"{ws}/modules.zip", f"{ws}/other"))
    assert {one for one in imports if one.startswith(f"{ws}/")} == {f"{ws}/site-packages", f"{ws}/modules.zip"}


def test_a_workspace_that_is_the_whole_machine_has_its_folders_one_by_one():
    tops = list(Trust("/", ["/usr"], ["/proc"])._tops())
    assert ("/tmp" in tops, "/usr" in tops, "/proc" in tops) == (True, False, False)
    assert [one for one in tops if os.path.islink(one) or not os.path.isdir(one)] == []


@pytest.mark.parametrize(("links", "resolved"), [(40, True), (41, False)])
def test_a_trail_of_links_has_an_end(tmp_path: Path, links: int, resolved: bool) -> None:
    top = Path(os.path.realpath(tmp_path))
    (top / "l0").touch()
    for number in range(1, links + 1):
        (top / f"l{number}").symlink_to(f"l{number - 1}")
    found = list(_trail(str(top / f"l{links}")))
    assert (str(top / "l0") in found) is resolved
    assert found[:2] == [str(top / f"l{links}"), str(top / f"l{links - 1}")]


@pytest.mark.parametrize(("name", "locks"), [("toolroll-dev", ("bin/toolroll-dev",)), ("pytest", ())])
def test_the_program_that_toolroll_was_started_by_is_locked(ws, put, monkeypatch, name, locks):
    put({f"bin/{name}": "", "call": ""})
    monkeypatch.setattr(sys, "argv", [str(ws / "bin" / name), str(ws / "call")])
    _found.cache_clear()
    try:
        assert examine(str(ws)).locks == locks
    finally:
        _found.cache_clear()
