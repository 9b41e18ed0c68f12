from __future__ import annotations

import base64
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.host.http.web import AUTHORITY
from tests.host.network.file_server import serve_files
from tests.host.network.test_command_network import bash, skip_without_sockets
from toolroll import Kit, Policy
from toolroll.host.network.credentials import read_credentials

LOGIN = "me:s3cret-of-mine"
BASIC = "Basic " + base64.b64encode(LOGIN.encode()).decode()

_GET = """
import ssl, sys, urllib.error, urllib.request
try:
    urllib.request.urlopen(sys.argv[1], timeout=50, context=ssl._create_unverified_context())
except urllib.error.HTTPError as error:
    print(error.code)
"""


def test_where_secrets_come_from(tmp_path: Path) -> None:
    inside = tmp_path / "ws"
    inside.mkdir()
    (inside / "key").write_text("x")
    (tmp_path / "key").write_text("abc\n")
    environ = {"A": LOGIN, "B": "Token abc", "C": "a\nb", "HOME": str(tmp_path)}
    sources = {
        **{name: f"env:{name}" for name in "ABCD"},
        "home": "file:~/key",
        "gone": "file:/gone",
        "inside": f"file:{inside}/key",
    }
    found = read_credentials(sources, environ, [str(inside)])
    assert {name: one.header for name, one in found.items() if one.header} == {
        "A": BASIC,
        "B": "Token abc",
        "home": "Bearer abc",
    }
    assert {name: one.problem for name, one in found.items() if not one.header} == {
        "C": "the variable C with its credential is not set",
        "D": "the variable D with its credential is not set",
        "gone": "the file '/gone' with its credential cannot be read: No such file or directory",
        "inside": f"the file '{inside}/key' with its credential is in the workspace, where commands read it",
    }


@pytest.mark.parametrize(
    "given", [{"*.example.org": "env:A"}, {"example.org": "s3cret"}, {"example.org": "env:"}, {"no host": "env:A"}]
)
def test_a_wrong_setting_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"credentials|is no host"):
        Policy(credentials=given)


@pytest.mark.parametrize("rule", ["", " ", "/team/", "GET", "GET,POST", "GET /team/"])
def test_a_rule_that_names_no_host_is_one_sentence(rule: str) -> None:
    with pytest.raises(ValueError, match="names no host") as refused:
        Policy(credentials={rule: "env:A"})
    assert "\n" not in str(refused.value)


def test_git_uses_a_credential_that_commands_do_not_see(
    ws: Path, tmp_path: Path, confined: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_sockets(confined)
    folder = tmp_path / "files"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", "one.git"], cwd=folder, check=True)
    subprocess.run(["git", "-C", "one.git", "config", "http.receivepack", "true"], cwd=folder, check=True)
    monkeypatch.setenv("SSL_CERT_FILE", AUTHORITY)
    monkeypatch.setenv("LOGIN_OF_MINE", LOGIN)
    monkeypatch.setattr("toolroll.host.network.gate.look_up", lambda *_: ["127.0.0.1"])
    with serve_files(folder, BASIC, tls=True) as port:
        host = f"secure.example.com:{port}"
        policy = Policy(
            network=host, hosts=(host,), credentials={host: "env:LOGIN_OF_MINE"}, sandbox=confined, commands="plain"
        )
        with Kit(ws, policy=policy, state_dir=tmp_path / "state") as kit:
            told = bash(
                kit,
                f"git clone -q https://{host}/one.git && cd one && git -c user.name=A -c user.email=a@b.c commit -q"
                " --allow-empty -m First && git push -q origin HEAD:main && git ls-remote",
            )
            assert "\trefs/heads/main\n" in told, told
            assert "s3cret" not in bash(
                kit, "env; cat one/.git/config; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'"
            )
            asked = f"/usr/bin/python3 -c {shlex.quote(_GET)} https://{host}/one.git/"
            assert bash(kit, asked).startswith("401")
