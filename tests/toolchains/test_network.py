"""Package managers, development servers and a browser for real, in each tier: `make toolchains`.

Programs that are not on PATH are looked for in the folder that TOOLCHAINS names: `go/bin/go`, the Python packages
`flask`, the node packages `web/node_modules` (vite, playwright-core, @sparticuz/chromium). Registries are on the loopback, by
a name that only the proxy can look up.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.host.network.file_server import put_wheel, serve_files
from tests.host.network.test_command_network import skip_without_sockets
from toolroll import Kit, Policy
from toolroll.policy.rules import Environment

pytestmark = pytest.mark.slow

TOOLS = os.environ.get("TOOLCHAINS", "")
Start = Callable[..., Kit]


def need(program: str) -> str:
    """The path of a program; the test is skipped where there is none."""
    return shutil.which(program) or need_package(program, f"{program}/bin/{program}")


def need_package(name: str, place: str) -> str:
    if not TOOLS or not os.path.exists(f"{TOOLS}/{place}"):
        pytest.skip(f"no {name} here: put it into the folder that TOOLCHAINS names, as {place}")
    return f"{TOOLS}/{place}"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the host that serves it."""
    folder = tmp_path / "files"
    folder.mkdir()
    with serve_files(folder) as port:
        yield folder, f"registry:{port}"


