"""The operator's configuration: `toolroll.toml`, environment variables, and what the caller sets over them.

Layers, later ones win: `toolroll.toml` in the user's configuration folder; what the user has accepted of a workspace's
suggestions; the `[workspace."path"]` tables of the file that apply, the nearest last; TOOLROLL_ variables; options of
the command line. A file of the workspace is never a layer: its author would choose what runs here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec

from toolroll.host.runtime import user_folders
from toolroll.policy.commit_rules import CommitRule
from toolroll.policy.decision import Rule
from toolroll.policy.limits import Limits
from toolroll.policy.network import check_credentials, parse_network
from toolroll.policy.rules import PRESETS, Confinement, Environment, Policy
from toolroll.text.names import suggest_name

FILE, RULES_FILE, ACCEPTED_FILE = "toolroll.toml", "rules.toml", "accepted.json"
SUGGESTED = ".toolroll/suggested.toml"
# Nothing that starts programs, opens folders or weakens the sandbox: only the user sets that.
_MAY_SUGGEST = {"dialect", "mode", "tools", "policy", "network", "hosts", "protected", "rule", "environment", "limits"}
_MAX_SUGGESTED_BYTES = 64_000


class SettingsError(ValueError):
    """The configuration is wrong; the message names the place and what to write there."""


class PluginSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which plugins are loaded."""

    enabled: bool = True
    disabled: tuple[str, ...] = ()
    """Names of packages, entry points or files that are left out."""


class HookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command that runs before or after calls."""

    event: Literal["before", "after"]
    command: str
    """A line for `sh`."""
    tools: str = "*"
    """Names of tools with wildcards, separated by `|`."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 10.0
    """In seconds."""

    def paths(self) -> list[str]:
        """The files and folders outside of the workspace that the line names, which it may read."""
        named = (os.path.expandvars(os.path.expanduser(one)) for one in self._words())
        return [os.path.abspath(one) for one in named if os.path.isabs(one) and os.path.exists(one)]

    def _words(self) -> list[str]:
        import shlex

        found = shlex.shlex(self.command, posix=True, punctuation_chars=True)
        found.whitespace_split = True
        return list(found)

    def __post_init__(self) -> None:
        """Refuse a command that has no words, or a quote without its end."""
        if not self._words():
            raise ValueError("The command is empty")


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One value for each key of `toolroll.toml`. None leaves it to the policy preset or to the dialect."""

    dialect: str = "native"
    mode: Literal["code", "thinking"] = "code"
    tools: str | tuple[str, ...] | None = None
    code_mode: bool = False
    """Whether the programs of `python` can call the other tools."""
    policy: str = "standard"
    sandbox: Confinement | None = None
    network: bool | str | tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    credentials: dict[str, str] = {}
    """By host: where the secret comes from that its requests get."""
    readable: tuple[str, ...] | None = None
    protected: tuple[str, ...] | None = None
    wide: bool | None = None
    taint: Literal["secrets", "foreign"] | None = None
    secrets: Literal["mark", "hide"] | None = None
    secret_files: tuple[str, ...] | None = None
    allow_destructive: bool | None = None
    allow_cd: bool | None = None
    commit: Literal["auto", "ask", "rules"] | None = None
    commit_rule: tuple[CommitRule, ...] = ()
    rule: tuple[Rule, ...] = ()
    hook: tuple[HookSettings, ...] = ()
    otel: Literal["off", "spans", "content"] = "off"
    """Whether calls are spans of OpenTelemetry, without or with their arguments and results."""
    environment: Environment = Environment()
    limits: dict[str, Any] = {}
    language_servers: dict[str, str] = {}
    verdict: Literal["off", "syntax", "full", "hold"] = "full"
    """What a result says about a change of files: nothing, where it does not parse any more, or all it has caused.

    `hold` is `full`, and a change after which a file does not parse any more is written with the next that mends it.
    """
    mcp: str | dict[str, Any] | None = None
    """The path of a file like `mcp.json`, or its servers by name."""
    roots: tuple[str, ...] = ()
    """Further folders of the workspace, as absolute paths."""
    daemon: Literal["auto", "off"] = "auto"
    """Whether commands use the daemon of their workspace, and start one for jobs."""
    plugins: PluginSettings = PluginSettings()
    prices: dict[str, tuple[float, float]] = {}
    """By model: dollars for a million tokens of input and of output, for what `toolroll agent` shows."""

    def override(self, **given: Any) -> Settings:
        """Other values for these keys, None for none; tables are merged. What a caller gives in Python."""
        changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        for key, value in changes.items():
            before = getattr(self, key)
            if isinstance(before, dict):
                changes[key] = {**before, **value}
            elif isinstance(before, Environment):
                checked = check_layer(Layer("Kit", {key: dict(value)})).values[key]
                changes[key] = msgspec.convert({**msgspec.to_builtins(before), **checked}, Environment)
            elif key in ("tools", "roots") and not isinstance(value, str):
                changes[key] = tuple(value)
        return msgspec.structs.replace(self, **changes) if changes else self

    def build_policy(self, name: str | None = None) -> Policy:
        """The preset of this name, or the configured one, with everything that is configured."""
        preset = PRESETS.get(name or self.policy)
        if preset is None:
            raise SettingsError(f"There is no policy {name or self.policy!r}. There are: {', '.join(PRESETS)}.")
        own = {key: value for key in _POLICY_KEYS if (value := getattr(self, key)) is not None}
        return replace(preset, rules=self.rule, commit_rules=self.commit_rule, environment=self.environment, **own)


_POLICY_KEYS = (
    *("sandbox", "network", "credentials", "hosts", "readable", "protected", "wide", "taint"),
    *("secrets", "secret_files"),
    *("allow_destructive", "allow_cd", "commit"),
)
_BY_VARIABLE = ("dialect", "mode", "tools", "policy", "sandbox", "network", "wide", "daemon")
VARIABLES = {**{key: f"TOOLROLL_{key.upper()}" for key in _BY_VARIABLE}, "mcp": "TOOLROLL_MCP_CONFIG"}
"""Environment variables, by key."""
_ROWS: dict[str, type] = {"hook": HookSettings, "commit_rule": CommitRule}
_TABLES: dict[str, tuple[str, ...]] = {
    "": Settings.__struct_fields__,
    "environment": Environment.__struct_encode_fields__,
    "plugins": PluginSettings.__struct_fields__,
    "limits": tuple(Limits.__slots__),
}


@dataclass(frozen=True, slots=True)
class Layer:
    """Values by key, as TOML gives them, and where they come from."""

    origin: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Configuration:
    """The effective settings, and the origin of each key that is not at its default."""

    settings: Settings
    origins: dict[str, str] = field(default_factory=dict)
    """Of keys in tables too: "limits.call_seconds"."""
    hints: tuple[str, ...] = ()
    """What the user should change in the files."""


def load_settings(workspace: str | os.PathLike[str] = ".") -> Settings:
    """The settings for a workspace; SettingsError for a wrong file, so that a typing error cannot disable it."""
    return configure(workspace).settings


def configure(workspace: str | os.PathLike[str] = ".", over: Iterable[Layer] = ()) -> Configuration:
    """The same with the origin of every value; `over` are the layers of the caller."""
    here = os.path.realpath(workspace)
    old = _read_rules()
    layers = [*old, *_read_file(here), *_read_variables(os.environ), *over]
    hints = [f"{one.origin} is still read in this release: move its tables to {FILE}." for one in old]
    return _merge(layers, tuple(hints)) if layers else Configuration(Settings())


def config_path(name: str = "") -> str:
    """The user's configuration folder, or a file in it, whether or not it exists."""
    return os.path.join(user_folders.config_dir(), name)


