"""Which variables, files and texts hold secrets, by their names and by the shape of values; which a model may set."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from itertools import pairwise

from toolroll.policy.variables import may_set, words

__all__ = ["Redaction", "is_literal", "is_secret", "may_set"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
_SECRET = words("""
    PASSWORD PASSWORDS PASSWD PASSPHRASE PASSCODE SECRET SECRETS CREDENTIAL CREDENTIALS CREDS CRED APIKEY
    APIKEYS AUTHORIZATION BEARER MNEMONIC COOKIES KUBECONFIG NETRC ASKPASS HTPASSWD PASSFILE
""")
_ENDINGS = re.compile(  # words written together: PGPASSWORD, authToken, MYAPIKEY
    r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|PASSFILE|ASKPASS)S?$|.TOKEN$"
    r"|(?:API|SECRET|ACCESS|PRIVATE|SSH|AUTH|MASTER|SIGNING|ENCRYPTION|DEPLOY|LICENSE)KEYS?$"
    r"|^(?:DB|SSH|MY|PG|FTP|SMTP|USER|ROOT|ADMIN|MAIL|SQL|MYSQL|REDIS|SUDO|LDAP)PASS$"
)
# The last word of a name, for those that mean a secret only there.
_LAST = words("PASS PAT PWD JWT SALT PEPPER OTP COOKIE AUTH DSN KEY WEBHOOK WEBHOOKS")
_PAIRS = frozenset({
    ("CONNECTION", "STRING"), ("CONN", "STR"), ("CONN", "STRING"), ("PASS", "PHRASE"), ("PASS", "WORD"),
    ("SEED", "PHRASE"),
    ("AUTH", "SOCK"), ("AUTH", "CONFIG"), ("AUTH", "FILE"), ("AUTH", "HEADER"), ("AUTH", "STRING"), ("AUTH", "DATA"),
    ("AUTH", "INFO"), ("AUTH", "CODE"), ("AUTH", "COOKIE"), ("AGENT", "INFO"), ("WEBHOOK", "URL"), ("WEBHOOK", "URI"),
    ("KEYRING", "CONTROL"), ("BUS", "ADDRESS"), ("RECOVERY", "CODE"), ("SERVICE", "ACCOUNT"),
})  # fmt: skip
_NAMES = frozenset({"XAUTHORITY", "KRB5CCNAME", "KRB5_KTNAME", "ICEAUTHORITY", "SSLKEYLOGFILE", "PGPASSFILE"})

# What stands before KEY and is no secret, or is one wherever KEY stands.
_PLAIN_KEYS = words("""
    PUBLIC PUB PUBLISHABLE PRIMARY FOREIGN SORT PARTITION CACHE HOT ROUTING INDEX LOOKUP MAP GROUP JSON DICT OBJECT
    ARROW ENTER SHIFT META COMPOSE MENU IDEMPOTENCY TRANSLATION REGISTRY LEADER PREFIX MODIFIER ESCAPE ANY HASH
    RANGE UNIQUE SHARD ORDER SITE TEMPLATE CONFIG FEATURE MESSAGE ROW COLUMN FIELD HELP HOST
""")
_SECRET_KEYS = words("""
    API SECRET ACCESS PRIVATE SSH GPG PGP SSL TLS AUTH MASTER SIGNING SIGN ENCRYPTION ENCRYPT CRYPT DECRYPTION
    DEPLOY LICENSE ACCOUNT STORAGE SERVICE CONSUMER FERNET HMAC AES RSA JWT SESSION CLIENT APP APPLICATION WALLET
    SHARED
""")
_TRAILING = words("""
    OLD NEW BACKUP BAK PREV PREVIOUS NEXT CURRENT PROD PRODUCTION DEV STAGING TEST TESTING LOCAL BASE64 B64 HEX ENC
    ENCODED RAW FILE PATH ID DEFAULT MAIN PRIMARY SECONDARY VALUE STRING TEXT PEM JSON
""")
# A variable whose name ends so describes a secret and does not hold it.
_ABOUT = words("""
    EXPIRY EXPIRES EXPIRE EXPIRATION TTL LIFETIME TIMEOUT MINUTES SECONDS DAYS HOURS AGE LENGTH LEN SIZE LIMIT COUNT
    BUDGET MAX MIN TYPE ALGORITHM ALG ALGO POLICY ENABLED DISABLED REQUIRED FORMAT ISSUER AUDIENCE ENDPOINT ROTATION
    ITERATIONS ROUNDS STRENGTH MODE PROVIDER SCOPE SCOPES METHOD USAGE PARALLELISM WINDOW COST PRICE RATE
