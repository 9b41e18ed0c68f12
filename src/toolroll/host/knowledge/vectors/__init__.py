"""Vectors by number, and which of them are nearest to another: embedded by default, or in a Qdrant server."""
