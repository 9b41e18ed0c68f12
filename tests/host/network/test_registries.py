from __future__ import annotations

from pathlib import Path

import pytest

from toolroll.host.network import registries
from toolroll.host.network.credentials import Credential, basic
from toolroll.host.network.registries import find_registries


@pytest.fixture(autouse=True)
def _no_files_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Paths of the system are looked for in a folder of the test."""
    real = registries._expand
    monkeypatch.setattr(
        registries,
        "_expand",
        lambda pattern, environ: f"{tmp_path}/system{pattern}" if pattern.startswith("/") else real(pattern, environ),
    )


def write(root: Path, **files: str) -> dict[str, str]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {"HOME": str(root)}


def test_without_settings_they_are_the_usual_ones(tmp_path: Path) -> None:
    found = find_registries({"HOME": str(tmp_path)})
    assert found.names == (
        *("pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "index.crates.io", "static.crates.io"),
        *("crates.io", "proxy.golang.org", "sum.golang.org"),
    )
    assert found.variables == {}


def test_what_the_user_has_configured_counts_without_its_credentials(tmp_path: Path) -> None:
    environ = write(
        tmp_path,
        **{
            ".config/pip/pip.conf": "[global]\nindex-url = https://me:secret@pip.corp.example/simple\n"
            "extra-index-url =\n    https://one.example/simple\n    http://two.example:8080/simple\n",
            ".config/uv/uv.toml": '[[index]]\nname = "x"\nurl = "https://uv.example/simple"\n',
            ".npmrc": "//npm.example/:_authToken=secret\n@me:registry=https://mine.example/\nregistry=https://npm.example/\n",
            ".cargo/config.toml": '[source.mirror]\nregistry = "sparse+https://cargo.example/index/"\n'
            '[registries.own]\nindex = "sparse+https://own.example:8443/"\n',
            ".cargo/credentials.toml": '[registries.own]\ntoken = "secret"\n[registry]\ntoken = "other"\n',
            ".config/go/env": "GOPROXY=https://go.example,direct\nGOSUMDB=off\n",
            "system/etc/apt/sources.list": "deb http://apt.example/debian stable main\n# deb http://no.example/ x\n",
            "system/etc/apt/sources.list.d/a.sources": "Types: deb\nURIs: https://more.example/\n",
        },
    )
    found = find_registries(environ)
    assert set(found.names) == {
        *("pip.corp.example", "one.example", "two.example:8080", "files.pythonhosted.org", "uv.example", "npm.example"),
        *(
            "mine.example",
            "cargo.example",
            "own.example:8443",
            "static.crates.io",
            "crates.io",
            "go.example",
            "sum.golang.org",
        ),
        *("apt.example", "more.example"),
    }
    assert found.variables == {
        "PIP_INDEX_URL": "https://pip.corp.example/simple",
        "UV_DEFAULT_INDEX": "https://uv.example/simple",
        "NPM_CONFIG_REGISTRY": "https://npm.example/",
        "GOPROXY": "https://go.example",
    }
    assert found.credentials == {
        "GET,HEAD pip.corp.example": Credential("Basic bWU6c2VjcmV0"),
        "GET,HEAD npm.example": Credential("Bearer secret"),
        "GET,HEAD own.example:8443": Credential("secret"),
    }


def test_variables_count_before_files(tmp_path: Path) -> None:
    environ = write(tmp_path, **{".npmrc": "registry=https://npm.example/\n"})
    found = find_registries({**environ, "npm_config_registry": "https://other.example/"})
    assert ("other.example" in found.names, "npm.example" in found.names, found.variables) == (True, False, {})


def test_a_variable_with_a_login_and_one_in_a_file_count(tmp_path: Path) -> None:
    environ = write(tmp_path, **{".npmrc": "registry=https://npm.example/\n//npm.example/a/:_auth=${TOKEN}\n"})
    found = find_registries({**environ, "PIP_INDEX_URL": "https://me:a%40b@pip.example/x/y/simple", "TOKEN": "eDp5"})
    assert (found.variables["PIP_INDEX_URL"], found.credentials) == (
        "https://pip.example/x/y/simple",
        # Each for what its program asks for: files stand beside the index.
        {"GET,HEAD pip.example/x/y/": basic("me:a@b"), "GET,HEAD npm.example/a/": Credential("Basic eDp5")},
    )


def test_a_file_in_the_workspace_says_nothing(tmp_path: Path) -> None:
    """A command could have written it."""
    write(tmp_path, **{"ws/pip.conf": "[global]\nindex-url = https://evil.example/\n"})
    (tmp_path / ".npmrc").symlink_to("ws/npmrc")
    write(tmp_path, **{"ws/npmrc": "registry=https://evil.example/\n"})
    environ = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / "ws/pip.conf")}
    assert "evil.example" in find_registries(environ).names
    assert "evil.example" not in find_registries(environ, [str(tmp_path / "ws")]).names
