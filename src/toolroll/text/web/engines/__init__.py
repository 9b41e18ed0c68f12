"""Searching the web: what is asked, how each engine is asked it, and what its answer says."""
