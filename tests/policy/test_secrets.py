"""Which variables are secret, and which a model may set."""

import pytest

from toolroll.policy.secrets import Redaction, is_secret, may_set


def words(text):
    return text.split()


SECRET_NAMES = words("""
API_KEY APIKEY api-key apiKey MY_API_KEY_2 OPENAI_KEY ANTHROPIC_API_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
AZURE_CLIENT_SECRET AZURE_STORAGE_KEY AZURE_STORAGE_CONNECTION_STRING RAILS_MASTER_KEY APP_KEY FERNET_KEY KEY SSH_PRIVATE_KEY
SSH_KEY_PATH SSL_KEY_FILE GPG_KEY SIGNING_KEY LICENSE_KEY DD_APP_KEY SSH_KEYS API_KEYS
TOKEN GITHUB_TOKEN INPUT_GITHUB_TOKEN accessToken ACCESS_TOKENS AUTHTOKEN npm_config__authToken TOKEN_OLD REFRESH_TOKEN_B64
AWS_WEB_IDENTITY_TOKEN_FILE ACTIONS_ID_TOKEN_REQUEST_URL
PASSWORD DB_PASSWORD dbPassword PGPASSWORD MYSQL_ROOT_PASSWORD DB_PASS SMTP_PASS SSHPASS SUDO_PASS REDIS_PWD SA_PWD PGPASSFILE
PASS_PHRASE GPG_PASSPHRASE PASSWORD_STORE_DIR KEYSTORE_PASSWORD USER_PASSWORD_HASH HASH_SALT
CREDENTIALS GOOGLE_CREDENTIALS AWS_SHARED_CREDENTIALS_FILE GIT_CREDENTIALS DB_CREDS SECRET SECRETS CLIENT_SECRET_ID TOP.SECRET
GITHUB_PAT AZURE_DEVOPS_EXT_PAT CI_JOB_JWT BASIC_AUTH HTTP_AUTH SESSION_COOKIE DISCORD_WEBHOOK TEAMS_WEBHOOK_URL
SSH_AUTH_SOCK GPG_AGENT_INFO DBUS_SYSTEM_BUS_ADDRESS XAUTHORITY KRB5CCNAME KUBECONFIG NETRC GNOME_KEYRING_CONTROL GIT_ASKPASS
SEED_PHRASE WALLET_MNEMONIC MFA_OTP GCP_SERVICE_ACCOUNT SSLKEYLOGFILE
""")

PLAIN_NAMES = words("""
KEYBOARD KEYBOARD_LAYOUT MONKEY MONKEY_PATCH DONKEY HOTKEY WHISKEY_BAR KEYNOTE KEYSTROKES KEY_REPEAT KEYTIMEOUT SORT_KEY PRIMARY_KEY
PUBLIC_KEY STRIPE_PUBLISHABLE_KEY SSH_PUBKEY PARTITION_KEY CACHE_KEY FOREIGN_KEYS KEYS_COUNT
TOKENIZERS_PARALLELISM TOKENIZER TOKENIZER_PATH MAX_TOKEN MAX_TOKENS INPUT_TOKENS TOKEN_LIMIT TOKEN_COUNT ACCESS_TOKEN_EXPIRE_MINUTES
TOKEN_TTL JWT_ALGORITHM JWT_EXPIRES
PASSENGER_COUNT PASSAGE COMPASS COMPASS_MODE BYPASS BYPASS_CACHE OVERPASS_URL PASS_THROUGH TEST_PASS PASSIVE PASSWORD_MIN_LENGTH
SECRETARY SECRETION_RATE SECRET_ROTATION AUTHOR GIT_AUTHOR_NAME AUTHORITY AUTHENTIC AUTH_TYPE AUTH_METHOD AUTH_ENABLED
PWD OLDPWD INIT_PWD PATH HOME XDG_SESSION_ID XDG_SESSION_TYPE SESSION_MANAGER COOKIECUTTER COOKIE_DOMAIN PATTERN SPATIAL PATH_INFO
SALTSTACK CERT_FILE SSL_CERT_FILE CREDIT CREDITS_FILE DESCRIPTION WEBHOOK_PORT WEBHOOKS_ENABLED OAUTH_CLIENT_ID USERNAME AWS_PROFILE AWS_REGION
ASKED DSN_NAME JDK KEYCLOAK_URL MYKEYWORD BASE_URL LS_COLORS
""")

