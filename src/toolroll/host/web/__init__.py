"""Web pages and web search."""
