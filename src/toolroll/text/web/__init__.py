"""Web pages and search engines as text: HTML to Markdown, queries and result pages."""