SECRET_VALUES = [
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE", "-----BEGIN OPENSSH PRIVATE KEY-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUU=", "AGE-SECRET-KEY-1QQQQ", "PuTTY-User-Key-File-2: ssh-rsa",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345", "github_pat_11ABCDEFG0123456789_abcdef", "glpat-abcdefghij1234567890",
    "sk-proj-abcdefghijklmnopqrstuvwxyz", "sk-ant-api03-abcdefghijklmnop", "sk_live_51H0abcdefghijklmnop", "rk_test_51H0abcdefgh",
    "xoxb-123456789012-abcdef", "hf_abcdefghijklmnopqrstuv", "npm_abcdefghijklmnopqrstuvwxyz0123456789", "pypi-AgEIcHlwaS5vcmc",
    "SG.abcdefghijk.lmnopqrstuvw", "hvs.CAESIJabcdef", "dckr_pat_abcdefghijkl", "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1", "$2b$12$abcdefghijklmnopqrstuv", "$6$salt$hash", "gsk_abcdefghijklmnopqrst",
    "postgres://u:p@h/db", "redis://:p4ss@h:6379/0", "https://token@github.com/a/b", "mongodb+srv://u:p%40x@h", "amqp://guest:guest@h",
    "u:p@tcp(h:3306)/db", "https://h/x?token=abc", "https://h.blob.core.windows.net/c?sv=1&sig=abc%3D", "https://h/?api_key=1",
    "Server=h;User Id=u;Password=p;", "jdbc:postgresql://h/db?user=u&password=p", "DefaultEndpointsProtocol=https;AccountKey=abc==",
    "Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=abc", "-Djavax.net.ssl.trustStorePassword=changeit", "host=h password='p'",
    "Authorization: Bearer abcdef", "Bearer abcdef123", "Basic dTpw", "X-Api-Key: abc", "Cookie: a=b", '{"auths": {"h": {"auth": "dTpw"}}}',
    '{"type": "service_account", "private_key": "x"}', "//registry.npmjs.org/:_authToken=abc", "https://hooks.slack.com/services/T0/B0/x",
    "https://discord.com/api/webhooks/1/abc", "https://outlook.office.com/webhook/abc", "machine h login u password p", "--token abc",
    "eyJhdXRocyI6IHsiaCI6IHsiYXV0aCI6ICJkVHB3In19fQ==",
]  # fmt: skip

