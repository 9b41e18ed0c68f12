"""What commands may read by default: toolchains, and none of the secrets that lie beside and in them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from toolroll.host.runtime.launcher import is_beneath, outermost
from toolroll.host.sandbox.toolchains import readable_paths
from toolroll.result import ErrorCode, ToolError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tiers are of Linux")

SECRETS = [
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".config/gcloud/db",
    ".gnupg/key",
    ".netrc",
    ".docker/config.json",
    ".kube/config",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".git-credentials",
    ".bash_history",
    ".local/share/keyrings/login",
    "documents/letter",
    ".config/some/thing",
    ".cache/some/thing",
    ".rye/credentials",
    ".local/share/uv/credentials/credentials.toml",
    ".gem/config",
    "go/src/private/main.go",
    ".nvm/.env",
    ".nvm/versions/.env",
    ".cargo/registry/credentials.toml",
    ".local/lib/id_rsa",
    ".local/share/uv/tools/x/.netrc",
    ".local/share/pnpm/auth.json",
    ".m2/repository/settings-security.xml",
    "conda/.env",
    "conda/lib/.pypirc",
]
TOOLS = [
    ".cargo/bin/cargo",
    ".cargo/registry/index",
    ".rustup/toolchains/stable",
    ".pyenv/shims/python",
    ".nvm/versions/node/bin/node",
    ".local/bin/tool",
    ".local/lib/python3/x.py",
    ".local/share/uv/tools/x/bin/x",
    ".local/share/uv/python/cpython/bin/python3",
    ".rye/shims/python",
    ".cargo/git/db",
    "go/bin/gopls",
    ".m2/repository/x.jar",
    ".gem/ruby/x",
    ".gradle/wrapper/dists",
    "go/pkg/mod/x",
    "conda/bin/python",
    "conda/lib/python3",
    ".gitconfig",
    ".config/git/ignore",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "people" / "me"
    for name in (*SECRETS, *TOOLS):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    return home


def granted(paths: tuple[str, ...], path: Path) -> bool:
    return any(is_beneath(str(path), one) for one in paths)


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": f"{home}/conda/bin:/usr/bin:relative:", **more}


def test_toolchains_can_be_read_and_secrets_cannot(home: Path) -> None:
    found = readable_paths(environment(home))
    assert [name for name in TOOLS if not granted(found, home / name)] == []
    assert [name for name in SECRETS if granted(found, home / name)] == []
    assert granted((*found, "/usr"), Path(sys.prefix, "lib"))  # which is the system's own, and granted anyway
    assert all(os.path.isabs(path) and os.path.exists(path) for path in found)
    assert list(found) == sorted(found)


@pytest.mark.parametrize("variable", ["PATH", "JAVA_HOME", "GOROOT", "VIRTUAL_ENV", "CARGO_HOME"])
@pytest.mark.parametrize("where", ["", ".ssh", ".config", ".local", "..", "../..", ".aws/sub", "/", "/home", "/root"])
def test_no_variable_opens_what_is_wide_or_secret(home: Path, variable: str, where: str) -> None:
    (home / ".aws" / "sub").mkdir()
    found = readable_paths(environment(home, **{variable: os.path.join(home, where)}))
    assert [name for name in SECRETS if granted(found, home / name)] == []


@pytest.mark.parametrize("where", ["bin", "../bin", ".ssh/bin"])
def test_a_folder_of_path_does_not_open_what_it_is_in(home: Path, where: str) -> None:
    folder = (home / where).resolve()
    folder.mkdir()
    found = readable_paths(environment(home, PATH=str(folder)))
    assert [name for name in SECRETS if granted(found, home / name)] == []
    assert granted(found, folder / "tool") == (".ssh" not in where)


def test_a_link_among_the_tools_opens_nothing(home: Path) -> None:
    (home / ".cargo" / "more").symlink_to(home / ".ssh")
    (home / ".cargo" / "bin" / "x").symlink_to(home / "documents")
    (home / ".rustup" / "x").symlink_to(home / ".ssh")
    found = readable_paths(environment(home))
    assert [name for name in SECRETS if granted(found, home / name)] == []


def test_what_the_operator_adds(home: Path) -> None:
    found = readable_paths(
        environment(home), [str(home / "documents"), str(home / ".config" / "some"), "/missing/folder"]
    )
    assert granted(found, home / "documents" / "letter")
    assert granted(found, home / ".config" / "some" / "thing")
    assert not granted(found, home / ".config" / "gh" / "hosts.yml")
    assert not granted(found, Path("/missing/folder"))


def test_a_folder_with_secrets_in_it_is_granted_without_them(home: Path) -> None:
    found = readable_paths(environment(home), [str(home / ".config")])
    assert granted(found, home / ".config" / "some" / "thing")
    assert not granted(found, home / ".config" / "gh" / "hosts.yml")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("{home}", "holds the home folder and all the secrets in it. Name the folders in it that commands need"),
        ("{home}/..", "holds the home folder"),
        ("/", "holds the home folder"),
        ("{home}/link", "holds the home folder"),
        ("{home}/.ssh", "is a place of secrets, which no command may read. Leave it out"),
        ("{home}/.ssh/id_ed25519", "is a place of secrets"),
        ("some/folder", "is not an absolute path. Write it in full"),
    ],
)
def test_what_the_operator_cannot_mean(home: Path, path: str, why: str) -> None:
    (home / "link").symlink_to(home)
    named = path.format(home=home)
    with pytest.raises(ToolError) as caught:
        readable_paths(environment(home), [named])
    assert caught.value.code is ErrorCode.VALIDATION
    assert caught.value.message.startswith(f"The folder {named!r} that commands shall read {why}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[user]\n\tname = me\n\temail = me@example.org\n", True),
        ("[github]\n\ttoken = abc\n", False),
        ('[url "https://me:pw@example.org/"]\n\tinsteadOf = x\n', False),
        ("[http]\n\textraHeader = Authorization: x\n", False),
    ],
)
def test_settings_of_git_are_read_unless_there_is_a_credential_in_them(home: Path, text: str, shown: bool) -> None:
    (home / ".gitconfig").write_text(text)
    assert granted(readable_paths(environment(home)), home / ".gitconfig") == shown


def test_a_new_toolchain_is_seen(home: Path) -> None:
    assert not granted(readable_paths(environment(home)), home / ".deno/bin")
    (home / ".deno/bin").mkdir(parents=True)
    assert granted(readable_paths(environment(home)), home / ".deno/bin")


@pytest.mark.parametrize(
    ("variable", "read", "kept"),
    [
        ("CARGO_HOME", ["bin/cargo", "registry/x", "git/db/x"], ["credentials.toml", "config.toml", "notes"]),
        ("RUSTUP_HOME", ["toolchains/x/bin/rustc", "settings.toml"], ["notes"]),
        ("GOPATH", ["bin/x", "pkg/mod/x"], ["src/private/main.go"]),
        ("GOROOT", ["bin/go", "src/fmt/print.go", "pkg/tool/x", "VERSION"], [".netrc"]),
        ("JAVA_HOME", ["bin/java", "lib/modules", "conf/net.properties", "release"], ["letter", "lib/.env"]),
        ("MAVEN_HOME", ["bin/mvn", "boot/x.jar", "lib/x.jar"], ["conf/settings.xml"]),
        ("VIRTUAL_ENV", ["bin/python", "lib/python3.11/site-packages/x.py", "pyvenv.cfg"], ["pip.conf", "src/x.py"]),
        ("CONDA_PREFIX", ["bin/python", "conda-meta/x.json"], [".condarc", "etc/token"]),
        ("NVM_DIR", ["versions/node/v20/bin/node", "nvm.sh"], [".npmrc", "versions/node/.npmrc"]),
        ("PYENV_ROOT", ["shims/python", "versions/3.11/bin/python"], [".env"]),
        ("SDKMAN_DIR", ["candidates/java/17/bin/java"], ["etc/config"]),
        ("VOLTA_HOME", ["bin/node", "tools/image/node/x"], ["letter"]),
    ],
)
def test_what_a_variable_opens(home: Path, variable: str, read: list[str], kept: list[str]) -> None:
    folder = home / "tools" / "one"
    for name in (*read, *kept):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("token = x")
    found = readable_paths(environment(home, **{variable: str(folder)}))
    assert [name for name in read if not granted(found, folder / name)] == []
    assert [name for name in kept if granted(found, folder / name)] == []


@pytest.mark.parametrize(
    ("sign", "read"),
    [
        ("pyvenv.cfg", ["lib/python3.11/site-packages/x.py", "pyvenv.cfg"]),
        ("lib/python3.11/os.py", ["lib/python3.11/os.py", "include/x.h"]),
        ("lib/node_modules/npm/x.js", ["lib/node_modules/npm/x.js"]),
        ("conda-meta/history", ["conda-meta/history", "share/x"]),
        ("lib/modules", ["lib/modules", "conf/x", "release"]),
        ("src/runtime/runtime.go", ["src/runtime/runtime.go", "pkg/include/x", "VERSION"]),
        ("lib/rustlib/x", ["lib/rustlib/x"]),
        ("letter", []),
        ("lib/letter", []),
    ],
)
def test_what_is_above_a_folder_of_path(home: Path, sign: str, read: list[str]) -> None:
    folder, kept = home / "some" / "place", [".env", "letter", "documents/x", "lib/.netrc"]
    for name in ("bin/tool", sign, *read, *kept):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    found = readable_paths(environment(home, PATH=str(folder / "bin")))
    assert granted(found, folder / "bin/tool")
    assert [name for name in read if not granted(found, folder / name)] == []
    assert [name for name in kept if granted(found, folder / name)] == []


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        (".npmrc", "fund=false\n", True),
        (".npmrc", "//registry.example.org/:_authToken=abc\n", False),
        ("pip.conf", "[global]\nindex-url = https://me:pw@example.org/simple\n", False),
        ("pip.conf", "[global]\nindex-url = https://example.org/simple\n", True),
        ("cacert.pem", "-----BEGIN CERTIFICATE-----\n", True),
        ("server.pem", "-----BEGIN PRIVATE KEY-----\n", False),
        ("NuGet.Config", "<add key='ClearTextPassword' value='x'/>", False),
        ("config.toml", "[registry]\ntoken = 'x'\n", False),
    ],
)
def test_configuration_in_a_toolchain_is_read_unless_it_holds_a_credential(
    home: Path, name: str, text: str, shown: bool
) -> None:
    file = home / ".nvm" / "versions" / name
    file.write_text(text)
    assert granted(readable_paths(environment(home)), file) == shown


def test_links_beside_a_credential_stay_as_far_as_they_lead_to_tools(home: Path) -> None:
    versions = home / ".nvm" / "versions"
    (versions / "current").symlink_to("node")
    (versions / "away").symlink_to(home / "documents")
    (versions / "mine").symlink_to(".env")
    found = readable_paths(environment(home))
    assert str(versions / "current") in found
    assert [name for name in ("away", "mine") if str(versions / name) in found] == []


def test_a_credential_that_a_package_came_with_costs_nothing(home: Path) -> None:
    key = home / ".pyenv/versions/3.11/lib/python3.11/test/keycert.pem"
    key.parent.mkdir(parents=True)
    key.write_text("-----BEGIN PRIVATE KEY-----\n")
    assert str(home / ".pyenv/versions") in readable_paths(environment(home))


def test_outermost() -> None:
    assert outermost(["/a/b", "/a", "/a-b", "/a/b/c", "/b/c", "/b"]) == ["/a-b", "/a", "/b"]
    assert outermost(["/x", "/"]) == ["/"]
    assert outermost([]) == []
