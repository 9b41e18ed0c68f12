"""Requests to web servers: every address judged and pinned, every size and time bounded."""