PLAIN_VALUES = [
    "", "1", "true", "/usr/bin:/bin", "en_US.UTF-8", "0123456789abcdef0123456789abcdef01234567", "2024-01-01T00:00:00Z", "a@b.c",
    "550e8400-e29b-41d4-a716-446655440000", "https://example.com/a?b=c", "redis://h:6379/0", "sqlite:///a.db", "ssh://git@example.com/x.git",
    "git@github.com:a/b.git", "unix:///run/x.sock", "--max-old-space-size=4096", "rs=0:di=01;34:ln=01;36", "1.2.3.4 5 22", "C:\\Users\\a",
    "refs/heads/main", "/home/u/Projects/App/build/outputs/debug/a", "home/user/Projects/App1/build/outputs/xx", "\\u@\\h:\\w\\$ ",
    "sk-SK", "key-value", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUU=", "-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----",
    "tokenizer=fast;tokens=5", "author: Ann", "postgres://localhost/db", "pwd: /home/u", "eyJ", "authority=none", "no password needed",
    "Basic usage", "Basic plan", "https://outlook.office.com/mail/",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_secret_by_name(name):
    assert is_secret(name, "x")
    assert is_secret(name.lower(), "x") or name != name.upper()  # without capitals, words are told by other signs


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_plain_by_name(name):
    assert not is_secret(name, "x")
    assert not is_secret(name.lower(), "1")


@pytest.mark.parametrize("value", SECRET_VALUES)
def test_secret_by_value(value):
    assert is_secret("THING", value)


@pytest.mark.parametrize("value", PLAIN_VALUES)
def test_plain_by_value(value):
    assert is_secret("THING", value) is False


def test_forty_characters_without_a_word_are_a_secret_and_what_is_not_base64_is_none():
    rest = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2"
    values = (f"abc/{rest}", f"abcd/{rest[1:]}", f"ABCD+{rest[1:]}", f"Abcd/{rest[1:]}", "a" * 40, "eyJabcd=a=b")
    assert [is_secret("THING", value) for value in values] == [True, False, False, False, False, False]


def test_numbers_and_switches_are_no_tokens_or_logins():
    assert [is_secret("TOKENS", value) for value in ("4096", "true", "abc,def")] == [False, False, True]
    assert [is_secret("REQUIRE_AUTH", value) for value in ("1", "basic", "dTpwYXNz")] == [False, False, True]


def test_hostile_values_take_no_time():
    pieces = [
        "a:",
        "eyJ",
        "eyJabcdefgh-",
        "://",
        "a://",
        "http://",
        "password",
        "password ",
        "x",
        "sk-",
        "$6$",
        "-----BEGIN ",
        "a:b@tcp",
    ]
    for piece in [*pieces, "SG.aaaaaaaa-", "bearer "]:
        is_secret("THING", piece * (3_000_000 // len(piece)))
    is_secret("A_" * 100_000, "x")


REFUSED = words("""
SED AWK AUTOMAKE LIBTOOLIZE CCACHE_COMPILER SCCACHE_DIR TS_NODE_COMPILER COMPOSER_HOME GVIMINIT
LD_PRELOAD LD_LIBRARY_PATH ld_preload DYLD_INSERT_LIBRARIES BASH_ENV BASHOPTS ENV IFS PS4 PROMPT_COMMAND SHELLOPTS CDPATH ZDOTDIR SHELL
PATH HOME TMPDIR PAGER MANPAGER EDITOR VISUAL BROWSER LESS LESSOPEN GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_DIR GIT_CONFIG_COUNT
GIT_EXEC_PATH GIT_ASKPASS GIT_PROXY_COMMAND SSH_AUTH_SOCK SUDO_ASKPASS PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT
PYTHONWARNINGS PYTHONUSERBASE PYTHONPATH PERL5LIB PERL5OPT RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS
JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS CC CXX LD CFLAGS LDFLAGS RUSTC RUSTC_WRAPPER RUSTFLAGS
CARGO_BUILD_RUSTC CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER GOFLAGS GOPROXY GOROOT CGO_CFLAGS MAKEFLAGS CMAKE_TOOLCHAIN_FILE
PKG_CONFIG_PATH HTTP_PROXY https_proxy ALL_PROXY no_proxy PIP_INDEX_URL PIP_CONFIG_FILE npm_config_registry NPM_CONFIG_SCRIPT_SHELL UV_INDEX_URL
PYTEST_ADDOPTS PYTEST_PLUGINS SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE OPENSSL_CONF SSLKEYLOGFILE NODE_TLS_REJECT_UNAUTHORIZED
OPENAI_BASE_URL ANTHROPIC_BASE_URL AWS_ENDPOINT_URL AWS_CONFIG_FILE DOCKER_HOST KUBECONFIG XDG_CONFIG_HOME RIPGREP_CONFIG_PATH GREP_OPTIONS
TAR_OPTIONS VIMINIT LUA_INIT PHPRC R_PROFILE DOTNET_STARTUP_HOOKS CORECLR_PROFILER ELECTRON_RUN_AS_NODE HGRCPATH RSYNC_RSH DISPLAY
HOSTALIASES GCONV_PATH GLIBC_TUNABLES TERMINFO ANSIBLE_CONFIG TF_CLI_CONFIG_FILE BASH_FUNC_ls%% a=b 1A
""")

SETTABLE = words("""
FOO NODE_ENV DEBUG VERBOSE CI LANG LC_ALL TZ PORT HOST RUST_BACKTRACE RUST_LOG GOOS GOARCH GOMAXPROCS CGO_ENABLED NO_COLOR FORCE_COLOR COLUMNS
DATABASE_URL DJANGO_SETTINGS_MODULE FLASK_APP PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED GIT_AUTHOR_NAME GIT_COMMITTER_DATE
CARGO_TERM_COLOR TF_CPP_MIN_LOG_LEVEL CUDA_VISIBLE_DEVICES OMP_NUM_THREADS TEMPLATE TEMPERATURE ZIPCODE GOAL SCREEN_WIDTH STACK_NAME NODE_NAME
HISTORY_SIZE LESSON APP_ENV TERM _ MY_API_KEY PATHS CCACHE ASSETS LDAP_HOST
""")


@pytest.mark.parametrize("name", REFUSED)
def test_may_not_be_set(name):
    assert not may_set(name, "/tmp/x")


@pytest.mark.parametrize("name", SETTABLE)
def test_may_be_set(name):
    assert may_set(name, "x")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("NODE_OPTIONS", "--max-old-space-size=4096", True),
        ("NODE_OPTIONS", " --no-warnings --enable-source-maps ", True),
        ("NODE_OPTIONS", "", True),
        ("NODE_OPTIONS", "--require ./x.js", False),
        ("NODE_OPTIONS", "--no-warnings --import=x", False),
        ("PYTHONPATH", "src", True),
        ("PYTHONPATH", ".:src/a", True),
        ("PYTHONPATH", "src:/tmp", False),
        ("PYTHONPATH", "../x", False),
        ("PYTHONPATH", "src/../..", False),
        ("PYTHONPATH", "~/x", False),
        ("PYTHONPATH", "", False),
        ("FOO", "() { :; }; touch x", False),
        ("FOO", "a\0b", False),
    ],
)
def test_some_values_decide(name, value, allowed):
    assert may_set(name, value) is allowed


TOKEN = "ghp_0123456789abcdefABCDEF0123456789abcd"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----"
redact = Redaction({"MY_PASSWORD": "korrekt horse", "HOME": "/home/someone", "API_KEY": "short"})

ROWS = [
    (f"a {TOKEN} b", "a [redacted] b"),
    (f'{{"x": "{TOKEN}"}}', '{"x": "[redacted]"}'),
    (f'{{\\"x\\": \\"{TOKEN}\\"}}', '{\\"x\\": \\"[redacted]\\"}'),
    ("before\n" + KEY + "\nafter", "before\n[redacted]\nafter"),
    (f"Authorization: Bearer {JWT}", "Authorization: Bearer [redacted]"),
    ("the korrekt horse is hidden", "the [redacted] is hidden"),
    ("DB_PASSWORD=hunter2hunter2 next", "DB_PASSWORD=[redacted] next"),
    ('"client_secret": "abcdef123456"', '"client_secret": "[redacted]"'),
    ("postgres://me:pa55word@db/x y", "[redacted] y"),
]
PLAIN_TEXTS = [
    "def total(prices):\n    return sum(prices)\n",
    "password = os.environ.get('DB_PASSWORD')",
    "token = Token()\nself.token.check()",
    "max_tokens: 4096, output_tokens=123456",
    "src/toolroll/agent/transcript.py:120: in function `redact`",
    "/home/someone and short",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "https://example.com/a/b?page=2#top",
]


@pytest.mark.parametrize(("text", "expected"), ROWS)
def test_secrets_are_hidden(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_in_a_long_text() -> None:
    long = "plain words\n" * 3000
    text, expected = ("\n".join(row[at] for row in ROWS) for at in (0, 1))
    assert redact(f"{long}{text}\n{long}") == f"{long}{expected}\n{long}"


@pytest.mark.parametrize("text", PLAIN_TEXTS)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text


def test_a_secret_at_any_place_of_a_long_text() -> None:
    for place in range(29_900, 30_010, 25):
        assert redact("x " * (place // 2) + TOKEN) == "x " * (place // 2) + "[redacted]"


def test_a_value_that_holds_another_is_hidden_as_a_whole() -> None:
    hide = Redaction({"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefgh-ijklmnop", "C_TOKEN": "1234567"})
    assert hide("abcdefgh-ijklmnop abcdefgh") == "[redacted] [redacted]"
    assert hide("1234567") == "1234567"  # shorter than eight characters


def test_a_secret_at_the_very_beginning() -> None:
    assert redact(TOKEN) == "[redacted]"
    assert redact(f"{TOKEN} {'x ' * 40_000}").startswith("[redacted] x ")


def test_the_address_of_a_service_is_a_secret_by_its_value():
    assert not is_secret("SENTRY_DSN", "https://sentry.example/1")
    assert is_secret("SENTRY_DSN", "https://abcdef@sentry.example/1")
