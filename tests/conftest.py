"""A fresh workspace and a kit on it, for every test."""

import fcntl
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.launchers import LAUNCHER
from tests.users import bound_by_modes
from toolroll import Context, Kit
from toolroll.host.code import structure
from toolroll.host.code.parser_pool import ParserPool
from toolroll.host.runtime.launcher import Sandbox
from toolroll.host.sandbox.choose import choose_sandbox, probe_tiers
from toolroll.host.settings import VARIABLES, config_path
from toolroll.host.shell import shell
from toolroll.kit import preset
from toolroll.policy.rules import PRESETS

# How long a case takes says nothing on a busy machine. In CI the same cases are tried each time: a change is
# judged by what it changed; new cases are found where somebody can look into them.
settings.register_profile("toolroll", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("toolroll")

Files = dict[str, str | bytes]
TIERS = [str(probe.tier) for probe in probe_tiers() if probe.works]


def pytest_sessionstart() -> None:
    """What a shell starts in the background is deaf to SIGINT, and so would be all that the tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import the tests in another order in each worker, so that each finds byte code that the others have written.

    The first run on a machine spends most of its collection on rewriting the assertions.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if worker != "0" and session.config.args == session.config.getini("testpaths"):
        files = sorted(Path(__file__).parent.rglob("test_*.py"))
        names = [".".join(path.relative_to(session.path).with_suffix("").parts) for path in files]
        first = len(names) * int(worker) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for name in names[first:] + names[:first]:
            with suppress(Exception, pytest.skip.Exception):  # the collection itself says what is wrong
                import_module(name)


def prepare_hypothesis(folder: Path) -> None:
    """Let one worker make the tables of hypothesis, of characters and of our constants; the others read them."""

    @settings(max_examples=1, database=None)
    @given(st.text())
    def draw(_: str) -> None:
        pass

    folder.mkdir(exist_ok=True)
    with (folder / "workers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        draw()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests about a tier that does not work here; one test each of `host/sandbox/test_choose.py` says so."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        prepare_hypothesis(config.rootpath / ".hypothesis")
    missing = {"bubblewrap", "landlock"} - set(TIERS)
    out = [item for item in items if isinstance(item, pytest.Function) and missing & set(item.fixturenames)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]


def pytest_collection_finish() -> None:
    """The ten thousand tests are no garbage: let no collection look at them again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Try a test of the clock again: a busy machine may be late once, what is always late is a fault."""
    if pyfuncitem.get_closest_marker("clock") is None:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    for _ in range(4):
        try:
            pyfuncitem.obj(**arguments)
        except AssertionError:
            time.sleep(1)
        else:
            return True
    return None


@pytest.fixture(scope="session", autouse=True)
def no_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Texts are ranked by words, wherever the tests run; those that want the weights say so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOOLROLL_MODELS", str(tmp_path_factory.getbasetemp() / "no-models"))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the user has configured on this machine does not count in tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES.values():
            patch.delenv(name, raising=False)
        if os.path.isdir(config_path()):
            patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-configuration"))
        yield


@pytest.fixture(scope="session", autouse=True)
def active_environment() -> Iterator[None]:
    """The environment that the tests run in is active: code without one of its own finds pytest there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", sys.prefix)
        yield


@pytest.fixture(scope="session", autouse=True)
def quickest_tier() -> Iterator[None]:
    """Kits that no test asks for a tier confine commands with Landlock, which starts them sooner, where it works."""
    if "landlock" not in TIERS:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        for name, policy in PRESETS.items():
            patch.setitem(PRESETS, name, replace(policy, sandbox="landlock"))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_plugins() -> Iterator[None]:
    """What a test has pytest run loads no plugins: to import ours takes longer than all that is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def jobs_at_once() -> Iterator[None]:
    """A command in the background is a job at once, in place of after the second in which it may still fail."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell, "QUICK_SECONDS", 0.02)
        yield


@pytest.fixture(scope="session")
def parser_pool() -> Iterator[ParserPool]:
    """Parser children that many tests use; a kit that is closed leaves them."""
    pool = ParserPool(LAUNCHER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "close", lambda: None)
        yield pool
    pool.close()


@pytest.fixture
def shared_parsers(parser_pool: ParserPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kits share parser children: to start one takes longer than most tests let it work."""
    monkeypatch.setattr(structure, "ParserPool", lambda _launcher: parser_pool)


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def put(ws: Path) -> Callable[[Files], None]:
    """Put files into the workspace: name to content."""

    def make(files: Files) -> None:
        for name, content in files.items():
            path = ws / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    return make


@pytest.fixture(params=TIERS)
def tier(request: pytest.FixtureRequest) -> str:
    """Each sandbox tier that works on this machine, "none" as the control: for tests of what a command may do.

    Kits that the test opens with `open_kit` use it.
    """
    return str(request.param)


@pytest.fixture(params=[tier for tier in TIERS if tier != "none"])
def confined(request: pytest.FixtureRequest) -> str:
    """Each tier of this machine that confines, in the same way."""
    return str(request.param)


@pytest.fixture(params=["re2", "without re2"])
def each_regex_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test as it is, and as on a machine that google-re2 has no wheel for."""
    if request.param == "without re2":
        monkeypatch.setitem(sys.modules, "re2", None)


@pytest.fixture
def file_modes() -> Iterator[None]:
    """What a file's mode forbids is forbidden in this test, also to root."""
    with bound_by_modes():
        yield


@pytest.fixture
def bubblewrap() -> Sandbox:
    return choose_sandbox("bubblewrap")


@pytest.fixture
def landlock() -> Sandbox:
    return choose_sandbox("landlock")


@pytest.fixture
def open_kit(ws: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Kit]]:
    """Open kits on the workspace; all are closed in the end."""
    kits: list[Kit] = []
    asked = [request.getfixturevalue(name) for name in ("tier", "confined") if name in request.fixturenames]

    def make(dialect: str = "native", **options: Any) -> Kit:
        if asked:
            policy = options.get("policy", "standard")
            options["policy"] = replace(preset(policy) if isinstance(policy, str) else policy, sandbox=asked[0])
        kits.append(Kit(ws, dialect, state_dir=tmp_path / "state", **options))
        return kits[-1]

    yield make
    for kit in kits:
        kit.close()


@pytest.fixture
def kit(open_kit: Callable[..., Kit]) -> Kit:
    return open_kit()


@pytest.fixture
def ctx(kit: Kit) -> Context:
    return kit.context()
