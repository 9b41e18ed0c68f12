"""All engines, in the order in which they are tried: those made for programs first, the one without a key last."""

from __future__ import annotations

from toolroll.text.web.engines import bing, duckduckgo, google, perplexity, searxng, serpapi, tavily
from toolroll.text.web.engines.engine import Engine

ENGINES: dict[str, Engine] = {
    one.ENGINE.name: one.ENGINE for one in (tavily, serpapi, google, bing, perplexity, searxng, duckduckgo)
}
