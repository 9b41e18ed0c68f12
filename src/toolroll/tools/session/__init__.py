"""Tools about the session itself and where it runs."""