""")
_AMOUNTS = words("MAX MIN NUM NUMBER TOTAL N COUNT LIMIT STOP PER")
_AMOUNTS_OF_MANY = _AMOUNTS | words("USED INPUT OUTPUT PROMPT COMPLETION CONTEXT THINKING REASONING CACHED")
_FOLDERS = words("OLD ORIGINAL ORIG INIT LAST PREV PREVIOUS CURRENT START PROJECT WORK HOST")
_STAGES = words("TEST FIRST SECOND MULTI SINGLE ONE TWO RENDER NEXT LAST FORWARD BACKWARD COMPILER OPTIMIZER")
_PLAIN_VALUE = re.compile(
    r"[0-9.]{0,9}|true|false|yes|no|on|off|none|null|basic|oauth2?|oidc|saml|ldap|jwt|trust|md5|scram|enabled|disabled",
    re.IGNORECASE,
)


def is_secret(name: str, value: str) -> bool:
    """Whether a variable must not be shown or passed on."""
    return _secret_name(name, value) or _secret_value(value)


def is_literal(value: str) -> bool:
    """Whether it could be a secret itself and not code that gets one: a secret has a digit, or no sign of code."""
    return any(char.isdigit() for char in value) or not re.search(r"[().$]", value)


def _secret_name(name: str, value: str) -> bool:
    if name.upper() in _NAMES:
        return True
    words = [word.upper() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT:
        return False
    if set(pairwise(words)) & _PAIRS:
        return True
    while len(words) > 1 and (words[-1] in _TRAILING or words[-1].isdigit()):
        words.pop()
    if any(word in _SECRET or _ENDINGS.search(word) for word in words):
        return True
    if _secret_key(words) or _secret_token(words, value):
        return True
    return words[-1] in _LAST and _is_secret_last(words, value)


def _secret_token(words: list[str], value: str) -> bool:
    """A token opens a door; tokens are often only counted."""
    if "TOKEN" in words:
        return not _AMOUNTS & set(words)
    return "TOKENS" in words and not _AMOUNTS_OF_MANY & set(words) and not _PLAIN_VALUE.fullmatch(value)


def _is_secret_last(words: list[str], value: str) -> bool:
    """For words that mean a secret only at the end of a name, and not behind every other word."""
    before = words[-2] if len(words) > 1 else ""
    match words[-1]:
        case "PWD":
            return bool(before) and before not in _FOLDERS
        case "PASS":
            return before not in _STAGES
        case "AUTH":
            return not _PLAIN_VALUE.fullmatch(value)
        case "KEY":
            return before not in _PLAIN_KEYS
        case "DSN":
            return False  # its value tells
    return True


def _secret_key(words: list[str]) -> bool:
    return any(after in ("KEY", "KEYS") and before in _SECRET_KEYS for before, after in pairwise(words))


_SHAPES = re.compile(  # one `\b` for all words: to try each of them at every letter takes twelve times as long
    r"""
    -----BEGIN[ ][A-Z ]{0,40}PRIVATE[ ]KEY | PuTTY-User-Key-File | AGE-SECRET-KEY-1
    | hooks\.slack\.com/services/ | discord(?:app)?\.com/api/webhooks/
    | webhook\.office\.com/ | outlook\.office\.com/webhook/ | api\.telegram\.org/bot\d
    | \$2[abxy]\$\d\d\$ | \$argon2id?\$ | \$[156]\$[^$\s]{1,80}\$              # hashes of passwords
    | \b(?:
      eyJ[\w-]{8,2000}+\.[\w-]{8,}+\.                                   # JSON Web Token
      | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b                            # AWS
      | AIza[\w-]{30,} | ya29\.[\w-]{10,} | GOCSPX-[\w-]{10,}            # Google
      | gh[opusr]_\w{16,} | github_pat_\w{16,} | gl(?:pat|dt|rt|ptt|cbt|soat|ft)-[\w-]{10,}
      | xox[abeoprs]-[\w-]{8,} | xapp-[\w-]{8,}
      | [sr]k_(?:live|test)_\w{8,} | whsec_\w{8,} | sk-(?:proj-|ant-|or-|svcacct-|admin-)?[\w-]{16,}
      | hf_[A-Za-z0-9]{16,} | npm_[A-Za-z0-9]{20,} | pypi-AgE[\w-]{10,} | dop_v1_\w{16,}
      | dckr_(?:pat|oat)_[\w-]{10,}
      | hv[sbr]\.[\w-]{8,} | SG\.[\w-]{8,80}+\.[\w-]{8} | SK[0-9a-f]{32}\b | key-[0-9a-f]{32}\b
      | [0-9a-f]{32}-us\d{1,2}\b | sq0(?:atp|csp)-[\w-]{10,} | shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}
      | ATATT[\w-]{10,} | PMAK-[\w-]{10,} | NRAK-[A-Z0-9]{10,} | glsa_\w{16,}
      | lin_api_\w{10,} | figd_[\w-]{10,}
      | sntry[su]_[\w=-]{10,} | secret_[A-Za-z0-9]{40,} | fc-[0-9a-f]{32}\b | CFPAT-[\w-]{16,}
      | EAACEdEose0cBA\w | amzn\.mws\.[0-9a-f-]{36}\b
      | (?:gsk|r8|sbp|rubygems|nvapi|pplx|tvly|xai|ntn|ops|dapi|rnd|vercel|tskey)[_-][\w-]{16,}
      | \d{8,10}:[\w-]{35}\b                            # Telegram
    )
    """,
    re.VERBOSE,
)
_ADDRESS = re.compile(
    r"""
    [a-z][a-z0-9+.-]{1,20}://[^\s/@?\#:]{0,200}:[^\s/@?\#]{1,500}@  # user:password@
    | https?://[^\s/:@?\#]{1,500}@                        # a token in the user's place
    | \b[\w.-]{1,80}:[^\s/@:]{1,200}@(?:tcp|unix)\(         # as Go writes it
    | [?&](?:sig|signature|x-amz-signature|token|key|api_?key|access_token|auth|secret)=[^\s&]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"""
    (?:password|passwd|passphrase)["']?\s{0,9}[=:]\s{0,9}["']?[^\s;&"']
    | (?<![a-z])(?:pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|shared[_-]?access[_-]?key
      |client[_-]?secret|private[_-]?key|auths?|_auth|_authtoken)["']?\s{0,9}[=:]\s{0,9}["']?[^\s;&"'/.~$]
    | \b(?:proxy-)?authorization["']?\s{0,9}[:=] | \b(?:x-api-key|x-auth-token|private-token|set-cookie|cookie)\s{0,9}:
    | \bbearer\s{1,9}[\w.~+/=-]{6} | --(?:password|passwd|passphrase|token|secret|api-?key)\s{1,9}[^\s-]
    | \blogin\s{1,9}\S{1,200}\s{1,9}password\s                             # .netrc
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BASIC = re.compile(r"\s*basic\s{1,9}([A-Za-z0-9+/=]{4,})\s*", re.IGNORECASE)
_FORTY = re.compile(r"[A-Za-z0-9/+]{40}")
_ENCODED = re.compile(r"(?:LS0tLS1CRUdJT|eyJ[A-Za-z0-9+/]{4})[A-Za-z0-9+/=\s]*")
_MAX_CHARACTERS = 32_768  # a longer value is not searched, and not shown


def _secret_value(value: str) -> bool:
    if len(value) > _MAX_CHARACTERS:
        return True
    if any(shape.search(value) for shape in (_SHAPES, _ADDRESS, _ASSIGNED)):
        return True
    return _is_random(value) or _hides_key(value) or _is_basic(value)


def _is_random(value: str) -> bool:
    """Forty letters, digits and slashes as AWS writes its secrets; a path has a word in it, a hash has one case."""
    if _FORTY.fullmatch(value) is None or any(map(_is_word, re.split(r"[/+]", value))):
        return False
    return all(any(test(char) for char in value) for test in (str.isupper, str.islower, str.isdigit))


def _is_word(part: str) -> bool:
    return len(part) > 3 and part.isalpha() and (part.islower() or part.isupper() or part.istitle())


def _is_basic(value: str) -> bool:
    """What the Basic scheme sends: a user and a password in base64."""
    found = _BASIC.fullmatch(value)
    try:
        return found is not None and b":" in b64decode(found[1])
    except (NotBase64, ValueError):
        return False


def _hides_key(value: str) -> bool:
    """A private key, or a file of credentials, in base64."""
    if _ENCODED.fullmatch(value) is None:
        return False
    try:
        text = b64decode("".join(value.split()) + "==").decode("latin-1")
    except (NotBase64, ValueError):
        return False
    return _SHAPES.search(text) is not None or _ASSIGNED.search(text) is not None


HIDDEN = "[redacted]"
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[\w.~+/=-]{8,}")
# A name and its value: NAME=value, "name": "value", name: value.
_PAIR = re.compile(
    r"""(?P<name>[A-Za-z_][\w-]{1,60})(?P<between>\\?["']?\s{0,4}[=:]\s{0,4}\\?["']?)(?P<value>[^\s"'\\,;]{6,})"""
)
_LONG_WORD = re.compile(r"[^\s\"'\\`<>(){}\[\],;]{12,}")
_SCHEMES = ("bearer", "basic")
_MIN_CHARACTERS = 8  # characters; a shorter value is found everywhere
_CHUNK_CHARACTERS, _OVERLAP_CHARACTERS = 30_000, 2_000  # characters; about as much as can be judged at once


class Redaction:
    """Hides secrets: the values of this environment that are some, and all that looks like one."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        values = {one for name, one in environment.items() if len(one) >= _MIN_CHARACTERS and is_secret(name, one)}
        self._values = sorted(values, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, HIDDEN)
        parts = [
            text[at : at + _CHUNK_CHARACTERS + _OVERLAP_CHARACTERS] for at in range(0, len(text), _CHUNK_CHARACTERS)
        ]
        if not any(is_secret("", part) for part in parts) and _PAIR.search(text) is None:
            return text
        text = _PRIVATE_KEY.sub(HIDDEN, text)
        text = _BEARER.sub(rf"\1\2{HIDDEN}", text)
        text = _PAIR.sub(_pair, text)
        return _LONG_WORD.sub(_word, text)


def _pair(match: re.Match[str]) -> str:
    name, between, value = match["name"], match["between"], match["value"]
    if value.startswith(HIDDEN) or value.lower() in _SCHEMES or not (is_literal(value) and is_secret(name, value)):
        return match[0]
    return f"{name}{between}{HIDDEN}"


def _word(match: re.Match[str]) -> str:
    word = match[0]
    return word if word.endswith((":", "=")) or not is_secret("", word) else HIDDEN


_CREDENTIAL = re.compile(
    rb"(?i)token|passw|secret|extraheader|askpass|_auth\b|apikey|api_key|private[ _-]?key|://[^/\s]*@"
)
# Where a public certificate speaks of keys and tokens there is no secret yet.
_KEYS = re.compile(rb"PRIVATE KEY|PGP PRIVATE|AGE-SECRET-KEY-1|PuTTY-User-Key-File")
_SETTING = re.compile(  # looked ahead for: the value of one can be the name of another
    r"(?<![\w$.-])(?=([A-Za-z][A-Za-z0-9_.-]{1,80})[\"']?(?:=|\s{0,4}[:=]\s{1,4})[\"']?([^\s\"'$<{(\[,;]{4,400}))"
)
_CONFIGURED = re.compile(r"[A-Z][A-Z0-9_]*|[a-z0-9_.-]*(?:password|passwd|secret|token|api_?key|access_?key)")
MAX_CHARACTERS = 1 << 20
"""Only so much of a text is searched."""


def holds_credential(name: str, data: bytes) -> bool:
    """Whether a file of configuration, or of keys, has anything in it that looks like a credential."""
    pattern = _KEYS if name.lower().endswith((".pem", ".key", ".asc")) else _CREDENTIAL
    return pattern.search(data) is not None


def holds_secret(text: str) -> bool:
    """Whether a text shows a secret: a private key, a token, an assigned password."""
    return bool(secret_values(text)) or _SHAPES.search(text, 0, MAX_CHARACTERS) is not None


def secret_values(text: str) -> list[str]:
    """The values in a text that are assigned to names of secrets, as in `DB_PASSWORD=...`."""
    return [
        value
        for name, value in _SETTING.findall(text[:MAX_CHARACTERS])
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
