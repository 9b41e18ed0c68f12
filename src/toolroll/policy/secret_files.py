"""Recognise files that hold secrets, by name and by content."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolroll.policy.secrets import has_shape, is_literal, is_secret


def _either(text: str) -> str:
    return "|".join(text.split())


# A file of such a name holds credentials and nothing else.
_ALWAYS = re.compile(
    _either(r"""
    \.env(?:rc)? \.env\.(?!(?:example|sample|template|dist|defaults?)$)[\w.-]+ [\w.-]+\.env
    \.?netrc _netrc \.pgpass pgpass\.conf \.my\.cnf \.mylogin\.cnf \.s3cfg \.boto \.dockercfg \.dockerconfigjson
    \.pypirc \.htpasswd \.vault-token \.terraformrc terraform\.rc \.git-credentials git-credentials \.databrickscfg
    \.?credentials(?:\.(?:toml|json|ya?ml|ini|db|xml|properties|tfrc\.json|csv))?
    \.?secrets?\.(?:toml|json|ya?ml|ini|env)
    accesskeys\.csv application_default_credentials\.json access_tokens\.db (?:service[_-]?account)[\w-]*\.json
    client_secrets?[\w.-]*\.json auth\.(?:json|toml) oauth_creds\.json settings-security\.xml \.?kubeconfig
    id_(?:rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk|xmss) ssh_host_[a-z0-9]+_key identity\.asc
    [^/]+\.(?:kdbx?|jks|keystore|p12|pfx|ppk|pkcs12|ovpn|tfstate|agekey|keychain)
    \.(?:bash|zsh|python|psql|mysql)_history
    """),
    re.IGNORECASE,
)
# A file of such a name is configuration, or a public key: the content decides.
_MAYBE = re.compile(
    _either(r"""
    \.?npmrc \.?yarnrc(?:\.yml)? \.?bunfig\.toml pip\.conf pip\.ini uv\.toml poetry\.toml \.?condarc \.?mambarc
    config config\.(?:toml|json|ya?ml|ini) settings\.(?:xml|json) nuget\.config [^/]+\.pem [^/]+\.key [^/]+\.asc
    gradle\.properties \.gitconfig gitconfig \.gemrc \.?curlrc \.?wgetrc \.hgrc hosts\.ya?ml \.?mcp\.json
    """),
    re.IGNORECASE,
)
_CREDENTIAL = re.compile(
    rb"(?i)token|passw|secret|extraheader|askpass|_auth\b|apikey|api_key|private[ _-]?key|://[^/\s]*@"
)
# Where a public certificate speaks of keys and tokens there is no secret yet.
_KEYS = re.compile(rb"PRIVATE KEY|PGP PRIVATE|AGE-SECRET-KEY-1|PuTTY-User-Key-File")
_ASSIGNED = re.compile(
    r"(?m)(?<![\w$.-])[\"']?([A-Za-z][A-Za-z0-9_.-]{1,80})[\"']?(?:=|\s{0,4}[:=]\s{1,4})[\"']?([^\s\"'$<{(\[,;]{4,400})"
)
_CONFIGURED = re.compile(r"[A-Z][A-Z0-9_]*|[a-z0-9_.-]*(?:password|passwd|secret|token|api_?key|access_?key)")
MAX_CHARACTERS = 1 << 20
"""Only so much of a text is searched."""


def is_secret_name(path: str) -> bool:
    """Whether a file of this name, or path, is one of credentials."""
    parts = path.rstrip("/").rsplit("/", 2)
    if parts[-1].lower() == "config" and len(parts) > 1:
        return parts[-2] in (".kube", ".aws", ".ssh")
    return _ALWAYS.fullmatch(parts[-1]) is not None


def may_hold_credential(name: str) -> bool:
    """Whether a file of this name is configuration with room for a credential, or may be a private key."""
    return _MAYBE.fullmatch(name) is not None


def holds_credential(name: str, data: bytes) -> bool:
    """Whether a file of configuration, or of keys, has anything in it that looks like a credential."""
    pattern = _KEYS if name.lower().endswith((".pem", ".key", ".asc")) else _CREDENTIAL
    return pattern.search(data) is not None


def holds_secret(text: str) -> bool:
    """Whether a text shows a secret: a private key, a token, an assigned password."""
    return bool(next(iter(secret_values(text)), None)) or has_shape(text[:MAX_CHARACTERS])


def secret_values(text: str) -> list[str]:
    """The values in a text that are assigned to names of secrets, as in `DB_PASSWORD=...`."""
    return [
        value
        for name, value in _ASSIGNED.findall(text[:MAX_CHARACTERS])
        if _CONFIGURED.fullmatch(name) and is_literal(value) and is_secret(name, value)
    ]


# In a home folder: what neither commands nor tools of a wide workspace may read.
_SECRETS_OF_HOMES = """
    .Xauthority .ansible .aws .azure .bash_history .boto .cargo/credentials .cargo/credentials.toml .claude
    .claude.json .codex .config/gcloud .config/gh .config/git/credentials .config/glab-cli .config/hub .config/op
    .config/rclone .docker .dotnet/corefx .gem/credentials .git-credentials .gnupg .gradle/gradle.properties
    .ivy2/.credentials .kube .local/share/keyrings .local/share/kwalletd .m2/settings-security.xml .m2/settings.xml
    .mozilla .my.cnf .netrc .npmrc .nuget/NuGet .password-store .pgpass .pki .pypirc .python_history .s3cfg
    .sbt/.credentials .ssh .subversion/auth .terraform.d .terraformrc .thunderbird .vault-token .yarnrc.yml
    .zsh_history Library/Keychains
"""


def secret_paths(homes: Iterable[str]) -> list[str]:
    """Where secrets are in these home folders, whether or not there are any."""
    return [f"{home.rstrip('/')}/{name}" for home in homes for name in _SECRETS_OF_HOMES.split()]