def _merge(layers: Iterable[Layer], hints: tuple[str, ...]) -> Configuration:
    """Tables are merged key by key, rules are added; every other value replaces the one before."""
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        for key, value in layer.values.items():
            if key in ("rule", "commit_rule", "hook"):
                merged[key] = (*merged.get(key, ()), *value)
                origins[key] = ", ".join(filter(None, (origins.get(key), layer.origin)))
            elif key in ("environment", "credentials", "limits", "language_servers", "plugins"):
                merged[key] = {**merged.get(key, {}), **value}
                origins |= {f"{key}.{name}": layer.origin for name in value}
            else:
                merged[key], origins[key] = value, layer.origin
    rules = merged.pop("rule", ())
    settings = msgspec.structs.replace(msgspec.convert(merged, Settings, strict=False), rule=rules)
    return Configuration(settings, origins, hints)


def _read_rules() -> list[Layer]:
    where = config_path(RULES_FILE)
    data = _read_toml(where)
    return [check_layer(Layer(where, data))] if data else []


def _read_file(workspace: str) -> list[Layer]:
    where = config_path(FILE)
    data = _read_toml(where)
    tables = data.pop("workspace", {})
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        raise SettingsError(f'{where}: settings of a workspace are given as [workspace."/its/path"] tables.')
    checked = {
        os.path.realpath(_absolute(path, f"{where}: workspace")): check_layer(
            Layer(f'{where} [workspace."{path}"]', table)
        )
        for path, table in tables.items()
    }
    near = sorted((one for one in checked if os.path.commonpath((one, workspace)) == one), key=len)
    whole = [check_layer(Layer(where, data))] if data else []
    return [*whole, *_read_accepted(workspace), *(checked[one] for one in near)]


def _read_accepted(workspace: str) -> list[Layer]:
    found = _answers().get(workspace, {}).get("settings")
    origin = f"suggested by the workspace, accepted in {config_path(ACCEPTED_FILE)}"
    return [check_layer(Layer(origin, found))] if found else []


def _read_variables(environ: Mapping[str, str]) -> list[Layer]:
    """One layer for each variable, which is its origin."""
    given: dict[str, Any] = {key: text for key, name in VARIABLES.items() if (text := environ.get(name, "").strip())}
    if "," in given.get("tools", ""):
        given["tools"] = [name.strip() for name in given["tools"].split(",") if name.strip()]
    if "mcp" in given:
        given["mcp"] = os.path.abspath(given["mcp"])
    return [check_layer(Layer(VARIABLES[key], {key: text}), strict=False) for key, text in given.items()]


def _read_toml(where: str) -> dict[str, Any]:
    try:
        with open(where, "rb") as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SettingsError(f"{where} cannot be read: {error.strerror}.") from None
    return parse_toml(text, where)


def parse_toml(text: bytes, where: str) -> dict[str, Any]:
    """The values of a TOML text; SettingsError says in which line it is wrong."""
    import tomllib

    try:
        return tomllib.loads(text.decode())
    except ValueError as error:  # also what the decoder raises
        raise SettingsError(f"{where}: {error}.") from None


