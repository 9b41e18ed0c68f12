"""Parse typed paths as text. `host/files/root.py` resolves where they lead on the disk."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from toolroll.result import ErrorCode, ToolError

PROTECTED = (".git", ".hg", ".svn", ".jj")
"""Folders of version control: what is written there can run programs later, so tools only read them."""


def file_type(path: str) -> str:
    """The ending that a file is known by, in lower case with its dot; a backup has that of the file it is of."""
    name = path.rpartition("/")[2]
    kept, _, moment = name.rpartition(".backup.")
    stem, dot, ending = (kept if kept and moment.isdigit() else name).rpartition(".")
    return f".{ending}".lower() if dot and stem.strip(".") else ""


@dataclass(frozen=True, slots=True)
class Relative:
    """A path beneath the workspace as it was typed. ".." is kept: only the kernel knows where it leads."""

    parts: tuple[str, ...]
    is_dir: bool
    """The text can only name a folder: it ends in a slash, "." or "..", or is the workspace itself."""
    text: str = field(init=False, compare=False)
    """For people and models: forward slashes, "." for the workspace itself."""
    where: str = field(init=False, compare=False)
    """For the kernel: like `text`, with the slash that lets nothing but a folder be found."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", "/".join(self.parts) or ".")
        object.__setattr__(self, "where", f"{self.text}/" if self.is_dir else self.text)

    def beyond(self, target: str) -> Relative:
        """The path once its last component, a link to the relative `target`, has been followed."""
        return Relative((*self.parts[:-1], *components(target)), self.is_dir or ends_in_folder(target))


def parts(path: str, root: str) -> Relative:
    """The components of `path` beneath the workspace `root`, an absolute path, without touching any file."""
    if not path:
        raise ToolError(ErrorCode.VALIDATION, 'A path is required. Use "." for the workspace itself.')
    if "\0" in path:
        raise ToolError(ErrorCode.SECURITY, f"The path {path!r} holds a NUL byte. Remove it.")
    if not path.isascii():
        _check_encodable(path)
    names = beneath(path, root) if path.startswith("/") else components(path)
    if names is None:
        raise outside(path, root)
    return Relative(names, ends_in_folder(path) or not names)


def beneath(path: str, root: str) -> tuple[str, ...] | None:
    """What is left of the absolute `path` below `root`, or None. "/ws-evil" is not beneath "/ws"."""
    if path.startswith(root) and path[len(root) : len(root) + 1] == "/":  # as both are mostly written
        return components(path[len(root) :])
    names, above = components(path), components(root)
    return names[len(above) :] if names[: len(above)] == above else None


def outside(path: str, root: str) -> ToolError:
    """The error for a path that leaves the workspace, by its text, by "..", or by a link."""
    text = f"{path!r} is outside the workspace {root!r}. Use a path relative to the workspace."
    return ToolError(ErrorCode.SECURITY, text)


def find_protected(parts: Sequence[str], names: Collection[str] = PROTECTED) -> str | None:
    """The first component that any common file system would take for one of `names`, or None."""
    known = {fold_name(name) for name in names}
    known |= {f"{name.lstrip('.')}~1" for name in known}  # the 8.3 short name of ".git" is "GIT~1"
    return next((part for part in parts if readings(part) & known), None)


def components(path: str) -> tuple[str, ...]:
    """The names in a path; "." and doubled slashes say nothing."""
    return tuple([name for name in path.split("/") if name and name != "."])


def folders_above(paths: Iterable[str]) -> set[str]:
    """Every folder on the way to relative paths."""
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def climbs(path: str) -> bool:
    """Whether the path leads above where it starts."""
    depth = 0
    for part in components(path):
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def ends_in_folder(path: str) -> bool:
    """Whether the text ends in a way that only suits a folder."""
    return path.rpartition("/")[2] in ("", ".", "..")


def _check_encodable(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        text = f"The path {path!r} is not valid Unicode text. Give it without lone surrogates."
        raise ToolError(ErrorCode.VALIDATION, text) from None


def readings(part: str) -> set[str]:
    """The names that common file systems take this one for."""
    # Windows takes "\" for a separator, and drops what follows ":" (a stream) and trailing dots and spaces.
    return {fold_name(piece.partition(":")[0].rstrip(". ")) for piece in part.split("\\")}


def fold_name(name: str) -> str:
    """A name as common file systems compare it."""
    # macOS compares without case, canonically composed, and passes over invisible format characters.
    if name.isascii():  # nothing to compose, and nothing invisible of that kind
        return name.lower().rstrip(". ")
    visible = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", visible).casefold()).rstrip(". ")


def matches_pattern(pattern: str, path: str) -> bool:
    """`*` also matches slashes; a folder means all beneath it; a pattern without a slash matches at any depth."""
    pattern = pattern.removeprefix("./").rstrip("/").removesuffix("/**")
    wanted = (pattern, f"{pattern}/*")
    deep = () if "/" in pattern else (f"*/{pattern}", f"*/{pattern}/*")
    return any(fnmatchcase(path, one) for one in (*wanted, *deep))


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
