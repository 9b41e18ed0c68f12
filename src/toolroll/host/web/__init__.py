"""Web pages and web search. The fronts are `page.read`, which turns a body into text, and `search.WebSearch`.

May import: `host.http`, `host.convert`, `host.runtime`, `policy`, `text`, `result`.
"""
