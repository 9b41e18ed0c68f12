"""Which names of files are those of secrets. Every call that names a path asks: nothing here takes long to import."""

from __future__ import annotations

import re


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


def is_secret_name(path: str) -> bool:
    """Whether a file of this name, or path, is one of credentials."""
    parts = path.rstrip("/").rsplit("/", 2)
    if parts[-1].lower() == "config" and len(parts) > 1:
        return parts[-2] in (".kube", ".aws", ".ssh")
    return _ALWAYS.fullmatch(parts[-1]) is not None


def may_hold_credential(name: str) -> bool:
    """Whether a file of this name is configuration with room for a credential, or may be a private key."""
    return _MAYBE.fullmatch(name) is not None
