"""Web pages as Markdown. Every step is linear in the size of the page; how deep things nest is bounded."""
