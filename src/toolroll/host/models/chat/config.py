"""Which chat model the environment sets up.

TOOLROLL_MODEL names the model: `openai:gpt-5`, `anthropic:claude-sonnet-4-5`, or the name alone. The keys are in
OPENAI_API_KEY and ANTHROPIC_API_KEY; OPENAI_BASE_URL and ANTHROPIC_BASE_URL name other servers that speak the same
protocol, which may be local ones. TOOLROLL_MODEL_OUTPUT bounds the tokens of one answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.client import Client
    from toolroll.host.models.chat.messages import ChatProtocol
    from toolroll.host.models.chat.model import ChatModel

MODEL_VARIABLE = "TOOLROLL_MODEL"
MAX_TOKENS_VARIABLE = "TOOLROLL_MODEL_OUTPUT"
EXTRA = "agent"  # the optional part of toolroll that installs the SDKs of the providers

_MAX_ANSWER_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider: its default server, its environment variables, and how the names of its models begin."""

    name: str
    url: str
    key_variable: str
    url_variable: str
    prefixes: tuple[str, ...]


PROVIDERS = {
    one.name: one
    for one in (
        Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ("claude",)),
        Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL", ("gpt", "o1", "o3", "o4")),
    )
}


def load_model(environment: Mapping[str, str], http: Client, name: str | None = None) -> ChatModel | None:
    """The model of the environment, or the one of this name; None if none is named.

    ToolError if something that the model needs is missing. No error holds a key.
    """
    from toolroll.host.models.chat.messages import Endpoint
    from toolroll.host.models.chat.model import ChatModel

    wanted = (name or environment.get(MODEL_VARIABLE, "")).strip()
    if not wanted:
        return None
    provider, model = _choose_provider(wanted, environment)
    key = environment.get(provider.key_variable, "").strip()
    url = environment.get(provider.url_variable, "").strip()
    if not key and not url:
        needed = f"{provider.key_variable} in the environment. Set it, or {provider.url_variable}"
        raise _unsupported(f"The model {model!r} needs {needed}.")
    protocol = _load_protocol(provider.name)
    if find_spec(protocol.PACKAGE) is None:
        from toolroll.host.requirement import add_extra

        needed = f"the package {protocol.PACKAGE!r}. Install it: {add_extra(EXTRA)}"
        raise _unsupported(f"The model {model!r} needs {needed}")
    url = url or provider.url
    client = http.for_url(url, provider.url_variable, max_bytes=_MAX_ANSWER_BYTES)
    endpoint = Endpoint(provider.name, url.rstrip("/"), key, provider.key_variable, provider.url_variable)
    return ChatModel(model, endpoint, protocol, client, max_tokens=_read_max_tokens(environment))


def _choose_provider(wanted: str, environment: Mapping[str, str]) -> tuple[Provider, str]:
    """The provider that the name states, that its prefix suggests, or that is set up; and the name of the model."""
    before, colon, after = wanted.partition(":")
    if colon and before.lower() in PROVIDERS and after:  # a colon may also belong to the name, as in qwen3:8b
        return PROVIDERS[before.lower()], after
    set_up = {name for name, value in environment.items() if value}
    ready = [one for one in PROVIDERS.values() if set_up & {one.key_variable, one.url_variable}]
    fitting = [one for one in PROVIDERS.values() if wanted.lower().startswith(one.prefixes)]
    both = [one for one in fitting if one in ready]
    # A server with a URL of its own may have models of any name, and most such servers speak the protocol of OpenAI.
    return next(iter(both or ready[::-1] or fitting), PROVIDERS["openai"]), wanted


def _load_protocol(provider: str) -> ChatProtocol:
    from toolroll.host.models.chat import anthropic, openai

    protocols: dict[str, ChatProtocol] = {"anthropic": anthropic, "openai": openai}
    return protocols[provider]


def _read_max_tokens(environment: Mapping[str, str]) -> int | None:
    given = environment.get(MAX_TOKENS_VARIABLE, "").strip()
    if not given:
        return None
    if not (given.isascii() and given.isdecimal() and int(given[:9])):
        raise _unsupported(f"{MAX_TOKENS_VARIABLE} is {given[:20]!r}. Set a number of tokens.")
    return int(given[:9])


def _unsupported(message: str) -> ToolError:
    return ToolError(ErrorCode.UNSUPPORTED, message)