@pytest.fixture
def start(ws: Path, tmp_path: Path, confined: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    skip_without_sockets(confined)
    monkeypatch.setattr("toolroll.host.network.gate.look_up", lambda *_: ["127.0.0.1"])
    with ExitStack() as stack:

        def start(network: str = "off", **variables: str) -> Kit:
            policy = Policy(
                network=network,
                sandbox=confined,
                commands="plain",
                readable=(TOOLS,) if TOOLS else (),
                environment=Environment(set=variables),
            )
            return stack.enter_context(Kit(ws, policy=policy, state_dir=tmp_path / "state"))

        yield start


def run(kit: Kit, command: str) -> str:
    return kit.call("bash", {"command": command, "timeout": 110}).text


def tarball(path: Path, **files: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as made:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), 0o755
            made.addfile(entry, io.BytesIO(text.encode()))


def test_uv_pip_install(start: Start, registry: tuple[Path, str]) -> None:
    folder, host = registry
    put_wheel(folder)
    uv = f"{sys.prefix}/bin/uv" if os.path.exists(f"{sys.prefix}/bin/uv") else need("uv")
    told = run(
        start(host),
        f"{uv} pip install -q --python /usr/bin/python3 --target lib --default-index http://{host}/simple tiny"
        " && PYTHONPATH=lib /usr/bin/python3 -m tiny",
    )
    assert "installed" in told.splitlines(), told


def test_npx(start: Start, registry: tuple[Path, str]) -> None:
    need("npx")
    folder, host = registry
    about = {"name": "tiny", "version": "1.0.0", "bin": {"tiny": "tiny.js"}}
    text = "#!/usr/bin/env node\nconsole.log('ran by npx')\n"
    tarball(folder / "tiny.tgz", **{"package/package.json": json.dumps(about), "package/tiny.js": text})
    versions = {"1.0.0": {**about, "dist": {"tarball": f"http://{host}/tiny.tgz"}}}
    (folder / "tiny").write_text(json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": versions}))
    told = run(start(host, NPM_CONFIG_REGISTRY=f"http://{host}/"), "npx --yes tiny")
    assert "ran by npx" in told.splitlines(), told


def test_cargo_takes_crates_from_where_the_user_does(
    start: Start, registry: tuple[Path, str], ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("cargo")
    folder, host = registry
    crate = folder / "crates/tiny/1.0.0/download"
    tarball(
        crate,
        **{
            "tiny-1.0.0/Cargo.toml": '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n',
            "tiny-1.0.0/src/lib.rs": 'pub const NAME: &str = "from the registry";\n',
        },
    )
    line = {"name": "tiny", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False}
    entry = folder / "index/ti/ny/tiny"
    entry.parent.mkdir(parents=True)
    entry.write_text(json.dumps({**line, "cksum": hashlib.sha256(crate.read_bytes()).hexdigest()}) + "\n")
    (folder / "index/config.json").write_text(json.dumps({"dl": f"http://{host}/crates"}))
    (tmp_path / "cargo").mkdir()
    (tmp_path / "cargo/config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "own"\n[source.own]\nregistry = "sparse+http://{host}/index/"\n'
    )
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    (ws / "src").mkdir()
    (ws / "src/main.rs").write_text('fn main() { println!("{}", tiny::NAME); }\n')
    (ws / "Cargo.toml").write_text('[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n')
    told = run(start(host), "cargo add -q tiny && cargo run -q")
    assert "from the registry" in told.splitlines(), told


def test_go_get(start: Start, registry: tuple[Path, str], ws: Path) -> None:
    go = need("go")
    folder, host = registry
    place = folder / "go/example.org/tiny/@v"
    place.mkdir(parents=True)
    (place / "list").write_text("v1.0.0\n")
    (place / "v1.0.0.info").write_text('{"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"}')
    (place / "v1.0.0.mod").write_text("module example.org/tiny\n\ngo 1.20\n")
    with zipfile.ZipFile(place / "v1.0.0.zip", "w") as made:
        made.writestr("example.org/tiny@v1.0.0/go.mod", "module example.org/tiny\n\ngo 1.20\n")
        made.writestr("example.org/tiny@v1.0.0/tiny.go", 'package tiny\n\nconst Name = "from the registry"\n')
    (ws / "main.go").write_text('package main\n\nimport "example.org/tiny"\n\nfunc main() { println(tiny.Name) }\n')
    kit = start(host, GOPROXY=f"http://{host}/go", GOSUMDB="off", GOTOOLCHAIN="local", GOTELEMETRY="off")
    told = run(kit, f"{go} mod init app && {go} get example.org/tiny && {go} run .")
    assert "from the registry" in told.splitlines(), told


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def serve(kit: Kit, command: str, url: str) -> None:
    """Start a server as a job; it answers at the URL when this returns."""
    job = kit.call("bash", {"command": command, "background": True}).data["job"]
    until = time.monotonic() + 60
    while kit.call("fetch", {"url": url}).error is not None:
        told = kit.call("job", {"action": "output", "id": job})
        assert time.monotonic() < until, told.text
        time.sleep(0.2)


def test_flask(start: Start, ws: Path) -> None:
    packages = need_package("flask", "flask")
    (ws / "app.py").write_text(
        "from flask import Flask\napp = Flask(__name__)\napp.get('/')(lambda: '<h1>Flask</h1>')\n"
    )
    kit, port = start(PYTHONPATH=packages), free_port()
    url = f"http://localhost:{port}/"
    serve(kit, f"/usr/bin/python3 -m flask --app app --debug run --port {port}", url)
    assert "# Flask" in kit.call("fetch", {"url": url}).text
    assert run(kit, f"curl -s {url}") == "<h1>Flask</h1>"


def test_vite(start: Start, ws: Path) -> None:
    vite = need_package("vite", "web/node_modules/vite/bin/vite.js")
    (ws / "index.html").write_text("<h1>Vite</h1><script type=module src=/main.js></script>")
    (ws / "main.js").write_text("console.log(1)\n")
    kit, port = start(), free_port()
    url = f"http://localhost:{port}/"
    serve(kit, f"node {vite} --port {port} --strictPort", url)
    assert "# Vite" in kit.call("fetch", {"url": url}).text
    assert "/@vite/client" in run(kit, f"curl -s {url}")


_UNPACK = "import binary from '@sparticuz/chromium'; console.log(await binary.executablePath())"
_BROWSE = """
import { chromium } from "playwright-core";
import binary from "@sparticuz/chromium";
const [path, url] = process.argv.slice(2);
const browser = await chromium.launch({ args: binary.args, executablePath: path, headless: true });
const page = await browser.newPage();
await page.goto(url);
await page.click("button");
console.log(await page.textContent("h1"));
await browser.close();
"""


def test_a_browser(start: Start, ws: Path) -> None:
    modules = need_package("Chromium", "web/node_modules/@sparticuz/chromium").removesuffix("/@sparticuz/chromium")
    (ws / "index.html").write_text(
        "<h1>Before</h1><button onclick=\"document.querySelector('h1').textContent = 'Clicked'\">x</button>"
    )
    (ws / "browse.mjs").write_text(_BROWSE)
    (ws / "node_modules").symlink_to(modules)
    (ws / "chromium").mkdir()
    # As root it gives files to other users, whom a command does not know.
    env = {**os.environ, "TMPDIR": str(ws / "chromium")}
    unpack = ["node", "--input-type=module", "-e", _UNPACK]
    path = subprocess.run(unpack, cwd=ws, env=env, capture_output=True, text=True, check=True).stdout.strip()
    kit, port = start(), free_port()
    url = f"http://localhost:{port}/"
    serve(kit, f"/usr/bin/python3 -m http.server --bind 127.0.0.1 {port}", url)
    told = run(kit, f"node browse.mjs {path} {url}")
    assert told.splitlines()[0] == "Clicked", told
