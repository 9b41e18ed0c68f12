from __future__ import annotations

import tomllib
from pathlib import Path

from toolroll.host.network.cargo import format_settings, read_settings, read_tokens
from toolroll.host.network.credentials import Credential

CONFIG = """
[source.crates-io]
replace-with = "mirror"
[source.mirror]
registry = "sparse+https://me:pw@mirror.example/index/"
[source."vendored sources"]
directory = "/vendor"
[registries.own]
index = "https://own.example/git"
token = "secret"
credential-provider = ["x"]
[net]
retry = 1
git-fetch-with-cli = true
[http]
proxy = "http://proxy.example"
[build]
rustc-wrapper = "sccache"
"""


def test_settings_say_where_crates_come_from_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG)
    environ = {"CARGO_HOME": str(tmp_path)}
    text = format_settings(read_settings(environ, ()), lambda one: one.replace("me:pw@", ""))
    assert tomllib.loads(text) == {
        "source": {
            "crates-io": {"replace-with": "mirror"},
            "mirror": {"registry": "sparse+https://mirror.example/index/"},
            "vendored sources": {"directory": "/vendor"},
        },
        "registries": {"own": {"index": "https://own.example/git"}},
        "net": {"retry": 1, "git-fetch-with-cli": True},
    }
    assert read_tokens(environ, ()) == [("https://own.example/git", Credential("secret"))]
    own = {**environ, "CARGO_REGISTRIES_OWN_TOKEN": "other"}
    assert read_tokens(own, ()) == [("https://own.example/git", Credential("other"))]


def test_what_is_in_the_workspace_or_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(CONFIG)
    environ = {"CARGO_HOME": str(tmp_path)}
    assert read_settings(environ, ()) != {}
    assert (read_settings(environ, [str(tmp_path)]), read_tokens(environ, [str(tmp_path)])) == ({}, [])
    (tmp_path / "config.toml").write_text("[source")
    assert (read_settings(environ, ()), read_settings({}, ())) == ({}, {})
