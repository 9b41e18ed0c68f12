"""Files of secrets by their names and by what is in them."""

from __future__ import annotations

import pytest

from toolroll.policy.paths import is_secret_name, may_hold_credential
from toolroll.policy.secrets import (
    holds_credential,
    holds_secret,
    secret_paths,
    secret_values,
)

SECRET = [
    ".env", ".env.production", "prod.env", "a/b/.env.local", ".envrc", ".netrc", "_netrc", ".pgpass", ".pypirc",
    "credentials", "credentials.toml", ".credentials.json", "credentials.json", "secrets.yaml", "secret.json",
    "id_rsa", "id_ed25519", ".ssh/config", ".aws/config", ".kube/config", "kubeconfig", "auth.json", "server.p12",
    "wallet.jks", "terraform.tfstate", "service-account-prod.json", "client_secret_1.apps.json", ".htpasswd",
    "settings-security.xml", ".git-credentials", ".dockercfg", ".vault-token", "PASSWORDS.KDBX", ".bash_history",
]  # fmt: skip
PLAIN = [
    ".env.example", ".env.sample", ".env.template", ".environment", "env", "env.py", "credentials.py", "secrets.py",
    "test_secrets.json.py", "config", "src/config", "config.toml", "id_rsa.pub", "main.go", "auth.ts", "README.md",
    "token.py", "keys.md", "", "/", "kubeconfig.md",
]  # fmt: skip


def test_secrets_of_home_folders() -> None:
    found = secret_paths(["/root", "/home/a/"])
    assert {"/root/.ssh", "/home/a/.ssh", "/home/a/.config/gh"} < set(found)
    assert len(found) == 2 * len(secret_paths(["/"]))


@pytest.mark.parametrize("name", SECRET)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", PLAIN)
def test_other_names(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (".npmrc", b"//r.example.org/:_authToken=abc", True),
        (".npmrc", b"save-exact=true", False),
        ("settings.xml", b"<password>x</password>", True),
        ("config.toml", b"[build]\njobs = 4", False),
        ("ca.pem", b"-----BEGIN CERTIFICATE-----\ntoken", False),
        ("ca.pem", b"-----BEGIN RSA PRIVATE KEY-----", True),
        ("x.key", b"-----BEGIN OPENSSH PRIVATE KEY-----", True),
        ("pip.conf", b"index-url = https://u:p@example.org", True),
    ],
)
def test_configuration_is_judged_by_what_is_in_it(name: str, text: bytes, found: bool) -> None:
    assert may_hold_credential(name)
    assert not is_secret_name(name)
    assert holds_credential(name, text) is found


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=hunter2",
        "1\texport API_KEY='a1b2c3d4e5'",
        ".env:3:STRIPE_SECRET=abcdef12",
        "environment: DB_PASSWORD=hunter2",
        "export AWS_PROFILE=x,API_KEY=k-12345",
        "  password: swordfish",
        '{"client_secret": "abc123"}',
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "aws AKIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdefghij",
    ],
)
def test_texts_with_secrets(text: str) -> None:
    assert holds_secret(f"before\n{text}\nafter")


@pytest.mark.parametrize(
    "text",
    [
        "def password(self): return self._password",
        "PASSWORD=$1",
        "PASSWORD = os.environ['PASSWORD']",
        "API_KEY=${KEY}",
        "max_tokens: 4000",
        "TOKEN = re.compile(r'x')",
        "the password is asked for",
        "token: str",
        "PATH=/usr/bin",
        "",
    ],
)
def test_texts_without_secrets(text: str) -> None:
    assert not holds_secret(f"before\n{text}\nafter")


def test_values() -> None:
    assert secret_values("A=1\nDB_PASSWORD=hunter2\nHOST=example.org\nAPI_KEY='k-12345'\n") == ["hunter2", "k-12345"]
