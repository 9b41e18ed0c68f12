"""What is answered from the offer alone, whoever the client is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from toolroll.host.runtime.cancellation import Token
from toolroll.mcp.backend import Item, Offer, Unknown
from toolroll.mcp.wire import INVALID_PARAMS, NO_RESOURCE, Id, RpcError

_COMPLETIONS = 100


class Request(msgspec.Struct):
    """One request that waits for its answer."""

    id: Id
    method: str
    params: Item
    send: Callable[[Any], None]
    token: Token
    meta: Item | None = None
    """What a stateless request says of its client."""

    def text(self, name: str) -> str:
        """A parameter that must be text."""
        found = self.params.get(name)
        if not isinstance(found, str):
            raise RpcError(INVALID_PARAMS, f"`{name}` must be a string.")
        return found

    def table(self, name: str) -> Item:
        """A parameter that must be an object; absent, it is empty."""
        found = self.params.get(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise RpcError(INVALID_PARAMS, f"`{name}` must be an object.")
        return found


def _resources(offer: Offer, _request: Request) -> Item:
    return {"resources": offer.resources()}


def _templates(offer: Offer, _request: Request) -> Item:
    return {"resourceTemplates": offer.templates()}


def _read(offer: Offer, request: Request) -> Item:
    uri = request.text("uri")
    try:
        return {"contents": offer.read(uri)}
    except Unknown as error:
        code = NO_RESOURCE if request.meta is None else INVALID_PARAMS
        raise RpcError(code, str(error), {"uri": uri}) from None


def _prompts(offer: Offer, _request: Request) -> Item:
    return {"prompts": offer.prompts()}


def _prompt(offer: Offer, request: Request) -> Item:
    given = request.table("arguments")
    try:
        return offer.prompt(request.text("name"), {name: str(value) for name, value in given.items()})
    except (Unknown, ValueError) as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


def _complete(offer: Offer, request: Request) -> Item:
    try:
        values = offer.complete(request.table("ref"), request.table("argument"))
    except Unknown as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None
    more = len(values) > _COMPLETIONS
    return {"completion": {"values": values[:_COMPLETIONS], "total": len(values), "hasMore": more}}


OFFERED: dict[str, Callable[[Offer, Request], Item]] = {
    "resources/list": _resources,
    "resources/templates/list": _templates,
    "resources/read": _read,
    "prompts/list": _prompts,
    "prompts/get": _prompt,
    "completion/complete": _complete,
}
