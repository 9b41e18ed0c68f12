"""A server on the loopback that speaks Qdrant's REST protocol, as far as it is used here, with points in memory."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.host.http.web import Asked, Server, reply

KEY = "qdrant-key-0123456789"
_PATH = re.compile(r"/collections(?:/([\w-]+)(?:/points(?:/(query|delete|count))?)?)?(?:\?wait=true)?")


class Qdrant(Server):
    """Collections with their points; as the real one, it waits for a write only if it is asked to."""

    def __init__(self, key: str = KEY) -> None:
        self.key = key
        self.sizes: dict[str, int] = {}
        self.points: dict[str, dict[int, list[float]]] = {}
        self.failing: bytes | None = None
        super().__init__(self._answered)

    @property
    def environment(self) -> dict[str, str]:
        return {"QDRANT_URL": self.url("/"), "QDRANT_API_KEY": self.key}

    def _answered(self, asked: Asked) -> bytes:
        if self.failing is not None:
            return self.failing
        if asked.headers.get("api-key") != KEY:
            return reply("Must provide an API key or an Authorization bearer token", "401 Unauthorized")
        found = _PATH.fullmatch(asked.path)
        if found is None:
            return _failed(404, "no such path")
        body = json.loads(asked.body) if asked.body else {}
        name, what = found[1], found[2]
        if name is None:
            return _done({"collections": [{"name": one} for one in self.sizes]})
        if asked.method == "PUT" and "/points" not in asked.path:
            return self._create(name, body)
        if name not in self.sizes:
            return _failed(404, f"Not found: Collection `{name}` doesn't exist!")
        if asked.method == "DELETE":
            del self.sizes[name], self.points[name]
            return _done(True)
        return self._of(name, what, asked, body)

    def _create(self, name: str, body: dict[str, Any]) -> bytes:
        if name in self.sizes:
            return _failed(409, f"Wrong input: Collection `{name}` already exists!")
        if body["vectors"]["distance"] != "Dot":
            return _failed(400, "Format error in JSON body")
        self.sizes[name] = body["vectors"]["size"]
        self.points[name] = {}
        return _done(True)

    def _of(self, name: str, what: str | None, asked: Asked, body: dict[str, Any]) -> bytes:
        points = self.points[name]
        if asked.method == "GET":
            config = {"params": {"vectors": {"size": self.sizes[name], "distance": "Dot"}}}
            return _done({"status": "green", "points_count": len(points), "config": config})
        if what == "count":
            return _done({"count": len(points)})
        if what == "delete":
            for number in body["points"]:
                points.pop(number, None)
            return _done({"operation_id": 1, "status": "completed"})
        if what == "query":
            if len(body["query"]) != self.sizes[name]:
                return _failed(400, "Wrong input: Vector dimension error")
            scores = [
                (sum(a * b for a, b in zip(body["query"], one, strict=True)), number) for number, one in points.items()
            ]
            best = sorted(scores, reverse=True)[: body["limit"]]
            return _done({"points": [{"id": number, "version": 1, "score": score} for score, number in best]})
        for one in body["points"]:
            if len(one["vector"]) != self.sizes[name]:
                return _failed(400, "Wrong input: Vector dimension error")
        points.update({one["id"]: one["vector"] for one in body["points"]})
        return _done({"operation_id": 0, "status": "completed"})


def _done(result: Any) -> bytes:
    return reply(json.dumps({"result": result, "status": "ok", "time": 0.001}), content_type="application/json")


def _failed(status: int, error: str) -> bytes:
    return reply(json.dumps({"status": {"error": error}, "time": 0.0}), f"{status} No", content_type="application/json")
