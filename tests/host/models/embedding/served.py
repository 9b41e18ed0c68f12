"""A server on the loopback that makes embeddings as OpenAI's does, by subject; and the real weights, where they are."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.host.http.web import Asked, Server, reply
from toolroll.host.models.embedding.model_files import MINILM, ModelStore

KEY = "sk-test-0123456789"
SUBJECTS = ("car automobile vehicle", "soup lunch food", "key deployment credential")
FOLDER = ModelStore(os.environ).folder
REAL = pytest.mark.skipif(
    not ModelStore(os.environ).has(MINILM), reason="the weights are not here: run `toolroll models fetch`"
)


class Embeddings(Server):
    """Vectors by subject, longer than 1, and every text that was asked for."""

    def __init__(self, *, key: str = KEY) -> None:
        self.key = key
        self.texts: list[str] = []
        self.failing: bytes | None = None
        super().__init__(self._embedded)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "TOOLROLL_EMBEDDINGS_URL": self.url("/v1"),
            "TOOLROLL_EMBEDDINGS_MODEL": "by-subject",
            "TOOLROLL_EMBEDDINGS_KEY": self.key,
        }

    def _embedded(self, asked: Asked) -> bytes:
        if self.failing is not None:
            return self.failing
        if asked.headers.get("authorization") != f"Bearer {KEY}":
            return reply("{}", "401 Unauthorized")
        body = json.loads(asked.body)
        if (asked.method, asked.path, body["model"]) != ("POST", "/v1/embeddings", "by-subject"):
            return reply("{}", "404 Not Found")
        self.texts += body["input"]
        data = [
            {"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(body["input"])
        ]
        return answer({"object": "list", "data": data[::-1], "model": "by-subject"})  # in any order


def answer(body: Any) -> bytes:
    return reply(json.dumps(body), content_type="application/json")


def vector(text: str) -> list[float]:
    """Large where a subject is spoken of, and never nothing."""
    words = text.lower().replace(".", " ").split()
    return [5.0 * sum(word in subject.split() for word in words) for subject in SUBJECTS] + [0.1]