_PROBLEM = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?\$\.?(?P<path>[^`]*)`)?")


def check_layer(layer: Layer, *, strict: bool = True) -> Layer:
    """The layer with its rules parsed and its paths in full; SettingsError names the key that is wrong."""
    values, where = dict(layer.values), layer.origin
    _check_names(values, where)
    rules = values.pop("rule", [])
    try:
        msgspec.convert(values, Settings, strict=strict)
        Limits(**values.get("limits", {}))
        values |= {"network": parse_network(values["network"])} if "network" in values else {}
        check_credentials(values.get("credentials", {}))
        values |= {"rule": _parse_rules(rules)} if rules else {}
    except msgspec.ValidationError as error:
        found = _PROBLEM.fullmatch(str(error))
        what, path = (found["what"], found["path"] or "") if found else (str(error), "")
        choices = _choices(path) if what.startswith("Invalid enum") else ""
        raise SettingsError(f"{where}: {path + ': ' if path else ''}{what}.{choices}") from None
    except ValueError as error:
        raise SettingsError(f"{where}: {error}") from None
    for name, text in values.get("environment", {}).get("set", {}).items():
        if not name or "=" in name or "\0" in name + text:
            raise SettingsError(f"{where}: environment.set: {name!r} cannot be a variable with the value {text!r}.")
    if isinstance(values.get("mcp"), str):
        values["mcp"] = os.path.join(config_path(), os.path.expanduser(values["mcp"]))
    if "roots" in values:
        values["roots"] = [_absolute(path, f"{where}: roots") for path in values["roots"]]
    return Layer(where, values)


def _check_names(values: Mapping[str, Any], where: str) -> None:
    """SettingsError with the nearest name for a key that does not exist."""
    for table, known in _TABLES.items():
        names = values if not table else values.get(table, {})
        for name in names if isinstance(names, Mapping) else ():
            if name not in known:
                place = f" in [{table}]" if table else ""
                hint = suggest_name(name, known) or f" There are: {', '.join(known)}."
                raise SettingsError(f"{where}: there is no key {name!r}{place}.{hint}")


def _absolute(path: str, where: str) -> str:
    full = os.path.expanduser(path)
    if not os.path.isabs(full):
        raise SettingsError(f"{where}: {path!r} is no absolute path.")
    return full


def _choices(key: str) -> str:
    table, _, name = key.rpartition(".")
    kinds = get_type_hints(_ROWS.get(table.partition("[")[0], Settings)).get(name)
    literals = [one for kind in (kinds, *get_args(kinds)) for one in get_args(kind) if isinstance(one, str)]
    return f" There are: {', '.join(literals)}."


def _parse_rules(rows: Any) -> tuple[Rule, ...]:
    from toolroll.policy.shell.examples import parse_rules  # most configurations have no rules

    return parse_rules(rows)


@dataclass(frozen=True, slots=True)
class WorkspaceSuggestion:
    """What the author of a workspace suggests. It counts only after the user has accepted it."""

    values: Mapping[str, Any]
    digest: str
    answered: bool
    """Whether the user has accepted or declined exactly this."""


def read_suggestion(workspace: str) -> WorkspaceSuggestion | None:
    """What a workspace suggests; SettingsError for what is wrong, or must not be suggested."""
    from hashlib import blake2b

    from toolroll.host.files.root import Root

    try:
        with Root(workspace) as root, os.fdopen(root.file(SUGGESTED), "rb") as file:
            text = file.read(_MAX_SUGGESTED_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    values = parse_toml(text, SUGGESTED)
    check_layer(Layer(SUGGESTED, values))
    own = {*values} - _MAY_SUGGEST | {f"environment.{key}" for key in values.get("environment", {}) if key == "pass"}
    if own:
        raise SettingsError(f"{SUGGESTED}: a workspace cannot suggest {min(own)!r}. Set it in {config_path(FILE)}.")
    digest = blake2b(text, digest_size=16).hexdigest()
    return WorkspaceSuggestion(values, digest, _answers().get(os.path.realpath(workspace), {}).get("digest") == digest)


def answer_suggestion(workspace: str, suggestion: WorkspaceSuggestion, *, accept: bool) -> None:
    """Remember the user's answer. What was accepted counts as it was shown, whatever the workspace says later."""
    answer = {"digest": suggestion.digest, "settings": suggestion.values if accept else {}}
    data = msgspec.json.encode({**_answers(), os.path.realpath(workspace): answer})
    os.makedirs(config_path(), mode=0o700, exist_ok=True)
    draft = config_path(f".{os.getpid()}.{ACCEPTED_FILE}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(msgspec.json.format(data, indent=1))
    os.replace(draft, config_path(ACCEPTED_FILE))


def _answers() -> dict[str, dict[str, Any]]:
    where = config_path(ACCEPTED_FILE)
    try:
        with open(where, "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, dict[str, Any]])
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except msgspec.DecodeError:
        raise SettingsError(f"{where} is damaged. Remove it; workspaces ask again for what they suggest.") from None
