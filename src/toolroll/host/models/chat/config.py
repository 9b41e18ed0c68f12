"""Language models, as the operator has set them up in the environment.

TOOLROLL_MODEL names the model: `openai:gpt-5`, `anthropic:claude-sonnet-4-5`, or the name alone. The keys are in
OPENAI_API_KEY and ANTHROPIC_API_KEY; OPENAI_BASE_URL and ANTHROPIC_BASE_URL name other servers that speak the same
protocol, which may be local ones. TOOLROLL_MODEL_OUTPUT bounds the tokens of one answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.client import Client
    from toolroll.host.models.chat.model import Model, Speech

NAME = "TOOLROLL_MODEL"
OUTPUT = "TOOLROLL_MODEL_OUTPUT"

_MOST_BYTES = 20_000_000  # of one answer


@dataclass(frozen=True, slots=True)
class Provider:
    """Whose protocol a server speaks, where it is unless the environment says otherwise, and its variables."""

    name: str
    url: str
    key: str
    place: str
    begins: tuple[str, ...]
    """How the names of its models begin."""


PROVIDERS = {
    one.name: one
    for one in (
        Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ("claude",)),
        Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL", ("gpt", "o1", "o3", "o4")),
    )
}


def configured(environment: Mapping[str, str], http: Client, name: str | None = None) -> Model | None:
    """The model of the environment, or the one of this name; None when none is named.

    ToolError when it is named and what it needs is missing. No key is ever in an error.
    """
    from toolroll.host.models.chat.model import Model, Place
    from toolroll.policy import urls

    wanted = (name or environment.get(NAME, "")).strip()
    if not wanted:
        return None
    provider, model = _chosen(wanted, environment)
    key = environment.get(provider.key, "").strip()
    url = environment.get(provider.place, "").strip()
    if not key and not url:
        raise _unset(f"The model {model!r} needs {provider.key} in the environment. Set it, or {provider.place}.")
    try:
        target = urls.parse(url or provider.url)
    except ValueError as error:  # its value is not told: it may hold a password
        raise _unset(f"{provider.place} is not a URL that can be asked, because {error}. Set another.") from None
    place = Place(provider.name, (url or provider.url).rstrip("/"), key, provider.key, provider.place)
    # The operator names it, so it may be inside their network, and is asked as often as the work needs.
    client = http.for_host(f"{target.host}:{target.port}", max_bytes=_MOST_BYTES)
    return Model(model, place, _speech(provider.name), client, most_tokens=_most_tokens(environment))


def _chosen(wanted: str, environment: Mapping[str, str]) -> tuple[Provider, str]:
    """Whose model it is: as it says itself, as names of models go, or whoever is set up."""
    before, colon, after = wanted.partition(":")
    if colon and before.lower() in PROVIDERS and after:  # a colon may also belong to the name, as in qwen3:8b
        return PROVIDERS[before.lower()], after
    ready = [one for one in PROVIDERS.values() if environment.get(one.key) or environment.get(one.place)]
    fitting = [one for one in PROVIDERS.values() if wanted.lower().startswith(one.begins)]
    both = [one for one in fitting if one in ready]
    # A server with a URL of its own may have models of any name, and most such servers speak as OpenAI does.
    return next(iter(both or ready[::-1] or fitting), PROVIDERS["openai"]), wanted


def _speech(provider: str) -> Speech:
    from toolroll.host.models.chat import anthropic, openai

    known: dict[str, Speech] = {"anthropic": anthropic, "openai": openai}
    return known[provider]


def _most_tokens(environment: Mapping[str, str]) -> int | None:
    given = environment.get(OUTPUT, "").strip()
    if not given:
        return None
    if not (given.isascii() and given.isdecimal() and int(given[:9])):
        raise _unset(f"{OUTPUT} is {given[:20]!r}. Set a number of tokens.")
    return int(given[:9])


def _unset(message: str) -> ToolError:
    return ToolError(ErrorCode.UNSUPPORTED, message)
